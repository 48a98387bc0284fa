package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

// appendsPerRun is how often one append is measured beside each run.
const appendsPerRun = 300

// enoughForP99 deliveries leave sixty above the p99; more only take time.
const enoughForP99 = 6000

// latencyRows ask how long an answer takes at rates that leave the machine
// mostly idle: there nothing may wait for anything but the disk.
func latencyRows(ctx context.Context, l *lab) ([]report.Row, error) {
	rates := []float64{200, 1000}
	var arms []arm
	for _, r := range rates {
		enough := time.Duration(enoughForP99 / r * float64(time.Second))
		o := load.Options{Connections: some, Rate: r, Warmup: l.warmup, Duration: min(l.duration, enough)}
		arms = append(arms,
			arm{appendArm(r), func(context.Context) (figure, error) { return l.appendRun() }},
			arm{gatewayArm(r), func(ctx context.Context) (figure, error) { return l.intakeLoad(ctx, event.Stripe, o) }},
			arm{naiveArm(r), func(ctx context.Context) (figure, error) { return l.boundLoad(ctx, roleNaive, event.Stripe, o) }},
		)
	}
	found, err := l.alternate(ctx, arms)
	if err != nil {
		return nil, err
	}
	p50 := func(f figure) float64 { return milliseconds(f.p50) }
	p99 := func(f figure) float64 { return milliseconds(f.p99) }
	var rows []report.Row
	for _, r := range rates {
		own, naive := found[gatewayArm(r)], found[naiveArm(r)]
		late := fmt.Sprintf("naive p50 %.2f ms; the sender was late by %.2f ms in the median, which counts in both", milliseconds(middle(naive).p50), milliseconds(middle(own).late))
		rows = append(rows,
			report.Row{
				ID: "P5", What: fmt.Sprintf("p50 at %.0f/s ÷ one append", r), Baseline: each(found[appendArm(r)], p50), Own: each(own, p50),
				Unit: report.Milliseconds, Must: report.AtMost(3), Note: late,
			},
			report.Row{
				ID: "P5", What: fmt.Sprintf("p99 at %.0f/s ÷ naive", r), Baseline: each(naive, p99), Own: each(own, p99),
				Unit: report.Milliseconds, Must: report.AtMost(1), Aim: report.AtMost(0.5),
			})
	}
	return rows, nil
}

func appendArm(rate float64) string  { return fmt.Sprintf("one append, before %.0f/s", rate) }
func gatewayArm(rate float64) string { return fmt.Sprintf("gateway, paused, %.0f/s", rate) }
func naiveArm(rate float64) string   { return fmt.Sprintf("naive, %.0f/s", rate) }

func (l *lab) appendRun() (figure, error) {
	took, err := appends(l.work, appendsPerRun)
	if err != nil {
		return figure{}, err
	}
	slices.Sort(took)
	return figure{p50: took[len(took)/2], p99: took[len(took)*99/100]}, nil
}

// middle is the figure of the run with the median rate, to tell about.
func middle(of []figure) figure {
	if len(of) == 0 {
		return figure{}
	}
	sorted := slices.SortedFunc(slices.Values(of), func(a, b figure) int { return cmp.Compare(a.rate, b.rate) })
	return sorted[len(sorted)/2]
}
