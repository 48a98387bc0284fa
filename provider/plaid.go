package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// plaid signs a token in which the digest of the body is.
func plaid() Contract {
	return completed(Contract{
		Name: "plaid", Title: "Plaid", Category: "fintech", SourceDocs: []string{"Plaid Docs: Webhooks", "Plaid Docs: Verify webhooks"}, Confidence: "verified-from-docs",
		Scheme: "plaid-jwt", Headers: []string{plaidHeader}, Tolerance: 5 * time.Minute, BodySigned: true,
		Rotation: "Plaid's: a token names its key by id, and a new one comes with every change. The keys are asked for with your client_id and secret (webhook_verification_key/get); configure them as JWK, the new one beside the old",
		ID:       []string{"body:webhook_type", "body:webhook_code", "body:item_id?", "body-sha256"}, IDSigned: true, Level: true, Scope: "one item and environment", Account: "body:item_id",
		IDNote: "there is no event id, and two events that matter (SYNC_UPDATES_AVAILABLE twice) have equal bodies: each delivery says that something changed",
		Type:   "body:webhook_code", Mode: "body:environment", ModeNames: map[string]string{"production": "live", "sandbox": "test", "development": "test"},
		RetryOn: "anything but 200; 6 times, from 30 seconds, each wait four times the last", StopOn: "more than 90 % rejected within a day", RetryHorizon: day, Memory: 2 * day,
		trial: []string{trialP256}, newScheme: newPlaid, sample: sampled("SYNC_UPDATES_AVAILABLE", `{
  "environment": "sandbox",
  "error": null,
  "item_id": "{id}",
  "webhook_code": "SYNC_UPDATES_AVAILABLE",
  "webhook_type": "TRANSACTIONS"
}`),
	})
}

const plaidHeader = "Plaid-Verification"

var plaidRules = jwsRules{algorithms: []jose.SignatureAlgorithm{jose.ES256}}

type plaidScheme struct {
	*material
	published Keys
}

func newPlaid(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil)
	if err != nil {
		return nil, err
	}
	return &plaidScheme{m, o.Keys}, nil
}

func (p *plaidScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	text, state := r.header(plaidHeader)
	switch state {
	case absent:
		return verified{}, refuse(MissingSignature, "header Plaid-Verification is missing or empty")
	case ambiguous:
		return verified{}, refuse(MalformedHeader, "header Plaid-Verification was sent with different values")
	}
	t, refusal := p.verifyJWS(text, &plaidRules, p.published)
	if refusal != nil {
		return verified{}, refusal
	}
	defer t.claims.close()
	said, _ := t.claims.text("request_body_sha256")
	claimed, err := hex.DecodeString(said)
	if sum := sha256.Sum256(body); err != nil || !hmac.Equal(sum[:], claimed) {
		return verified{}, refuse(BodyHashMismatch, "the body's digest is not the one in the signed token: it was changed on the way, its layout perhaps")
	}
	v := verified{label: t.label, timed: true, expires: t.expires()}
	var ok bool
	if v.signed, ok = t.time("iat"); !ok {
		return v, refuse(MalformedHeader, "the token does not say when it was made (iat)")
	}
	return v, nil
}

func (p *plaidScheme) sign(r *Request, body []byte) error {
	sum := sha256.Sum256(body)
	text, err := p.signJWS(fmt.Appendf(nil, `{"iat":%d,"request_body_sha256":"%x"}`, r.Now.Unix(), sum), "JWT", &plaidRules)
	if err == nil {
		r.Header.Set(plaidHeader, text)
	}
	return err
}

func (p *plaidScheme) covers(e *expression) bool { return e.kind != fromHeader && e.kind != fromQuery }

func (p *plaidScheme) idHeader(*Request) string { return "" }
