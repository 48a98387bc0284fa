package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/bulk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store has events 1 to n and one bulk.
type store struct {
	mu     sync.Mutex
	bulk   onceward.Bulk
	events int
	held   bool
	steps  [][]onceward.Step
	at     []time.Time
	asked  []onceward.EventQuery
	faults []error // of the next steps
}

func (s *store) RunningBulk(context.Context) (onceward.Bulk, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bulk, s.bulk.ID != 0 && s.bulk.Ended.IsZero(), nil
}

func (s *store) Events(_ context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	begin := 0
	if q.After != "" {
		_, err = fmt.Sscan(q.After, &begin)
	}
	for i := begin + 1; i <= s.events; i++ {
		e := onceward.Event{ID: onceward.EventID(i), Verdict: onceward.Accepted}
		if s.held {
			e.Verdict = onceward.QuarantinedBy
		}
		if items = append(items, e); len(items) == q.Limit && i < s.events {
			return items, fmt.Sprint(i), err
		}
	}
	return items, "", err
}

func (s *store) StepBulk(_ context.Context, b onceward.Bulk, steps []onceward.Step, next string, last bool) (onceward.Bulk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) > 0 {
		err := s.faults[0]
		s.faults = s.faults[1:]
		return b, err
	}
	s.steps, s.at = append(s.steps, slices.Clone(steps)), append(s.at, time.Now())
	b.Seen, b.Changed, b.Cursor = b.Seen+len(steps), b.Changed+len(steps), next
	if last {
		b.Ended = time.Now()
	}
	s.bulk = b
	return b, nil
}

func run(t *testing.T, s *store, change ...func(*bulk.Runner)) (woken int) {
	t.Helper()
	r := bulk.Runner{
		Store: s, Wake: func() { woken++ }, Log: slog.New(slog.DiscardHandler),
		Reread: func(_ context.Context, e onceward.Event) (*onceward.Arrival, error) {
			return &onceward.Arrival{Type: fmt.Sprint("read ", int64(e.ID))}, nil
		},
		KeyMemory: func() map[string]time.Duration { return map[string]time.Duration{"fulfil": time.Hour} },
	}
	for _, c := range change {
		c(&r)
	}
	synctest.Test(t, func(t *testing.T) {
		runner := bulk.New(r)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		time.Sleep(time.Minute) // of the bubble: it passes when nobody has anything to do
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return woken
}

func TestEveryEventHasItsStepAndNoneComesAtOnce(t *testing.T) {
	s := &store{events: 110, bulk: onceward.Bulk{ID: 7, Mode: onceward.Resume, Filter: onceward.EventQuery{Source: "gh", Status: "dead_lettered"}}}
	woken := run(t, s)
	var seen []onceward.EventID
	for i, steps := range s.steps {
		if len(steps) > 25 {
			t.Errorf("step %d has %d events", i, len(steps))
		}
		if i > 0 && s.at[i].Sub(s.at[i-1]) < 25*time.Millisecond {
			t.Errorf("step %d followed after %s", i, s.at[i].Sub(s.at[i-1]))
		}
		for _, step := range steps {
			seen = append(seen, step.Event)
			if step.Reading != nil || step.KeyMemory["fulfil"] != time.Hour {
				t.Errorf("%+v", step)
			}
		}
	}
	if len(seen) != 110 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 110 || woken != len(s.steps) {
		t.Errorf("saw %d events in %d steps, woken %d", len(seen), len(s.steps), woken)
	}
	for _, q := range s.asked {
		if q.Source != "gh" || q.Status != "dead_lettered" {
			t.Errorf("asked for %+v", q)
		}
	}
}

func TestWhatIsHeldIsReadAnewOnlyWhenItIsAskedFor(t *testing.T) {
	for status, want := range map[string]bool{"quarantined": true, "": false} {
		s := &store{events: 2, held: true, bulk: onceward.Bulk{ID: 7, Mode: onceward.Resume, Filter: onceward.EventQuery{Source: "gh", Status: status}}}
		run(t, s)
		if got := s.steps[0][1].Reading; (got != nil) != want {
			t.Errorf("status %q: read %+v", status, got)
		}
	}
	s := &store{events: 1, bulk: onceward.Bulk{ID: 7, Mode: onceward.Resume, Operations: []string{"mail"}}}
	run(t, s)
	if s.steps[0][0].Reading == nil {
		t.Error("an operation that the event may not have was named, and the event was not read")
	}
}

func TestAFaultIsTriedAgainAndNothingIsSkipped(t *testing.T) {
	s := &store{
		events: 30, bulk: onceward.Bulk{ID: 7, Mode: onceward.Erase, Filter: onceward.EventQuery{Account: "a"}},
		faults: []error{onceward.ErrUnavailable, onceward.ErrFenced, errors.New("an odd one")},
	}
	run(t, s)
	if len(s.steps) != 2 || len(s.steps[0]) != 25 || len(s.steps[1]) != 5 || s.bulk.Ended.IsZero() {
		t.Errorf("%d steps, %+v", len(s.steps), s.bulk)
	}
}

// What cannot be read is told of in its step; a fault that passes is not.
func TestAnEventThatCannotBeReadStopsNobody(t *testing.T) {
	s := &store{events: 3, held: true, bulk: onceward.Bulk{ID: 7, Mode: onceward.Resume, Filter: onceward.EventQuery{Status: "quarantined"}}}
	asked := map[onceward.EventID]int{}
	run(t, s, func(r *bulk.Runner) {
		read := r.Reread
		r.Reread = func(ctx context.Context, e onceward.Event) (*onceward.Arrival, error) {
			if asked[e.ID]++; e.ID == 2 || e.ID == 3 && asked[e.ID] == 1 {
				return nil, errors.New("its segment is damaged")
			}
			return read(ctx, e)
		}
	})
	if len(s.steps) != 1 || s.bulk.Ended.IsZero() {
		t.Fatalf("%d steps, %+v", len(s.steps), s.bulk)
	}
	for i, step := range s.steps[0] {
		if broken := i == 1; (step.Fault != "") != broken || (step.Reading == nil) != broken {
			t.Errorf("%+v", step)
		}
	}
}

func TestASearchHasOneStep(t *testing.T) {
	s := &store{events: 60, bulk: onceward.Bulk{ID: 7, Mode: onceward.Resume, Filter: onceward.EventQuery{Search: "evt_1"}}}
	run(t, s)
	if len(s.steps) != 1 || len(s.steps[0]) != 60 {
		t.Errorf("%d steps", len(s.steps))
	}
}

func TestABulkThatBeginsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{events: 1}
		runner := bulk.New(bulk.Runner{
			Store: s, Log: slog.New(slog.DiscardHandler), KeyMemory: func() map[string]time.Duration { return nil },
			Reread: func(context.Context, onceward.Event) (*onceward.Arrival, error) { return nil, nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		synctest.Wait()
		began := time.Now()
		s.mu.Lock()
		s.bulk = onceward.Bulk{ID: 7, Mode: onceward.Resume}
		s.mu.Unlock()
		runner.Begun()
		synctest.Wait()
		s.mu.Lock()
		if len(s.at) != 1 || s.at[0].Sub(began) != 0 {
			t.Errorf("%d steps", len(s.at))
		}
		s.mu.Unlock()
		cancel()
		<-ended
	})
}
