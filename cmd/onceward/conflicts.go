package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/onceward/onceward/internal/api"
)

type conflictsCommand struct {
	List    conflictsList    `cmd:"" help:"List contents that contradict their events, newest first."`
	Show    conflictsShow    `cmd:"" help:"Show both contents and where they differ."`
	Resolve conflictsResolve `cmd:"" help:"Decide which content counts."`
}

type conflictsList struct {
	Source string `help:"Only of this source." placeholder:"NAME"`
	Event  string `help:"Only of this event, by any id." placeholder:"ID"`
	All    bool   `name:"decided" help:"Those that are decided as well."`
	paging
}

// Run is called by the parser.
func (c *conflictsList) Run(ctx context.Context, a *app) error {
	event, err := onlyEvent(ctx, a, c.Event)
	if err != nil {
		return err
	}
	query := filters("source", c.Source, "event", event)
	if c.All {
		query.Set("all", "true")
	}
	return list(ctx, a, "/v1/conflicts", query, c.paging, []column[api.Conflict]{
		{"CAME", func(x api.Conflict) string { return moment(&x.At) }},
		{"CONFLICT", func(x api.Conflict) string { return x.ID }},
		{"EVENT", func(x api.Conflict) string { return x.Event }},
		{"SOURCE", func(x api.Conflict) string { return x.Source }},
		{"SENDER'S ID", func(x api.Conflict) string { return x.EventID }},
		{"EVENT IS", func(x api.Conflict) string { return x.Status }},
		{"COUNT", func(x api.Conflict) string { return strconv.Itoa(x.Count) }},
		{"DECIDED", func(x api.Conflict) string { return x.Decided }},
	})
}

type conflictsShow struct {
	ID string `arg:"" help:"The conflict: con_…"`
}

// Run is called by the parser.
func (c *conflictsShow) Run(ctx context.Context, a *app) error {
	var out api.ConflictPage
	if err := a.api.get(ctx, "/v1/conflicts/"+c.ID, nil, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	var b strings.Builder
	line(&b, "conflict %s: %s", out.ID, out.Decided)
	line(&b, "  %-12s %s (%s), %s, sender's id %s", "event", out.Event, out.Status, out.Source, out.EventID)
	line(&b, "  %-12s %s, %d times since", "came", moment(&out.At), out.Count)
	tellBody(&b, "first", out.First)
	tellBody(&b, "second", out.Second)
	switch {
	case len(out.Diff) > 0:
		b.WriteString("\ndifferences (first → second)\n")
		for _, d := range out.Diff {
			tellDifference(&b, d)
		}
	case out.JSON && out.First.Payload == nil:
		line(&b, "the bodies are shown to operators")
	case !out.JSON:
		line(&b, "they cannot be compared field by field: one of them is not JSON, or is no longer kept")
	}
	b.WriteString("\nnext\n")
	line(&b, "  %s", out.Advice)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

func tellBody(b *strings.Builder, name string, body api.Body) {
	kept := fmt.Sprintf("%d bytes", body.Bytes)
	if !body.Kept {
		kept = "no longer kept"
	}
	line(b, "  %-12s %s, sha256 %s", name, kept, body.SHA256)
}

func tellDifference(b *strings.Builder, d api.Difference) {
	switch d.Change {
	case "added":
		line(b, "  + %s: %s", d.Path, d.Second)
	case "removed":
		line(b, "  - %s: %s", d.Path, d.First)
	default:
		line(b, "  ~ %s: %s → %s", d.Path, d.First, d.Second)
	}
}

type conflictsResolve struct {
	ID                  string `arg:"" help:"The conflict: con_…"`
	Keep                string `help:"first: the event's own content counts; second: it runs as a revision under its own key; neither: what was held is given up." required:"" enum:"first,second,neither"`
	Reason              string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	AcceptDuplicateRisk bool   `help:"Accept that the second comes on top of what the first did."`
}

// Run is called by the parser.
func (c *conflictsResolve) Run(ctx context.Context, a *app) error {
	var out api.ReplayAnswer
	body := api.Resolution{Keep: c.Keep, Reason: c.Reason, AcceptDuplicateRisk: c.AcceptDuplicateRisk}
	if err := a.api.post(ctx, "/v1/conflicts/"+c.ID+"/resolve", body, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	var b strings.Builder
	line(&b, "%s decided: %s", c.ID, c.Keep)
	for _, r := range out.Items {
		tellReplayed(&b, r)
	}
	line(&b, "onceward events show %s tells the whole story", out.Event)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
