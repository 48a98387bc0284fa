package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the scrape answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, "\n"+l+"\n") {
			t.Errorf("the scrape has no line %q", l)
		}
	}
}

func TestEveryMetricHasItsName(t *testing.T) {
	m := telemetry.New()
	m.Delivery("shop", "accepted")
	m.Delivery("shop", "accepted")
	m.Delivery("shop", "stale")
	m.Attempt("fulfil", "completed", 20*time.Millisecond)
	m.LeaseRecovered()
	m.Reexecuted()
	m.DownstreamKeyRejected()
	m.Intake(3 * time.Millisecond)
	m.Commit(40, 2*time.Millisecond)
	m.Observe(func(context.Context) (telemetry.Snapshot, error) {
		return telemetry.Snapshot{
			Operations: []telemetry.OperationCount{{"fulfil", "completed", 7}, {"fulfil", "unknown_outcome", 2}},
			Oldest:     map[string]time.Duration{"fulfil": 90 * time.Second},
			Paused:     map[string]bool{"billing": true, "crm": false},
			Database:   4096, WAL: 8192,
		}, nil
	})
	wantLines(t, scrape(t, m),
		`onceward_deliveries_total{source="shop",status="accepted"} 2`,
		`onceward_deliveries_total{source="shop",status="stale"} 1`,
		`onceward_attempts_total{operation="fulfil",outcome="completed"} 1`,
		`onceward_leases_recovered_total 1`,
		`onceward_reexecuted_after_completion_total 1`,
		`onceward_downstream_key_rejected_total 1`,
		`onceward_intake_seconds_count 1`,
		`onceward_commit_seconds_count 1`,
		`onceward_batch_size_sum 40`,
		`onceward_attempt_seconds_count 1`,
		`onceward_operations{operation="fulfil",state="completed"} 7`,
		`onceward_operations{operation="fulfil",state="unknown_outcome"} 2`,
		`onceward_unknown_outcomes{operation="fulfil"} 2`,
		`onceward_oldest_pending_seconds{operation="fulfil"} 90`,
		`onceward_destination_paused{destination="billing"} 1`,
		`onceward_destination_paused{destination="crm"} 0`,
		`onceward_store_bytes 4096`,
		`onceward_store_wal_bytes 8192`,
		`onceward_store_up 1`,
	)
}

func TestAStoreThatIsAwayDoesNotSpoilTheScrape(t *testing.T) {
	m := telemetry.New()
	m.Delivery("shop", "unavailable")
	m.Observe(func(context.Context) (telemetry.Snapshot, error) { return telemetry.Snapshot{}, errors.New("away") })
	text := scrape(t, m)
	wantLines(t, text, `onceward_store_up 0`, `onceward_deliveries_total{source="shop",status="unavailable"} 1`)
	if strings.Contains(text, "onceward_store_bytes ") {
		t.Error("a size is shown although the store did not answer")
	}
}

func TestManyScrapesAskTheStoreOnce(t *testing.T) {
	m := telemetry.New()
	var mu sync.Mutex
	asked := 0
	m.Observe(func(context.Context) (telemetry.Snapshot, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return telemetry.Snapshot{}, nil
	})
	began := time.Now()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { scrape(t, m) })
	}
	wg.Wait()
	if most := 1 + int(time.Since(began)/time.Second); asked > most {
		t.Errorf("16 scrapes asked %d times, want at most %d", asked, most)
	}
}

func TestTheHotPathDoesNotAllocate(t *testing.T) {
	m := telemetry.New()
	source, status := "shop", "accepted"
	m.Delivery(source, status)
	m.Attempt(source, status, 0)
	if n := testing.AllocsPerRun(100, func() {
		m.Delivery(source, status)
		m.Intake(time.Millisecond)
		m.Commit(3, time.Millisecond)
		m.Attempt(source, status, time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestConcurrentFirstCountsAreAllKept(t *testing.T) {
	m := telemetry.New()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for _, status := range []string{"accepted", "ignored", "conflict", "stale"} {
				m.Delivery("shop", status)
			}
		})
	}
	wg.Wait()
	wantLines(t, scrape(t, m), `onceward_deliveries_total{source="shop",status="accepted"} 32`, `onceward_deliveries_total{source="shop",status="stale"} 32`)
}

func TestCredentialsAreNotLogged(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var b bytes.Buffer
		log := telemetry.NewLogger(&b, "debug", format).With("api_token", "SENTINEL", telemetry.KeySource, "shop")
		log.Info("x", "secret", "SENTINEL", "Authorization", "SENTINEL", "webhook-signature", []string{"SENTINEL"},
			slog.Group("request", "cookie", "SENTINEL", "path", "/in/shop"), slog.Group("secrets", "a", "SENTINEL"),
			"headers", http.Header{"X": {"SENTINEL"}}, telemetry.KeyDigest, "0f1e", telemetry.KeyReason, "answered 503")
		if s := b.String(); strings.Contains(s, "SENTINEL") {
			t.Errorf("%s: a credential was logged: %s", format, s)
		} else if !strings.Contains(s, "0f1e") || !strings.Contains(s, "shop") || !strings.Contains(s, "answered 503") {
			t.Errorf("%s: a harmless value is missing: %s", format, s)
		}
	}
}

func TestLevelsAndTime(t *testing.T) {
	var b bytes.Buffer
	telemetry.NewLogger(&b, "warn", "json").Info("too quiet")
	if b.Len() != 0 {
		t.Errorf("info was written at level warn: %s", &b)
	}
	telemetry.NewLogger(&b, "loud", "json").Info("line")
	var line struct{ Time, Level, Msg string }
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Level != "INFO" || line.Msg != "line" || !strings.HasSuffix(line.Time, "Z") {
		t.Errorf("got %+v", line)
	}
}
