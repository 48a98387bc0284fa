package load

import (
	"context"
	"runtime"
	"time"
)

// schedule says when the deliveries of an open loop are due.
type schedule struct {
	start time.Time
	rate  float64
}

// due returns the time of delivery n. It is computed from the start, never from
// the delivery before, so that rounding and delays cannot add up.
func (s schedule) due(n int64) time.Time {
	return s.start.Add(time.Duration(float64(n) * float64(time.Second) / s.rate))
}

// pace hands out tickets as they become due, to whichever connection is free.
// It never skips one: with every connection busy the tickets wait, and their
// latency grows.
//
// It sleeps in the kernel, on a thread of its own: timers of the Go runtime are
// up to a millisecond late on an idle machine, which is more than a server that
// answers after one disk write takes in all.
func (r *runner) pace(ctx context.Context, tickets chan<- ticket) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(tickets)
	s := schedule{r.start, r.o.Rate}
	for n := int64(0); r.o.Count <= 0 || n < r.o.Count; n++ {
		due := s.due(n)
		if !due.Before(r.end) {
			return
		}
		sleep(time.Until(due))
		select {
		case tickets <- ticket{n, due}:
		case <-ctx.Done():
			return
		}
	}
}
