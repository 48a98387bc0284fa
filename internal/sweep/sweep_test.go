package sweep_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/sweep"
	"github.com/onceward/onceward/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store records the steps that it is asked for; more says how many of each
// still find something to do.
type store struct {
	mu    sync.Mutex
	steps []string
	more  map[string]int
	fail  map[string]error
	takes time.Duration // a step
	old   []onceward.EventID
	limit int
}

func (s *store) step(name string, limit int) (more bool, err error) {
	time.Sleep(s.takes) // in a bubble it costs nothing
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, name)
	s.limit = max(s.limit, limit)
	if err := s.fail[name]; err != nil {
		return false, err
	}
	s.more[name]--
	return s.more[name] >= 0, nil
}

func count(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}

func (s *store) Recover(_ context.Context, limits map[string][]onceward.Limits, limit int) (int, error) {
	if _, ok := limits["fulfil"]; !ok {
		return 0, errors.New("the limits are missing")
	}
	more, err := s.step("recover", limit)
	return count(more, 2), err
}

func (s *store) PrunePayloads(_ context.Context, limit int) (int, error) {
	more, err := s.step("payloads", limit)
	return count(more, limit), err
}

func (s *store) PruneKeys(_ context.Context, after onceward.EventID, shortest time.Duration, limit int) (onceward.EventID, int, error) {
	if shortest != 90*24*time.Hour {
		return 0, 0, fmt.Errorf("shortest is %s", shortest)
	}
	more, err := s.step("keys", limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = append(s.old, after)
	if !more {
		return 0, 0, err
	}
	return after + 100, 1, err
}

func (s *store) Index(_ context.Context, limit int) (int, error) {
	more, err := s.step("index", limit)
	return count(more, limit), err
}

func (s *store) Shrink(_ context.Context, limit int) error {
	_, err := s.step("shrink", limit)
	return err
}

func (s *store) took() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.steps, " ")
}

func newSweeper(s sweep.Store) (*sweep.Sweeper, *bytes.Buffer) {
	var log bytes.Buffer
	return &sweep.Sweeper{
		Store: s, Every: 10 * time.Second, Log: slog.New(slog.NewJSONHandler(&log, nil)),
		Limits:   func() map[string][]onceward.Limits { return map[string][]onceward.Limits{"fulfil": {{Attempts: 3}}} },
		Shortest: func() time.Duration { return 90 * 24 * time.Hour },
	}, &log
}

func newStore() *store { return &store{more: map[string]int{}, fail: map[string]error{}} }

func TestASweepLooksOnceAtEverything(t *testing.T) {
	s := newStore()
	w, log := newSweeper(s)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.took(); got != "recover payloads keys index shrink" {
		t.Errorf("steps %s", got)
	}
	if s.limit > 256 {
		t.Errorf("a step may take %d rows: intake waits behind it", s.limit)
	}
	if log.Len() > 0 {
		t.Errorf("a sweep that found nothing says %s", log)
	}
}

func TestWhatWasMovedIsTold(t *testing.T) {
	s := newStore()
	w, _ := newSweeper(s)
	told := 0
	w.Moved = func() { told++ }
	if err := w.Sweep(t.Context()); err != nil || told != 0 {
		t.Fatalf("%v, told %d times of nothing", err, told)
	}
	s.more["recover"] = 2
	if err := w.Sweep(t.Context()); err != nil || told == 0 {
		t.Errorf("%v, told %d times", err, told)
	}
}

func TestASweepGoesOnWhileThereIsMore(t *testing.T) {
	s := newStore()
	s.more = map[string]int{"recover": 1, "payloads": 2, "keys": 3, "index": 1}
	w, log := newSweeper(s)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.took(); got != "recover recover payloads payloads payloads keys keys keys keys index index shrink" {
		t.Errorf("steps %s", got)
	}
	if want := []onceward.EventID{0, 100, 200, 300}; !slices.Equal(s.old, want) {
		t.Errorf("old keys were looked for after %v, want %v", s.old, want)
	}
	if !strings.Contains(log.String(), `"level":"ERROR"`) || !strings.Contains(log.String(), `"count":2`) || !strings.Contains(log.String(), "unknown_outcome") {
		t.Errorf("nothing tells of the operations that need a person: %s", log)
	}
}

func TestNoStepTakesMoreThanItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.takes = 10 * time.Millisecond
		s.more = map[string]int{"recover": 1e6, "payloads": 1e6, "keys": 1e6, "index": 1e6}
		w, _ := newSweeper(s)
		began := time.Now()
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a sweep with endless work took %s", took)
		}
		for _, name := range []string{"recover", "payloads", "keys", "index", "shrink"} {
			if !slices.Contains(s.steps, name) {
				t.Errorf("endless work kept %s from its turn", name)
			}
		}
		last := s.old[len(s.old)-1]
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(s.old, last+100) {
			t.Errorf("the next sweep does not go on after %d", last)
		}
	})
}

func TestWithoutAMemoryNothingIsForgotten(t *testing.T) {
	s := newStore()
	w, _ := newSweeper(s)
	w.Shortest = func() time.Duration { return 0 }
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.took(), "keys") {
		t.Errorf("steps %s", s.took())
	}
}

func TestAFailedStepIsReportedAndTriedAgain(t *testing.T) {
	for _, name := range []string{"recover", "payloads", "keys", "index", "shrink"} {
		s := newStore()
		s.fail[name] = onceward.ErrUnavailable
		w, _ := newSweeper(s)
		if err := w.Sweep(t.Context()); !errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("%s failed: %v", name, err)
		}
		delete(s.fail, name)
		if err := w.Sweep(t.Context()); err != nil || !strings.HasSuffix(s.took(), "shrink") {
			t.Errorf("%s, the second time: %v after %s", name, err, s.took())
		}
	}
}

func TestItRunsEveryNowAndThenUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.fail["shrink"] = onceward.ErrUnavailable
		w, log := newSweeper(s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if n := strings.Count(s.took(), "shrink"); n != 10 {
			t.Errorf("swept %d times in 95 seconds, want 10: at once and every 10", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
		if n := strings.Count(log.String(), "a sweep did not end"); n != 10 {
			t.Errorf("%d of 10 failures are in the log", n)
		}
	})
}

func TestAStopIsNoFailure(t *testing.T) {
	s := newStore()
	w, log := newSweeper(s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.more["recover"] = 1
	s.fail["recover"] = context.Canceled
	if err := w.Run(ctx); err != nil || log.Len() > 0 {
		t.Errorf("%v, %s", err, log)
	}
}

// clock stands where the test puts it.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func TestOnARealStoreItSettlesForgetsAndIndexes(t *testing.T) {
	const day = 24 * time.Hour
	c := &clock{t: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "onceward.db"), sqlitestore.Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	admit := func(id string, verdict onceward.Verdict, planned ...onceward.Planned) onceward.EventID {
		t.Helper()
		key := onceward.Key{Source: "pay", EventID: id}
		admitted, err := s.Admit(t.Context(), &onceward.Admission{At: c.Now(), Payloads: 30 * day, Keys: 90 * day, Arrivals: []onceward.Arrival{{
			Key: key, Digest: s.Peppers()[0].Digest(key), Type: "t", Raw: []byte(id), Content: sha256.Sum256([]byte(id)), Verdict: verdict, Operations: planned,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return admitted[0].Event
	}
	ignored := admit("ignored", onceward.Ignored)
	lost := admit("lost", onceward.Accepted, onceward.Planned{Name: "fulfil", Effect: onceward.Unsafe, Owner: "w1", Lease: time.Minute, Intend: true})
	w, _ := newSweeper(s)
	sweepAll := func() {
		t.Helper()
		for range 3 {
			if err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweepAll()
	if o, err := s.Operation(t.Context(), onceward.OperationID{Event: lost, N: 1}); err != nil || o.State != onceward.Processing {
		t.Fatalf("within its lease: %+v, %v", o, err)
	}
	found, _, err := s.Events(t.Context(), onceward.EventQuery{Page: onceward.Page{Limit: 9}, Search: "lost"})
	if err != nil || len(found) != 1 {
		t.Errorf("searched: %v, %v", found, err)
	}
	c.advance(time.Minute)
	sweepAll()
	if o, err := s.Operation(t.Context(), onceward.OperationID{Event: lost, N: 1}); err != nil || o.State != onceward.UnknownOutcome {
		t.Errorf("after its lease: %+v, %v", o, err)
	}
	c.advance(31 * day)
	sweepAll()
	if _, err := s.Payload(t.Context(), lost); err != nil {
		t.Errorf("the payload of what waits for a person is gone: %v", err)
	}
	c.advance(60 * day)
	sweepAll()
	if _, err := s.History(t.Context(), ignored); !errors.Is(err, onceward.ErrNotFound) {
		t.Errorf("after 90 days: %v, want it forgotten", err)
	}
	if _, err := s.History(t.Context(), lost); err != nil {
		t.Errorf("what waits for a person was forgotten: %v", err)
	}
}
