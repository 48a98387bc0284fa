package load

import (
	"context"
	"runtime"
	"sync"
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

// ticket is a request that was sent, or could not be.
type ticket struct {
	due  time.Time
	late time.Duration
	err  error
}

// open sends requests when they are due, each over a connection that is free.
func (r *runner) open(ctx context.Context) {
	idle := make(chan int, len(r.connections))
	sent := make([]chan ticket, len(r.connections))
	var all sync.WaitGroup
	for i := range r.connections {
		idle <- i
		sent[i] = make(chan ticket, 1)
		all.Go(func() {
			for t := range sent[i] {
				if !t.due.Before(r.begin) {
					r.samples[i].lateness = append(r.samples[i].lateness, t.late)
				}
				r.receive(i, t.due, t.err)
				idle <- i
			}
		})
	}
	all.Go(func() {
		r.pace(ctx, idle, sent)
		for _, c := range sent {
			close(c)
		}
	})
	all.Wait()
}

// pace sends every request at its due time, or, with every connection busy, as
// soon as one is free: it skips none, and their latency grows.
//
// It sleeps in the kernel, on a thread of its own that ends with it, and writes
// the request itself: timers of the Go runtime are up to a millisecond late on
// an idle machine, and waking another goroutine first costs again. A server
// that answers after one disk write takes less than that in all.
func (r *runner) pace(ctx context.Context, idle <-chan int, sent []chan ticket) {
	runtime.LockOSThread()
	sharpen()
	requests, s := r.o.Requests(), schedule{r.start, r.o.Rate}
	for n := int64(0); r.o.Count <= 0 || n < r.o.Count; n++ {
		due := s.due(n)
		if !due.Before(r.end) {
			return
		}
		request := requests.Request(r.number(n))
		sleep(time.Until(due))
		select {
		case i := <-idle:
			late := time.Since(due)
			err := r.connections[i].send(request)
			sent[i] <- ticket{due, late, err}
		case <-ctx.Done():
			return
		}
	}
}
