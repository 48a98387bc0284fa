// Package reconcile asks the other side about outcomes that are unknown, where
// it can be asked by our key, and hands what it said to the store, which
// decides. It asks and never repeats a call; it holds no lease, because a
// question has no effect and every decision is guarded by state and fence.
// Outcomes that nobody can be asked about are a person's.
package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
)

// Store is what the reconciler asks of a store.
type Store interface {
	Inquiries(context.Context, onceward.ClaimRequest) ([]onceward.Inquired, time.Time, error)
	Reconcile(context.Context, onceward.OperationID, int64, onceward.Finding, onceward.Inquiry, onceward.Plan) (onceward.Operation, error)
}

// Asker is a destination that can be asked by our key.
type Asker interface {
	Ask(ctx context.Context, key string) onceward.Finding
}

// Target is one step of an operation whose destination can be asked.
type Target struct {
	Operation   string
	Step        int
	Plan        onceward.Plan
	Destination string
	Asker       Asker
	Inquiry     onceward.Inquiry
	AtOnce      int // questions under way at one time; at least 1
}

// Options are what a Reconciler is made of.
type Options struct {
	Store   Store
	Targets []Target
	// Paused tells that a destination gets no calls; questions are calls, too.
	Paused func(destination string) bool
	// Throttle waits for a destination's rate. It reports false when ctx ended.
	Throttle func(ctx context.Context, destination string) bool
	// Decided is told how an operation stands that is no longer unknown.
	Decided func(onceward.Operation)
	Log     *slog.Logger
	Now     func() time.Time
}

// Reconciler asks about the operations of one process's destinations.
type Reconciler struct {
	o       Options
	changed []chan struct{}

	mu    sync.Mutex
	known map[onceward.OperationID]acquaintance
}

// acquaintance is since when this process knows of an unknown outcome, by the
// monotonic clock. A wall clock that is set forward must not make a call that
// is on its way look as if it had had its time.
type acquaintance struct {
	fence       int64
	since, last time.Time
}

const maxKnown = 4096

// since returns since when an operation is known to be unknown.
func (r *Reconciler) since(o onceward.Operation) time.Time {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.known[o.ID]
	if a.fence != o.Fence {
		a = acquaintance{fence: o.Fence, since: now}
	}
	a.last = now
	if len(r.known) > maxKnown { // others decided about most of them
		for id, old := range r.known {
			if now.Sub(old.last) > time.Hour {
				delete(r.known, id)
			}
		}
	}
	r.known[o.ID] = a
	return a.since
}

func (r *Reconciler) forget(id onceward.OperationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, id)
}

const (
	// pollEvery catches what no signal told of.
	pollEvery  = 5 * time.Second
	askBatch   = 64
	retryStore = time.Second
)

// New returns a reconciler that does nothing before Run.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Paused == nil {
		o.Paused = func(string) bool { return false }
	}
	if o.Throttle == nil {
		o.Throttle = func(ctx context.Context, _ string) bool { return ctx.Err() == nil }
	}
	if o.Decided == nil {
		o.Decided = func(onceward.Operation) {}
	}
	r := &Reconciler{o: o, known: map[onceward.OperationID]acquaintance{}}
	for range o.Targets {
		r.changed = append(r.changed, make(chan struct{}, 1))
	}
	return r
}

// Run asks until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error {
	var targets sync.WaitGroup
	for i, t := range r.o.Targets {
		targets.Go(func() { r.loop(ctx, t, r.changed[i]) })
	}
	targets.Wait()
	return nil
}

// Wake says that something may be due to be asked about.
func (r *Reconciler) Wake() {
	for _, c := range r.changed {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (r *Reconciler) loop(ctx context.Context, t Target, changed <-chan struct{}) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		poll.Reset(r.Round(ctx, t))
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-changed:
		}
	}
}

// Round asks once about everything that is due of a target, and returns how
// long there is nothing to ask.
func (r *Reconciler) Round(ctx context.Context, t Target) time.Duration {
	if r.o.Paused(t.Destination) || ctx.Err() != nil {
		return pollEvery
	}
	due, next, err := r.o.Store.Inquiries(ctx, onceward.ClaimRequest{Name: t.Operation, Step: t.Step, Limit: askBatch})
	if err != nil {
		if ctx.Err() == nil {
			r.o.Log.Warn("could not look for unknown outcomes to ask about; they stay recorded", telemetry.KeyOperation, t.Operation, telemetry.KeyError, err)
		}
		return retryStore
	}
	if len(due) == 0 {
		if next.IsZero() {
			return pollEvery
		}
		return min(max(next.Sub(r.o.Now()), time.Millisecond), pollEvery)
	}
	var asking sync.WaitGroup
	slots := make(chan struct{}, max(t.AtOnce, 1))
	var failed sync.Once
	wait := time.Duration(0)
	for _, q := range due {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			if !r.ask(ctx, t, q) {
				failed.Do(func() { wait = retryStore })
			}
		})
	}
	asking.Wait()
	return wait
}

// ask asks about one operation and records what was said. It reports false when
// that could not be recorded.
func (r *Reconciler) ask(ctx context.Context, t Target, q onceward.Inquired) bool {
	o := q.Operation
	if !r.o.Throttle(ctx, t.Destination) {
		return true
	}
	// A tenth less, because the first question is a moment after the outcome.
	early := time.Since(r.since(o)) < t.Inquiry.Settle-t.Inquiry.Settle/10
	f := t.Asker.Ask(ctx, o.Downstream(q.Key, o.StepName()))
	if ctx.Err() != nil && f.Presence == onceward.Unclear {
		return true // the question was cut, which says nothing
	}
	f.Asked, f.Early = q.Now, early
	after, err := r.o.Store.Reconcile(context.WithoutCancel(ctx), o.ID, o.Fence, f, t.Inquiry, t.Plan)
	log := r.o.Log.With(telemetry.KeyEvent, o.ID.Event.String(), telemetry.KeyOperation, o.Name, telemetry.KeyDigest, q.Key.String(),
		telemetry.KeyAttempt, o.Attempt, telemetry.KeyFence, o.Fence, telemetry.KeyDestination, t.Destination)
	switch {
	case errors.Is(err, onceward.ErrFenced), errors.Is(err, onceward.ErrNotFound):
		log.Debug("decided meanwhile; the answer was not needed")
		r.forget(o.ID)
		return true
	case err != nil:
		log.Warn("what the other side said could not be recorded; it is asked again", telemetry.KeyError, err)
		return false
	}
	log = log.With(telemetry.KeyState, after.State.String(), telemetry.KeyReason, after.Reason)
	switch {
	case after.State == onceward.DeadLettered:
		log.Error("its outcome stays unknown; a person has to decide")
	case after.State == onceward.UnknownOutcome:
		log.Info("asked about an unknown outcome without a clear answer", telemetry.KeyNextAt, after.AskAt)
	default:
		log.Info("the other side cleared up an unknown outcome", telemetry.KeyOutcome, f.Presence.String())
	}
	if after.State != onceward.UnknownOutcome {
		r.forget(o.ID)
		r.o.Decided(after)
	}
	return true
}
