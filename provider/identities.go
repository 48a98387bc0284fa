package provider

import "time"

// identities are those who know and verify people.
func identities() []Contract {
	return []Contract{
		messaged(svix(), Contract{
			Name: "clerk", Title: "Clerk", Category: "identity", SourceDocs: []string{"Clerk Docs: Webhooks overview"}, Confidence: "verified-from-docs",
			Scope: "one Clerk instance", IDNote: "the message's id; data.id is the user's, and comes with every event about that user",
			Type: "body:type", OccurredAt: "body:timestamp", Account: "body:instance_id", Deadline: 15 * time.Second, RetryOn: "anything but 2xx; 8 times",
			RetryHorizon: 28 * time.Hour, ManualWindow: 28 * day, Memory: 30 * day,
		}),
		signed(Signature{Header: "WorkOS-Signature", Prefix: "v1=", Content: "{timestamp}.{body}", Timestamp: "element:t"}, Contract{
			Name: "workos", Title: "WorkOS", Category: "identity", SourceDocs: []string{"workos-go pkg/webhooks/client_test.go"}, Confidence: "verified-from-sdk-code",
			Scheme: "workos", Tolerance: 3 * time.Minute, ID: []string{"body:id"}, IDSigned: true, Scope: "one environment", IDNote: "the event's id; the signed time is in milliseconds",
			Type: "body:event", OccurredAt: "body:created_at", RetryOn: "anything but 200; 6 times", RetryHorizon: 3 * day, Memory: 14 * day,
			sample: sampled("user.created", `{"id":"{id}","event":"user.created",{at:"created_at":"{rfc3339}",}"data":{"object":"user","id":"user_{n}","email":"user{n}@example.com"}}`),
		}),
		signed(Signature{Header: "X-SHA2-Signature"}, Contract{
			Name: "onfido", Title: "Onfido", Category: "identity-verification", SourceDocs: []string{"onfido-node test/webhook-event-verifier.test.ts"}, Confidence: "verified-from-sdk-code",
			Scheme: "raw:onfido", Rotation: "one token for each webhook", IDSigned: true, Scope: "one token: region and environment",
			ID:     []string{"body:payload.resource_type", "body:payload.action", "body:payload.object.id", "body:payload.object.completed_at_iso8601?"},
			IDNote: "there is no event id: the object's comes again with every action", Type: "body:payload.action", OccurredAt: "body:payload.object.completed_at_iso8601",
			RetryOn: "anything but 2xx; 6 times", Unsubs: "404 and 410 may disable the webhook", RetryHorizon: day, Memory: 30 * day,
			sample: sampled("check.completed", `{"payload":{"resource_type":"check","action":"check.completed","object":{"id":"{id}","status":"complete"{at:,"completed_at_iso8601":"{rfc3339}"}}}}`),
		}),
		signed(Signature{Header: "Persona-Signature", Prefix: "v1=", Content: "{timestamp}.{body}", Timestamp: "element:t", Groups: true}, Contract{
			Name: "persona", Title: "Persona", Category: "identity-verification", SourceDocs: []string{"Persona Docs: Webhook best practices"}, Confidence: "verified-from-docs",
			Scheme: "persona", Tolerance: 5 * time.Minute, Rotation: "a group with its own time for each secret, separated by spaces",
			ID: []string{"body:data.id"}, IDSigned: true, Scope: "one organization and environment", IDNote: "the event's id; the payload's data.id is the inquiry's",
			Type: "body:data.attributes.name", OccurredAt: "body:data.attributes.created-at", Deadline: 5 * time.Second, RetryOn: "anything but 2xx; 7 times",
			RetryHorizon: 3 * day, Memory: 30 * day,
			sample: sampled("inquiry.completed", `{"data":{"type":"event","id":"{id}","attributes":{"name":"inquiry.completed"{at:,"created-at":"{rfc3339}"},"payload":{"data":{"type":"inquiry","id":"inq_{n}"}}}}}`),
		}),
		signed(Signature{Header: "X-HMAC-Signature"}, Contract{
			Name: "veriff", Title: "Veriff", Category: "identity-verification", SourceDocs: []string{"Veriff Docs: Webhooks Guide", "Veriff Docs: Decision webhook", "Veriff Docs: Event webhook"},
			Confidence: "from-memory", Scheme: "raw:veriff", Scope: "one integration", IDSigned: true,
			ID: []string{"body:verification.id", "body:verification.attemptId", "body:verification.status"}, OtherIDs: [][]string{{"body:id", "body:attemptId", "body:action"}},
			IDNote: "session, attempt and what was decided or done: a session has several attempts", Type: "body:action", OccurredAt: "body:verification.decisionTime",
			RetryOn: "anything but 200, hourly", RetryHorizon: 7 * day, Memory: 90 * day,
			sample: sampled("submitted", `{"id":"{id}","attemptId":"attempt-{n}","feature":"selfid","code":7002,"action":"submitted"}`),
		}),
		signed(Signature{Header: "X-Payload-Digest", Allow: "X-Payload-Digest-Alg", Means: "HMAC_SHA256_HEX"}, Contract{
			Name: "sumsub", Title: "Sumsub", Category: "identity-verification", SourceDocs: []string{"Sumsub Docs: Webhook manager"}, Confidence: "verified-from-docs",
			Scheme: "raw:sumsub", Headers: []string{"X-Payload-Digest-Alg"}, Rotation: "none; choose SHA-256 in the webhook manager, nothing else is accepted",
			ID: []string{"body:correlationId", "body:type", "body:applicantId", "body:reviewStatus?"}, IDSigned: true, Scope: "one client",
			IDNote: "correlationId may come with several types, so type, applicant and status are part of it", Type: "body:type", OccurredAt: "body:createdAtMs",
			Account: "body:clientId", Mode: "body:sandboxMode", ModeNames: map[string]string{"true": "test", "false": "live"},
			RetryOn: "anything but 2xx; after 5 min, 1 h, 5 h and 18 h", RetryHorizon: day, Memory: 90 * day,
			sample: sampled("applicantReviewed", `{"applicantId":"applicant-{n}","correlationId":"{id}","type":"applicantReviewed","reviewStatus":"completed","clientId":"sample","sandboxMode":true{at:,"createdAtMs":"{rfc3339}"}}`),
		}),
	}
}
