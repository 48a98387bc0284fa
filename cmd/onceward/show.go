package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

type eventsShow struct {
	ID      string `arg:"" help:"Any id: evt_…, op_…, ow_…, or the sender's own."`
	Payload bool   `help:"Print only the exact bytes that were delivered."`
}

// Run is called by the parser.
func (c *eventsShow) Run(ctx context.Context, a *app) error {
	page, err := findEvent(ctx, a, c.ID)
	if err != nil {
		return err
	}
	switch {
	case c.Payload:
		return printPayload(a, page)
	case a.json:
		return printJSON(a.stdout, page)
	}
	_, err = io.WriteString(a.stdout, story(page))
	return err
}

// findEvent looks an event up by whatever its operator has at hand. Senders' ids may
// look like ours (Stripe's begin with evt_ too), so a stranger is searched for.
func findEvent(ctx context.Context, a *app, id string) (*api.EventPage, error) {
	id = strings.TrimSpace(id)
	if id == "" {
		return nil, misuse("an id is needed: evt_…, op_…, ow_…, or the sender's own")
	}
	event := id
	if op, err := onceward.ParseOperationID(id); err == nil {
		event = op.Event.String()
	}
	if _, err := onceward.ParseEventID(event); err == nil {
		page, err := getEvent(ctx, a, event)
		var p *problem
		if err == nil || !errors.As(err, &p) || p.Status != http.StatusNotFound {
			return page, err
		}
	}
	var found api.List[api.Event]
	if err := a.api.get(ctx, "/v1/events", filters("q", id), &found); err != nil {
		return nil, err
	}
	switch len(found.Items) {
	case 0:
		return nil, fmt.Errorf("nothing is recorded under %q", id)
	case 1:
		return getEvent(ctx, a, found.Items[0].ID)
	}
	if err := list(ctx, a, "/v1/events", filters("q", id), paging{Limit: 50}, eventColumns()); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("several events have the id %q; show one by its evt_ id", id)
}

// onlyEvent is what a list is to be about: the event of an id, or empty for all.
func onlyEvent(ctx context.Context, a *app, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	event, err := findEvent(ctx, a, id)
	if err != nil {
		return "", err
	}
	return event.ID, nil
}

// decideEvent has something done with an event for a reason, and says it.
func decideEvent(ctx context.Context, a *app, id, verb, reason, done string) error {
	event, err := findEvent(ctx, a, id)
	if err != nil {
		return err
	}
	var out api.Event
	if err := a.api.post(ctx, "/v1/events/"+event.ID+"/"+verb, api.Rejection{Reason: reason}, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s\n", out.ID, done)
	return err
}

func getEvent(ctx context.Context, a *app, id string) (*api.EventPage, error) {
	page := &api.EventPage{}
	return page, a.api.get(ctx, "/v1/events/"+id, nil, page)
}

func printPayload(a *app, page *api.EventPage) error {
	if page.Payload == nil {
		return fmt.Errorf("the payload of %s is not shown: it is no longer kept, or the token is not an operator's", page.ID)
	}
	body, err := base64.StdEncoding.DecodeString(*page.Payload)
	if err != nil {
		return fmt.Errorf("the payload of %s cannot be read: %w", page.ID, err)
	}
	_, err = a.stdout.Write(body)
	return err
}

// story tells an event from its first delivery to what should happen next.
func story(p *api.EventPage) string {
	var b strings.Builder
	line(&b, "event %s: %s", p.ID, p.Status)
	for _, f := range []struct{ name, value string }{
		{"source", p.Source},
		{"sender's id", p.EventID},
		{"type", p.Type},
		{"version", p.Version},
		{"tenant", p.Tenant},
		{"environment", p.Environment},
		{"mode", p.Mode},
		{"account", p.Account},
		{"reason", p.Reason},
		{"occurred", moment(p.OccurredAt)},
		{"received", moment(&p.ReceivedAt)},
		{"last seen", moment(p.LastSeenAt)},
		{"erased", moment(p.ErasedAt)},
	} {
		if f.value != "" {
			line(&b, "  %-12s %s", f.name, f.value)
		}
	}
	line(&b, "  %-12s %d, %d of them with other content", "deliveries", p.Deliveries, p.Conflicts)
	if p.Of > 0 {
		line(&b, "  %-12s %d of %d in its batch", "item", p.Item, p.Of)
	}
	if p.Payload != nil {
		line(&b, "  %-12s %d bytes (--payload prints them)", "payload", base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(*p.Payload, "="))))
	}
	if len(p.Operations) > 0 {
		b.WriteString("\noperations\n")
	}
	for _, o := range p.Operations {
		tellOperation(&b, o)
	}
	b.WriteString("\ntimeline\n")
	for _, e := range p.Timeline {
		line(&b, "  %s  %-9s  %s", e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind, e.Text)
	}
	b.WriteString("\nnext\n")
	line(&b, "  %s", p.Advice)
	return b.String()
}
