package provider

import "time"

// telnyx signs "{timestamp}|{body}" with the account's key pair.
func telnyx() Contract {
	return completed(Contract{
		Name: "telnyx", Title: "Telnyx", Category: "messaging", SourceDocs: []string{"telnyx-node test/Webhook.spec.js"}, Confidence: "verified-from-sdk-code",
		Scheme: "telnyx-ed25519", Headers: []string{"Telnyx-Signature-Ed25519", "Telnyx-Timestamp"}, Tolerance: 5 * time.Minute, BodySigned: true,
		Rotation: "none: the account's public key, in base64",
		ID:       []string{"body:data.id"}, IDSigned: true, Scope: "one account", IDNote: "the event's id; meta.attempt and meta.delivered_to change inside the signed body",
		Type: "body:data.event_type", OccurredAt: "body:data.occurred_at", RetryOn: "anything but 2xx; three times for each URL, the failover URL after that",
		RetryHorizon: 30 * time.Minute, Memory: 2 * day, Volatile: []string{"meta"},
		trial: []string{trialEd25519}, newScheme: newEdwards("Telnyx-Signature-Ed25519", "Telnyx-Timestamp", "|", "base64"),
		sample: sampled("message.received", `{"data":{"record_type":"event","id":"{id}","event_type":"message.received",{at:"occurred_at":"{rfc3339}",}"payload":{"id":"msg-{n}","text":"Sample {n}",`+
			`"connection_id":"1"}},"meta":{"attempt":1,"delivered_to":"https://hooks.example.com"}}`),
	})
}
