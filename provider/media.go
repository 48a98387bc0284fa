package provider

import "time"

// media are video, voice and models.
func media() []Contract {
	openai := messaged(standardWebhooks(), Contract{
		Name: "openai", Title: "OpenAI (webhooks)", Category: "ai", SourceDocs: []string{"openai-python tests/lib/test_webhooks.py", "OpenAI Docs: Webhooks"}, Confidence: "verified-from-sdk-code",
		Scope: "one project's endpoint", IDNote: "the message's id (wh_…); the body's id (evt_…) is a second one, and never mixed with it", Type: "body:type", OccurredAt: "body:created_at",
		RetryHorizon: 3 * day, Memory: 14 * day,
	})
	return []Contract{
		openai,
		signed(Signature{Header: "Mux-Signature", Prefix: "v1=", Content: "{timestamp}.{body}", Timestamp: "element:t"}, Contract{
			Name: "mux", Title: "Mux", Category: "media", SourceDocs: []string{"Mux Docs: Verify webhook signatures", "muxinc/mux-node-sdk src/resources/webhooks.ts"}, Confidence: "verified-from-docs",
			Scheme: "mux", Tolerance: 5 * time.Minute, ID: []string{"body:id"}, IDSigned: true, Scope: "one environment", IDNote: "the event's id; attempts[] grows inside the signed body",
			Type: "body:type", OccurredAt: "body:created_at", Account: "body:environment.id", Deadline: 5 * time.Second, RetryHorizon: day, Memory: 7 * day, Volatile: []string{"attempts"},
			sample: sampled("video.asset.ready", `{"type":"video.asset.ready","id":"{id}",{at:"created_at":"{rfc3339}",}"environment":{"id":"env1","name":"Sample"},"object":{"type":"asset","id":"asset{n}"},"attempts":[]}`),
		}),
		signed(Signature{Header: "ElevenLabs-Signature", Prefix: "v0=", Content: "{timestamp}.{body}", Timestamp: "element:t", Future: true}, Contract{
			Name: "elevenlabs", Title: "ElevenLabs", Category: "ai", SourceDocs: []string{"elevenlabs-js src/wrapper/webhooks.ts"}, Confidence: "verified-from-sdk-code",
			Scheme: "elevenlabs", Tolerance: 30 * time.Minute, ID: []string{"body:type", "body:data.conversation_id", "body:event_timestamp"}, IDSigned: true, Scope: "one workspace",
			OtherIDs: [][]string{{"body-sha256"}}, IDNote: "there is no event id: type, conversation and time together", Type: "body:type", OccurredAt: "body:event_timestamp",
			Unsubs: "ten failures in a row and none success for 7 days", Memory: 7 * day,
			sample: sampled("post_call_transcription", `{"type":"post_call_transcription","event_timestamp":{unix},"data":{"conversation_id":"{id}","agent_id":"agent_1"}}`),
		}),
	}
}
