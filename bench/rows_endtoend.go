package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
)

// settleWithin bounds how long a backlog may take to be worked off.
const settleWithin = 2 * time.Minute

// endToEndRun takes in as much as it can and forwards it to a trivial sink. The
// clock runs from the first delivery until the last operation is settled, so
// that neither a growing backlog nor a late acknowledgement is left out.
func (l *lab) endToEndRun(ctx context.Context) (figure, error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return figure{}, err
	}
	defer remove()
	s, err := l.startSink(ctx)
	if err != nil {
		return figure{}, err
	}
	defer s.kill()
	g, err := l.startGateway(ctx, dir, route{mainRoute, event.Stripe, s.url()})
	if err != nil {
		return figure{}, err
	}
	f, accepted, err := l.deliverAll(ctx, g, s)
	if err != nil {
		g.kill()
		return figure{}, err
	}
	if err := g.stop(); err != nil {
		return figure{}, err
	}
	size, err := bytesIn(g.store())
	if err != nil {
		return figure{}, err
	}
	f.perEvent = float64(size) / float64(accepted)
	return f, nil
}

func (l *lab) deliverAll(ctx context.Context, g *gateway, s *sinkProcess) (f figure, accepted int64, err error) {
	began := time.Now()
	f, r, err := l.saturate(ctx, g.process, g.intake, event.Stripe, load.Options{Connections: some, Duration: l.duration})
	if err != nil {
		return figure{}, 0, err
	}
	taken := time.Since(began)
	ended, err := g.settled(ctx, mainRoute, r.Taken, settleWithin)
	if err != nil {
		return figure{}, 0, err
	}
	if f.peak, err = peakMemory(g.cmd.Process.Pid); err != nil {
		return figure{}, 0, err
	}
	counts, err := s.counts(ctx)
	if err != nil {
		return figure{}, 0, err
	}
	if counts.Calls < r.Taken {
		return figure{}, 0, fmt.Errorf("the gateway says that %d events are completed, but the sink saw %d calls", r.Taken, counts.Calls)
	}
	f.rate = float64(r.Taken) / ended.Sub(began).Seconds()
	l.say("       taken in at %.0f/s for %v, settled %v later", float64(r.Taken)/taken.Seconds(), taken.Round(time.Millisecond), (ended.Sub(began) - taken).Round(time.Millisecond))
	return f, r.Taken, nil
}

// sinkProcess is a running sink.
type sinkProcess struct {
	*process
	address string
}

func (l *lab) startSink(ctx context.Context, args ...string) (*sinkProcess, error) {
	p, address, err := l.startRole(ctx, roleSink, args...)
	if err != nil {
		return nil, err
	}
	return &sinkProcess{p, address}, nil
}

func (s *sinkProcess) url() string { return "http://" + s.address + "/" }

func (s *sinkProcess) counts(ctx context.Context) (sinkCounts, error) {
	var c sinkCounts
	err := call(ctx, http.MethodGet, "http://"+s.address+sinkCountsPath, nil, &c)
	return c, err
}
