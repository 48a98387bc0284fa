package provider

import "time"

// shopify signs the body; topic, shop and every id stand in headers.
func shopify() Contract {
	sig := Signature{Header: "X-Shopify-Hmac-SHA256", Encoding: "base64"}
	return Contract{
		Name:       "shopify",
		Title:      "Shopify (HTTPS webhooks)",
		Revision:   "1",
		Category:   "commerce",
		SourceDocs: []string{"Shopify Dev: Verify webhook deliveries", "Shopify Dev: Ignore duplicate webhooks", "Shopify Dev: HTTPS delivery", "Shopify Dev: Verify Events deliveries (preview)"},
		Confidence: "verified-from-docs",

		Scheme:     "shopify-hmac",
		Headers:    []string{sig.Header},
		Signature:  sig,
		Rotation:   "digests by a new client secret can take an hour to appear: configure both",
		BodySigned: true,

		ID:    []string{"header:X-Shopify-Topic", "header:X-Shopify-Event-Id"},
		Scope: "one action of a merchant, and one topic",
		// The shop is left out on purpose: event ids are random, and a scope
		// from an unsigned header would let a forged one make a captured
		// request look new.
		IDNote:     "the action's id together with the topic: one action can cause two topics under one event id, and several subscriptions deliver it under different webhook ids",
		Type:       "header:X-Shopify-Topic",
		OccurredAt: "header:X-Shopify-Triggered-At",
		Version:    "header:X-Shopify-API-Version",

		Handshake: "none",
		Deadline:  5 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "anything but 2xx, redirects included; 8 times",
		Unsubs:    "8 failures in a row remove a subscription made through the Admin API",

		RetryHorizon: 4 * time.Hour,
		Memory:       7 * 24 * time.Hour,

		notes: []string{"the topic stands in an unsigned header: a captured body can be sent again once under every other topic"},

		newScheme: func(o *Options) (scheme, error) { return newHeaderScheme(sig.decoded(o), o) },
		sample:    shopifySample,
	}
}

func shopifySample(d *draft) {
	d.kind = "orders/create"
	d.header("X-Shopify-Topic", d.kind)
	d.header("X-Shopify-Event-Id", d.id)
	d.header("X-Shopify-Webhook-Id", "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043")
	d.header("X-Shopify-Shop-Domain", "example.myshopify.com")
	d.header("X-Shopify-API-Version", "2026-10")
	if !d.at.IsZero() {
		d.header("X-Shopify-Triggered-At", d.at.UTC().Format(time.RFC3339Nano))
	}
	d.json(`{"id":8209829{n}00154508,"admin_graphql_api_id":"gid://shopify/Order/8209829{n}00154508","currency":"EUR",` +
		`"email":"buyer{n}@example.com","financial_status":"paid","name":"#{n}","note":"sample {id}","total_price":"{amount}.00",` +
		`"line_items":[{"id":866550311766439020,"quantity":1,"title":"Sample","price":"{amount}.00"}]}`)
}
