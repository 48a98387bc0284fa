package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

// starts is how often a start is measured: it is short.
const starts = 5

// startRows ask how long nobody is served after a start.
func startRows(ctx context.Context, l *lab) ([]report.Row, error) {
	empty := report.Row{ID: "P10", What: "start to ready, empty store", Unit: report.Milliseconds, Must: report.AtMost(150), Aim: report.AtMost(80)}
	for range starts {
		took, err := l.startEmpty(ctx)
		if err != nil {
			return nil, err
		}
		empty.Own = append(empty.Own, milliseconds(took))
	}
	l.say("       %s: %.0f ms", empty.What, empty.Figure())
	if l.million <= 0 {
		return []report.Row{empty}, nil
	}
	full, err := l.startFull(ctx)
	if err != nil {
		return nil, err
	}
	return []report.Row{empty, full}, nil
}

func (l *lab) startEmpty(ctx context.Context) (time.Duration, error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return 0, err
	}
	defer remove()
	return l.startOnce(ctx, dir)
}

func (l *lab) startOnce(ctx context.Context, dir string) (time.Duration, error) {
	g, err := l.startGateway(ctx, dir, route{mainRoute, event.Stripe, nowhere})
	if err != nil {
		return 0, err
	}
	return g.toReady, g.stop()
}

// startFull fills a store as traffic does, and starts on it.
func (l *lab) startFull(ctx context.Context) (report.Row, error) {
	row := report.Row{
		ID: "P10", What: fmt.Sprintf("start to ready, %d million events", l.million),
		Unit: report.Milliseconds, Must: report.AtMost(300), Aim: report.AtMost(150),
	}
	dir, remove, err := l.fresh()
	if err != nil {
		return row, err
	}
	defer remove()
	if err := l.fill(ctx, dir); err != nil {
		return row, err
	}
	for range starts {
		took, err := l.startOnce(ctx, dir)
		if err != nil {
			return row, err
		}
		row.Own = append(row.Own, milliseconds(took))
	}
	l.say("       %s: %.0f ms", row.What, row.Figure())
	return row, nil
}

func (l *lab) fill(ctx context.Context, dir string) error {
	s, err := l.startSink(ctx)
	if err != nil {
		return err
	}
	defer s.kill()
	g, err := l.startGateway(ctx, dir, route{mainRoute, event.Stripe, s.url()})
	if err != nil {
		return err
	}
	count := int64(l.million) * 1_000_000
	r, err := l.load(ctx, l.corpus(event.Stripe, g.intake, mainRoute), g.intake, load.Options{Connections: some, Count: count})
	if err == nil {
		_, err = g.settled(ctx, mainRoute, r.Taken, time.Duration(l.million)*10*time.Minute)
	}
	if err != nil {
		g.kill()
		return err
	}
	return g.stop()
}
