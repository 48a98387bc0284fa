package main

import (
	"context"
	"time"

	"github.com/onceward/onceward/bench/event"
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
	return []report.Row{empty}, nil
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
