package main

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

const (
	healthyAlone = "healthy destination alone"
	besideSick   = "beside a dead and a slow one"

	deadRoute = "dead"
	slowRoute = "slow"
	slowness  = "5s"

	// sickBacklog is enough to keep a dead and a slow destination busy for the
	// whole run; sickRate keeps new work coming. Both are small, because what
	// is asked is who waits for whom, not how processor time is shared.
	sickBacklog = 500
	sickRate    = 20
)

// isolationRows ask whether one destination's trouble is another's.
func isolationRows(ctx context.Context, l *lab) ([]report.Row, error) {
	found, err := l.alternate(ctx, []arm{
		{healthyAlone, func(ctx context.Context) (figure, error) { return l.isolationRun(ctx, false) }},
		{besideSick, func(ctx context.Context) (figure, error) { return l.isolationRun(ctx, true) }},
	})
	if err != nil {
		return nil, err
	}
	return []report.Row{{
		ID: "P13", What: "calls to a healthy destination beside a dead and a slow one ÷ alone", Baseline: each(found[healthyAlone], rate), Own: each(found[besideSick], rate),
		Must: report.AtLeast(0.95), Aim: report.AtLeast(1),
	}}, nil
}

func (l *lab) isolationRun(ctx context.Context, sick bool) (figure, error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return figure{}, err
	}
	defer remove()
	healthy, err := l.startSink(ctx)
	if err != nil {
		return figure{}, err
	}
	defer healthy.kill()
	slow, err := l.startSink(ctx, "-delay", slowness)
	if err != nil {
		return figure{}, err
	}
	defer slow.kill()
	dead, err := freeAddress()
	if err != nil {
		return figure{}, err
	}
	g, err := l.startGateway(ctx, dir, route{mainRoute, event.Stripe, healthy.url()}, route{deadRoute, event.Stripe, "http://" + dead + "/"}, route{slowRoute, event.Stripe, slow.url()})
	if err != nil {
		return figure{}, err
	}
	defer g.kill() // nothing more is asked of it, and the slow calls would hold up a proper stop
	if sick {
		for _, name := range []string{deadRoute, slowRoute} {
			if _, err := l.load(ctx, l.corpus(event.Stripe, g.intake, name), g.intake, load.Options{Connections: 8, Count: sickBacklog}); err != nil {
				return figure{}, err
			}
		}
	}
	return l.besides(ctx, g, healthy, sick)
}

// besides sends to the healthy destination as much as it can, a little to the
// sick ones, and counts the calls that the healthy one gets meanwhile.
func (l *lab) besides(ctx context.Context, g *gateway, healthy *sinkProcess, sick bool) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others sync.WaitGroup
	defer others.Wait()
	if sick {
		for _, name := range []string{deadRoute, slowRoute} {
			c := l.corpus(event.Stripe, g.intake, name)
			others.Go(func() {
				// It ends with ctx; a delivery that is lost then is no loss.
				_, _ = l.load(ctx, c, g.intake, load.Options{Connections: 4, Rate: sickRate, Duration: l.warmup + l.duration})
			})
		}
	}
	var f figure
	var loaded error
	others.Go(func() {
		f, _, loaded = l.saturate(ctx, g.process, g.intake, event.Stripe, l.closedLoop(some))
	})
	calls, took, err := countCalls(ctx, healthy, l.warmup, l.duration)
	if err != nil {
		cancel()
	}
	others.Wait()
	if err == nil {
		err = loaded
	}
	f.rate = float64(calls) / took.Seconds()
	return f, err
}

// countCalls counts what a sink gets in a time that begins after a wait.
func countCalls(ctx context.Context, s *sinkProcess, wait, duration time.Duration) (calls int64, took time.Duration, err error) {
	var before sinkCounts
	var began time.Time
	for _, pause := range []time.Duration{wait, duration} {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
		now, err := s.counts(ctx)
		if err != nil {
			return 0, 0, err
		}
		calls, took = now.Calls-before.Calls, time.Since(began)
		before, began = now, time.Now()
	}
	return calls, took, nil
}
