package provider

import (
	"crypto/subtle"
	"time"
)

// messaging are chats, mails and social networks.
func messaging() []Contract {
	meta := signed(Signature{Header: "X-Hub-Signature-256", Prefix: "sha256="}, Contract{
		Name: "meta", Title: "Meta Graph webhooks (Facebook, Instagram, Messenger)", Category: "messaging",
		SourceDocs: []string{"Meta for Developers: Webhooks getting started", "Meta for Developers: Instagram Platform webhooks", "Meta Webhooks for Messenger Platform"},
		Confidence: "verified-from-docs", Scheme: "hub-sha256", Rotation: "the key is the app's secret; a second secret in the list is the verify token of the handshake",
		Items: "body:entry.*.messaging|body:entry.*.changes", ID: []string{"item:message.mid"}, IDSigned: true, Scope: "one object and page",
		OtherIDs: [][]string{{"outer:id", "body-sha256"}},
		IDNote:   "a message's id; other updates have none and are known by page and content. entry.time is when the notification was sent, and no part of it",
		Type:     "item:field", OccurredAt: "item:timestamp", Handshake: "a GET with hub.challenge, which is sent back when the verify token is one of the secrets",
		Deadline: 5 * time.Second, RetryOn: "anything but 200, for 36 h", Unsubs: "an hour of failures unsubscribes the app from that page", RetryHorizon: 36 * time.Hour, Memory: 7 * day,
		notes:  []string{"a body that a proxy writes anew does not verify: letters beyond ASCII are escaped by the sender, in lower case"},
		greet:  hubChallenge,
		sample: sampled("", `{"object":"page","entry":[{"id":"1","time":1767323045,"messaging":[{"sender":{"id":"2"},"message":{"mid":"{id}","text":"sample {n}"}}]}]}`),
	})
	whatsapp := meta
	whatsapp.Name, whatsapp.Title = "whatsapp", "WhatsApp Cloud API"
	whatsapp.SourceDocs = []string{"Meta for Developers: WhatsApp webhooks overview", "Meta for Developers: Webhooks getting started"}
	whatsapp.Items = "body:entry.*.changes.*.value.statuses|body:entry.*.changes.*.value.messages"
	whatsapp.ID = []string{"item:id", "item:status?"}
	whatsapp.OtherIDs = [][]string{{"body-sha256"}}
	whatsapp.Single = true
	whatsapp.Scope = "one phone number"
	whatsapp.IDNote = "the message's id, and for statuses the status as well: sent, delivered and read share the id of the message that was sent"
	whatsapp.Type = "item:type"
	whatsapp.RetryOn = "anything but 200; a retry goes to every subscribed app"
	whatsapp.RetryHorizon, whatsapp.Memory = 7*day, 30*day
	whatsapp.MaxBody = 0
	whatsapp.sample = sampled("text", `{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":[{"field":"messages","value":{"metadata":{"phone_number_id":"p1"},"messages":[{"id":"{id}",{at:"timestamp":"{unix}",}"type":"text","text":{"body":"sample {n}"}}]}}]}]}`)

	return []Contract{
		meta, whatsapp,
		messaged(svix(), Contract{
			Name: "resend", Title: "Resend", Category: "email", SourceDocs: []string{"Resend Docs: Verify Webhooks Requests", "Resend Docs: Retries and Replays"}, Confidence: "verified-from-docs",
			Scope: "one account", IDNote: "the message's id; data.email_id is shared by sent, delivered and opened", Type: "body:type", OccurredAt: "body:created_at",
			Deadline: 15 * time.Second, RetryOn: "anything but 2xx; 8 times", Unsubs: "an endpoint that keeps failing is disabled", RetryHorizon: 27*time.Hour + 35*time.Minute, ManualWindow: 28 * day, Memory: 30 * day,
		}),
		signed(Signature{Header: "X-Line-Signature", Encoding: "base64"}, Contract{
			Name: "line", Title: "LINE Messaging API", Category: "messaging", SourceDocs: []string{"line-bot-sdk-python tests/v3/test_webhook.py", "LINE Developers: Receive messages (webhook)"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:line", Rotation: "reissue the channel secret, and configure both meanwhile",
			Items: "body:events", ID: []string{"item:webhookEventId"}, IDSigned: true, Scope: "one bot", IDNote: "each event's id; deliveryContext.isRedelivery changes inside the signed body",
			Type: "item:type", OccurredAt: "item:timestamp", Account: "body:destination", Handshake: "the console's Verify sends an empty list of events",
			Deadline: 2 * time.Second, RetryOn: "anything but 200, when redelivery is switched on", Unsubs: "long failures suspend delivery", Memory: 7 * day,
			Volatile: []string{"deliveryContext.isRedelivery"},
			sample:   sampled("message", `{"destination":"bot","events":[{"type":"message","webhookEventId":"{id}",{at:"timestamp":{unix}000,}"deliveryContext":{"isRedelivery":false},"mode":"active","message":{"type":"text","id":"{n}","text":"sample {n}"}}]}`),
		}),
		signed(Signature{
			Header: "Twitch-Eventsub-Message-Signature", Prefix: "sha256=", Content: "{header:Twitch-Eventsub-Message-Id}{timestamp}{body}",
			Timestamp: "header:Twitch-Eventsub-Message-Timestamp", TimeText: true,
		}, Contract{
			Name: "twitch", Title: "Twitch EventSub", Category: "messaging", SourceDocs: []string{"Twitch Developers: Handling Webhook Events", "twitchdev/twitch-cli internal/events/trigger/forward_event.go"},
			Confidence: "verified-from-sdk-code", Scheme: "twitch", Headers: []string{"Twitch-Eventsub-Message-Id", "Twitch-Eventsub-Message-Timestamp"}, Tolerance: 10 * time.Minute,
			Rotation: "a new secret is a new subscription", ID: []string{"header:Twitch-Eventsub-Message-Id"}, IDSigned: true, Scope: "one client", IDNote: "the message's id, inside the signature",
			Type: "body:subscription.type", Version: "body:subscription.version", Handshake: "webhook_callback_verification: a signed post whose challenge is sent back",
			Deadline: 5 * time.Second, Unsubs: "too many slow answers revoke the subscription", Memory: day,
			answer: twitchChallenge,
			sample: sampled("channel.follow", `{"subscription":{"id":"f1c2","type":"channel.follow","version":"2"},"event":{"user_id":"{n}"}}`, "Twitch-Eventsub-Message-Id", "{id}", "Twitch-Eventsub-Message-Type", "notification"),
		}),
	}
}

// hubChallenge answers Meta's verification of a callback.
func hubChallenge(r *Request, secrets []Secret) (Reply, bool) {
	if r.Method != "GET" {
		return Reply{}, false
	}
	get := func(name string) string { return field(&expression{kind: fromQuery, name: name}, r.query()).text }
	challenge, token := get("hub.challenge"), get("hub.verify_token")
	if get("hub.mode") != "subscribe" || challenge == "" || len(challenge) > 1024 || token == "" {
		return Reply{}, false
	}
	fits := 0
	for _, s := range secrets {
		fits |= subtle.ConstantTimeCompare([]byte(s.Value), []byte(token))
	}
	if fits == 0 {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(challenge)}, true
}

// twitchChallenge answers a webhook_callback_verification.
func twitchChallenge(r *Request) (Reply, bool) {
	if kind, _ := r.header("Twitch-Eventsub-Message-Type"); kind != "webhook_callback_verification" {
		return Reply{}, false
	}
	plan := newPlan()
	challenge := &expression{kind: fromBody, slot: plan.add([]string{"challenge"})}
	in := input{r: r, reader: plan.open(r.Body)}
	answer := in.read(challenge)
	if answer.state != present {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(answer.text)}, true
}
