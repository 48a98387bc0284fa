package provider

import "time"

// commerce are shops, shipping and the books behind them.
func commerce() []Contract {
	return []Contract{
		signed(Signature{Header: "X-WC-Webhook-Signature", Encoding: "base64"}, Contract{
			Name: "woocommerce", Title: "WooCommerce", Category: "commerce", SourceDocs: []string{"woocommerce/woocommerce plugins/woocommerce/includes/class-wc-webhook.php"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:woocommerce", Rotation: "none; write a secret with HTML's special characters decoded",
			ID: []string{"header:X-WC-Webhook-Source?", "header:X-WC-Webhook-Topic", "body:id", "body:date_modified_gmt?"}, Scope: "one site",
			IDNote: "site, topic, object and when it was modified: the delivery id is a hash of the webhook and the current second, which two events share",
			Type:   "header:X-WC-Webhook-Topic", OccurredAt: "body:date_modified_gmt", Handshake: "an unsigned form with a webhook_id, which wants exactly 200",
			Deadline: time.Minute, RetryOn: "nothing: there are no retries", Unsubs: "more than five failures in a row", Memory: 7 * day,
			notes:  []string{"the topic and the site stand in unsigned headers"},
			greet:  wooPing,
			sample: sampled("order.created", `{"id":{n},"status":"processing","note":"sample {id}","total":"{amount}.00"{at:,"date_modified_gmt":"{rfc3339}"}}`, "X-WC-Webhook-Topic", "order.created", "X-WC-Webhook-Source", "https://shop.example.com/", "X-WC-Webhook-Delivery-ID", "{id}"),
		}),
		signed(Signature{Header: "Shippo-Auth-Signature", Prefix: "v1=", Content: "{timestamp}.{body}", Timestamp: "element:t"}, Contract{
			Name: "shippo", Title: "Shippo", Category: "logistics", SourceDocs: []string{"Shippo Docs: Webhook security", "Shippo Docs: Webhooks"},
			Confidence: "from-memory", Scheme: "shippo", Tolerance: 5 * time.Minute,
			ID: []string{"body:event", "body:data.tracking_number", "body:data.tracking_status.object_id"}, IDSigned: true, Scope: "one account",
			OtherIDs: [][]string{{"body:event", "body:data.object_id"}, {"body-sha256"}},
			IDNote:   "there is no event id; track_updated comes again for one parcel, so the status is part of it", Type: "body:event",
			OccurredAt: "body:data.tracking_status.status_date", Mode: "body:test", ModeNames: map[string]string{"true": "test", "false": "live"},
			Deadline: 3 * time.Second, Memory: 30 * day,
			sample: sampled("track_updated", `{"event":"track_updated","test":true,"data":{"tracking_number":"SHIPPO_{n}","tracking_status":{"object_id":"{id}","status":"TRANSIT"{at:,"status_date":"{rfc3339}"}}}}`),
		}),
		signed(Signature{Header: "X-Xero-Signature", Encoding: "base64"}, Contract{
			Name: "xero", Title: "Xero", Category: "accounting",
			SourceDocs: []string{"XeroAPI/Xero-OpenAPI xero-webhooks.yaml", "XeroAPI/Xero-NetStandard-Webhooks-Receiver WebhooksController.cs"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:xero",
			Items: "body:events", ID: []string{"item:tenantId", "item:resourceId", "item:eventCategory", "item:eventType", "item:eventDateUtc"}, IDSigned: true, Scope: "one app and tenant",
			IDNote: "there is no event id: tenant, resource, category, type and time together; entropy is random in every delivery", Type: "item:eventCategory",
			OccurredAt: "item:eventDateUtc", Handshake: "intent to receive: signed and wrongly signed posts, which want 200 and 401",
			Deadline: 5 * time.Second, RetryOn: "anything but 200", RetryHorizon: day, Memory: 3 * day,
			Success: Reply{Status: 200, ContentType: "text/plain"},
			sample:  sampled("INVOICE", `{"events":[{"resourceUrl":"https://api.xero.com/x","resourceId":"{id}","eventDateUtc":"2026-01-02T03:04:05.{n}","eventType":"UPDATE","eventCategory":"INVOICE","tenantId":"c2cc9b6e-9458-4c7d-93cc-f02b81b0594f","tenantType":"ORGANISATION"}],"firstEventSequence":{n},"lastEventSequence":{n},"entropy":"SAMPLE"}`),
		}),
		signed(Signature{Header: "Intuit-Signature", Encoding: "base64"}, Contract{
			Name: "quickbooks", Title: "Intuit QuickBooks Online", Category: "accounting",
			SourceDocs: []string{"Intuit Developer: Webhooks best practices", "IntuitDeveloper/SampleApp-Webhooks-Java-Cloudevents"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:quickbooks", Rotation: "none: one verifier token for each app",
			Items: "body|body:eventNotifications.*.dataChangeEvent.entities", ID: []string{"item:intuitaccountid", "item:id"}, IDSigned: true, Scope: "one company (realm)",
			OtherIDs: [][]string{{"item:name", "item:id", "item:operation", "item:lastUpdated"}},
			IDNote:   "CloudEvents: account and id; the older format has no event id, so entity, id, operation and second together (two quick updates are one)",
			Type:     "item:type", OccurredAt: "item:time", Deadline: 3 * time.Second, RetryOn: "anything but 200, for the whole batch, with growing waits up to 6 h",
			RetryHorizon: 7 * day, Memory: 14 * day,
			notes:  []string{"later events of the app wait until the oldest is acknowledged: quarantine answers 200 for a reason"},
			sample: sampled("qbo.invoice.created.v1", `[{"specversion":"1.0","id":"{id}","source":"intuit","type":"qbo.invoice.created.v1",{at:"time":"{rfc3339}",}"intuitentityid":"{n}","intuitaccountid":"1185883450","data":{}}]`),
		}),
	}
}

// wooPing answers the form that WooCommerce posts, unsigned, when a webhook is
// made.
func wooPing(r *Request, _ []Secret) (Reply, bool) {
	if _, sent := r.header("X-Wc-Webhook-Signature"); sent != absent || !r.isForm() {
		return Reply{}, false
	}
	if field(&expression{kind: fromForm, name: "webhook_id"}, string(r.Body)).state != present {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain"}, true
}
