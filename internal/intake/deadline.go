package intake

import (
	"context"
	"sync"
	"time"
)

// deadlines gives each delivery to one source a context that ends with its commit budget, at
// most a sixteenth early. Those that arrive in the same sixteenth share one: a
// timer for each delivery would be set and stopped thousands of times a second
// and never fire. The sender may hang up; what it sent is still recorded.
type deadlines struct {
	mu    sync.Mutex
	ctx   context.Context
	renew time.Time
}

func (d *deadlines) next(budget time.Duration) context.Context {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || !now.Before(d.renew) {
		ctx, cancel := context.WithDeadline(context.Background(), now.Add(budget))
		context.AfterFunc(ctx, cancel) // only its own time may end it: others wait under it
		d.ctx, d.renew = ctx, now.Add(budget/16)
	}
	return d.ctx
}
