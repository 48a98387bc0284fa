package provider

import (
	"encoding/json"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// pubsub proves who calls, with Google's token; the body is not signed.
func pubsub() Contract {
	return completed(Contract{
		Name: "google-pubsub-push", Title: "Google Cloud Pub/Sub push", Category: "cloud", SourceDocs: []string{"Google Cloud: Pub/Sub push subscriptions (current and older copies)"}, Confidence: "verified-from-docs",
		Scheme: "oidc-jwt", Credentials: []string{"Authorization"},
		Rotation: "Google's: keys are found by their id in its published set. The secrets are what the token has to say: aud=… and email=… (the push identity's service account)",
		ID:       []string{"body:message.messageId"}, OtherIDs: [][]string{{"body:message.message_id"}, {"header:X-Goog-Pubsub-Message-Id"}}, Scope: "one topic", Account: "body:subscription",
		IDNote: "the message's id, the same on every retry and on a seek; a publisher that sends twice makes two", Type: "body:message.attributes.eventType", OccurredAt: "body:message.publishTime",
		RetryOn: "anything but 102, 200, 201, 202 and 204, and the end of the acknowledgement deadline", RetryHorizon: 7 * day, ManualWindow: 31 * day, Memory: 31 * day, Volatile: []string{"deliveryAttempt"},
		notes: []string{
			"the token proves the caller and nothing about the body",
			"retries last as long as the topic keeps messages (7 days unless it is set, 31 at most)",
		},
		trial: []string{trialRSA, "aud=onceward-dev", "email=dev@example.com"}, newScheme: newPubsub, sample: sampled("OBJECT_FINALIZE", `{"message":{"attributes":{"eventType":"OBJECT_FINALIZE"},"data":"eyJvcmRlciI6MX0=","messageId":"{id}",{at:"publishTime":"{rfc3339}",}`+
			`"orderingKey":"order-{n}"},"subscription":"projects/sample/subscriptions/s","deliveryAttempt":1}`),
	})
}

type pubsubScheme struct{ bearerRules }

func newPubsub(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil, "aud", "email", "iss")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"aud", "email"} {
		if len(m.settings[name]) == 0 {
			return nil, wrong("secrets", "lack %s=…: every token of Google's has a good signature, so what it has to say must be configured", name)
		}
	}
	return &pubsubScheme{bearerRules{m, o.Keys, jwsRules{
		algorithms: []jose.SignatureAlgorithm{jose.RS256},
		url:        "https://www.googleapis.com/oauth2/v3/certs",
		claims: []claimRule{
			{"iss", []string{"https://accounts.google.com", "accounts.google.com"}},
			{"aud", m.settings["aud"]},
			{"email", m.settings["email"]},
			{"email_verified", []string{"true"}},
		},
	}}}, nil
}

func (p *pubsubScheme) verify(r *Request, _ []byte) (verified, *Refusal) {
	return p.bearerRules.verify(r)
}

func (p *pubsubScheme) sign(r *Request, _ []byte) error {
	claims, err := json.Marshal(map[string]any{
		"iss": "https://accounts.google.com", "aud": p.settings["aud"][0], "email": p.settings["email"][0], "email_verified": true,
		"iat": r.Now.Unix(), "exp": r.Now.Add(time.Hour).Unix(), "sub": "sample",
	})
	if err != nil {
		return err
	}
	text, err := p.signJWS(claims, "JWT", &p.rules)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+text)
	}
	return err
}

func (p *pubsubScheme) covers(*expression) bool { return false }

func (p *pubsubScheme) idHeader(*Request) string { return "" }
