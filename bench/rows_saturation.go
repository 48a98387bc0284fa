package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

// The arms of the saturation family. Numbers are connections.
const (
	null64        = "null, 64"
	null256       = "null, 256"
	nullGitHub    = "null, github, 64"
	naive64       = "naive, 64"
	gateway64     = "gateway, paused, 64"
	gateway256    = "gateway, paused, 256"
	gatewayGitHub = "gateway, paused, github, 64"
	endToEnd      = "gateway, end to end, 64"
)

const (
	some = 64
	many = 256
)

// saturationRows ask how much can be taken in, with and without delivery, and
// what that takes in memory and on disk.
func saturationRows(ctx context.Context, l *lab) ([]report.Row, error) {
	found, err := l.alternate(ctx, l.saturationArms())
	if err != nil {
		return nil, err
	}
	peak := func(f figure) float64 { return f.peak }
	memory := append(append(each(found[gateway64], peak), each(found[gateway256], peak)...), each(found[gatewayGitHub], peak)...)
	perEvent := each(found[endToEnd], func(f figure) float64 { return f.perEvent })
	bodies := each(found[endToEnd], func(figure) float64 { return event.Size })
	ratio := func(id, what, own, base string, must, aim report.Goal) report.Row {
		return report.Row{ID: id, What: what, Baseline: each(found[base], rate), Own: each(found[own], rate), Must: must, Aim: aim, Note: note(found, own, base)}
	}
	return []report.Row{
		ratio("P1", "durable intake ÷ null, 64 connections", gateway64, null64, report.AtLeast(0.40), report.AtLeast(0.55)),
		ratio("P1", "durable intake ÷ null, 256 connections", gateway256, null256, report.AtLeast(0.42), report.AtLeast(0.60)),
		ratio("P1", "the same with GitHub's unsigned ids, 64 connections", gatewayGitHub, nullGitHub, report.Goal{}, report.Goal{}),
		ratio("P3", "durable intake ÷ naive insert, 64 connections", gateway64, naive64, report.AtLeast(5), report.AtLeast(7)),
		ratio("P4", "end to end (in, forwarded, settled) ÷ null, 64 connections", endToEnd, null64, report.AtLeast(0.15), report.AtLeast(0.25)),
		{ID: "P8", What: "peak resident memory at saturation", Own: memory, Unit: report.Megabytes, Must: report.AtMost(96), Aim: report.AtMost(64), Worst: true},
		{ID: "P9", What: "bytes on disk per completed event ÷ body", Baseline: bodies, Own: perEvent, Unit: report.Bytes, Must: report.AtMost(1.6), Aim: report.AtMost(0.7)},
	}, nil
}

// note says what the median run of a comparison took besides time.
func note(found map[string][]figure, own, base string) string {
	o, b := middle(found[own]), middle(found[base])
	if o.rate == 0 || b.rate == 0 {
		return ""
	}
	text := fmt.Sprintf("own p50 %.1f ms, p99 %.1f ms, %.2f cores beside a sender of %.2f; baseline p50 %.1f ms, p99 %.1f ms, %.2f cores beside %.2f",
		milliseconds(o.p50), milliseconds(o.p99), o.cores, o.senderCores, milliseconds(b.p50), milliseconds(b.p99), b.cores, b.senderCores)
	refused := int64(0)
	for _, f := range found[own] {
		refused += f.notAccepted
	}
	if refused > 0 {
		text += fmt.Sprintf("; **%d deliveries were not accepted**", refused)
	}
	return text
}

func (l *lab) saturationArms() []arm {
	var arms []arm
	add := func(name string, run func(context.Context) (figure, error), ids ...string) {
		if l.wanted.any(ids...) {
			arms = append(arms, arm{name, run})
		}
	}
	bound := func(role string, style event.Style, connections int) func(context.Context) (figure, error) {
		return func(ctx context.Context) (figure, error) { return l.boundRun(ctx, role, style, connections) }
	}
	intake := func(style event.Style, connections int) func(context.Context) (figure, error) {
		return func(ctx context.Context) (figure, error) { return l.intakeRun(ctx, style, connections) }
	}
	add(null64, bound(roleNull, event.Stripe, some), "P1", "P4")
	add(gateway64, intake(event.Stripe, some), "P1", "P3", "P8")
	add(naive64, bound(roleNaive, event.Stripe, some), "P3")
	add(endToEnd, l.endToEndRun, "P4", "P9")
	add(null256, bound(roleNull, event.Stripe, many), "P1")
	add(gateway256, intake(event.Stripe, many), "P1", "P8")
	add(nullGitHub, bound(roleNull, event.GitHub, some), "P1")
	add(gatewayGitHub, intake(event.GitHub, some), "P1")
	return arms
}

// saturate sends as much as a server takes and measures what that costs it.
func (l *lab) saturate(ctx context.Context, p *process, address string, style event.Style, o load.Options) (figure, *load.Result, error) {
	c := l.corpus(style, address, mainRoute)
	pid := p.cmd.Process.Pid
	began, server, sender := time.Now(), processorTime(pid), processorTime(os.Getpid())
	r, err := l.load(ctx, c, address, o)
	if err != nil {
		return figure{}, nil, p.blame(err)
	}
	took := time.Since(began).Seconds()
	return figure{
		rate: r.Rate(), p50: r.Latency(0.5), p99: r.Latency(0.99), late: r.Lateness(0.5), notAccepted: r.NotAccepted(),
		cores: (processorTime(pid) - server).Seconds() / took, senderCores: (processorTime(os.Getpid()) - sender).Seconds() / took,
	}, r, nil
}

func (l *lab) closedLoop(connections int) load.Options {
	return load.Options{Connections: connections, Warmup: l.warmup, Duration: l.duration}
}

// boundRun measures one of the handlers that bound the gateway.
func (l *lab) boundRun(ctx context.Context, role string, style event.Style, connections int) (figure, error) {
	return l.boundLoad(ctx, role, style, l.closedLoop(connections))
}

func (l *lab) boundLoad(ctx context.Context, role string, style event.Style, o load.Options) (figure, error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return figure{}, err
	}
	defer remove()
	p, address, err := l.startRole(ctx, role, "-style", style.String(), "-secret", secret, "-dir", dir)
	if err != nil {
		return figure{}, err
	}
	f, r, err := l.saturate(ctx, p, address, style, o)
	if err != nil {
		p.kill()
		return figure{}, err
	}
	if n := r.NotAccepted(); n > 0 {
		p.kill()
		return figure{}, p.explain(fmt.Sprintf("did not accept %d of %d deliveries, so it bounds nothing", n, r.Sent))
	}
	return f, p.stop()
}

// intakeRun measures the gateway's intake while its destination is paused.
func (l *lab) intakeRun(ctx context.Context, style event.Style, connections int) (figure, error) {
	return l.intakeLoad(ctx, style, l.closedLoop(connections))
}

func (l *lab) intakeLoad(ctx context.Context, style event.Style, o load.Options) (f figure, err error) {
	dir, remove, err := l.fresh()
	if err != nil {
		return figure{}, err
	}
	defer remove()
	g, err := l.startPaused(ctx, dir, route{mainRoute, style, nowhere})
	if err != nil {
		return figure{}, err
	}
	if f, _, err = l.saturate(ctx, g.process, g.intake, style, o); err == nil {
		f.peak, err = peakMemory(g.cmd.Process.Pid)
	}
	if err != nil {
		g.kill()
		return figure{}, err
	}
	return f, g.stop()
}

// nowhere is the address of a destination that is never called.
const nowhere = "http://127.0.0.1:9/"

func (l *lab) startPaused(ctx context.Context, dir string, r route) (*gateway, error) {
	g, err := l.startGateway(ctx, dir, r)
	if err != nil {
		return nil, err
	}
	if err := g.pause(ctx, r.name); err != nil {
		g.kill()
		return nil, err
	}
	return g, nil
}
