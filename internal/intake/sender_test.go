package intake_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/provider"
)

// sampled is a signed sample of the rig's sender.
func (r *rig) sampled(id string) *http.Request {
	r.Helper()
	s := r.source.Provider.Sample(id, 1)
	s.URL, s.Now = "http://example.com/in/shop", r.clock()
	if err := r.source.Provider.Sign(s); err != nil {
		r.Fatal(err)
	}
	q := httptest.NewRequest(http.MethodPost, s.URL, bytes.NewReader(s.Body))
	q.Header = s.Header
	return q
}

func TestASenderThatNeverComesBackAfter4xxIsTold503(t *testing.T) {
	r := newRig(t, provider.Options{Provider: "okta", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}}, func(r *rig) { r.options.MaxRequests = 1 })
	r.occupied(func() {
		a := r.send(r.sampled("e1"))
		a.refused(t, http.StatusServiceUnavailable, "overloaded")
		if a.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
		}
	})
	if a := r.send(r.sampled("e1")); a.StatusCode != 200 || a.text != "" {
		t.Errorf("with room: %d %q, want 200 without a body", a.StatusCode, a.text)
	}
}

func TestAKeyThatCannotBeFetchedIsNotTheSendersFault(t *testing.T) {
	r := newRig(t, provider.Options{Provider: "paypal", SourceID: "shop", Secrets: []provider.Secret{{Value: "webhook-id=W1"}}})
	q := httptest.NewRequest(http.MethodPost, "/in/shop", strings.NewReader("{}"))
	for name, value := range map[string]string{
		"Paypal-Transmission-Id": "1", "Paypal-Transmission-Time": "2026-01-02T12:00:00Z", "Paypal-Transmission-Sig": "AAAA",
		"Paypal-Auth-Algo": "SHA256withRSA", "Paypal-Cert-Url": "https://api.paypal.com/c",
	} {
		q.Header.Set(name, value)
	}
	a := r.send(q)
	a.refused(t, http.StatusServiceUnavailable, "keys-unavailable")
	if a.Header.Get("Retry-After") == "" || r.store.called() != 0 {
		t.Errorf("Retry-After %q, %d store calls", a.Header.Get("Retry-After"), r.store.called())
	}
	r.counted("unavailable")
}

func TestSecurityEventTokensAreAnsweredInTheWordsOfTheirRFC(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []provider.Secret{{Value: "iss=https://idp.example.com/"}, {Value: "aud=https://rp.example.com"}, {Value: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}}
	r := newRig(t, provider.Options{Provider: "rfc8935-set-push", SourceID: "shop", Secrets: secrets}, func(r *rig) { r.source.Operations = []intake.Operation{{Name: "revoke"}} })
	token := r.sampled("jti-1")
	for range 2 { // a copy is a success as well
		if a := r.send(token.Clone(t.Context())); a.StatusCode != http.StatusAccepted || a.text != "" || a.Header.Get("Onceward-Event") == "" {
			t.Fatalf("answered %d %q", a.StatusCode, a.text)
		}
		token = r.sampled("jti-1")
	}
	if n := len(r.store.known); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	for body, code := range map[string]string{"{}": "invalid_request", "a.b.c": "invalid_request"} {
		q := httptest.NewRequest(http.MethodPost, "/in/shop", strings.NewReader(body))
		if a := r.send(q); a.StatusCode != http.StatusBadRequest || a.json["err"] != code || a.json["description"] == "" {
			t.Errorf("%q: answered %d %s, want 400 %s", body, a.StatusCode, a.text, code)
		}
	}
}

func TestSoapIsAcknowledgedAsTheSenderWants(t *testing.T) {
	r := newRig(t, provider.Options{Provider: "salesforce-outbound", SourceID: "shop", Secrets: []provider.Secret{{Value: "query:key=" + sharedSecret}}})
	a := r.send(r.sampled("04l1"))
	if a.StatusCode != 200 || !strings.Contains(a.text, "<Ack>true</Ack>") || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/xml") {
		t.Errorf("answered %d %s", a.StatusCode, a.text)
	}
	r.counted("ignored")
	if raw := r.store.admissions[0].Arrivals[0].Raw; !bytes.HasPrefix(raw, []byte("<Notification>")) || !bytes.HasSuffix(raw, []byte("</Notification>")) {
		t.Errorf("the item is not as it stood: %s", raw)
	}
}

func TestDiscordsPingIsAnsweredOnlyWhenSigned(t *testing.T) {
	seed := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	der, err := x509.MarshalPKCS8PrivateKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, provider.Options{Provider: "discord", SourceID: "shop", Secrets: []provider.Secret{{Value: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}}})
	if a := r.deliver(`{"version":1,"application_id":"1","type":0}`); a.StatusCode != http.StatusNoContent || a.Header.Get("Content-Type") == "" {
		t.Errorf("a ping: %d %v", a.StatusCode, a.Header)
	}
	if a := r.deliver(`{"id":"1","type":1,"token":"t"}`); a.StatusCode != 200 || a.text != `{"type":1}` {
		t.Errorf("an interaction's ping: %d %s", a.StatusCode, a.text)
	}
	a := r.send(httptest.NewRequest(http.MethodPost, "/in/shop", strings.NewReader(`{"version":1,"application_id":"1","type":0}`)))
	a.refused(t, http.StatusUnauthorized, "unauthenticated")
	if r.store.called() != 0 {
		t.Errorf("%d store calls", r.store.called())
	}
}

// TestASubscriptionIsConfirmed: only that of a configured topic, at the
// sender's own host, and not acknowledged before it is.
func TestASubscriptionIsConfirmed(t *testing.T) {
	const topic = "arn:aws:sns:us-west-2:123456789012:sample"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := provider.Secret{Value: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
	const good = "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=x&Token=t"
	for _, test := range []struct {
		name, kind, url string
		secrets         []provider.Secret
		fails           bool
		visits, status  int
	}{
		{"a topic that is ours", "SubscriptionConfirmation", good, []provider.Secret{private, {Value: "topic=" + topic}}, false, 1, 200},
		{"when it fails", "SubscriptionConfirmation", good, []provider.Secret{private, {Value: "topic=" + topic}}, true, 1, 503},
		{"without topics nothing is confirmed", "SubscriptionConfirmation", good, []provider.Secret{private}, false, 0, 200},
		{"another topic", "SubscriptionConfirmation", good, []provider.Secret{private, {Value: "topic=" + topic + "2"}}, false, 0, 401},
		{"another host", "SubscriptionConfirmation", "https://169.254.169.254/?Action=ConfirmSubscription", []provider.Secret{private, {Value: "topic=" + topic}}, false, 0, 200},
		{"another action", "SubscriptionConfirmation", "https://sns.us-west-2.amazonaws.com/?Action=DeleteTopic", []provider.Secret{private, {Value: "topic=" + topic}}, false, 0, 200},
		{"the end of a subscription", "UnsubscribeConfirmation", good, []provider.Secret{private, {Value: "topic=" + topic}}, false, 0, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			var visited []string
			r := newRig(t, provider.Options{Provider: "aws-sns", SourceID: "shop", Secrets: test.secrets}, func(r *rig) {
				r.options.Visit = func(url string) error {
					visited = append(visited, url)
					if test.fails {
						return errors.New("no answer")
					}
					return nil
				}
			})
			body := `{"Type":"` + test.kind + `","MessageId":"m1","Token":"t","TopicArn":"` + topic + `","Message":"subscribe?","SubscribeURL":"` + test.url +
				`","Timestamp":"2026-01-02T12:00:00.000Z","SignatureVersion":"2","Signature":"","SigningCertURL":"https://sns.us-west-2.amazonaws.com/a.pem"}`
			signer, err := provider.New(provider.Options{Provider: "aws-sns", SourceID: "s", Secrets: []provider.Secret{private}})
			if err != nil {
				t.Fatal(err)
			}
			s := &provider.Request{Method: "POST", Body: []byte(body), Header: http.Header{}, Now: noon}
			if err := signer.Sign(s); err != nil {
				t.Fatal(err)
			}
			a := r.send(httptest.NewRequest(http.MethodPost, "/in/shop", bytes.NewReader(s.Body)))
			if a.StatusCode != test.status || len(visited) != test.visits || test.visits > 0 && visited[0] != good {
				t.Errorf("answered %d %s, visited %q", a.StatusCode, a.text, visited)
			}
			if want := map[bool]int{true: 1}[test.status == 200]; len(r.store.admissions) != want {
				t.Errorf("%d admissions, want %d", len(r.store.admissions), want)
			}
		})
	}
}

// TestAnItemIsOfItsOwnMediaType: a JSON event does not go out as the form that
// it came in.
func TestAnItemIsOfItsOwnMediaType(t *testing.T) {
	r := newRig(t, provider.Options{Provider: "mandrill", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}})
	if a := r.send(r.sampled("m1")); a.StatusCode != 200 {
		t.Fatalf("answered %d %s", a.StatusCode, a.text)
	}
	a := r.store.admissions[0]
	if !strings.Contains(string(a.Header), "Content-Type: application/json\n") || strings.Contains(string(a.Header), "form-urlencoded") || a.Arrivals[0].Raw[0] != '{' {
		t.Errorf("%s %s", a.Header, a.Arrivals[0].Raw)
	}
}
