package dispatch

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
)

const (
	claimBatch = 64
	// pollEvery catches what no signal told of: another node's work, a clock
	// that was moved.
	pollEvery = 5 * time.Second
	// retryStore is the wait after the store did not answer.
	retryStore = time.Second
)

// claimLoop takes due operations of one name whenever its lane has room.
func (d *Dispatcher) claimLoop(ctx context.Context, op *operation) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		wait := d.claim(ctx, op)
		poll.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-op.changed:
		}
	}
}

// claim takes what is due and fits, and returns how long there is nothing to do
// unless a signal comes.
func (d *Dispatcher) claim(ctx context.Context, op *operation) time.Duration {
	if op.lane.paused.Load() || ctx.Err() != nil {
		return pollEvery
	}
	if wait := op.wait(d.o.Now()); wait > 0 {
		return wait
	}
	places := op.lane.reserveUpTo(claimBatch)
	if places == 0 {
		return pollEvery // the lane tells when it has room
	}
	op.begin()
	// A claim that is given up may still be committed, and then nobody would
	// know of its leases until they run out.
	leased, next, err := d.o.Store.Claim(context.WithoutCancel(ctx), onceward.ClaimRequest{
		Name: op.Name, Step: op.step, Owner: d.o.Owner, Effect: op.lane.Effect, Limits: op.limits,
		Intend: op.lane.Effect == onceward.Keyed, Limit: int(places),
	})
	if err != nil {
		// What it may have leased is not whole: its event or its payload could
		// not be read. It is taken again when the leases end.
		op.lane.release(places)
		if ctx.Err() == nil {
			d.o.Log.Warn("could not take due operations; they stay recorded", telemetry.KeyOperation, op.Name, telemetry.KeyError, err)
		}
		op.wakeAt(d.o.Now().Add(retryStore))
		return retryStore
	}
	// Places for what was leased are released when it is settled.
	op.lane.release(places - int64(len(leased)))
	for _, l := range leased {
		if l.Recovered {
			d.o.OnRecovered()
		}
		op.lane.queue <- op.job(l)
	}
	now := d.o.Now()
	if !next.IsZero() {
		op.wakeAt(next)
	}
	op.caughtUp(next.IsZero() || next.After(now))
	return op.wait(now)
}

// wait returns how long nothing of the operation is due, at most pollEvery.
func (o *operation) wait(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.due.IsZero() {
		o.due = now.Add(pollEvery)
	}
	return min(o.due.Sub(now), pollEvery)
}

// begin forgets what was known to be due: the claim will tell anew, and what is
// recorded during the claim wakes the loop again.
func (o *operation) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due, o.behind = time.Time{}, false
}

func (o *operation) caughtUp(yes bool) {
	if !yes {
		o.fallBehind()
	}
}
