package main

import (
	"context"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/api"
)

type auditCommand struct {
	Actor  string `help:"Only by this one: a token's name, local, intake, worker, gate, janitor, reconciler or late owner." placeholder:"NAME"`
	Action string `help:"Only this: a transition such as T20, or erase, pause, \"keep *\"; a * may end it." placeholder:"ACTION"`
	Event  string `help:"Only about this event, by any id." placeholder:"ID"`
	period
	paging
}

// Run is called by the parser.
func (c *auditCommand) Run(ctx context.Context, a *app) error {
	event, err := onlyEvent(ctx, a, c.Event)
	if err != nil {
		return err
	}
	bounds, err := c.period.filters(time.Now())
	if err != nil {
		return err
	}
	query := filters(append(bounds, "actor", c.Actor, "action", c.Action, "event", event)...)
	return list(ctx, a, "/v1/audit", query, c.paging, []column[api.Audit]{
		{"AT", func(x api.Audit) string { return moment(&x.At) }},
		{"ACTOR", func(x api.Audit) string { return x.Actor }},
		{"ACTION", func(x api.Audit) string { return x.Action }},
		{"TARGET", func(x api.Audit) string { return x.Target }},
		{"FROM", func(x api.Audit) string { return x.From }},
		{"TO", func(x api.Audit) string { return x.To }},
		{"REASON", func(x api.Audit) string { return x.Reason }},
		{"EVIDENCE", func(x api.Audit) string { return x.Evidence }},
		{"HOW", how},
	})
}

// how tells a redelivery from a second effect on purpose, and who took a risk.
func how(x api.Audit) string {
	var parts []string
	if x.Mode != "" {
		parts = append(parts, "replay "+x.Mode)
	}
	if x.Consent {
		parts = append(parts, "risk accepted")
	}
	return strings.Join(parts, ", ")
}

// Help is printed below the flags.
func (c *auditCommand) Help() string {
	return "Actions such as T20 are transitions between states; docs/reference/states.md explains each. HOW has the mode of a replay, and whether the risk of a second effect was accepted (--accept-duplicate-risk)."
}
