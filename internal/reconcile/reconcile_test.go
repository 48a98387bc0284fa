package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var inquiry = onceward.Inquiry{Settle: time.Minute, First: 5 * time.Second, Max: 10 * time.Minute, GiveUp: time.Hour}

// store keeps operations in memory and runs the rules.
type store struct {
	mu      sync.Mutex
	all     []onceward.Operation
	decided []string // transitions
	fails   int      // of Reconcile, from the first call
	unread  int      // of Inquiries
	jumped  time.Duration
}

// now is the wall clock, which somebody may have set.
func (s *store) now() time.Time { return time.Now().Add(s.jumped) }

func (s *store) add(n int) {
	for i := range n {
		now := time.Now()
		s.all = append(s.all, onceward.Operation{
			ID: onceward.OperationID{Event: onceward.EventID(i + 1), N: 1}, Name: "pay", State: onceward.UnknownOutcome, Effect: onceward.Lookup, Fence: 2, Attempt: 1,
			Intent: true, IntentAt: now, Unknown: true, AskAt: now, SentBy: now,
		})
	}
}

func (s *store) Inquiries(_ context.Context, r onceward.ClaimRequest) (due []onceward.Inquired, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread > 0 {
		s.unread--
		return nil, time.Time{}, onceward.ErrUnavailable
	}
	now := s.now()
	for _, o := range s.all {
		switch {
		case o.AskAt.IsZero() || o.Name != r.Name || o.Step != r.Step:
		case !o.AskAt.After(now) && len(due) < r.Limit:
			due = append(due, onceward.Inquired{Operation: o, Key: onceward.Digest{byte(o.ID.Event)}, Now: now})
		case next.IsZero() || o.AskAt.Before(next):
			next = o.AskAt
		}
	}
	return due, next, nil
}

func (s *store) Reconcile(_ context.Context, id onceward.OperationID, fence int64, f onceward.Finding, by onceward.Inquiry, today onceward.Plan) (onceward.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return onceward.Operation{}, onceward.ErrUnavailable
	}
	for i, o := range s.all {
		if o.ID == id {
			after, transition, err := o.Reconcile(fence, f, by, today, s.now())
			if err == nil {
				s.all[i] = after
				s.decided = append(s.decided, transition)
			}
			return after, err
		}
	}
	return onceward.Operation{}, onceward.ErrNotFound
}

func (s *store) states() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[onceward.State]int{}
	for _, o := range s.all {
		counts[o.State]++
	}
	return strings.TrimPrefix(fmt.Sprint(counts), "map")
}

// asker answers questions by a script and knows what it was asked.
type asker struct {
	mu     sync.Mutex
	say    func(n int) onceward.Presence
	asked  []string
	now    int
	most   int
	took   time.Duration
	during func()
}

func (a *asker) Ask(_ context.Context, key string) onceward.Finding {
	a.mu.Lock()
	a.asked = append(a.asked, key)
	n := len(a.asked)
	a.now++
	a.most = max(a.most, a.now)
	a.mu.Unlock()
	time.Sleep(a.took) // of a bubble's clock
	if a.during != nil {
		a.during()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now--
	return onceward.Finding{Presence: a.say(n), Result: "ch", Evidence: "answered"}
}

func (a *asker) n() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

func always(p onceward.Presence) func(int) onceward.Presence {
	return func(int) onceward.Presence { return p }
}

// bubble runs a reconciler with one target for as long as the test lets it.
func bubble(t *testing.T, s *store, a *asker, change func(*reconcile.Options), test func(r *reconcile.Reconciler, decided func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		decided := 0
		o := reconcile.Options{
			Store: s, Targets: []reconcile.Target{{Operation: "pay", Destination: "bank", Asker: a, Inquiry: inquiry, AtOnce: 4}},
			Log: slog.New(slog.DiscardHandler), Decided: func(onceward.Operation) {
				mu.Lock()
				defer mu.Unlock()
				decided++
			},
		}
		if change != nil {
			change(&o)
		}
		r := reconcile.New(o)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		test(r, func() int {
			mu.Lock()
			defer mu.Unlock()
			return decided
		})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsFoundIsDecidedAtOnce(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Present), took: time.Second}
	bubble(t, s, a, nil, func(r *reconcile.Reconciler, decided func() int) {
		synctest.Wait()
		s.mu.Lock()
		s.add(100)
		s.mu.Unlock()
		r.Wake()
		time.Sleep(40 * time.Second)
		if got := s.states(); got != "[completed:100]" || decided() != 100 {
			t.Errorf("%s, %d told", got, decided())
		}
		if a.n() != 100 {
			t.Errorf("%d questions about 100 operations", a.n())
		}
		if a.most != 4 {
			t.Errorf("%d questions at once, want 4", a.most)
		}
	})
}

// TestTheKeyIsTheCalls: the question names the key that the call had.
func TestTheKeyIsTheCalls(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Present)}
	plan := onceward.NewPlan("reserve", "pay")
	var want string
	bubble(t, s, a, func(o *reconcile.Options) {
		s.add(1)
		s.all[0].Plan, s.all[0].Step, s.all[0].Generation = plan, 1, 2
		o.Targets[0].Plan, o.Targets[0].Step = plan, 1
		want = s.all[0].Downstream(onceward.Digest{1}, "pay")
	}, func(*reconcile.Reconciler, func() int) {
		synctest.Wait()
		if a.n() != 1 || a.asked[0] != want {
			t.Errorf("asked about %q, want %q", a.asked, want)
		}
	})
}

func TestAnAbsenceIsBelievedInItsTimeAndNotBefore(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Absent)}
	bubble(t, s, a, func(*reconcile.Options) { s.add(1) }, func(*reconcile.Reconciler, func() int) {
		time.Sleep(time.Minute - time.Second)
		if got := s.states(); got != "[unknown_outcome:1]" || a.n() < 2 {
			t.Errorf("%s after %d questions", got, a.n())
		}
		time.Sleep(2 * time.Second)
		if got := s.states(); got != "[failed_before_effect:1]" {
			t.Errorf("%s", got)
		}
	})
}

// TestAClockThatIsSetMakesNoAbsence: the call is on its way, and a wall clock
// that jumps an hour does not make it older.
func TestAClockThatIsSetMakesNoAbsence(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Absent)}
	long := inquiry
	long.GiveUp = 48 * time.Hour
	bubble(t, s, a, func(o *reconcile.Options) {
		s.add(1)
		o.Targets[0].Inquiry = long
	}, func(r *reconcile.Reconciler, _ func() int) {
		time.Sleep(time.Second)
		s.mu.Lock()
		s.jumped = time.Hour
		s.mu.Unlock()
		r.Wake()
		time.Sleep(50 * time.Second)
		if got := s.states(); got != "[unknown_outcome:1]" || a.n() < 2 {
			t.Errorf("%s after %d questions, a minute before the call has had its time", got, a.n())
		}
		time.Sleep(90 * time.Second)
		if got := s.states(); got != "[failed_before_effect:1]" {
			t.Errorf("%s in the end", got)
		}
	})
}

func TestQuestionsBecomeRareAndEnd(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Unclear)}
	bubble(t, s, a, func(*reconcile.Options) { s.add(1) }, func(*reconcile.Reconciler, func() int) {
		time.Sleep(2 * time.Hour)
		if got := s.states(); got != "[dead_lettered:1]" || a.n() > 20 {
			t.Errorf("%s after %d questions", got, a.n())
		}
	})
}

func TestAPausedDestinationIsNotAsked(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Present)}
	var mu sync.Mutex
	paused := true
	bubble(t, s, a, func(o *reconcile.Options) {
		s.add(1)
		o.Paused = func(string) bool {
			mu.Lock()
			defer mu.Unlock()
			return paused
		}
	}, func(*reconcile.Reconciler, func() int) {
		time.Sleep(time.Hour)
		if a.n() != 0 {
			t.Errorf("%d questions", a.n())
		}
		mu.Lock()
		paused = false
		mu.Unlock()
		time.Sleep(10 * time.Second)
		if got := s.states(); got != "[completed:1]" {
			t.Errorf("%s", got)
		}
	})
}

// TestQuestionsKeepToTheDestinationsRate: they are calls, too.
func TestQuestionsKeepToTheDestinationsRate(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Present)}
	bubble(t, s, a, func(o *reconcile.Options) {
		s.add(10)
		rate := make(chan struct{}, 1)
		o.Throttle = func(ctx context.Context, destination string) bool {
			if destination != "bank" {
				t.Errorf("the rate of %q", destination)
			}
			rate <- struct{}{}
			defer func() { <-rate }()
			select {
			case <-ctx.Done():
				return false
			case <-time.After(time.Second):
				return true
			}
		}
	}, func(*reconcile.Reconciler, func() int) {
		time.Sleep(5*time.Second + time.Second/2)
		if n := a.n(); n != 5 {
			t.Errorf("%d questions in five seconds, want 5", n)
		}
	})
}

// TestAStoreThatDoesNotAnswer: nothing is lost, and it is asked again.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	s, a := &store{fails: 3, unread: 2}, &asker{say: always(onceward.Present)}
	bubble(t, s, a, func(*reconcile.Options) { s.add(1) }, func(*reconcile.Reconciler, func() int) {
		time.Sleep(time.Minute)
		if got := s.states(); got != "[completed:1]" || a.n() != 4 {
			t.Errorf("%s after %d questions", got, a.n())
		}
	})
}

// TestWhatIsDecidedDuringTheQuestionStays: the late owner reports while the
// other side is asked.
func TestWhatIsDecidedDuringTheQuestionStays(t *testing.T) {
	s := &store{}
	a := &asker{say: always(onceward.Absent)}
	a.during = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		o := s.all[0]
		if o.State != onceward.UnknownOutcome {
			return
		}
		after, by, err := o.Settle(onceward.Lease{Fence: 1, Attempt: 1}, onceward.Succeeded("late"), onceward.Limits{}, time.Now())
		if err != nil || by != "T19" {
			t.Errorf("%s, %v", by, err)
		}
		s.all[0] = after
	}
	bubble(t, s, a, func(*reconcile.Options) { s.add(1) }, func(_ *reconcile.Reconciler, decided func() int) {
		time.Sleep(2 * time.Minute)
		if got := s.states(); got != "[completed:1]" || a.n() != 1 || decided() != 0 {
			t.Errorf("%s after %d questions, %d told", got, a.n(), decided())
		}
	})
}

// TestAStopDuringTheQuestion: what was cut says nothing, and is asked anew.
func TestAStopDuringTheQuestion(t *testing.T) {
	s, a := &store{}, &asker{say: always(onceward.Unclear), took: time.Minute}
	bubble(t, s, a, func(*reconcile.Options) { s.add(1) }, func(*reconcile.Reconciler, func() int) { time.Sleep(time.Second) })
	if len(s.decided) != 0 || a.n() != 1 {
		t.Errorf("recorded %q after %d questions", s.decided, a.n())
	}
	if !errors.Is(onceward.ErrDisputed, onceward.ErrFenced) {
		t.Error("a dispute is a lost lease")
	}
}
