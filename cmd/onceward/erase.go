package main

import (
	"context"

	"github.com/onceward/onceward/internal/api"
)

type eventsErase struct {
	ID     string `arg:"" optional:"" help:"The event, by any id. Without it, every event that the filter finds."`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	DryRun bool   `help:"With a filter: count, and change nothing."`
	Expect *int   `help:"With a filter: how many events it finds, as --dry-run said." placeholder:"N"`
	eventFilter
}

// Run is called by the parser.
func (c *eventsErase) Run(ctx context.Context, a *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	named := filter != api.Filter{}
	switch {
	case c.ID == "" && !named:
		return misuse("say which event, or name a filter such as --source and --account")
	case c.ID != "" && (named || c.Expect != nil || c.DryRun):
		return misuse("an event is named, so a filter, --expect or --dry-run cannot be meant")
	case c.ID == "" && c.Expect == nil && !c.DryRun:
		return misuse("--expect is missing: how many events the filter finds; --dry-run counts them")
	case c.ID == "":
		return a.bulk(ctx, "/v1/erasures", api.Erasure{Filter: filter, Reason: c.Reason, DryRun: c.DryRun, Expect: c.Expect})
	}
	return decideEvent(ctx, a, c.ID, "erase", c.Reason, "erased: its bytes and the sender's id are gone; a copy of it is still a duplicate")
}
