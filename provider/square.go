package provider

// square signs the URL as it was subscribed, and the body behind it.
func square() Contract {
	return signed(Signature{Header: "X-Square-Hmacsha256-Signature", Encoding: "base64", Content: "{url}{body}"}, Contract{
		Name: "square", Title: "Square", Category: "payments", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"Square Developer: Webhooks overview", "Square Developer: Subscribe to event notifications", "Square Developer: Troubleshoot webhooks", "Square Developer: Manage webhook operations", "square-nodejs-sdk tests/integration/webhooks.test.ts"},
		Scheme:     "square-url-body", Rotation: "one signature key for each subscription: configure the keys of all that post to this URL",
		ID: []string{"body:event_id"}, IDSigned: true, Scope: "one application's subscription", IDNote: "the event's id: data.id is the object's",
		Type: "body:type", OccurredAt: "body:created_at", Account: "body:merchant_id",
		Unsubs: "three weeks without any 2xx disable the subscription", RetryHorizon: 72 * hour, Memory: 7 * day,
		notes: []string{
			"the public URL is signed: intake.public_url and the source's name must be the URL at Square, byte for byte",
			"the sender's pages disagree about how long it retries (24 h or 72 h); the longer one counts here",
		},
		sample: sampled("payment.updated", `{"merchant_id":"MLSAMPLE","type":"payment.updated","event_id":"{id}",{at:"created_at":"{rfc3339}",}"data":{"type":"payment","id":"pay{n}",`+
			`"object":{"payment":{"id":"pay{n}","status":"COMPLETED","amount_money":{"amount":{amount},"currency":"EUR"},"version":1}}}}`),
	})
}
