package intake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/provider"
)

func TestWhatIsNotAuthenticIsRefusedAndTouchesNoStore(t *testing.T) {
	mac := hmac.New(sha256.New, []byte(sharedSecret))
	mac.Write([]byte(paid))
	sum := mac.Sum(nil)
	for name, spoil := range map[string]func(*http.Request){
		"no signature":             func(q *http.Request) { q.Header.Del("X-Signature") },
		"an empty signature":       func(q *http.Request) { q.Header.Set("X-Signature", "") },
		"a wrong signature":        func(q *http.Request) { q.Header.Set("X-Signature", "sha256="+strings.Repeat("0", 64)) },
		"half of the right one":    func(q *http.Request) { q.Header.Set("X-Signature", q.Header.Get("X-Signature")[:40]) },
		"the secret as signature":  func(q *http.Request) { q.Header.Set("X-Signature", "sha256="+sharedSecret) },
		"the signature of another": func(q *http.Request) { q.Body = http.NoBody; q.ContentLength = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) { r.places.free = 1 })
			q := r.signed(paid)
			spoil(q)
			a := r.send(q)
			a.refused(t, http.StatusUnauthorized, "unauthenticated")
			r.counted("unauthenticated")
			r.places.want(t, 0, 0, 0, 0)
			if r.store.called() != 0 {
				t.Errorf("%d store calls", r.store.called())
			}
			for what, text := range map[string]string{"answer": a.text, "log": r.log.String()} {
				for _, hidden := range []string{sharedSecret, hex.EncodeToString(sum), base64.StdEncoding.EncodeToString(sum)} {
					if strings.Contains(text, hidden) {
						t.Errorf("the %s tells the secret or the expected signature: %s", what, text)
					}
				}
			}
		})
	}
}

func TestAStaleTimestampIsRefused(t *testing.T) {
	o := provider.Options{Provider: "stripe", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}}
	for name, c := range map[string]struct {
		later time.Duration
		code  int
	}{
		"within the tolerance": {5 * time.Minute, 200},
		"too old":              {5*time.Minute + time.Second, 401},
		"from the future":      {-5*time.Minute - time.Second, 401},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, o)
			q := r.signed(`{"id":"evt_1","type":"order.x","livemode":true}`)
			r.advance(c.later)
			a := r.send(q)
			if a.StatusCode != c.code {
				t.Fatalf("answered %d %s, want %d", a.StatusCode, a.text, c.code)
			}
			if c.code == 401 {
				a.refused(t, 401, provider.OutsideTolerance)
				r.counted("stale")
				if r.store.called() != 0 {
					t.Error("the store was asked")
				}
			}
		})
	}
}

func TestAddressesAndMethods(t *testing.T) {
	r := newRig(t, shop())
	for name, c := range map[string]struct {
		method, path string
		code         int
		kind         string
	}{
		"an unknown source":            {"POST", "/in/other", 404, "unknown-source"},
		"no source":                    {"POST", "/in/", 404, "unknown-source"},
		"something below a source":     {"POST", "/in/shop/more", 404, "unknown-source"},
		"another path":                 {"POST", "/shop", 404, "unknown-source"},
		"an unknown source by GET":     {"GET", "/in/other", 404, "unknown-source"},
		"a known source by GET":        {"GET", "/in/shop", 405, "method-not-allowed"},
		"a known source by PUT":        {"PUT", "/in/shop", 405, "method-not-allowed"},
		"two slashes after the name":   {"POST", "/in/shop//", 404, "unknown-source"},
		"the name in another spelling": {"POST", "/in/SHOP", 404, "unknown-source"},
	} {
		t.Run(name, func(t *testing.T) {
			a := r.send(httptest.NewRequest(c.method, c.path, strings.NewReader(paid)))
			a.refused(t, c.code, c.kind)
			if c.code == 405 && a.Header.Get("Allow") != "POST" {
				t.Errorf("Allow: %q", a.Header.Get("Allow"))
			}
		})
	}
	if r.store.called() != 0 {
		t.Errorf("%d store calls", r.store.called())
	}
	t.Run("a slash at the end changes nothing", func(t *testing.T) {
		q := r.signed(paid)
		q.URL.Path += "/"
		r.send(q).want(t, 200, "accepted")
	})
	t.Run("a source that was taken out is unknown", func(t *testing.T) {
		r.handler.SetSources(map[string]*intake.Source{})
		r.send(r.signed(paid)).refused(t, 404, "unknown-source")
	})
}

func TestRefusalsAreLoggedOnceASecondAndCountedAll(t *testing.T) {
	r := newRig(t, shop())
	refuse := func() {
		r.send(httptest.NewRequest("POST", "/in/shop", strings.NewReader(paid))).refused(t, 401, "unauthenticated")
	}
	for range 40 {
		refuse()
	}
	if n := strings.Count(r.log.String(), "delivery refused"); n != 1 {
		t.Errorf("%d lines within one second", n)
	}
	r.advance(time.Second)
	refuse()
	if n := strings.Count(r.log.String(), "delivery refused"); n != 2 || !strings.Contains(r.log.String(), `"more_since_last_line":39`) {
		t.Errorf("a second later: %s", r.log)
	}
	if len(r.statuses) != 41 {
		t.Errorf("%d refusals counted, want 41", len(r.statuses))
	}
}
