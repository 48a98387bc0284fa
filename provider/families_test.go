package provider_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// plain tells whether a contract's secret is a text that this test can make.
// Senders with key pairs, tokens and the like have tests of their own.
func plain(c provider.Contract) bool {
	return c.Signature.Header != "" || c.Scheme == "svix" || c.Scheme == "standard-webhooks"
}

// testSecret makes the n-th secret as this sender spells it.
func testSecret(c provider.Contract, n byte) provider.Secret {
	text := bytes.Repeat([]byte{'a' + n}, 32)
	s := provider.Secret{Label: "secret " + string('1'+n), Value: string(text)}
	switch {
	case c.Signature.Key == "hex":
		s.Value = hex.EncodeToString(text)
	case c.Signature.Key == "base64":
		s.Value = base64.StdEncoding.EncodeToString(text)
	case c.Signature.Header == "":
		s.Value = "whsec_" + base64.StdEncoding.EncodeToString(text)
	}
	return s
}

// TestEverySender signs a sample as the sender would and changes one thing at a
// time: copy, altered body, wrong secret, rotated secret, stale.
func TestEverySender(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	tried := 0
	for _, c := range provider.Contracts() {
		if !plain(c) || c.Category == "generic" {
			continue
		}
		tried++
		t.Run(c.Name, func(t *testing.T) {
			first, second := testSecret(c, 0), testSecret(c, 1)
			if s, err := provider.New(provider.Options{Provider: c.Name, SourceID: "s", Secrets: []provider.Secret{first}}); err != nil {
				t.Fatal(err)
			} else if s.Contract().IDSigned != c.IDSigned && c.Name != "svix" {
				t.Errorf("the contract says that its id is signed: %v; its expressions say %v", c.IDSigned, s.Contract().IDSigned)
			}
			source := func(secrets ...provider.Secret) *provider.Source {
				s, err := provider.New(provider.Options{Provider: c.Name, SourceID: "s", Secrets: secrets})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			sender := source(first)
			sample := func(id string, n int) *provider.Request {
				r := sender.SampleAt(id, n, now)
				r.Now, r.URL = now, "https://hooks.example.com/in/s"
				if err := sender.Sign(r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			one := sample("sample-1", 1)
			if _, err := sender.Verify(one); err != nil {
				t.Fatalf("its own signature: %v", err)
			}
			arrivals := sender.Arrivals(one)
			if len(arrivals) != 1 || arrivals[0].Verdict != onceward.Accepted {
				t.Fatalf("the sample is %+v", arrivals)
			}
			if at := arrivals[0].OccurredAt; !at.IsZero() && !at.Equal(now) {
				t.Errorf("the sample occurred at %s, not now: it would be held as older than the memory", at)
			}
			again := sender.Arrivals(sample("sample-1", 1))[0]
			if again.Key != arrivals[0].Key {
				t.Errorf("a copy is %+v, the first was %+v", again.Key, arrivals[0].Key)
			}
			if other := sender.Arrivals(sample("sample-2", 2))[0]; other.Key == arrivals[0].Key && !c.Level {
				t.Errorf("another event has the same key: %+v", other.Key)
			}
			if label, err := source(second, first).Verify(one); err != nil || label != first.Label {
				t.Errorf("with the old secret behind the new one: %q, %v", label, err)
			}
			refused := func(what string, s *provider.Source, r *provider.Request, reason string) {
				t.Helper()
				var refusal *provider.Refusal
				if _, err := s.Verify(r); !errors.As(err, &refusal) || refusal.Reason != reason {
					t.Errorf("%s: %v, want %s", what, err, reason)
				} else if strings.Contains(err.Error(), first.Value) || strings.Contains(err.Error(), second.Value) {
					t.Errorf("%s: the error holds a secret", what)
				}
			}
			refused("another secret", source(second), one, provider.SignatureMismatch)
			altered := sample("sample-1", 1)
			altered.Body = append(bytes.Clone(altered.Body), ' ')
			refused("an altered body", sender, altered, provider.SignatureMismatch)
			bare := sample("sample-1", 1)
			for _, name := range c.Headers {
				bare.Header.Del(name)
			}
			if _, err := sender.Verify(bare); err == nil {
				t.Error("without its headers it is taken")
			}
			if c.Tolerance > 0 {
				late := sample("sample-1", 1)
				late.Now = now.Add(c.Tolerance + 2*time.Second)
				refused("stale", sender, late, provider.OutsideTolerance)
			}
			if level := sender.Level(one); level != (c.Level && len(c.FormID) == 0) {
				t.Errorf("the sample is a level trigger: %v", level)
			}
		})
	}
	if tried < 50 {
		t.Errorf("only %d senders were tried", tried)
	}
}

// zoomToken is HMAC-SHA-256 of the token under the secret, by another program.
const zoomToken = "db6383ade33d0009d1b1b308b7f27f386663f7ead5201b3af7f78ad3c84c2e5e"

func TestUnsignedHandshakes(t *testing.T) {
	const secret = "meatyhamhock-0123456789"
	for _, test := range []struct {
		name, provider string
		r              provider.Request
		status         int // 0: not a handshake
		body           string
	}{
		{"meta's challenge", "meta", provider.Request{Method: "GET", URL: "/in/m?hub.mode=subscribe&hub.challenge=42&hub.verify_token=" + secret}, 200, "42"},
		{"meta's challenge under another token", "meta", provider.Request{Method: "GET", URL: "/in/m?hub.mode=subscribe&hub.challenge=42&hub.verify_token=guess"}, 0, ""},
		{"dropbox's challenge", "dropbox", provider.Request{Method: "GET", URL: "/in/d?challenge=abc"}, 200, "abc"},
		{"an empty GET", "dropbox", provider.Request{Method: "GET", URL: "/in/d"}, 0, ""},
		{"intercom's HEAD", "intercom", provider.Request{Method: "HEAD", URL: "/in/i"}, 200, ""},
		{"woocommerce's ping", "woocommerce", provider.Request{Method: "POST", Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte("webhook_id=5")}, 200, ""},
		{"a form that is signed is no ping", "woocommerce", provider.Request{Method: "POST", Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Wc-Webhook-Signature": {"x"}}, Body: []byte("webhook_id=5")}, 0, ""},
		{
			"zoom's validation", "zoom",
			provider.Request{Method: "POST", Body: []byte(`{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}`)},
			200,
			`{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"` + zoomToken + `"}`,
		},
		{"zoom's validation does not sign events", "zoom", provider.Request{Method: "POST", Body: []byte(`{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1767323045:{}"}}`)}, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := provider.New(provider.Options{Provider: test.provider, SourceID: "s", Secrets: []provider.Secret{{Value: secret}}})
			if err != nil {
				t.Fatal(err)
			}
			reply, ok := s.Greet(&test.r)
			if ok != (test.status != 0) || reply.Status != test.status && ok || string(reply.Body) != test.body {
				t.Errorf("answered %v %d %q", ok, reply.Status, reply.Body)
			}
		})
	}
}

func TestListsOfLists(t *testing.T) {
	items := func(t *testing.T, name, body string) []onceward.Arrival {
		t.Helper()
		s, err := provider.New(provider.Options{Provider: name, SourceID: "s", Secrets: []provider.Secret{{Value: "0123456789abcdef"}}})
		if err != nil {
			t.Fatal(err)
		}
		return s.Arrivals(&provider.Request{Method: "POST", Header: http.Header{}, Body: []byte(body)})
	}
	for _, test := range []struct {
		name, provider, body string
		want                 []string // ids, with ! in front when quarantined
	}{
		{
			"a message and an update of a page", "meta", `{"object":"page","entry":[{"id":"p1","messaging":[{"message":{"mid":"m1"}},{"message":{"mid":"m2"}}]},{"id":"p2","changes":[{"field":"feed"}]}]}`,
			[]string{"m1", "m2", "p2|sha256:7b8e7b00"},
		},
		{
			"entities of two companies", "quickbooks", `{"eventNotifications":[{"realmId":"1","dataChangeEvent":{"entities":[{"name":"Customer","id":"1","operation":"Create","lastUpdated":"t"}]}},{"realmId":"2","dataChangeEvent":{"entities":[{"name":"Invoice","id":"9","operation":"Update","lastUpdated":"t"}]}}]}`,
			[]string{"Customer|1|Create|t", "Invoice|9|Update|t"},
		},
		{"cloud events", "quickbooks", `[{"intuitaccountid":"1","id":"a"},{"intuitaccountid":"1","id":"b"}]`, []string{"1|a", "1|b"}},
		{"an item without identity is held, the others are not", "line", `{"events":[{"webhookEventId":"a","type":"t"},7,{"type":"t"}]}`, []string{"a", "!sha256:", "!sha256:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := items(t, test.provider, test.body)
			if len(list) != len(test.want) {
				t.Fatalf("%d items, want %d: %+v", len(list), len(test.want), list)
			}
			for i, want := range test.want {
				id, held := strings.CutPrefix(want, "!")
				if a := list[i]; !strings.HasPrefix(a.Shown, id) || held != (a.Verdict == onceward.QuarantinedBy) || a.Item != i+1 || a.Of != len(list) {
					t.Errorf("item %d is %q, %s (%s)", i+1, a.Shown, a.Verdict, a.Reason)
				}
			}
		})
	}
	t.Run("an empty list is one ignored event", func(t *testing.T) {
		if list := items(t, "line", `{"destination":"x","events":[]}`); len(list) != 1 || list[0].Verdict != onceward.Ignored {
			t.Errorf("%+v", list)
		}
	})
	t.Run("what is no batch is held whole", func(t *testing.T) {
		if list := items(t, "gocardless", `{"events":"none"}`); len(list) != 1 || list[0].Verdict != onceward.QuarantinedBy {
			t.Errorf("%+v", list)
		}
	})
	t.Run("ten thousand items are read, one more is not", func(t *testing.T) {
		body := func(n int) string {
			return `{"events":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, n), ",") + `]}`
		}
		if list := items(t, "gocardless", body(10_000)); len(list) != 10_000 {
			t.Errorf("%d", len(list))
		}
		if list := items(t, "gocardless", body(10_001)); len(list) != 1 || list[0].Verdict != onceward.QuarantinedBy {
			t.Errorf("%d", len(list))
		}
	})
}
