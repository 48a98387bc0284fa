package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

const (
	emptyIntake   = "gateway, paused, empty store"
	grownIntake   = "gateway, paused, grown store"
	prunedIntake  = "gateway, paused, grown store, forgetting"
	emptyEndToEnd = "gateway, end to end, empty store"
	grownEndToEnd = "gateway, end to end, grown store"
)

// grownRows ask what a long memory costs. One store is filled once and used by
// every run; what the runs add is little beside what it holds. They are
// measured only when -million says how much that is.
func grownRows(ctx context.Context, l *lab) ([]report.Row, error) {
	if l.million <= 0 {
		return nil, nil
	}
	dir, remove, err := l.fresh()
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := l.fill(ctx, dir); err != nil {
		return nil, fmt.Errorf("fill a store: %w", err)
	}
	much := fmt.Sprintf("%d million remembered", l.million)
	start := report.Row{ID: "P10", What: "start to ready, " + much, Unit: report.Milliseconds, Must: report.AtMost(300), Aim: report.AtMost(150)}
	for range starts {
		took, err := l.startOnce(ctx, dir)
		if err != nil {
			return nil, err
		}
		start.Own = append(start.Own, milliseconds(took))
	}
	l.say("       %s: %.0f ms", start.What, start.Figure())
	found, err := l.alternate(ctx, l.grownArms(dir))
	if err != nil {
		return nil, err
	}
	ratio := func(id, what, own, base string, must, aim report.Goal) report.Row {
		return report.Row{ID: id, What: what, Baseline: each(found[base], rate), Own: each(found[own], rate), Must: must, Aim: aim, Note: note(found, own, base)}
	}
	return []report.Row{
		ratio("P7", "intake with "+much+" ÷ empty", grownIntake, emptyIntake, report.AtLeast(0.80), report.AtLeast(0.90)),
		ratio("P7", "end to end (with claims and settling) with "+much+" ÷ empty", grownEndToEnd, emptyEndToEnd, report.AtLeast(0.80), report.AtLeast(0.90)),
		start,
		ratio("P11", "intake while a million of these are forgotten ÷ while none is", prunedIntake, grownIntake, report.AtLeast(0.85), report.AtLeast(0.95)),
	}, nil
}

func (l *lab) grownArms(dir string) []arm {
	// With an hour between two sweeps nothing is forgotten during a run.
	seldom := func(run func(context.Context, string) (figure, error)) func(context.Context) (figure, error) {
		return func(ctx context.Context) (figure, error) {
			l.sweep = "1h"
			defer func() { l.sweep = "" }()
			return run(ctx, dir)
		}
	}
	return []arm{
		{emptyIntake, l.inFresh(l.intakeIn)},
		{grownIntake, seldom(l.intakeIn)},
		{prunedIntake, func(ctx context.Context) (figure, error) { return l.intakeIn(ctx, dir) }},
		{emptyEndToEnd, l.inFresh(l.endToEndIn)},
		{grownEndToEnd, seldom(l.endToEndIn)},
	}
}

// inFresh runs in an empty directory of its own.
func (l *lab) inFresh(run func(context.Context, string) (figure, error)) func(context.Context) (figure, error) {
	return func(ctx context.Context) (figure, error) {
		dir, remove, err := l.fresh()
		if err != nil {
			return figure{}, err
		}
		defer remove()
		return run(ctx, dir)
	}
}

// intakeIn measures intake into the store of dir. The destination of its
// events is another than the filled ones', and paused.
func (l *lab) intakeIn(ctx context.Context, dir string) (figure, error) {
	g, err := l.startPaused(ctx, dir, route{mainRoute, event.Stripe, nowhere})
	if err != nil {
		return figure{}, err
	}
	f, _, err := l.saturate(ctx, g.process, g.intake, event.Stripe, l.closedLoop(some))
	if err != nil {
		g.kill()
		return figure{}, err
	}
	return f, g.stop()
}

// endToEndIn measures an operation of its own name, which has no backlog from
// the intake runs.
func (l *lab) endToEndIn(ctx context.Context, dir string) (figure, error) {
	s, err := l.startSink(ctx)
	if err != nil {
		return figure{}, err
	}
	defer s.kill()
	l.made++
	r := route{fmt.Sprintf("run%d", l.made), event.Stripe, s.url()}
	g, err := l.startGateway(ctx, dir, r)
	if err != nil {
		return figure{}, err
	}
	began := time.Now()
	c := l.corpus(event.Stripe, g.intake, r.name)
	res, err := l.load(ctx, c, g.intake, load.Options{Connections: some, Duration: l.duration})
	var ended time.Time
	if err == nil {
		ended, err = g.settled(ctx, r.name, res.Taken, settleWithin)
	}
	if err != nil {
		g.kill()
		return figure{}, err
	}
	return figure{rate: float64(res.Taken) / ended.Sub(began).Seconds(), p50: res.Latency(0.5), p99: res.Latency(0.99), notAccepted: res.NotAccepted()}, g.stop()
}
