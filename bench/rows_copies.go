package main

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

const (
	uniqueTraffic = "gateway, paused, unique ids"
	copiedTraffic = "gateway, paused, 10 copies at once"

	copiedIDs   = 1000
	copiesEach  = 10
	warmupCount = 2000 // deliveries before the measured ones, with copies as in these
)

// copiesRows ask what a storm of copies does: it must cost less than new
// events, be answered as well, and have no effect of its own.
func copiesRows(ctx context.Context, l *lab) ([]report.Row, error) {
	found, err := l.alternate(ctx, []arm{
		{uniqueTraffic, func(ctx context.Context) (figure, error) { return l.copiesRun(ctx, 1) }},
		{copiedTraffic, func(ctx context.Context) (figure, error) { return l.copiesRun(ctx, copiesEach) }},
	})
	if err != nil {
		return nil, err
	}
	own := found[copiedTraffic]
	none := report.AtMost(0)
	return []report.Row{
		{ID: "P6", What: "1,000 ids × 10 at once ÷ unique traffic", Baseline: each(found[uniqueTraffic], rate), Own: each(own, rate), Must: report.AtLeast(1.5), Aim: report.AtLeast(2)},
		{ID: "P6", What: "of these 10,000 deliveries not answered 2xx", Own: each(own, func(f figure) float64 { return float64(f.notAccepted) }), Unit: report.Number, Must: none, Worst: true},
		{ID: "P6", What: "of these 1,000 ids with other than one effect", Own: each(own, func(f figure) float64 { return float64(f.wrong) }), Unit: report.Number, Must: none, Worst: true},
	}, nil
}

// copiesRun sends the same number of deliveries as unique events or as copies,
// then lets the destination run and counts the effects of every id.
func (l *lab) copiesRun(ctx context.Context, copies int) (figure, error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return figure{}, err
	}
	defer remove()
	s, err := l.startSink(ctx, "-ids")
	if err != nil {
		return figure{}, err
	}
	defer s.kill()
	g, err := l.startPaused(ctx, dir, route{mainRoute, event.Stripe, s.url()})
	if err != nil {
		return figure{}, err
	}
	f, err := l.storm(ctx, g, s, copies)
	if err != nil {
		g.kill()
		return figure{}, err
	}
	return f, g.stop()
}

func (l *lab) storm(ctx context.Context, g *gateway, s *sinkProcess, copies int) (figure, error) {
	warm, c := l.corpus(event.Stripe, g.intake, mainRoute), l.corpus(event.Stripe, g.intake, mainRoute)
	if _, err := l.load(ctx, warm, g.intake, load.Options{Connections: some, Copies: copies, Count: warmupCount}); err != nil {
		return figure{}, err
	}
	r, err := l.load(ctx, c, g.intake, load.Options{Connections: some, Copies: copies, Count: copiedIDs * copiesEach})
	if err != nil {
		return figure{}, err
	}
	f := figure{rate: r.Rate(), p50: r.Latency(0.5), p99: r.Latency(0.99), notAccepted: r.NotAccepted()}
	if err := g.resume(ctx, mainRoute); err != nil {
		return figure{}, err
	}
	ids := int64(copiedIDs * copiesEach / copies)
	if _, err := g.settled(ctx, mainRoute, ids, settleWithin); err != nil {
		return figure{}, fmt.Errorf("after the destination was resumed: %w", err)
	}
	counts, err := s.counts(ctx)
	if err != nil {
		return figure{}, err
	}
	for n := range ids {
		if counts.Events[c.ID(n)] != 1 {
			f.wrong++
		}
	}
	return f, nil
}
