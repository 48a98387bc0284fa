package script_test

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEverySenderThroughTheDoor sends as every sender whose secret is a text to
// one gateway: copies at once, with the old secret and with the new one, and
// with a wrong one. What counts is what reached the destination.
func TestEverySenderThroughTheDoor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	far := newFarSide()
	defer far.Close()
	senders := textSenders(t)
	if len(senders) < 50 {
		t.Fatalf("only %d senders", len(senders))
	}
	var sources, names []string
	for _, s := range senders {
		sources = append(sources, fmt.Sprintf("  %s: {provider: %s, secrets: [%q, %q], on_stale: accept}", s.name, s.name, s.secret(1), s.secret(0)))
		names = append(names, s.name)
	}
	file := filepath.Join(dir, "onceward.yaml")
	config := fmt.Sprintf("store: \"sqlite:%s/onceward.db\"\nintake: {listen: \"127.0.0.1:0\"}\nadmin: {listen: \"127.0.0.1:0\"}\nsources:\n%s\ndestinations:\n  far: {url: %q, effect: keyed, allow_private: true, concurrency: 4}\noperations:\n  carry: {source: [%s], destination: far}\n",
		dir, strings.Join(sources, "\n"), far.URL, strings.Join(names, ", "))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	intake := serve(t, file)
	for i, s := range senders {
		url := intake + "/in/" + s.name
		send := func(secret string, copies int, want bool) {
			t.Helper()
			args := []string{"send", "--provider", s.name, "--url", url, "--secret", secret, "--id", fmt.Sprintf("sample-%d", i), "--copies", fmt.Sprint(copies), "--parallel", fmt.Sprint(copies)}
			out, err := exec.Command(os.Getenv(binaryVariable), args...).CombinedOutput()
			if (err == nil) != want {
				t.Errorf("%s: sent with %v: %v\n%s", s.name, want, err, out)
			}
		}
		send(s.secret(0), 3, true)
		send(s.secret(2), 1, false)
		if s.Level {
			continue // copies are events of their own, and so are those of the new secret
		}
		far.await(t, s.name, 1)
	}
	// Every sender that is no level trigger had one effect; the others one for
	// each of three deliveries.
	far.mu.Lock()
	defer far.mu.Unlock()
	for _, s := range senders {
		if n := far.effects[s.name]; !s.Level && n != 1 {
			t.Errorf("%s: %d effects at the far side, want 1", s.name, n)
		}
	}
}

type sender struct {
	name   string
	scheme string
	Level  bool
}

// secret makes the n-th secret as this sender spells it.
func (s sender) secret(n byte) string {
	text := strings.Repeat(string(rune('a'+n)), 32)
	switch {
	case s.name == "adyen-platform":
		return hex.EncodeToString([]byte(text))
	case s.name == "airtable":
		return base64.StdEncoding.EncodeToString([]byte(text))
	case s.scheme == "svix" || s.scheme == "standard-webhooks":
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// textSenders are those that a configuration with a text as secret is valid
// for; the others have key pairs, certificates and the like.
func textSenders(t *testing.T) []sender {
	t.Helper()
	out, err := exec.Command(os.Getenv(binaryVariable), "providers", "list", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			Name, Scheme, Category string
			Level                  bool `json:"level_trigger"`
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	var all []sender
	for _, c := range list.Items {
		s := sender{c.Name, c.Scheme, c.Level}
		if c.Category != "generic" && simple[c.Name] {
			all = append(all, s)
		}
	}
	return all
}

// simple are the senders of this test.
var simple = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`stripe github shopify slack standard-webhooks svix stripe-v2-thin adyen-platform razorpay paddle gocardless coinbase-commerce
		checkout-com lemon-squeezy mollie paystack recurly airwallex woocommerce shippo xero quickbooks clerk workos onfido persona veriff sumsub gitea circleci
		buildkite vercel sentry pagerduty bitbucket jira sanity linear notion airtable typeform calendly intercom zendesk asana zoom dropbox meta whatsapp resend
		line twitch openai mux elevenlabs`) {
		all[name] = true
	}
	return all
}()

// farSide counts effects: different keys that were answered, by source.
type farSide struct {
	*httptest.Server
	mu      sync.Mutex
	seen    map[string]bool
	effects map[string]int
	changed chan struct{}
}

func newFarSide() *farSide {
	f := &farSide{seen: map[string]bool{}, effects: map[string]int{}, changed: make(chan struct{}, 1)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if key := r.Header.Get("Idempotency-Key"); !f.seen[key] {
			f.seen[key] = true
			f.effects[r.Header.Get("Onceward-Source")]++
		}
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}))
	return f
}

func (f *farSide) await(t *testing.T, source string, n int) {
	t.Helper()
	for limit := time.After(patience); ; {
		f.mu.Lock()
		have := f.effects[source]
		f.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-f.changed:
		case <-limit:
			t.Fatalf("%s: %d effects at the far side, want %d", source, have, n)
		}
	}
}

// serve runs the gateway until the test ends and returns its intake's URL.
func serve(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv(binaryVariable), "serve", "-c", file)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, so it says so
	})
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Msg, Intake string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
				ready <- line.Intake
			}
		}
	}()
	select {
	case intake := <-ready:
		return intake
	case <-time.After(patience):
		t.Fatal("the gateway was not ready")
	}
	return ""
}
