// Package bulk is the side room in which a decision about many events is
// carried out: a few of them at a time, with a pause between, so that intake
// never waits long behind it. It keeps no state of its own: where a bulk stands
// is in the store, in the same transaction as what was done, so a restart goes
// on exactly there. What may be done to an event is the rules' to say.
package bulk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
)

// Store is what the room asks of a store.
type Store interface {
	RunningBulk(context.Context) (b onceward.Bulk, found bool, err error)
	Events(ctx context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error)
	StepBulk(ctx context.Context, b onceward.Bulk, steps []onceward.Step, next string, last bool) (onceward.Bulk, error)
}

// Runner carries bulks out, one after the other. Store and Log are required.
type Runner struct {
	Store Store
	// Reread says what the configuration of today makes of a recorded event; nil
	// when its payload is no longer kept or its source is not configured.
	Reread func(context.Context, onceward.Event) (*onceward.Arrival, error)
	// KeyMemory tells, by operation, how long its destination remembers a key.
	KeyMemory func() map[string]time.Duration
	// Wake is told when work became due.
	Wake func()
	Log  *slog.Logger

	begun chan struct{}
}

const (
	stepEvents = 25
	stepPause  = 25 * time.Millisecond // with stepEvents: no more than a thousand events a second
	lookEvery  = 5 * time.Second
	rereads    = 3
)

// New returns a runner; Begun may be called before Run.
func New(r Runner) *Runner {
	r.begun = make(chan struct{}, 1)
	return &r
}

// Begun says that a bulk was recorded.
func (r *Runner) Begun() {
	select {
	case r.begun <- struct{}{}:
	default:
	}
}

// Run carries out what is recorded until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	for {
		more, err := r.step(ctx)
		wait := lookEvery
		if err != nil && ctx.Err() == nil && !errors.Is(err, onceward.ErrFenced) {
			r.Log.Warn("a bulk could not go on; it is tried again", telemetry.KeyError, err)
		} else if more {
			wait = stepPause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.begun:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// step does the next few events of the oldest bulk. It reports whether there
// may be more to do.
func (r *Runner) step(ctx context.Context) (more bool, err error) {
	b, found, err := r.Store.RunningBulk(ctx)
	if err != nil || !found {
		return false, err
	}
	q := b.Filter
	q.Page = onceward.Page{After: b.Cursor, Limit: stepEvents}
	if q.Search != "" { // finds a few, and has no pages
		q.Page = onceward.Page{Limit: 500}
	}
	events, next, err := r.Store.Events(ctx, q)
	if err != nil {
		return true, err
	}
	steps := make([]onceward.Step, len(events))
	for i, e := range events {
		steps[i] = onceward.Step{Event: e.ID, KeyMemory: r.KeyMemory()}
		if b.Mode != onceward.Erase && (b.Held() && e.Verdict == onceward.QuarantinedBy || len(b.Operations) > 0) {
			if steps[i].Reading, err = r.reread(ctx, e); ctx.Err() != nil {
				return true, ctx.Err()
			} else if err != nil {
				steps[i].Fault = "it could not be read: " + err.Error()
			}
		}
	}
	after, err := r.Store.StepBulk(ctx, b, steps, next, next == "")
	if err != nil {
		return true, err
	}
	if after.Changed > b.Changed && r.Wake != nil {
		r.Wake()
	}
	if !after.Ended.IsZero() {
		r.Log.Info("a bulk ended", "bulk", after.String(), "mode", after.Mode.String(), "changed", after.Changed, "left", after.Left, "refused", after.Refused)
	}
	return true, nil
}

// reread reads an event, a few times if need be: what passes should not count
// against it, and what does not pass must not stop those behind it. When the
// whole store is away the step fails, and all of it is done again.
func (r *Runner) reread(ctx context.Context, e onceward.Event) (a *onceward.Arrival, err error) {
	for range rereads {
		if a, err = r.Reread(ctx, e); err == nil {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(stepPause):
		}
	}
	return nil, err
}
