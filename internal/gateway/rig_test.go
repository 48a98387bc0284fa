package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/internal/testkit"
	"github.com/onceward/onceward/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience    = 20 * time.Second
	secretValue = "test-secret-not-real-01"
)

// parse reads a configuration in which {store} and {sink} are filled in.
func parse(t testing.TB, text string, fill ...string) *config.Config {
	t.Helper()
	c, err := tryParse(text, fill...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryParse(text string, fill ...string) (*config.Config, error) {
	text = strings.NewReplacer(fill...).Replace(text)
	none := func(string) (string, bool) { return "", false }
	return config.Parse("onceward.yaml", []byte(text), none, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
}

// small is a configuration with one source, one destination and one operation.
const small = `
store: sqlite:{store}
intake: {listen: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
sources:
  gh: {provider: github, secrets: ["` + secretValue + `"]}
destinations:
  billing: {url: "{sink}", effect: keyed, allow_private: true, retry: {first: 1ms, max: 1s}}
operations:
  fulfil: {source: gh, destination: billing}
`

// running is a gateway that was started.
type running struct {
	*gateway.Gateway
	t     testing.TB
	store string
	sink  string
	log   *testkit.Log
	stop  func()
}

// start starts a gateway on a new database; it ends with the test or with stop.
func start(t testing.TB, text, sink string) *running {
	t.Helper()
	return startOn(t, text, filepath.Join(t.TempDir(), "onceward.db"), sink)
}

func startOn(t testing.TB, text, store, sink string) *running {
	t.Helper()
	r := &running{t: t, store: store, sink: sink, log: &testkit.Log{}}
	var err error
	if r.Gateway, err = gateway.New(parse(t, text, "{store}", store, "{sink}", sink), slog.New(slog.NewJSONHandler(r.log, nil)), "test"); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// reload takes over another configuration, with the same store and sink.
func (r *running) reload(text string) error {
	r.t.Helper()
	c, err := tryParse(text, "{store}", r.store, "{sink}", r.sink)
	if err != nil {
		return err
	}
	return r.Reload(c)
}

// client keeps no connection, so that a stop waits for none.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: patience}, Timeout: patience}

// post delivers an event as GitHub would.
func (r *running) post(source, id, body string) (status int, text string) {
	r.t.Helper()
	p, err := provider.New(provider.Options{Provider: "github", SourceID: source, Secrets: []provider.Secret{{Label: "s", Value: secretValue}}})
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, r.IntakeURL()+source, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-GitHub-Delivery", id)
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("Expect", "100-continue") // a body that is not wanted is not sent
	if err := p.Sign(&provider.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: []byte(body), Now: time.Now()}); err != nil {
		r.t.Fatal(err)
	}
	return do(r.t, req)
}

func do(t testing.TB, req *http.Request) (status int, text string) {
	t.Helper()
	w, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Body.Close() }()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(b)
}

func get(t testing.TB, url string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

// states counts the operations by state.
func (r *running) states() map[string]int {
	r.t.Helper()
	_, text := get(r.t, r.AdminURL()+"/v1/operations?limit=100")
	var list struct{ Items []struct{ State string } }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		r.t.Fatalf("%q: %v", text, err)
	}
	count := map[string]int{}
	for _, o := range list.Items {
		count[o.State]++
	}
	return count
}

// settled waits until that many operations are completed.
func (r *running) settled(n int) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for r.states()["completed"] < n {
		if time.Now().After(deadline) {
			r.t.Fatalf("not %d operations are completed: %v\n%s", n, r.states(), r.log)
		}
	}
}

func id(n int) string { return fmt.Sprint("d-", n) }
