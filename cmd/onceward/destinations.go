package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/onceward/onceward/internal/api"
)

type destinationsCommand struct {
	List   destinationsList   `cmd:"" help:"List destinations and who paused them."`
	Pause  destinationsPause  `cmd:"" help:"Stop calls to a destination."`
	Resume destinationsResume `cmd:"" help:"Let calls to a destination go on."`
}

type destinationsList struct{}

// Run is called by the parser.
func (*destinationsList) Run(ctx context.Context, a *app) error {
	var all rawPage
	if err := a.api.get(ctx, "/v1/destinations", nil, &all); err != nil {
		return err
	}
	out := newListing(a, []column[api.Destination]{
		{"DESTINATION", func(d api.Destination) string { return d.Name }},
		{"STATUS", status},
		{"SINCE", func(d api.Destination) string { return moment(d.PausedAt) }},
		{"BY", func(d api.Destination) string { return d.Actor }},
		{"REASON", func(d api.Destination) string { return d.Reason }},
	})
	for _, item := range all.Items {
		if err := out.item(item); err != nil {
			return err
		}
	}
	return out.end(all.Next)
}

func status(d api.Destination) string {
	if d.Paused {
		return "paused"
	}
	return "active"
}

type destinationsPause struct {
	destinationChange
}

// Run is called by the parser.
func (c *destinationsPause) Run(ctx context.Context, a *app) error { return c.change(ctx, a, "pause") }

type destinationsResume struct {
	destinationChange
}

// Run is called by the parser.
func (c *destinationsResume) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, "resume")
}

type destinationChange struct {
	Name   string `arg:"" help:"The destination's name."`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
}

func (c *destinationChange) change(ctx context.Context, a *app, what string) error {
	if c.Name == "" {
		return misuse("a destination's name is needed")
	}
	var out api.Destination
	if err := a.api.post(ctx, "/v1/destinations/"+url.PathEscape(c.Name)+"/"+what, api.Change{Reason: c.Reason}, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	_, err := fmt.Fprintf(a.stdout, "destination %s is %s\n", printable(out.Name), status(out))
	return err
}
