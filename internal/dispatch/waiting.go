package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// waiting are the leases of what waits in a lane: in its queue, for its rate,
// for a share of the workers. They are renewed meanwhile. Otherwise a wait
// longer than the lease would look like a lost owner, and each takeover would
// spend an attempt without a call.
type waiting struct {
	mu  sync.Mutex
	all map[*waiter]struct{}
}

// waiter is one job's lease until its call begins or it is handed back.
type waiter struct {
	op *operation

	mu    sync.Mutex // held through a renewal, so that none is under way when the job begins
	lease onceward.Lease
	over  bool
}

// job puts a leased operation among those that wait in its lane.
func (o *operation) job(l onceward.Leased) job {
	w := &waiter{op: o, lease: l.Lease}
	o.lane.waiting.mu.Lock()
	defer o.lane.waiting.mu.Unlock()
	o.lane.waiting.all[w] = struct{}{}
	return job{op: o, leased: l, waiter: w}
}

// done ends the wait and returns the lease as last renewed.
func (w *waiter) done() onceward.Lease {
	at := &w.op.lane.waiting
	at.mu.Lock()
	delete(at.all, w)
	at.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return w.lease
}

// keepWaiting renews the leases of what waits in a lane until ctx ends.
func (d *Dispatcher) keepWaiting(ctx context.Context, l *lane) {
	tick := time.NewTicker(max(l.shortest/4, time.Millisecond)) // twice before the half that is left has gone
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.renewWaiting(ctx, l)
		}
	}
}

// renewWaiting renews what has less than half of its lease left, together, so
// that the renewals share commits.
func (d *Dispatcher) renewWaiting(ctx context.Context, l *lane) {
	now := d.o.Now()
	var ending sync.WaitGroup
	defer ending.Wait()
	l.waiting.mu.Lock()
	defer l.waiting.mu.Unlock()
	for w := range l.waiting.all {
		ending.Go(func() { d.renewWaiter(ctx, w, now) })
	}
}

func (d *Dispatcher) renewWaiter(ctx context.Context, w *waiter, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.lease.Until.Sub(now) > w.op.limits.Lease/2 {
		return
	}
	next, err := d.o.Store.Renew(context.WithoutCancel(ctx), w.lease, d.leaseFor(w.op))
	switch {
	case err == nil:
		w.lease = next
	case errors.Is(err, onceward.ErrFenced):
		w.lease.Until = time.Time{} // so that it is looked at before the call
	}
}
