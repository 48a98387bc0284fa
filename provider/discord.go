package provider

import "time"

// discord signs "{timestamp}{body}" with the application's key pair.
func discord() Contract {
	return completed(Contract{
		Name: "discord", Title: "Discord (Webhook Events and Interactions)", Category: "messaging", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"Discord Docs: Webhook Events", "discord-interactions-js src/__tests__"},
		Scheme:     "discord-ed25519", Headers: []string{"X-Signature-Ed25519", "X-Signature-Timestamp"}, Tolerance: 5 * time.Minute, BodySigned: true,
		Rotation: "none: the application's public key, in hexadecimal",
		ID:       []string{"body:event.type", "body:event.timestamp", "sha256:body:event.data"}, OtherIDs: [][]string{{"body:id"}}, IDSigned: true,
		Scope: "one application", Account: "body:application_id",
		IDNote: "a webhook event has no id: its type, its time and the digest of its data; an interaction has one", Type: "body:event.type|body:type", OccurredAt: "body:event.timestamp",
		Version: "body:version", Handshake: "a signed ping: type 0 wants a 204 without a body, type 1 of an interaction wants it back", answer: discordPing, Deadline: 3 * time.Second,
		Success: Reply{Status: 204, ContentType: "application/json"}, RetryOn: "anything but 2xx, for 10 minutes", Unsubs: "deliberate bad signatures that are not answered with 401 remove the URL",
		RetryHorizon: 10 * time.Minute, Memory: 2 * day,
		notes: []string{"an interaction wants an answer with content within 3 seconds, which a gateway cannot give: use it for webhook events"},
		trial: []string{trialEd25519}, newScheme: newEdwards("X-Signature-Ed25519", "X-Signature-Timestamp", "", "hex"),
		sample: sampled("APPLICATION_AUTHORIZED", `{"version":1,"application_id":"1234560123453231555","type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"{rfc3339}",`+
			`"data":{"integration_type":1,"scopes":["applications.commands"],"user":{"id":"{id}","username":"sample {n}"}}}}`),
	})
}

// discordPing answers both kinds of pings.
func discordPing(r *Request) (Reply, bool) {
	f, ok := lookFor("type", "event", "data", "token").read(r.Body)
	defer f.close()
	if !ok {
		return Reply{}, false
	}
	bare := f.value("event").kind == 0 && f.value("data").kind == 0
	switch kind, _ := f.text("type"); {
	case kind == "0" && bare:
		return Reply{Status: 204, ContentType: "application/json"}, true
	case kind == "1" && bare:
		return Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"type":1}`)}, true
	}
	return Reply{}, false
}
