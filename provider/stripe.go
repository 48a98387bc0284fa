package provider

import "time"

// stripe signs "{t}.{body}" and repeats the signature for every active secret.
// v0 entries are of a scheme that is no longer safe, and are skipped as
// everything without the prefix is.
func stripe() Contract {
	sig := Signature{
		Header:    "Stripe-Signature",
		Prefix:    "v1=",
		Content:   "{timestamp}.{body}",
		Timestamp: "element:t",
	}
	return Contract{
		Name:       "stripe",
		Title:      "Stripe (v1 snapshot events, incl. Connect)",
		Revision:   "1",
		Category:   "payments",
		SourceDocs: []string{"Stripe Docs: Webhooks", "Stripe Docs: Process undelivered webhook events", "stripe/stripe-go event.go", "stripe-go webhook/client_test.go", "stripe-node test/Webhook.spec.ts"},
		Confidence: "verified-from-sdk-code",

		Scheme:     "stripe-v1",
		Headers:    []string{sig.Header},
		Signature:  sig,
		Tolerance:  5 * time.Minute,
		Rotation:   "while a secret is rolled, the header has one v1 entry per secret for up to 24 h; the secret is used as it stands, whsec_ included",
		BodySigned: true,

		ID:         []string{"body:id"},
		Scope:      "one Stripe account and mode",
		IDSigned:   true,
		IDNote:     "the event's own id (evt_…): the same on every retry, and at every endpoint that gets the event",
		Type:       "body:type",
		OccurredAt: "body:created",
		Version:    "body:api_version",
		Account:    "body:account",
		Mode:       "body:livemode",
		ModeNames:  map[string]string{"true": "live", "false": "test"},

		Handshake: "none",
		Deadline:  10 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "anything but 2xx, redirects included",

		RetryHorizon: 3 * 24 * time.Hour,
		ManualWindow: 30 * 24 * time.Hour,
		Memory:       30 * 24 * time.Hour,
		Volatile:     []string{"pending_webhooks"},

		notes: []string{"two event objects with different ids can be made for one change; where that matters, compare type and data.object.id in the destination"},

		newScheme: func(o *Options) (scheme, error) { return newHeaderScheme(sig.decoded(o), o) },
		sample:    stripeSample,
	}
}

func stripeSample(d *draft) {
	d.kind = "checkout.session.completed"
	d.json(`{
  "id": "{id}",
  "object": "event",
  "api_version": "2025-09-30.clover",{at:
  "created": {unix},}
  "data": {
    "object": {
      "id": "cs_test_a1{n}kqZ8vXwRtYb3LmNcPdEfGhJ",
      "object": "checkout.session",
      "amount_subtotal": {amount},
      "amount_total": {amount},
      "client_reference_id": "order-{n}",
      "currency": "eur",
      "customer": "cus_Q{n}xY7bLmN2",
      "customer_details": {
        "address": {
          "city": "Zürich",
          "country": "CH",
          "line1": null,
          "line2": null,
          "postal_code": "8001",
          "state": null
        },
        "email": "buyer{n}@example.com",
        "name": "Buyer {n}",
        "phone": null,
        "tax_exempt": "none"
      },
      "livemode": false,
      "metadata": {
        "order": "{n}"
      },
      "mode": "payment",
      "payment_intent": "pi_3{n}Lk2eZvKYlo2C",
      "payment_status": "paid",
      "status": "complete",
      "success_url": "https://shop.example.com/thanks"
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": null,
    "idempotency_key": null
  },
  "type": "checkout.session.completed"
}`)
}
