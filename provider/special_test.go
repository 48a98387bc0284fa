package provider_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// special is how a sender with a scheme of its own is tried.
type special struct {
	name          string
	first, second []string // the secrets that sign, and others of the same shape
	// alter changes the signed body; the default appends a blank.
	alter func(body []byte) []byte
	// altered and wrong are the reasons of those two; signature-mismatch when empty.
	altered, wrong string
	signsNothing   bool // of the body
}

func replaced(old, new string) func([]byte) []byte {
	return func(body []byte) []byte { return bytes.Replace(body, []byte(old), []byte(new), 1) }
}

var pairs = map[string]string{}

// keyPair makes the n-th private key of a kind, as PEM, with settings beside it.
func keyPair(kind string, n int, settings ...string) []string {
	name := kind + string(rune('0'+n))
	if pairs[name] == "" {
		var key any
		switch kind {
		case "ed25519":
			key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(n + 1)}, ed25519.SeedSize))
		case "p256":
			key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		case "rsa":
			key, _ = rsa.GenerateKey(rand.Reader, 2048)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			panic(err)
		}
		pairs[name] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	return append([]string{pairs[name]}, settings...)
}

func specials() []special {
	return []special{
		{name: "box", first: []string{"k1"}, second: []string{"k2"}},
		{name: "twilio", first: []string{"k1"}, second: []string{"k2"}, alter: replaced("=delivered", "=failed")},
		{name: "twilio-event-streams", first: []string{"k1"}, second: []string{"k2"}, altered: provider.BodyHashMismatch},
		{name: "docusign", first: []string{"k1"}, second: []string{"k2"}},
		{name: "adyen-standard", first: []string{"aa11"}, second: []string{"bb22"}, alter: replaced(`"success":"true"`, `"success":"false"`)},
		{name: "hubspot", first: []string{"k1"}, second: []string{"k2"}},
		{name: "contentful", first: []string{"k1"}, second: []string{"k2"}},
		{name: "mailgun", first: []string{"k1"}, second: []string{"k2"}, signsNothing: true},
		{name: "mandrill", first: []string{"k1"}, second: []string{"k2"}, alter: replaced("send", "open")},
		{name: "discord", first: keyPair("ed25519", 0), second: keyPair("ed25519", 1)},
		{name: "telnyx", first: keyPair("ed25519", 0), second: keyPair("ed25519", 1)},
		{name: "sendgrid", first: keyPair("p256", 0), second: keyPair("p256", 1)},
		{name: "aws-sns", first: keyPair("rsa", 0, "topic=arn:aws:sns:us-west-2:123456789012:sample"), second: keyPair("rsa", 1), alter: replaced("order", "other")},
		{name: "paypal", first: keyPair("rsa", 0, "webhook-id=W1"), second: keyPair("rsa", 1, "webhook-id=W2")},
		{name: "plaid", first: keyPair("p256", 0), second: keyPair("p256", 1), altered: provider.BodyHashMismatch},
		{name: "google-pubsub-push", first: keyPair("rsa", 0, "aud=a", "email=e@example.com"), second: keyPair("rsa", 1, "aud=a", "email=e@example.com"), signsNothing: true},
		{name: "rfc8935-set-push", first: keyPair("rsa", 0, "iss=i", "aud=a"), second: keyPair("rsa", 1, "iss=i", "aud=a"), alter: func(b []byte) []byte { return append(bytes.Clone(b[:len(b)-8]), "AAAAAAAA"...) }},
		{name: "microsoft-graph", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.ClientStateMismatch, signsNothing: true},
		{name: "azure-event-grid", first: []string{"header:X-Secret=s1"}, second: []string{"header:X-Secret=s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "cloudevents", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "salesforce-outbound", first: []string{"header:X-Secret=s1"}, second: []string{"header:X-Secret=s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "auth0-event-streams", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "mailchimp", first: []string{"header:X-Secret=s1"}, second: []string{"header:X-Secret=s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "aws-eventbridge", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "datadog", first: []string{"u:s1"}, second: []string{"u:s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "telegram", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "okta", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "postmark", first: []string{"u:s1"}, second: []string{"u:s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "auth0-log-streams", first: []string{"s1"}, second: []string{"s2"}, wrong: provider.TokenMismatch, signsNothing: true},
		{name: "braintree", first: []string{"pub:k1"}, second: []string{"pub:k2"}, alter: replaced("bt_payload=PD94", "bt_payload=QD94")},
	}
}

func labelled(values ...[]string) []provider.Secret {
	var list []provider.Secret
	for n, group := range values {
		for _, v := range group {
			list = append(list, provider.Secret{Label: "secret " + string(rune('1'+n)), Value: v})
		}
	}
	return list
}

// TestEverySpecialSender signs a sample as the sender would and changes one
// thing at a time: copy, altered body, wrong secret, rotated secret, stale.
func TestEverySpecialSender(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	tried := map[string]bool{}
	for _, test := range specials() {
		tried[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			c, _ := provider.Find(test.name)
			source := func(secrets []provider.Secret) *provider.Source {
				return mustNew(t, provider.Options{Provider: test.name, SourceID: "s", Secrets: secrets})
			}
			sender := source(labelled(test.first))
			sample := func(id string, n int) *provider.Request {
				r := sender.SampleAt(id, n, now)
				r.Now, r.URL = now, "https://hooks.example.com/in/s"
				return sign(t, sender, r)
			}
			one := sample("sample-1", 1)
			if _, err := sender.Verify(one); err != nil {
				t.Fatalf("its own signature: %v", err)
			}
			first := only(t, sender, one)
			if first.Verdict != onceward.Accepted || first.Type == "" {
				t.Fatalf("the sample is %s (%s), type %q", first.Verdict, first.Reason, first.Type)
			}
			if at := first.OccurredAt; !at.IsZero() && !at.Equal(now) {
				t.Errorf("the sample occurred at %s, not now: it would be held as older than the memory", at)
			}
			if again := only(t, sender, sample("sample-1", 1)); again.Key != first.Key && !c.Level {
				t.Errorf("a copy is %+v, the first was %+v", again.Key, first.Key)
			}
			if other := only(t, sender, sample("sample-2", 2)); other.Key == first.Key {
				t.Errorf("another event has the same key: %+v", other.Key)
			}
			if err := sender.Sign(one); err != nil {
				t.Errorf("signing again: %v", err)
			} else if _, err := sender.Verify(one); err != nil {
				t.Errorf("signed again: %v", err)
			}
			if label, err := source(labelled(test.second, test.first)).Verify(one); err != nil || label != "secret 2" {
				t.Errorf("with the old secret behind the new one: %q, %v", label, err)
			}
			refused := func(what string, s *provider.Source, r *provider.Request, reason string) {
				t.Helper()
				if reason == "" {
					reason = provider.SignatureMismatch
				}
				var refusal *provider.Refusal
				if _, err := s.Verify(r); !errors.As(err, &refusal) || refusal.Reason != reason {
					t.Errorf("%s: %v, want %s", what, err, reason)
					return
				}
				for _, secret := range labelled(test.first, test.second) {
					if len(secret.Value) > 3 && strings.Contains(refusal.Error(), secret.Value) {
						t.Errorf("%s: the error holds a secret", what)
					}
				}
			}
			refused("another secret", source(labelled(test.second)), one, test.wrong)
			if !test.signsNothing {
				altered := sample("sample-1", 1)
				if test.alter == nil {
					altered.Body = append(bytes.Clone(altered.Body), ' ')
				} else if changed := test.alter(altered.Body); bytes.Equal(changed, altered.Body) {
					t.Fatal("nothing was altered")
				} else {
					altered.Body = changed
				}
				refused("an altered body", sender, altered, test.altered)
			}
			bare := sample("sample-1", 1)
			for _, name := range append(append(c.Headers, c.Credentials...), "X-Secret") {
				bare.Header.Del(name)
			}
			if len(c.Headers)+len(c.Credentials) == 0 {
				bare.Body = []byte("{}")
			}
			if _, err := sender.Verify(bare); err == nil {
				t.Error("without its signature it is taken")
			}
			if c.Tolerance > 0 {
				late := sample("sample-1", 1)
				late.Now = now.Add(c.Tolerance + 2*time.Second)
				refused("stale", sender, late, provider.OutsideTolerance)
			}
		})
	}
	for _, c := range provider.Contracts() {
		if !plain(c) && c.Category != "generic" && c.Name != "gitlab" && !tried[c.Name] {
			t.Errorf("%s is not tried", c.Name)
		}
	}
}
