package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/testkit"
	"github.com/onceward/onceward/provider"
)

// TestPolledTokensComeInAsPushedOnes: a transmitter that has to be polled hands
// out a token, a copy of it, and one that somebody else signed.
func TestPolledTokensComeInAsPushedOnes(t *testing.T) {
	secrets := provider.Trial("rfc8935-set-push")
	var quoted []string
	var given []provider.Secret
	for _, s := range secrets {
		quoted = append(quoted, strconv.Quote(s))
		given = append(given, provider.Secret{Value: s})
	}
	sender, err := provider.New(provider.Options{Provider: "rfc8935-set-push", SourceID: "idp", Secrets: given})
	if err != nil {
		t.Fatal(err)
	}
	token := func(id string) string {
		r := sender.SampleAt(id, 1, time.Now())
		r.Now = time.Now()
		if err := sender.Sign(r); err != nil {
			t.Fatal(err)
		}
		return string(r.Body)
	}
	good := token("jti-1")
	forged := good[:len(good)-6] + "AAAAAA"
	var mu sync.Mutex
	pending := map[string]string{"jti-1": good, "again": good, "forged": forged}
	refused := map[string]string{}
	idle := make(chan struct{}, 1)
	transmitter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var q struct {
			Ack     []string                        `json:"ack"`
			SetErrs map[string]struct{ Err string } `json:"setErrs"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		for _, jti := range q.Ack {
			delete(pending, jti)
		}
		for jti, e := range q.SetErrs {
			refused[jti] = e.Err
			delete(pending, jti)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sets": pending, "moreAvailable": false})
		if len(pending) == 0 {
			select {
			case idle <- struct{}{}:
			default:
			}
		}
	}))
	defer transmitter.Close()
	sink := testkit.NewSink(t, nil)
	text := strings.Replace(small, `gh: {provider: github, secrets: ["`+secretValue+`"]}`,
		fmt.Sprintf(`gh: {provider: rfc8935-set-push, secrets: [%s], poll: {url: %q, token: t-sekrit-1, every: 1s}}`, strings.Join(quoted, ", "), transmitter.URL), 1)
	start(t, text, sink.URL)
	select {
	case <-idle:
	case <-time.After(patience):
		t.Fatal("not everything was acknowledged")
	}
	sink.WaitEffects(t, patience, 1)
	mu.Lock()
	defer mu.Unlock()
	if len(refused) != 1 || refused["forged"] == "" {
		t.Errorf("refused %v, want the forged one alone", refused)
	}
}
