package provider

import "time"

// payments are those who move money.
func payments() []Contract {
	thin := stripe()
	thin.Name, thin.Title = "stripe-v2-thin", "Stripe (v2 thin events / event notifications)"
	thin.SourceDocs = []string{"Stripe Docs: Thin events", "stripe-go webhook/client_test.go TestConstructEvent_ErrorOnEventNotification"}
	thin.Scope = "one account or context"
	thin.IDNote = "the event's own id (evt_…); the body names a related object and holds none of its data, so fetch it"
	thin.Account, thin.Version = "body:context", ""
	thin.Volatile = nil
	thin.notes = []string{"two events may lead to one state of the object by the time it is fetched"}
	thin.sample = sampled("v1.billing.meter.error_report_triggered", `{"id":"{id}","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered","livemode":false,{at:"created":"{rfc3339}",}"context":"acct_123","related_object":{"id":"mtr_{n}","type":"billing.meter","url":"/v1/billing/meters/mtr_{n}"}}`)

	return []Contract{
		thin,
		signed(Signature{Header: "HmacSignature", Encoding: "base64", Key: "hex"}, Contract{
			Name: "adyen-platform", Title: "Adyen (balance platform and management webhooks)", Category: "payments",
			SourceDocs: []string{"Adyen Docs: Verify HMAC signatures (payload)", "Adyen Docs: Troubleshoot webhooks", "adyen-go-api-library src/hmacvalidator/hmacvalidator_test.go ValidateHmacPayload"},
			Confidence: "verified-from-sdk-code", Scheme: "adyen-payload-hmac", Rotation: "a new key applies at once; configure both, in hexadecimal",
			ID: []string{"body:type", "body:data.id", "body:data.sequenceNumber?", "body:timestamp?"}, IDSigned: true, Scope: "one balance platform and environment",
			OtherIDs: [][]string{{"body-sha256"}},
			IDNote:   "there is no envelope id: type, object, sequence number and time together", Type: "body:type", OccurredAt: "body:timestamp",
			Account: "body:data.balancePlatform", Mode: "body:environment", ModeNames: map[string]string{"live": "live", "test": "test"},
			RetryOn: "anything but 2xx; three times at once, then with growing waits", RetryHorizon: 30 * day, Memory: 45 * day,
			sample: sampled("balancePlatform.transfer.updated", `{"type":"balancePlatform.transfer.updated","environment":"test",{at:"timestamp":"{rfc3339}",}"data":{"id":"{id}","sequenceNumber":{n},"balancePlatform":"Sample","amount":{"currency":"EUR","value":{amount}}}}`),
		}),
		signed(Signature{Header: "X-Razorpay-Signature"}, Contract{
			Name: "razorpay", Title: "Razorpay", Category: "payments",
			SourceDocs: []string{"Razorpay Docs: Webhooks best practices", "Razorpay Docs: Validate and test webhooks", "razorpay-go utils/utils_test.go"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:razorpay", Rotation: "retries of older events keep the old secret: configure both for at least 24 h",
			ID: []string{"header:X-Razorpay-Event-Id"}, Scope: "one account and mode", IDNote: "the event's id stands in a header alone; the body has none",
			Type: "body:event", OccurredAt: "body:created_at", Account: "body:account_id", Deadline: 5 * time.Second,
			Unsubs: "24 h of failures disable the webhook", RetryHorizon: day, Memory: 7 * day,
			notes:  []string{"payment.authorized may arrive after payment.captured"},
			sample: sampled("payment.captured", `{"entity":"event","account_id":"acc_sample","event":"payment.captured",{at:"created_at":{unix},}"payload":{"payment":{"entity":{"id":"pay_{n}","amount":{amount},"currency":"INR"}}}}`, "X-Razorpay-Event-Id", "{id}"),
		}),
		signed(Signature{Header: "Paddle-Signature", Prefix: "h1=", Content: "{timestamp}:{body}", Timestamp: "element:ts"}, Contract{
			Name: "paddle", Title: "Paddle Billing", Category: "payments",
			SourceDocs: []string{"Paddle Developer: How webhooks work", "Paddle Developer: Handle webhook delivery", "paddle-go-sdk webhook_verifier_test.go"},
			Confidence: "verified-from-sdk-code", Scheme: "paddle-h1", Tolerance: 5 * time.Second, Rotation: "one h1 entry for each active secret",
			ID: []string{"body:event_id"}, IDSigned: true, Scope: "one account", IDNote: "event_id, not notification_id: that one differs for each destination and replay",
			Type: "body:event_type", OccurredAt: "body:occurred_at", Deadline: 5 * time.Second, RetryOn: "anything but 2xx; 60 times in live mode",
			RetryHorizon: 3 * day, Memory: 30 * day,
			notes:  []string{"the suggested tolerance is 5 s: keep no queue in front of this gateway, or set tolerance"},
			sample: sampled("transaction.completed", `{"event_id":"{id}","event_type":"transaction.completed",{at:"occurred_at":"{rfc3339}",}"notification_id":"ntf_{n}","data":{"id":"txn_{n}","status":"completed","details":{"totals":{"total":"{amount}"}}}}`),
		}),
		signed(Signature{Header: "Webhook-Signature"}, Contract{
			Name: "gocardless", Title: "GoCardless", Category: "payments",
			SourceDocs: []string{"GoCardless Developer: Webhooks", "gocardless-pro-python tests/webhooks_test.py"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:gocardless", Rotation: "one secret for each endpoint",
			Items: "body:events", ID: []string{"item:id"}, IDSigned: true, Scope: "one organisation and environment",
			IDNote: "each event's id (EV…); meta.webhook_id names the request and changes when events are batched anew",
			Type:   "item:resource_type", OccurredAt: "item:created_at", RetryOn: "anything but 2xx; 8 times", RetryHorizon: day, Memory: 30 * day,
			notes:  []string{"a proxy that appends a newline to the body breaks the signature"},
			sample: sampled("payments", `{"events":[{"id":"{id}",{at:"created_at":"{rfc3339}",}"resource_type":"payments","action":"confirmed","links":{"payment":"PM{n}"}}],"meta":{"webhook_id":"WB{n}"}}`),
		}),
		signed(Signature{Header: "X-CC-Webhook-Signature"}, Contract{
			Name: "coinbase-commerce", Title: "Coinbase Commerce", Category: "payments", SourceDocs: []string{"coinbase-commerce-node lib/Webhook.js"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:coinbase-commerce",
			ID: []string{"body:event.id"}, IDSigned: true, Scope: "one account", IDNote: "event.id; the outer id, attempt_number and scheduled_for are the delivery's and change with every attempt",
			Type: "body:event.type", OccurredAt: "body:event.created_at", Version: "body:event.api_version",
			RetryHorizon: 3 * day, Memory: 14 * day, Volatile: []string{"id", "attempt_number", "scheduled_for"},
			sample: sampled("charge:confirmed", `{"attempt_number":1,"event":{"api_version":"2018-03-22",{at:"created_at":"{rfc3339}",}"data":{"code":"SAMPLE{n}"},"id":"{id}","resource":"event","type":"charge:confirmed"},"id":"delivery-{n}"}`),
		}),
		signed(Signature{Header: "Cko-Signature"}, Contract{
			Name: "checkout-com", Title: "Checkout.com", Category: "payments", SourceDocs: []string{"Checkout.com Docs: Receive webhooks"},
			Confidence: "verified-from-docs", Scheme: "raw:checkout", Rotation: "one key for each workflow action: configure all of them",
			ID: []string{"body:id"}, IDSigned: true, Scope: "one client", IDNote: "the event's id (evt_…); several workflows deliver it several times under one id",
			Type: "body:type", OccurredAt: "body:created_on", Version: "body:version", RetryHorizon: 3 * day, Memory: 14 * day,
			sample: sampled("payment_approved", `{"id":"{id}","type":"payment_approved","version":"1.0.0",{at:"created_on":"{rfc3339}",}"data":{"id":"pay_{n}","amount":{amount},"currency":"EUR"}}`),
		}),
		signed(Signature{Header: "X-Signature"}, Contract{
			Name: "lemon-squeezy", Title: "Lemon Squeezy", Category: "payments", SourceDocs: []string{"lmsqueezy/laravel src/Http/Middleware/VerifyWebhookSignature.php"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:lemon-squeezy",
			ID: []string{"body:meta.webhook_id"}, IDSigned: true, Scope: "one store",
			OtherIDs: [][]string{{"body:meta.event_name", "body:data.type", "body:data.id", "body:data.attributes.updated_at?"}},
			IDNote:   "meta.webhook_id where there is one; else the event's name, the object and when it was updated. data.id alone is the object's and comes with every update",
			Type:     "body:meta.event_name", OccurredAt: "body:data.attributes.updated_at", Mode: "body:meta.test_mode", ModeNames: map[string]string{"true": "test", "false": "live"},
			RetryOn: "anything but 200; after 5, 25 and 125 seconds", RetryHorizon: 3 * time.Minute, ManualWindow: 30 * day, Memory: 30 * day,
			sample: sampled("order_created", `{"meta":{"event_name":"order_created","test_mode":true,"webhook_id":"{id}"},"data":{"type":"orders","id":"{n}","attributes":{"store_id":1,"total":{amount}{at:,"updated_at":"{rfc3339}"}}}}`, "X-Event-Name", "order_created"),
		}),
		mollie(),
		signed(Signature{Header: "X-Paystack-Signature", Algorithm: "sha512"}, Contract{
			Name: "paystack", Title: "Paystack", Category: "payments", SourceDocs: []string{"Paystack Docs: Webhooks"},
			Confidence: "verified-from-docs", Scheme: "raw:paystack", Rotation: "the key is the account's secret API key: roll both together",
			ID: []string{"body:event", "body:data.id"}, IDSigned: true, Scope: "one integration",
			OtherIDs: [][]string{{"body:event", "body:data.reference"}},
			IDNote:   "there is no event id: the event's name and the object's id, or its reference", Type: "body:event", OccurredAt: "body:data.paid_at",
			Mode: "body:data.domain", ModeNames: map[string]string{"live": "live", "test": "test"},
			Deadline: 30 * time.Second, RetryOn: "anything but 200; every 3 minutes four times, then hourly", RetryHorizon: 3 * day, Memory: 14 * day,
			notes:  []string{"the webhook's key is the API's secret key: whoever holds this configuration can move money"},
			sample: sampled("charge.success", `{"event":"charge.success","data":{"id":{n},"domain":"test","reference":"{id}","amount":{amount}{at:,"paid_at":"{rfc3339}"}}}`),
		}),
		signed(Signature{Header: "Recurly-Signature", Content: "{timestamp}.{body}", Bare: true}, Contract{
			Name: "recurly", Title: "Recurly", Category: "payments", SourceDocs: []string{"Recurly Docs: Automatic retries", "Recurly Docs: Webhook best practices"},
			Confidence: "verified-from-docs", Scheme: "recurly", Tolerance: 5 * time.Minute, Rotation: "several signatures follow the time",
			ID: []string{"body:id"}, IDSigned: true, Scope: "one site", IDNote: "the notification's id; legacy XML has none and is quarantined",
			Type: "body:event_type", OccurredAt: "body:event_time", Account: "body:site_id", Deadline: 5 * time.Second,
			RetryOn: "anything but 2xx; 10 times", RetryHorizon: 73 * time.Hour, Memory: 14 * day,
			notes:  []string{"a notification is not to be acted upon: confirm it with the API first"},
			sample: sampled("created", `{"id":"{id}","object_type":"payment","site_id":"site-1","event_type":"created",{at:"event_time":"{rfc3339}",}"transaction_id":"{n}"}`),
		}),
		signed(Signature{Header: "X-Signature", Content: "{timestamp}{body}", Timestamp: "header:X-Timestamp"}, Contract{
			Name: "airwallex", Title: "Airwallex", Category: "payments", SourceDocs: []string{"Airwallex Docs: Webhooks overview"},
			Confidence: "verified-from-docs", Scheme: "airwallex", Headers: []string{"X-Timestamp"},
			ID: []string{"body:id"}, IDSigned: true, Scope: "one account", IDNote: "the event's id, which retries keep",
			Type: "body:name", OccurredAt: "body:created_at", Version: "body:version", Account: "body:account_id",
			RetryOn: "anything but 200", RetryHorizon: 3 * day, Memory: 14 * day,
			sample: sampled("payment_intent.succeeded", `{"id":"{id}","name":"payment_intent.succeeded","account_id":"acct_1",{at:"created_at":"{rfc3339}",}"data":{"object":{"id":"int_{n}","amount":{amount}}}}`),
		}),
	}
}

// mollie's classic webhooks carry the id of a payment and nothing else, and are
// not signed: what happened is found by asking. Its next generation signs.
func mollie() Contract {
	sig := Signature{Header: "X-Mollie-Signature", Prefix: "sha256="}
	c := signed(sig, Contract{
		Name: "mollie", Title: "Mollie (classic and next-gen)", Category: "payments", SourceDocs: []string{"Mollie Docs: Webhooks", "Mollie Docs: Next-gen Webhooks"},
		Confidence: "verified-from-docs", Scheme: "classic: none; next-gen: hmac-body", Rotation: "several signatures are possible",
		ID: []string{"body:id"}, FormID: []string{"form:id"}, IDSigned: true, Level: true, Scope: "one organisation or profile, and mode",
		IDNote: "the payment's id, the same for paid, refunded and charged back: each notification runs, and the destination fetches the payment",
		Type:   "body:type", OccurredAt: "body:createdAt", Handshake: "next-gen: a ping event",
		Deadline: 15 * time.Second, RetryOn: "anything but 200; 10 times", RetryHorizon: 26 * time.Hour, Memory: 7 * day,
		notes: []string{"classic notifications are not signed (leave secrets out): anybody can post one, so fetch the payment before anything is done"},
	})
	hmacs := c.newScheme
	c.newScheme = func(o *Options) (scheme, error) {
		if len(o.Secrets) == 0 {
			return unsigned{}, nil
		}
		return hmacs(o)
	}
	c.sample = sampled("payment.paid", `{"resource":"event","id":"{id}","type":"payment.paid",{at:"createdAt":"{rfc3339}",}"entityId":"tr_{n}"}`)
	return c
}
