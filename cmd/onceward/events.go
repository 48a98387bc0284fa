package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

type eventsCommand struct {
	List    eventsList    `cmd:"" help:"List events, newest first."`
	Show    eventsShow    `cmd:"" help:"Tell everything about one event, and what to do next."`
	Replay  eventsReplay  `cmd:"" help:"Run an event's operations again, or those of every event that a filter finds."`
	Explain eventsExplain `cmd:"" help:"Say what happened, whether it was once and how that is known, and what to do next."`
	Erase   eventsErase   `cmd:"" help:"Erase what an event carried, or every event that a filter finds; it stays known."`
	Reject  eventsReject  `cmd:"" help:"Close an event that is held, without an effect."`
}

type eventsList struct {
	eventFilter
	paging
}

// eventFilter are the flags that say which events are meant.
type eventFilter struct {
	Source  string `help:"Only of this source." placeholder:"NAME"`
	Account string `help:"Only of this sub-account of the sender." placeholder:"ACCOUNT"`
	Type    string `help:"Only of this type; a * may end it." placeholder:"TYPE"`
	Status  string `help:"Only with this status: a state, or accepted, quarantined, ignored." placeholder:"STATUS"`
	Query   string `name:"q" help:"Only with this id: ours, the sender's, or a downstream key." placeholder:"ID"`
	period
}

// filter is the same for the API.
func (f eventFilter) filter() (out api.Filter, err error) {
	out = api.Filter{Source: f.Source, Account: f.Account, Type: f.Type, Status: f.Status, Q: f.Query}
	out.Since, out.Until, err = f.bounds(time.Now())
	return out, err
}

// Run is called by the parser.
func (c *eventsList) Run(ctx context.Context, a *app) error {
	bounds, err := c.period.filters(time.Now())
	if err != nil {
		return err
	}
	query := filters(append(bounds, "source", c.Source, "account", c.Account, "type", c.Type, "status", c.Status, "q", c.Query)...)
	return list(ctx, a, "/v1/events", query, c.paging, eventColumns())
}

func eventColumns() []column[api.Event] {
	return []column[api.Event]{
		{"RECEIVED", func(e api.Event) string { return moment(&e.ReceivedAt) }},
		{"EVENT", func(e api.Event) string { return e.ID }},
		{"SOURCE", func(e api.Event) string { return e.Source }},
		{"TYPE", func(e api.Event) string { return e.Type }},
		{"SENDER'S ID", func(e api.Event) string { return e.EventID }},
		{"STATUS", standing},
		{"DELIVERIES", func(e api.Event) string { return strconv.Itoa(e.Deliveries) }},
		{"CONFLICTS", func(e api.Event) string { return strconv.Itoa(e.Conflicts) }},
	}
}

// standing is an event's status; one that was held and rejected is told apart
// from one that no operation wanted, and what never had its effect from the rest.
func standing(e api.Event) string {
	switch {
	case e.Status == onceward.Ignored.String() && e.Reason != "":
		return e.Status + " (rejected)"
	case e.Status == onceward.Completed.String() && len(e.Operations) > 0 && !slices.ContainsFunc(e.Operations, func(o api.Operation) bool { return !o.Superseded }):
		return e.Status + " (superseded)"
	}
	return e.Status
}
