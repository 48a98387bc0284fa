package provider

import "time"

// standardWebhooks is the specification that many senders follow: id, time and
// body are signed together, with a shared key (v1) or a key pair (v1a).
func standardWebhooks() Contract {
	return Contract{
		Name:       "standard-webhooks",
		Title:      "Standard Webhooks (specification 1.0.0)",
		Revision:   "1",
		Category:   "spec",
		SourceDocs: []string{"Standard Webhooks specification 1.0.0"},
		Confidence: "verified-from-docs",

		Scheme:     "standard-webhooks",
		Headers:    []string{"webhook-id", "webhook-timestamp", "webhook-signature"},
		Tolerance:  5 * time.Minute,
		Rotation:   "one signature per active key, v1 and v1a mixed; any that fits is accepted",
		BodySigned: true,

		ID:         []string{"header:webhook-id"},
		Scope:      "one sender",
		IDSigned:   true,
		IDNote:     "the message's id, inside the signature; the same on every retry",
		Type:       "body:type",
		OccurredAt: "body:timestamp",

		Handshake: "none",
		Deadline:  15 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "anything but 2xx, redirects included; Retry-After is honoured",
		Unsubs:    "410",

		RetryHorizon: 75*time.Hour + 35*time.Minute,
		Memory:       7 * 24 * time.Hour,

		newScheme: func(o *Options) (scheme, error) { return checkedMessageScheme(o, standardHeaders()) },
		sample:    messageSample("Webhook-Id"),
	}
}

// svix is the same scheme under its own header names, or the standard ones.
func svix() Contract {
	c := standardWebhooks()
	c.Name, c.Title = "svix", "Svix (and senders that use it: Brex, Stytch, Lithic, Codat, …)"
	c.SourceDocs = []string{"Svix Docs: Verifying payloads", "Svix Docs: Retry schedule", "svix-webhooks go/webhook_test.go"}
	c.Confidence = "verified-from-sdk-code"
	c.Scheme = "svix"
	c.Headers = []string{"svix-id", "svix-timestamp", "svix-signature"}
	c.Rotation = "one signature per active key; the old key stays valid for 24 h"
	c.ID = []string{"header:svix-id"}
	c.Scope = "one Svix application"
	c.IDNote = "the message's id (msg_…), inside the signature; the same on retries and on replays by hand. Requests with the webhook-* names are read too, never a mixture"
	c.OccurredAt = ""
	c.RetryHorizon = 27*time.Hour + 35*time.Minute
	c.ManualWindow = 28 * 24 * time.Hour
	c.Memory = 30 * 24 * time.Hour
	c.sample = messageSample("Svix-Id")
	c.newScheme = func(o *Options) (scheme, error) {
		return checkedMessageScheme(o, append([]messageHeaders{newMessageHeaders("svix")}, standardHeaders()...))
	}
	return c
}

func messageSample(idHeader string) func(d *draft) {
	return func(d *draft) {
		d.kind = "invoice.paid"
		d.header(idHeader, d.id)
		d.json(`{"type":"invoice.paid",{at:"timestamp":"{rfc3339}",}"data":{"id":"inv_{n}","amount":{amount},"currency":"eur","customer":"customer-{n}","status":"paid"}}`)
	}
}
