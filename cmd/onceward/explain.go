package main

import (
	"context"
	"io"
	"strings"

	"github.com/onceward/onceward/internal/api"
)

type eventsExplain struct {
	ID string `arg:"" help:"Any id: evt_…, op_…, ow_…, or the sender's own."`
}

// Run is called by the parser.
func (c *eventsExplain) Run(ctx context.Context, a *app) error {
	event, err := findEvent(ctx, a, c.ID)
	if err != nil {
		return err
	}
	var out api.Explanation
	if err := a.api.get(ctx, "/v1/events/"+event.ID+"/explain", nil, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	var b strings.Builder
	line(&b, "event %s: %s", out.Event, out.Status)
	for _, sentence := range out.Summary {
		line(&b, "  %s", sentence)
	}
	words := map[string]string{"yes": "yes", "at_least_once": "at least once, perhaps twice", "again": "a further effect, on purpose", "redelivered": "sent again, with the same key", "not_yet": "not yet", "no_effect": "no effect", "unknown": "nobody can know", "disputed": "disputed"}
	if len(out.Operations) > 0 {
		b.WriteString("\nwas it once, and how do we know?\n")
	}
	for _, sentence := range out.Headline {
		line(&b, "  %s", sentence)
	}
	for _, o := range out.Operations {
		line(&b, "  %s (%s, %s): %s", o.Name, o.ID, o.State, words[o.Once])
		line(&b, "    %s", o.How)
		line(&b, "    key %s", o.Key)
	}
	b.WriteString("\nnext\n")
	line(&b, "  %s", out.Next)
	_, err = io.WriteString(a.stdout, b.String())
	return err
}
