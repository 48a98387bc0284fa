package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/internal/testkit"
	"github.com/onceward/onceward/sqlitestore"
)

func TestAnEventGoesInAtOneEndAndOutAtTheOther(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	const body = "{\"b\" : 1,\n  \"a\":2}"
	for n, want := range []string{"accepted", "duplicate", "duplicate"} {
		if status, text := r.post("gh", "d-1", body); status != 200 || !strings.Contains(text, `"status":"`+want+`"`) {
			t.Fatalf("copy %d: %d %s", n, status, text)
		}
	}
	sink.WaitEffects(t, patience, 1)
	r.settled(1)
	r.stop()
	if q := sink.Requests(); len(q) != 1 || string(q[0].Body) != body || q[0].Header.Get("X-GitHub-Delivery") != "d-1" {
		t.Errorf("%d requests, the first %+v", len(q), q[0])
	}
}

func TestAStopIsFinalAndMayBeRepeated(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	in, admin := r.IntakeURL(), r.AdminURL()
	r.stop()
	if err := r.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	for _, url := range []string{in, admin} {
		if w, err := client.Get(url); err == nil {
			_ = w.Body.Close()
			t.Errorf("%s still answers", url)
		}
	}
	again := startOn(t, small, r.store, sink.URL)
	if status, _ := again.post("gh", "d-1", "{}"); status != 200 {
		t.Errorf("after a restart: %d", status)
	}
}

func TestAGatewayThatWasNeverStartedCanBeStopped(t *testing.T) {
	g, err := gateway.New(parse(t, small, "{store}", "x.db", "{sink}", "http://127.0.0.1:1"), slog.New(slog.DiscardHandler), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The store's file is held by somebody else: what cannot be recorded is not
// acknowledged, a supervisor is told, and nothing has to be restarted.
func TestAStoreThatDoesNotAnswerIsA503UntilItDoes(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	ready := func() int {
		status, _ := get(t, r.AdminURL()+"/readyz")
		return status
	}
	if status := ready(); status != http.StatusOK {
		t.Fatalf("at the start: %d", status)
	}
	foreign, err := sqlite3.Open("file:" + r.store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Close() }()
	// The gateway may be writing itself just now.
	if err := foreign.Exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if status, text := get(t, r.AdminURL()+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "the store does not answer") {
		t.Errorf("while it is held: %d %s", status, text)
	}
	if status, _ := get(t, r.AdminURL()+"/healthz"); status != http.StatusOK {
		t.Errorf("the process is alive, and says %d", status)
	}
	if status, text := r.post("gh", "d-1", "{}"); status != http.StatusServiceUnavailable {
		t.Errorf("an event that cannot be recorded: %d %s", status, text)
	}
	if err := foreign.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ready() != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("it is never ready again")
		}
	}
	if status, text := r.post("gh", "d-1", "{}"); status != http.StatusOK {
		t.Errorf("the sender's repetition: %d %s", status, text)
	}
	sink.WaitEffects(t, patience, 1)
	r.settled(1)
	if n := len(sink.Requests()); n != 1 {
		t.Errorf("%d calls for one event", n)
	}
}

func TestASecondProcessOnOneFileIsRefusedAndTheFirstGoesOn(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	second, err := gateway.New(parse(t, small, "{store}", r.store, "{sink}", sink.URL), slog.New(slog.DiscardHandler), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another onceward process") || !strings.Contains(err.Error(), r.store) {
		t.Fatalf("got %v, want an error that names the file and says who has it", err)
	}
	if len(second.Servers()) != 0 {
		t.Error("it listens all the same")
	}
	if status, _ := r.post("gh", "d-1", "{}"); status != 200 {
		t.Errorf("the first one answers %d", status)
	}
}

func TestAfterAFailedStartNothingIsLeftOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, listener := range []string{"intake", "admin"} {
		t.Run(listener, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "onceward.db")
			text := strings.Replace(small, listener+`: {listen: "127.0.0.1:0"}`, listener+`: {listen: "`+taken.Addr().String()+`"}`, 1)
			g, err := gateway.New(parse(t, text, "{store}", store, "{sink}", "http://127.0.0.1:1"), slog.New(slog.DiscardHandler), "test")
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Start(t.Context()); err == nil || !strings.Contains(err.Error(), listener+".listen") {
				t.Fatalf("got %v, want an error that names %s.listen", err, listener)
			}
			s, err := sqlitestore.Open(t.Context(), store, sqlitestore.Options{})
			if err != nil {
				t.Fatalf("the store was left open: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryPhaseOfARequestHasALimitOnBothListeners(t *testing.T) {
	r := start(t, small, "http://127.0.0.1:1")
	servers := r.Servers()
	for _, name := range []string{"intake", "admin"} {
		s := servers[name]
		if s == nil {
			t.Fatalf("there is no listener %s", name)
		}
		if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
			t.Errorf("%s: header %s, read %s, write %s, idle %s, %d bytes of headers", name, s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout, s.MaxHeaderBytes)
		}
		if s.WriteTimeout <= s.ReadTimeout {
			t.Errorf("%s: a slow body may take %s and leaves no time to answer in %s", name, s.ReadTimeout, s.WriteTimeout)
		}
	}
}

func TestHeadersWithoutEndAreRefused(t *testing.T) {
	r := start(t, small, "http://127.0.0.1:1")
	req, err := http.NewRequest(http.MethodPost, r.IntakeURL()+"gh", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 200<<10))
	if status, _ := do(t, req); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("answered %d", status)
	}
}

func TestEveryMetricIsThereBeforeAnythingHappens(t *testing.T) {
	r := start(t, small, "http://127.0.0.1:1")
	status, text := get(t, r.AdminURL()+"/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	want := []string{
		`onceward_leases_recovered_total 0`, `onceward_reexecuted_after_completion_total 0`, `onceward_downstream_key_rejected_total 0`,
		`onceward_oldest_pending_seconds{operation="fulfil"} 0`, `onceward_unknown_outcomes{operation="fulfil"} 0`,
		`onceward_intake_seconds_count 0`, `onceward_attempt_seconds_count 0`, `onceward_destination_paused{destination="billing"} 0`, `onceward_store_up 1`,
	}
	for _, s := range telemetry.DeliveryStatuses() {
		want = append(want, `onceward_deliveries_total{source="gh",status="`+s+`"} 0`)
	}
	for _, o := range []string{"completed", "not_applied", "refused", "ambiguous"} {
		want = append(want, `onceward_attempts_total{operation="fulfil",outcome="`+o+`"} 0`)
	}
	for _, s := range []string{"received", "processing", "dispatched", "completed", "failed_before_effect", "unknown_outcome", "dead_lettered", "quarantined"} {
		want = append(want, `onceward_operations{operation="fulfil",state="`+s+`"} 0`)
	}
	for _, line := range want {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	for _, name := range []string{"onceward_commit_seconds_count", "onceward_batch_size_count", "onceward_store_bytes", "onceward_store_wal_bytes"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("the scrape lacks %s", name)
		}
	}
}

func TestWhatHappensIsCounted(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	r.post("gh", "d-1", "{}")
	r.settled(1)
	r.post("gh", "d-1", "{}")
	req, err := http.NewRequest(http.MethodPost, r.IntakeURL()+"gh", strings.NewReader("forged"))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := do(t, req); status != 401 {
		t.Fatalf("a forged delivery: %d", status)
	}
	_, text := get(t, r.AdminURL()+"/metrics")
	for _, line := range []string{
		`onceward_deliveries_total{source="gh",status="accepted"} 1`, `onceward_deliveries_total{source="gh",status="duplicate_completed"} 1`,
		`onceward_deliveries_total{source="gh",status="unauthenticated"} 1`, `onceward_attempts_total{operation="fulfil",outcome="completed"} 1`,
		`onceward_operations{operation="fulfil",state="completed"} 1`, `onceward_attempt_seconds_count 1`, `onceward_reexecuted_after_completion_total 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	if strings.Contains(text, "d-1") || strings.Contains(text, "push") {
		t.Error("a label took its value from an event")
	}
}

func TestHealthAndReadiness(t *testing.T) {
	r := start(t, small, "http://127.0.0.1:1")
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := get(t, r.AdminURL()+path); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

func TestTheStoreIsDurableBeforeTheAnswer(t *testing.T) {
	hold := make(chan struct{})
	sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	r := start(t, small, sink.URL)
	for n := range 20 {
		if status, text := r.post("gh", id(n), `{"n":`+id(n)[2:]+`}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	close(hold)
	r.settled(20)
	r.stop()
	again := startOn(t, small, r.store, sink.URL)
	if done := again.states()["completed"]; done != 20 {
		t.Errorf("%d of 20 are completed after a restart", done)
	}
	if sink.Effects() != 20 || sink.Repeats() != 0 {
		t.Errorf("%d effects, %d repeats", sink.Effects(), sink.Repeats())
	}
}

func TestAStopCutsWhatIsUnderWayWhenItsTimeIsOver(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	r := start(t, small, sink.URL)
	r.post("gh", "d-1", "{}")
	sink.WaitFor(t, patience, "the call", func(all []*testkit.Request) bool { return len(all) == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if status := r.log.String(); strings.Contains(status, `"level":"ERROR"`) {
		t.Errorf("the log says %s", status)
	}
	again := startOn(t, small, r.store, sink.URL)
	sink.Script(nil)
	again.settled(1)
}
