package provider

import (
	"bytes"
	"encoding/json"
	"time"
)

// tokened are senders that sign nothing: a secret of yours travels with every
// request. Those with more to them have files of their own.
func tokened() []Contract {
	return []Contract{
		completed(Contract{
			Name: "telegram", Title: "Telegram Bot API", Category: "messaging", Confidence: "verified-from-sdk-code",
			SourceDocs: []string{"Telegram Bot API: setWebhook", "tdlib/telegram-bot-api telegram-bot-api/WebhookActor.cpp", "tdlib/telegram-bot-api telegram-bot-api/WebhookActor.h", "tdlib/telegram-bot-api telegram-bot-api/Client.cpp"},
			Scheme:     "static-token", Headers: []string{telegramHeader}, Credentials: []string{telegramHeader}, Rotation: "setWebhook again with another secret_token (1 to 256 of A-Z a-z 0-9 _ -): configure both while you do it",
			Reads: "the update, with update_type: the name of its one part", ID: []string{"body:update_id"}, Scope: "one bot: each has a source of its own",
			IDNote: "the update's number; after a quiet week it goes on at a random one, so it is no order", Type: "body:update_type", OccurredAt: "body:message.date|body:edited_message.date|body:channel_post.date",
			Deadline: 50 * time.Second, RetryOn: "anything but 2xx, redirects included: at once, then ever more slowly up to 2 minutes; later updates of the same chat wait", Unsubs: "410 for 23 hours closes the webhook",
			RetryHorizon: day, Memory: 7 * day, notes: []string{unprovenNote},
			document: telegramUpdate, newScheme: tokens(telegramHeader, nil),
			sample: sampled("message", `{"update_id":"{id}","message":{"message_id":{n},{at:"date":{unix},}"chat":{"id":1,"type":"private"},"from":{"id":1,"is_bot":false,"first_name":"Sample"},"text":"sample {n}"}}`),
		}),
		completed(Contract{
			Name: "okta", Title: "Okta Event Hooks", Category: "identity", SourceDocs: []string{"Okta Developer: Event hooks concepts"}, Confidence: "verified-from-docs",
			Scheme: "static-token", Credentials: []string{"Authorization"}, Rotation: "by hand: configure both secrets while you change it; header:NAME=VALUE when the hook uses another header",
			Items: "body:data.events", ID: []string{"item:uuid"}, Scope: "one hook of an org", Account: "body:source",
			IDNote: "the log event's uuid: the envelope's eventId is of the delivery, and the next may group the events in another way", Type: "item:eventType", OccurredAt: "item:published",
			Handshake: "one GET with x-okta-verification-challenge, which wants it back as JSON", greet: oktaChallenge, Deadline: 3 * time.Second, Success: Reply{Status: 200, ContentType: "text/plain"},
			RetryOn: "5xx and silence, once", StopOn: "every 4xx", Final4xx: true, RetryHorizon: hour, Memory: 7 * day,
			notes: []string{unprovenNote, "best effort: what was missed has to be read from the System Log"}, newScheme: tokens("Authorization", nil),
			sample: sampled("user.lifecycle.create", `{"eventType":"com.okta.event_hook","eventTypeVersion":"1.0","cloudEventsVersion":"0.1","source":"https://example.okta.com/api/v1/eventHooks/who1","eventId":"delivery-{n}",`+
				`"data":{"events":[{"uuid":"{id}",{at:"published":"{rfc3339}",}"eventType":"user.lifecycle.create","version":"0","displayMessage":"Create user {n}"}]},"contentType":"application/json"}`),
		}),
		completed(Contract{
			Name: "postmark", Title: "Postmark", Category: "email", Confidence: "verified-from-docs",
			SourceDocs: []string{"ActiveCampaign/postmark-skills postmark-webhooks/SKILL.md", "ActiveCampaign/postmark-skills postmark-webhooks/references/webhook-setup.md", "ActiveCampaign/postmark-skills postmark-webhooks/references/security.md", "Postmark: Webhook notifications"},
			Scheme:     "basic-auth", Credentials: []string{"Authorization"}, Rotation: "by hand: a secret is user:password of the webhook's URL, or header:NAME=VALUE; configure both while you change it",
			ID: []string{"header:X-PM-Webhook-Trace-Id"},
			OtherIDs: [][]string{
				{"body:RecordType", "body:MessageID", "body:BouncedAt"},
				{"body:RecordType", "body:MessageID", "body:DeliveredAt"},
				{"body:RecordType", "body:MessageID", "body:ReceivedAt"},
				{"body:RecordType", "body:MessageID", "body:ChangedAt"},
				{"body:RecordType", "body:MessageID", "body:ID"},
				{"body:MessageID", "body:Date"}, // inbound mail
			},
			Scope: "one server", Account: "body:ServerID", IDNote: "the trace id, the same on every retry; without it, the record, the message and its time: MessageID alone is shared by delivery, bounce, opens and clicks",
			Type: "body:RecordType", OccurredAt: "body:DeliveredAt|body:BouncedAt|body:ReceivedAt|body:ChangedAt",
			Handshake: "a test for each type of event when a webhook is saved, which wants exactly 200; it is an event like the others",
			RetryOn:   "5xx, 408, 429 and silence; after 1, 5, 10, 10, 10 and 15 minutes (inbound: about 10 hours)", StopOn: "every other 4xx, at the first attempt", Final4xx: true, RetryHorizon: 11 * hour, Memory: 7 * day,
			notes: []string{unprovenNote, "a mistyped credential loses events silently: the 401 is not retried"},
			trial: []string{"onceward:dev-secret"}, newScheme: tokens("Authorization", basicAuth),
			sample: sampled("Delivery", `{"RecordType":"Delivery","ServerID":23,"MessageStream":"outbound","MessageID":"message-{n}","Recipient":"buyer{n}@example.com",{at:"DeliveredAt":"{rfc3339}",}"Details":"sample {n}"}`, "X-PM-Webhook-Trace-Id", "{id}"),
		}),
		completed(Contract{
			Name: "auth0-log-streams", Title: "Auth0 Log Streams (custom webhook)", Category: "identity", SourceDocs: []string{"Auth0 Docs: Create Custom Log Streams Using Webhooks", "Auth0 Docs: Log Streams"}, Confidence: "verified-from-docs",
			Scheme: "static-token", Credentials: []string{"Authorization"}, Rotation: "by hand: the value of Authorization, word for word (nothing is put in front); configure both while you change it",
			Reads: "a list, one object, or an object in each line", Items: "body", ItemType: "application/json", ID: []string{"item:log_id"}, Scope: "one tenant's stream",
			IDNote: "the log's id: a batch that failed comes again as a whole, or cut in another way", Type: "item:data.type", OccurredAt: "item:data.date",
			RetryOn: "anything but 2xx; 3 times, then the stream begins anew until it works", Unsubs: "7 days of failures pause the stream", RetryHorizon: 7 * day, ManualWindow: 30 * day, Memory: 30 * day,
			notes: []string{unprovenNote}, document: jsonLines, newScheme: tokens("Authorization", withBearer),
			sample: sampled("s", `{"log_id":"{id}","data":{{at:"date":"{rfc3339}",}"type":"s","log_id":"{id}","description":"sample {n}","client_id":"sample"}}`),
		}),
	}
}

const telegramHeader = "X-Telegram-Bot-Api-Secret-Token"

// telegramUpdate puts the name of the update's one part in front of it.
func telegramUpdate(_ *Request, body []byte) document {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if brace, err := decoder.Token(); err != nil || brace != json.Delim('{') {
		return document{text: body}
	}
	for decoder.More() {
		name, err := decoder.Token()
		if text, is := name.(string); err == nil && is && text != "update_id" {
			return document{text: withMember(body, "update_type", text)}
		}
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
	}
	return document{text: body}
}

func oktaChallenge(r *Request, _ []Secret) (Reply, bool) {
	challenge, state := r.header("X-Okta-Verification-Challenge")
	if r.Method != "GET" || state != present || len(challenge) > 1024 {
		return Reply{}, false
	}
	body := append(appendJSON([]byte(`{"verification":`), challenge), '}')
	return Reply{Status: 200, ContentType: "application/json", Body: body}, true
}
