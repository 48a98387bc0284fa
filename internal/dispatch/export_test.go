package dispatch

import (
	"context"

	"github.com/onceward/onceward"
)

// RenewWaiting looks at what waits at a destination, as it does every now and
// then.
func (d *Dispatcher) RenewWaiting(destination string) {
	d.renewWaiting(context.Background(), d.lanes[destination])
}

// Waiting is how many operations wait at a destination.
func (d *Dispatcher) Waiting(destination string) int {
	w := &d.lanes[destination].waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// Keep renews a lease as it does beside a call of that operation.
func (d *Dispatcher) Keep(ctx context.Context, name string, l onceward.Leased) (stop func() onceward.Lease) {
	j := job{op: d.operations[name][0], leased: l}
	end := d.keep(ctx, &j)
	return func() onceward.Lease {
		end()
		return j.leased.Lease
	}
}
