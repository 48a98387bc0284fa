package keys_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/onceward/onceward/internal/keys"
	"github.com/onceward/onceward/provider"
)

var _ provider.Keys = (*keys.Fetcher)(nil)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// site is a sender's server whose answer can be changed, and a fetcher that
// trusts it.
type site struct {
	*testing.T
	*httptest.Server
	fetcher *keys.Fetcher
	asked   atomic.Int64
	mu      sync.Mutex
	now     time.Time
	status  int
	body    []byte
	begun   chan struct{} // told when an answer begins to wait
	held    chan struct{} // answers wait for it while it is not nil
}

func newSite(t *testing.T) *site {
	s := &site{T: t, now: noon, status: 200, begun: make(chan struct{}, 1)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		s.mu.Lock()
		status, body, held := s.status, s.body, s.held
		s.mu.Unlock()
		if held != nil {
			select {
			case s.begun <- struct{}{}:
			default:
			}
			<-held
		}
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(authority(t).cert)
	s.fetcher = keys.New(keys.Options{Transport: s.Client().Transport, Roots: roots, Now: s.clock})
	return s
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *site) answers(status int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

// want checks how often the site was asked.
func (s *site) want(asked int64) {
	s.Helper()
	if n := s.asked.Load(); n != asked {
		s.Errorf("asked %d times, want %d", n, asked)
	}
}

// key asks for a key and checks what came of it: "found", "unknown" or "error".
func (s *site) key(kid, want string) {
	s.Helper()
	_, found, err := s.fetcher.Key(s.URL+"/keys", kid)
	got := map[bool]string{true: "found", false: "unknown"}[found]
	if err != nil {
		got = "error"
		if strings.Contains(err.Error(), "/keys") {
			s.Errorf("the error holds the address: %v", err)
		}
	}
	if got != want {
		s.Errorf("key %s: %s (%v), want %s", kid, got, err, want)
	}
}

// set writes a key set with these ids, beside keys that are not for us.
func set(t *testing.T, kids ...string) []byte {
	t.Helper()
	list := []any{json.RawMessage(`{"kty":"new","kid":"odd"}`), json.RawMessage(`{"kty":"oct","kid":"shared","k":"AAAA"}`)}
	for _, kid := range kids {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, jose.JSONWebKey{Key: &private.PublicKey, KeyID: kid, Algorithm: "ES256"})
	}
	body, err := json.Marshal(map[string]any{"keys": list})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAKeyIsFetchedOnceAnHour(t *testing.T) {
	s := newSite(t)
	s.answers(200, set(t, "a"))
	for range 5 {
		s.key("a", "found")
	}
	s.want(1)
	s.advance(59 * time.Minute)
	s.key("a", "found")
	s.want(1)
	s.advance(2 * time.Minute)
	s.key("a", "found")
	s.want(2)
}

func TestAnUnknownKeyAsksAnewOnceAMinute(t *testing.T) {
	s := newSite(t)
	s.answers(200, set(t, "a"))
	s.key("a", "found")
	for range 5 {
		s.key("b", "unknown") // the set was fetched a moment ago
	}
	s.want(1)
	s.advance(time.Minute)
	s.answers(200, set(t, "a", "b"))
	s.key("b", "found")
	s.want(2)
	s.key("odd", "unknown")
	s.key("shared", "unknown") // with a shared secret whoever reads the set could sign
}

func TestWhatWasFetchedCountsWhileTheOtherSideFails(t *testing.T) {
	s := newSite(t)
	s.answers(200, set(t, "a"))
	s.key("a", "found")
	s.answers(500, nil)
	s.advance(2 * time.Hour)
	for range 5 {
		s.key("a", "found")
	}
	s.want(2) // and is not asked at every delivery
	s.key("b", "error")
	s.want(2)
	s.advance(10 * time.Second)
	s.key("b", "error")
	s.want(3)
	s.advance(22 * time.Hour)
	s.key("a", "error") // a day is over
	s.answers(200, set(t, "a"))
	s.advance(10 * time.Second)
	s.key("a", "found")
}

func TestOneAsksForAll(t *testing.T) {
	s := newSite(t)
	s.answers(200, set(t, "a"))
	held := make(chan struct{})
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { s.key("a", "found") })
	}
	<-s.begun // the first has asked
	close(held)
	all.Wait()
	s.want(1)
}

func TestWhoCanBeServedDoesNotWait(t *testing.T) {
	s := newSite(t)
	s.answers(200, set(t, "a"))
	s.key("a", "found")
	s.advance(2 * time.Hour)
	held := make(chan struct{})
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	var one sync.WaitGroup
	one.Go(func() { s.key("a", "found") })
	<-s.begun           // it waits for the answer
	s.key("a", "found") // answered while the other is still asking
	close(held)
	one.Wait()
	s.want(2)
}

func TestAnswersAreBounded(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   []byte
	}{
		"too large":     {200, append(set(t, "a"), []byte(strings.Repeat(" ", 256<<10))...)},
		"a redirect":    {302, set(t, "a")},
		"not found":     {404, set(t, "a")},
		"no set":        {200, []byte(`[]`)},
		"an empty page": {200, nil},
		"HTML":          {200, []byte("<html>")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.answers(answer.status, answer.body)
			s.key("a", "error")
			s.want(1)
		})
	}
	t.Run("plain HTTP is not asked", func(t *testing.T) {
		s := newSite(t)
		if _, _, err := s.fetcher.Key("http://"+s.Listener.Addr().String(), "a"); err == nil {
			t.Error("asked")
		}
		s.want(0)
	})
	t.Run("a server that nobody vouches for", func(t *testing.T) {
		s := newSite(t)
		if _, _, err := keys.New(keys.Options{}).Key(s.URL, "a"); err == nil {
			t.Error("trusted")
		}
	})
}

func TestAddressesThatStrangersChooseAreBounded(t *testing.T) {
	s := newSite(t)
	s.answers(404, nil)
	for i := range 1000 {
		if _, err := s.fetcher.Certificate(s.URL+"/"+strings.Repeat("x", i)+".pem", nil); err == nil {
			t.Fatal("found")
		}
	}
	s.want(10)
	s.advance(time.Hour)
	s.answers(200, authority(t).issue("a.paypal.com", noon.Add(48*time.Hour)))
	if _, err := s.fetcher.Certificate(s.URL+"/real.pem", nil); err != nil {
		t.Error(err)
	}
}

func TestOneKeyIsAskedFor(t *testing.T) {
	s := newSite(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := json.Marshal(jose.JSONWebKey{Key: &private.PublicKey, KeyID: "a", Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(more string) []byte {
		return []byte(`{"key":` + strings.TrimSuffix(string(jwk), "}") + more + `},"request_id":"r"}`)
	}
	ask := func(kid, want string) {
		t.Helper()
		_, found, err := s.fetcher.Ask(s.URL+"/get", kid, []byte(`{"secret":"s3cret"}`))
		got := map[bool]string{true: "found", false: "unknown"}[found]
		if err != nil {
			got = "error"
			if strings.Contains(err.Error(), "s3cret") {
				t.Error("the error holds the credentials")
			}
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", kid, got, err, want)
		}
	}
	s.answers(200, answer(`,"created_at":1,"expired_at":null`))
	for range 3 {
		ask("a", "found")
	}
	s.want(1)
	ask("b", "unknown") // the answer is another key
	s.answers(400, []byte(`{"error_code":"INVALID_WEBHOOK_VERIFICATION_KEY_ID"}`))
	ask("c", "unknown")
	ask("c", "unknown")
	s.want(3)
	s.answers(500, nil)
	ask("d", "error")
	s.advance(2 * time.Hour)
	ask("a", "found") // what was fetched counts
	s.answers(200, answer(`,"expired_at":1767355200`))
	s.advance(11 * time.Second)
	ask("a", "unknown")
}

func TestAVisitIsOneQuestion(t *testing.T) {
	s := newSite(t)
	s.answers(200, []byte("confirmed"))
	if err := s.fetcher.Visit(s.URL + "/?Action=ConfirmSubscription&Token=secret"); err != nil {
		t.Error(err)
	}
	s.answers(403, nil)
	if err := s.fetcher.Visit(s.URL + "/?Token=secret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	s.want(2)
}
