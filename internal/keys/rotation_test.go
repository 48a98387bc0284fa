package keys_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/onceward/onceward/provider"
)

// TestASenderRotatesItsKeys: a source is told of no key, and follows the sender
// through a rotation and an outage.
func TestASenderRotatesItsKeys(t *testing.T) {
	s := newSite(t)
	pairs := map[string]*ecdsa.PrivateKey{}
	for _, kid := range []string{"old", "new", "forged"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		pairs[kid] = key
	}
	publish := func(kids ...string) {
		set := jose.JSONWebKeySet{}
		for _, kid := range kids {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: &pairs[kid].PublicKey, KeyID: kid, Algorithm: "ES256", Use: "sig"})
		}
		body, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		s.answers(http.StatusOK, body)
	}
	source, err := provider.New(provider.Options{Provider: "rfc8935-set-push", SourceID: "idp", Keys: s.fetcher, Secrets: []provider.Secret{
		{Value: "iss=https://idp"}, {Value: "aud=https://rp"}, {Value: "jwks=" + s.URL + "/jwks"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(kid, signedBy, want string) {
		t.Helper()
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: pairs[signedBy], KeyID: kid}}, (&jose.SignerOptions{}).WithType("secevent+jwt"))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign([]byte(`{"iss":"https://idp","aud":"https://rp","jti":"1"}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		_, err = source.Verify(&provider.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(text), Now: s.clock()})
		var refusal *provider.Refusal
		got := ""
		if errors.As(err, &refusal) {
			got = refusal.Reason
		}
		if got != want {
			t.Errorf("key %s: %q (%v), want %q", kid, got, err, want)
		}
	}
	s.answers(http.StatusServiceUnavailable, nil)
	deliver("old", "old", provider.KeyUnavailable) // not the sender's fault
	s.advance(10 * time.Second)
	publish("old")
	deliver("old", "old", "")
	deliver("old", "forged", provider.SignatureMismatch)
	s.advance(time.Minute)
	publish("old", "new")
	deliver("new", "new", "")
	s.answers(http.StatusServiceUnavailable, nil)
	s.advance(3 * time.Hour)
	deliver("new", "new", "") // an outage of the other side does not stop deliveries
	deliver("old", "old", "")
	s.advance(time.Minute)
	publish("new")
	deliver("old", "old", provider.UnknownKid) // taken back by its owner
	deliver("new", "new", "")
}
