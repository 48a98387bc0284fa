package provider

import (
	"strings"
	"time"
)

// productivity are work, documents, forms and customers.
func productivity() []Contract {
	return []Contract{
		signed(Signature{Header: "Linear-Signature"}, Contract{
			Name: "linear", Title: "Linear", Category: "productivity", SourceDocs: []string{"linear/linear packages/sdk/src/webhooks/client.ts"}, Confidence: "verified-from-sdk-code",
			Scheme: "raw:linear", ID: []string{"header:Linear-Delivery"}, Scope: "one webhook", IDNote: "the delivery's UUID, which retries keep; webhookId is the webhook's",
			Type: "body:type", OccurredAt: "body:createdAt", Account: "body:organizationId", Deadline: 5 * time.Second, RetryOn: "anything but 200; after 1 min, 1 h and 6 h",
			RetryHorizon: 7 * time.Hour, Memory: 3 * day, Volatile: []string{"webhookTimestamp"},
			BodyTime: "body:webhookTimestamp", Tolerance: time.Minute,
			sample: sampled("Issue", `{"action":"create","type":"Issue",{at:"createdAt":"{rfc3339}","webhookTimestamp":{unix}000,}"organizationId":"org_1","data":{"id":"issue-{n}","title":"sample {n}"},"webhookId":"wh_1"}`, "Linear-Delivery", "{id}", "Linear-Event", "Issue"),
		}),
		signed(Signature{Header: "X-Notion-Signature", Prefix: "sha256="}, Contract{
			Name: "notion", Title: "Notion", Category: "productivity", SourceDocs: []string{"makenotion/notion-sdk-js src/webhooks.ts", "Notion Developers: Event types and delivery"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:notion", Rotation: "the secret is the verification token of the subscription", ID: []string{"body:id"}, IDSigned: true, Scope: "one subscription",
			IDNote: "the event's id; attempt_number changes inside the signed body", Type: "body:type", OccurredAt: "body:timestamp", Account: "body:workspace_id",
			Handshake: "one post with a verification_token, before there is a secret: start with provider none to read it, then paste it there and here",
			RetryOn:   "anything but 2xx; up to 8 attempts", RetryHorizon: day, Memory: 7 * day, Volatile: []string{"attempt_number"},
			notes:  []string{"events carry no content: the destination fetches the object"},
			sample: sampled("page.content_updated", `{"id":"{id}",{at:"timestamp":"{rfc3339}",}"workspace_id":"ws_1","subscription_id":"sub_1","type":"page.content_updated","attempt_number":1,"entity":{"id":"page-{n}","type":"page"}}`),
		}),
		signed(Signature{Header: "X-Airtable-Content-MAC", Prefix: "hmac-sha256=", Key: "base64"}, Contract{
			Name: "airtable", Title: "Airtable", Category: "productivity", SourceDocs: []string{"Airtable Web API: Webhooks overview"}, Confidence: "from-memory",
			Scheme: "raw:airtable", Rotation: "make the webhook anew; configure macSecretBase64", ID: []string{"body:webhook.id"}, IDSigned: true, Level: true, Scope: "one base and webhook",
			IDNote: "there is none: the post only says that there are new payloads, which the destination pulls by its cursor", OccurredAt: "body:timestamp", Account: "body:base.id",
			Deadline: 25 * time.Second, RetryHorizon: 7 * day, Memory: 8 * day,
			sample: sampled("", `{"base":{"id":"app00000000000000"},"webhook":{"id":"ach0000000000{n}"}{at:,"timestamp":"{rfc3339}"}}`),
		}),
		signed(Signature{Header: "Typeform-Signature", Prefix: "sha256=", Encoding: "base64"}, Contract{
			Name: "typeform", Title: "Typeform", Category: "productivity", SourceDocs: []string{"Typeform Developers: Secure your webhooks"}, Confidence: "verified-from-docs",
			Scheme: "raw:typeform", ID: []string{"body:event_id"}, IDSigned: true, Scope: "one form's webhook", IDNote: "the event's id; form_response.token is the response's",
			Type: "body:event_type", OccurredAt: "body:form_response.submitted_at", Deadline: 30 * time.Second, RetryOn: "423, 408, 429, 503 and others",
			Unsubs: "404 and 410 disable the webhook at once", RetryHorizon: 10 * time.Hour, Memory: 7 * day,
			sample: sampled("form_response", `{"event_id":"{id}","event_type":"form_response","form_response":{"form_id":"lT4Z3j","token":"sample{n}"{at:,"submitted_at":"{rfc3339}"},"answers":[]}}`),
		}),
		signed(Signature{Header: "Calendly-Webhook-Signature", Prefix: "v1=", Content: "{timestamp}.{body}", Timestamp: "element:t"}, Contract{
			Name: "calendly", Title: "Calendly", Category: "productivity", SourceDocs: []string{"Calendly Developer: Webhook Signatures", "Calendly Developer: Webhook Errors"}, Confidence: "verified-from-docs",
			Scheme: "calendly", Tolerance: 3 * time.Minute, ID: []string{"body:event", "body:payload.uri", "body:created_at"}, IDSigned: true, Scope: "one subscription",
			IDNote: "there is no event id: what happened, to which invitee, and when", Type: "body:event", OccurredAt: "body:created_at", RetryOn: "anything but 2xx",
			Unsubs: "24 h of failures disable the subscription", RetryHorizon: day, Memory: 7 * day,
			sample: sampled("invitee.created", `{"created_at":"{rfc3339}","created_by":"https://api.calendly.com/users/AAA","event":"invitee.created","payload":{"uri":"https://api.calendly.com/scheduled_events/{id}/invitees/{n}","email":"guest{n}@example.com"}}`),
		}),
		signed(Signature{Header: "X-Hub-Signature", Algorithm: "sha1", Prefix: "sha1="}, Contract{
			Name: "intercom", Title: "Intercom", Category: "crm", SourceDocs: []string{"Intercom Developers: Webhook Notifications"}, Confidence: "verified-from-docs",
			Scheme: "hub-sha1", Rotation: "the key is the app's client secret", ID: []string{"body:id"}, IDSigned: true, Scope: "one app", IDNote: "the notification's id (notif_…); delivery_attempts changes inside the signed body",
			Type: "body:topic", OccurredAt: "body:created_at", Account: "body:app_id", Handshake: "a HEAD request when the URL is saved; a ping topic",
			Deadline: 5 * time.Second, RetryOn: "anything but 200", RetryHorizon: 2 * time.Hour, Memory: 3 * day, Volatile: []string{"delivery_attempts", "first_sent_at", "delivered_at", "delivery_status"},
			notes:  []string{"the HMAC is SHA-1, which is all that this sender offers"},
			greet:  headGreeting,
			sample: sampled("conversation.user.created", `{"type":"notification_event","app_id":"a1","id":"{id}","topic":"conversation.user.created",{at:"created_at":{unix},}"delivery_attempts":1,"data":{"item":{"id":"{n}"}}}`),
		}),
		signed(Signature{Header: "X-Zendesk-Webhook-Signature", Encoding: "base64", Content: "{timestamp}{body}", Timestamp: "header:X-Zendesk-Webhook-Signature-Timestamp", TimeText: true}, Contract{
			Name: "zendesk", Title: "Zendesk", Category: "crm", SourceDocs: []string{"Zendesk Developer: Verifying webhook authenticity", "Zendesk Developer: Creating and monitoring webhooks"}, Confidence: "verified-from-docs",
			Scheme: "zendesk", Headers: []string{"X-Zendesk-Webhook-Signature-Timestamp"}, Tolerance: 5 * time.Minute,
			ID: []string{"body:id"}, OtherIDs: [][]string{{"header:X-Zendesk-Webhook-Invocation-Id"}}, Scope: "one account and webhook",
			IDNote: "the event's id where the webhook is subscribed to events; webhooks of triggers have none in the body, and are known by their invocation",
			Type:   "body:type", OccurredAt: "body:time", Account: "body:account_id", RetryOn: "409, 429, 503 and timeouts, a few times", RetryHorizon: 30 * time.Minute, Memory: 3 * day,
			sample: sampled("zen:event-type:user.created", `{"type":"zen:event-type:user.created","id":"{id}","account_id":22129848,{at:"time":"{rfc3339}",}"detail":{"id":"{n}"}}`, "X-Zendesk-Webhook-Invocation-Id", "{id}"),
		}),
		signed(Signature{Header: "X-Hook-Signature"}, Contract{
			Name: "asana", Title: "Asana", Category: "productivity", SourceDocs: []string{"Asana Developers: Webhooks guide", "Asana Developers: Establish a webhook"}, Confidence: "verified-from-docs",
			Scheme: "raw:asana", Rotation: "the secret comes with the handshake, one for each webhook: make the webhook anew", Scope: "one webhook", IDSigned: true,
			Items: "body:events", ID: []string{"item:resource.gid", "item:action", "item:change.field?", "item:created_at", "item:user.gid?"},
			IDNote: "there is no event id: resource, action, field, time and user together", Type: "item:resource.resource_type", OccurredAt: "item:created_at",
			Handshake: "a post with X-Hook-Secret, while the webhook is made: it is sent back, and is what belongs into secrets", Unsubs: "410, and 24 h of failures, delete the webhook",
			RetryHorizon: day, Memory: 3 * day, notes: []string{"the sender promises at most once, and cannot replay: reconcile by polling"},
			greet:  asanaSecret,
			sample: sampled("task", `{"events":[{"user":{"gid":"1"},{at:"created_at":"{rfc3339}",}"action":"changed","resource":{"gid":"{id}","resource_type":"task"},"change":{"field":"name","action":"changed"}}]}`),
		}),
		signed(Signature{Header: "X-Zm-Signature", Prefix: "v0=", Content: "v0:{timestamp}:{body}", Timestamp: "header:X-Zm-Request-Timestamp"}, Contract{
			Name: "zoom", Title: "Zoom", Category: "productivity", SourceDocs: []string{"zoom/webhook-sample index.js", "Zoom Developer: Using webhooks"}, Confidence: "verified-from-sdk-code",
			Scheme: "zoom-v0", Headers: []string{"X-Zm-Request-Timestamp"}, Tolerance: 5 * time.Minute, Scope: "one account", IDSigned: true,
			ID:     []string{"body:event", "body:event_ts", "body:payload.account_id?", "body:payload.object.uuid?", "body:payload.object.participant.user_id?"},
			IDNote: "there is no event id: what happened, when, in which account and meeting, to whom", Type: "body:event", OccurredAt: "body:event_ts", Account: "body:payload.account_id",
			Handshake: "endpoint.url_validation, again every 72 h: the plain token and its HMAC", Deadline: 3 * time.Second, RetryOn: "anything but 200 and 204; after 5, 30 and 90 minutes",
			Unsubs: "a failed validation disables the endpoint", RetryHorizon: 3 * time.Hour, Memory: 3 * day,
			answer: nil, greet: zoomValidation,
			sample: sampled("meeting.started", `{"event":"meeting.started","event_ts":{unix}000,"payload":{"account_id":"abc","object":{"uuid":"{id}","topic":"sample {n}"}}}`),
		}),
		signed(Signature{Header: "X-Dropbox-Signature"}, Contract{
			Name: "dropbox", Title: "Dropbox", Category: "storage", SourceDocs: []string{"dropbox/mdwebhook app.py", "Dropbox Developers: Webhooks reference"}, Confidence: "verified-from-sdk-code",
			Scheme: "raw:dropbox", Rotation: "the key is the app's secret", ID: []string{"body-sha256"}, IDSigned: true, Level: true, Scope: "one app",
			IDNote: "there is none: the post lists accounts in which something changed, and the destination reads on from its cursor", Handshake: "a GET with a challenge, which is sent back",
			RetryHorizon: 10 * time.Minute, Memory: day, Unsubs: "sustained failures disable the app",
			greet:  dropboxChallenge,
			sample: sampled("", `{"list_folder":{"accounts":["dbid:sample{n}"]},"delta":{"users":[{n}]}}`),
		}),
	}
}

// headGreeting answers a HEAD request, with which some senders try a URL.
func headGreeting(r *Request, _ []Secret) (Reply, bool) {
	return Reply{Status: 200, ContentType: "text/plain"}, r.Method == "HEAD"
}

// asanaSecret sends the secret of a webhook that is being made back. It holds
// for nothing yet: only what is configured verifies.
func asanaSecret(r *Request, _ []Secret) (Reply, bool) {
	secret, state := r.header("X-Hook-Secret")
	if _, signed := r.header("X-Hook-Signature"); signed != absent || state != present || len(r.Body) > 0 || len(secret) > 256 {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Header: map[string]string{"X-Hook-Secret": secret}}, true
}

// dropboxChallenge sends a challenge back.
func dropboxChallenge(r *Request, _ []Secret) (Reply, bool) {
	challenge := field(&expression{kind: fromQuery, name: "challenge"}, r.query())
	if r.Method != "GET" || challenge.state != present || len(challenge.text) > 1024 {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(challenge.text), Header: map[string]string{"X-Content-Type-Options": "nosniff"}}, true
}

// zoomValidation answers an endpoint.url_validation: the token's HMAC under the
// secret. Only what cannot be the text of a signed message is answered, or this
// would sign events for whoever asks.
func zoomValidation(r *Request, secrets []Secret) (Reply, bool) {
	if len(secrets) == 0 || !strings.Contains(string(r.Body), "endpoint.url_validation") {
		return Reply{}, false
	}
	plan := newPlan()
	kind := &expression{kind: fromBody, slot: plan.add([]string{"event"})}
	token := &expression{kind: fromBody, slot: plan.add([]string{"payload", "plainToken"})}
	in := input{r: r, reader: plan.open(r.Body)}
	plain := in.read(token).text
	if in.read(kind).text != "endpoint.url_validation" || plain == "" || len(plain) > 128 || strings.ContainsFunc(plain, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_+/=", c)
	}) {
		return Reply{}, false
	}
	k := newKey("", "sha256", []byte(secrets[0].Value))
	m := k.open()
	m.buf = append(m.buf, plain...)
	m.finish()
	return Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"plainToken":"` + plain + `","encryptedToken":"` + m.spell("hex") + `"}`)}, true
}
