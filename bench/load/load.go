// Package load sends prepared requests to one HTTP/1.1 server and measures what
// comes back. It owns connections, pace and clock, and nothing of what the
// requests say.
//
// A closed loop asks how much a server can take: each connection sends its next
// request when the last one is answered. An open loop asks how a server behaves
// at a rate that others set: every request has a due time, and its latency
// counts from there, so that a server that falls behind cannot hide the wait by
// slowing its client down.
//
// Sender and server usually share a machine, so a request costs as little as it
// can: raw connections, bytes that are ready, no pipelining, no allocation.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Requests writes requests for one connection. The bytes are good until the
// next call.
type Requests interface{ Request(n int64) []byte }

// Options say what is sent, and how.
type Options struct {
	Address     string          // HOST:PORT
	Connections int             // at once, each kept alive; 1 when 0
	Requests    func() Requests // called once for each connection

	First  int64 // number of the first request
	Copies int   // how often each request is sent, the copies at once over all connections; 1 when 0
	Count  int64 // deliveries, copies included, after which it ends; 0 is no limit

	Rate     float64       // deliveries begun in a second over all connections (open loop); 0 is a closed loop
	Warmup   time.Duration // at the beginning, not measured
	Duration time.Duration // measured; 0 ends with Count only
}

// grace is how long answers may take after the end.
const grace = 30 * time.Second

// longest bounds a run that ends with Count only.
const longest = time.Hour

// Run sends until the time or the count is over and returns when every request
// is answered. It fails when the server cannot be reached at the beginning, and
// when ctx ends.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Count <= 0 && o.Duration <= 0 {
		return nil, errors.New("load without an end: set Count or Duration")
	}
	o.Connections, o.Copies = max(o.Connections, 1), max(o.Copies, 1)
	r := &runner{o: o, connections: make([]*connection, o.Connections)}
	defer r.close()
	for i := range r.connections {
		c, err := dial(ctx, o.Address)
		if err != nil {
			return nil, fmt.Errorf("open connection %d of %d: %w", i+1, o.Connections, err)
		}
		r.connections[i] = c
	}
	return r.run(ctx)
}

type runner struct {
	o           Options
	connections []*connection
	samples     []sample // one for each connection

	start, begin, end time.Time // of everything, of the measured time
	next              atomic.Int64
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	r.samples = make([]sample, len(r.connections))
	r.start = time.Now()
	r.begin = r.start.Add(r.o.Warmup)
	r.end = r.begin.Add(longest)
	if r.o.Duration > 0 {
		r.end = r.begin.Add(r.o.Duration)
	}
	for _, c := range r.connections {
		if err := c.limit(r.end.Add(grace)); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, r.close) // nobody else would wake a reader
	defer stop()
	if r.o.Rate > 0 {
		r.open(ctx)
	} else {
		r.closed(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load was cut off: %w", err)
	}
	return r.result(), nil
}

// closed lets every connection send one request after the other.
func (r *runner) closed(ctx context.Context) {
	var all sync.WaitGroup
	for i, c := range r.connections {
		requests := r.o.Requests()
		all.Go(func() {
			for ctx.Err() == nil {
				n := r.next.Add(1) - 1
				now := time.Now()
				if r.o.Count > 0 && n >= r.o.Count || !now.Before(r.end) {
					return
				}
				err := c.send(requests.Request(r.number(n)))
				r.receive(i, now, err)
			}
		})
	}
	all.Wait()
}

// number is the request that delivery n sends.
func (r *runner) number(n int64) int64 { return r.o.First + n/int64(r.o.Copies) }

// receive reads the answer to what connection i sent, unless sending failed,
// and records it; the latency counts from since.
func (r *runner) receive(i int, since time.Time, err error) {
	s, status := &r.samples[i], 0
	if err == nil {
		status, err = r.connections[i].receive()
	}
	now := time.Now()
	s.sent++
	s.last = now
	if err != nil {
		s.lost++
		return
	}
	accepted := status >= 200 && status <= 299
	if accepted {
		s.taken++
	}
	if r.o.Rate > 0 {
		// By due time, so that slow answers are not left out.
		if since.Before(r.begin) {
			return
		}
	} else if now.Before(r.begin) || now.After(r.end) {
		return
	}
	s.record(status, accepted, now.Sub(since))
}

func (r *runner) close() {
	for _, c := range r.connections {
		if c != nil {
			c.close()
		}
	}
}
