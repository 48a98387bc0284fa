package provider

import (
	"time"
)

// trello signs the body and the URL behind it, in that order.
func trello() Contract {
	return signed(Signature{Header: "X-Trello-Webhook", Algorithm: "sha1", Encoding: "base64", Content: "{body}{url}"}, Contract{
		Name: "trello", Title: "Trello", Category: "productivity", Confidence: "verified-from-docs",
		SourceDocs: []string{"Atlassian Developer: Trello webhooks (creation, HEAD check, payload)", "official sample function, as copied in many public repositories (signature formula)"},
		Scheme:     "trello", Rotation: "none: the application's OAuth secret",
		ID: []string{"body:action.id"}, IDSigned: true, Scope: "one webhook's model: a board, a list or a card", Account: "body:model.id",
		IDNote: "the action's id; card, list and board each deliver the same action", Type: "body:action.type", OccurredAt: "body:action.date",
		Handshake: "HEAD to the URL, which wants a 200", greet: headGreeting, Deadline: 30 * time.Second, RetryOn: "anything but 200; after 30, 60 and 120 seconds",
		Unsubs: "410 deletes the webhook; 1000 failures in a row disable it", RetryHorizon: 4 * time.Minute, Memory: 2 * day,
		notes:  []string{"the public URL is signed: it must be the callbackURL as it was registered, byte for byte"},
		sample: sampled("updateCard", `{"action":{"id":"{id}","type":"updateCard",{at:"date":"{rfc3339}",}"data":{"card":{"id":"card{n}","name":"Sample {n}"}}},"model":{"id":"4d5ea62fd76aa1136000000c","name":"Board"}}`),
	})
}
