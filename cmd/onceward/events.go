package main

import (
	"context"
	"strconv"

	"github.com/onceward/onceward/internal/api"
)

type eventsCommand struct {
	List   eventsList   `cmd:"" help:"List events, newest first."`
	Show   eventsShow   `cmd:"" help:"Tell everything about one event, and what to do next."`
	Replay eventsReplay `cmd:"" help:"Take up what is unfinished or dead of an event, with the same key."`
}

type eventsList struct {
	Source string `help:"Only of this source." placeholder:"NAME"`
	Type   string `help:"Only of this type; a * may end it." placeholder:"TYPE"`
	Status string `help:"Only with this status: a state, or accepted, quarantined, ignored." placeholder:"STATUS"`
	Query  string `name:"q" help:"Only with this id: ours, the sender's, or a downstream key." placeholder:"ID"`
	Since  string `help:"Only received at or after this time (RFC 3339)." placeholder:"TIME"`
	Until  string `help:"Only received before this time (RFC 3339)." placeholder:"TIME"`
	paging
}

// Run is called by the parser.
func (c *eventsList) Run(ctx context.Context, a *app) error {
	query := filters("source", c.Source, "type", c.Type, "status", c.Status, "q", c.Query, "since", c.Since, "until", c.Until)
	return list(ctx, a, "/v1/events", query, c.paging, eventColumns())
}

func eventColumns() []column[api.Event] {
	return []column[api.Event]{
		{"RECEIVED", func(e api.Event) string { return moment(&e.ReceivedAt) }},
		{"EVENT", func(e api.Event) string { return e.ID }},
		{"SOURCE", func(e api.Event) string { return e.Source }},
		{"TYPE", func(e api.Event) string { return e.Type }},
		{"SENDER'S ID", func(e api.Event) string { return e.EventID }},
		{"STATUS", func(e api.Event) string { return e.Status }},
		{"DELIVERIES", func(e api.Event) string { return strconv.Itoa(e.Deliveries) }},
		{"CONFLICTS", func(e api.Event) string { return strconv.Itoa(e.Conflicts) }},
	}
}

type eventsReplay struct {
	ID                  string `arg:"" help:"The event, by any id."`
	Mode                string `help:"resume: what is unfinished or dead, with the same key." default:"resume" enum:"resume,redeliver,reexecute"`
	Reason              string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	AcceptDuplicateRisk bool   `help:"Accept that an effect may happen a second time."`
}

// Run is called by the parser.
func (c *eventsReplay) Run(ctx context.Context, a *app) error {
	event, err := findEvent(ctx, a, c.ID)
	if err != nil {
		return err
	}
	var out api.List[api.Operation]
	body := api.Replay{Mode: c.Mode, Reason: c.Reason, AcceptDuplicateRisk: c.AcceptDuplicateRisk}
	if err := a.api.post(ctx, "/v1/events/"+event.ID+"/replay", body, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	for _, o := range out.Items {
		if err := printOperation(a.stdout, o); err != nil {
			return err
		}
	}
	return nil
}
