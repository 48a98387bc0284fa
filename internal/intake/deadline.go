package intake

import (
	"context"
	"sync"
	"time"
)

// deadlines gives each delivery a context that ends with its commit budget, at
// most a sixteenth early. Those that arrive in the same sixteenth share one: a
// timer for each delivery would be set and stopped thousands of times a second
// and never fire. The sender may hang up; what it sent is still recorded.
type deadlines struct {
	budget time.Duration

	mu    sync.Mutex
	ctx   context.Context
	renew time.Time
}

func (d *deadlines) next() context.Context {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || !now.Before(d.renew) {
		ctx, cancel := context.WithDeadline(context.Background(), now.Add(d.budget))
		context.AfterFunc(ctx, cancel) // only its own time may end it: others wait under it
		d.ctx, d.renew = ctx, now.Add(d.budget/16)
	}
	return d.ctx
}
