package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// plaid signs a token in which the digest of the body is.
func plaid() Contract {
	return completed(Contract{
		Name: "plaid", Title: "Plaid", Category: "fintech", SourceDocs: []string{"Plaid Docs: Webhooks", "Plaid Docs: Verify webhooks"}, Confidence: "verified-from-docs",
		Scheme: "plaid-jwt", Headers: []string{plaidHeader}, Tolerance: 5 * time.Minute, BodySigned: true,
		Rotation: "Plaid's: a token names its key by id, and a new one comes with every change. They are asked for with your credentials, written as client_id=… and secret=… (and environment=sandbox where it is not production), or given as JWK",
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

type plaidScheme struct {
	*material
	published Keys
	rules     jwsRules
}

func newPlaid(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil, "client_id", "secret", "environment")
	if err != nil {
		return nil, err
	}
	p := &plaidScheme{m, o.Keys, jwsRules{algorithms: []jose.SignatureAlgorithm{jose.ES256}}}
	id, secret := m.settings["client_id"], m.settings["secret"]
	switch {
	case len(id) == 0 && len(secret) == 0 && len(m.keys) > 0:
		return p, nil
	case len(id) == 0 || len(id) != len(secret):
		return nil, wrong("secrets", "lack the credentials with which Plaid's keys are asked for: client_id=… and secret=…; or give the keys as JWK")
	}
	environment := "production"
	if said := m.settings["environment"]; len(said) > 0 {
		environment = said[len(said)-1]
	}
	if environment != "production" && environment != "sandbox" {
		return nil, wrong("secrets", "environment=… is production or sandbox")
	}
	p.rules.ask = func(published Keys, kid string) (key jose.JSONWebKey, found bool, err error) {
		for i := range secret { // while the secret is rotated there are two
			var body []byte
			if body, err = json.Marshal(map[string]string{"client_id": id[i], "secret": secret[i], "key_id": kid}); err != nil {
				return key, false, err
			}
			if key, found, err = published.Ask("https://"+environment+".plaid.com/webhook_verification_key/get", kid, body); found {
				break
			}
		}
		return key, found, err
	}
	return p, nil
}

func (p *plaidScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	text, refusal := r.must(plaidHeader, "Plaid-Verification", MissingSignature)
	if refusal != nil {
		return verified{}, refusal
	}
	t, refusal := p.verifyJWS(text, &p.rules, p.published)
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
	text, err := p.signJWS(fmt.Appendf(nil, `{"iat":%d,"request_body_sha256":"%x"}`, r.Now.Unix(), sum), "JWT", &p.rules)
	if err == nil {
		r.Header.Set(plaidHeader, text)
	}
	return err
}

func (p *plaidScheme) covers(e *expression) bool { return e.kind != fromHeader && e.kind != fromQuery }

func (p *plaidScheme) idHeader(*Request) string { return "" }
