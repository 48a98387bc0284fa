package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/api"
)

type eventsReplay struct {
	ID                  string   `arg:"" optional:"" help:"The event, by any id. Without it, every event that the filter finds."`
	Mode                string   `help:"resume: what is unfinished or dead, with the same key; redeliver: what is completed as well, with the same key; reexecute: anew, under a new key." default:"resume" enum:"resume,redeliver,reexecute"`
	Reason              string   `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	Operation           []string `help:"Only the operations of this name; may be given several times. One that the event never had begins, if the configuration wants it." placeholder:"NAME"`
	DryRun              bool     `help:"Tell what would happen, and change nothing."`
	AcceptDuplicateRisk bool     `help:"Accept that an effect may happen a second time."`
	Expect              *int     `help:"With a filter: how many events it finds, as --dry-run said." placeholder:"N"`
	eventFilter
}

func (c *eventsReplay) body() api.Replay {
	return api.Replay{Mode: c.Mode, Reason: c.Reason, AcceptDuplicateRisk: c.AcceptDuplicateRisk, Operations: c.Operation, DryRun: c.DryRun}
}

// Run is called by the parser.
func (c *eventsReplay) Run(ctx context.Context, a *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	switch {
	case c.ID == "" && filter == api.Filter{}:
		return misuse("say which event, or name a filter such as --source or --status")
	case c.ID == "":
		return c.many(ctx, a, filter)
	case filter != api.Filter{} || c.Expect != nil:
		return misuse("an event is named, so a filter or --expect cannot be meant")
	}
	event, err := findEvent(ctx, a, c.ID)
	if err != nil {
		return err
	}
	var out api.ReplayAnswer
	if err := a.api.post(ctx, "/v1/events/"+event.ID+"/replay", c.body(), &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	var b strings.Builder
	if c.DryRun {
		line(&b, "dry run: nothing was changed; without --dry-run:")
	}
	for _, r := range out.Items {
		tellReplayed(&b, r)
	}
	line(&b, "onceward events show %s tells the whole story", out.Event)
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

func tellReplayed(b *strings.Builder, r api.Replayed) {
	did := r.Did
	if r.Why != "" {
		did += ": " + r.Why
	}
	line(b, "%s %s", r.Name, did)
	id := r.ID
	if id == "" {
		id = "(new)"
	}
	line(b, "  %-12s %s, %s, %s", id, stateOf(r.Operation), r.Key, tried(r.Attempt))
}

// many replays what a filter finds, and tells how far it is.
func (c *eventsReplay) many(ctx context.Context, a *app, filter api.Filter) error {
	if c.Expect == nil && !c.DryRun {
		return misuse("--expect is missing: how many events the filter finds; --dry-run counts them")
	}
	return a.bulk(ctx, "/v1/replays", api.BulkReplay{Replay: c.body(), Filter: filter, Expect: c.Expect})
}

// bulk begins a bulk and waits for its end. Interrupted, it goes on by itself.
func (a *app) bulk(ctx context.Context, path string, body any) error {
	var out api.Bulk
	if err := a.api.post(ctx, path, body, &out); err != nil {
		return err
	}
	began, said := time.Now(), time.Now()
	for out.State == "running" {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s goes on by itself; onceward replays show %s tells how far it is, onceward replays cancel %s ends it", out.ID, out.ID, out.ID)
		case <-time.After(min(time.Second, 50*time.Millisecond+time.Since(began)/10)):
		}
		if err := a.api.get(ctx, "/v1/replays/"+out.ID, nil, &out); err != nil {
			return err
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			_, _ = fmt.Fprintf(a.stderr, "onceward: %s: %d of %d events\n", out.ID, out.Seen, out.Events) // progress is not worth failing for
		}
	}
	return a.printBulk(out)
}

func (a *app) printBulk(out api.Bulk) error {
	if a.json {
		return printJSON(a.stdout, out)
	}
	var b strings.Builder
	if out.State == "dry_run" {
		line(&b, "dry run: nothing was changed; the filter finds %d events", out.Events)
		for _, did := range slices.Sorted(maps.Keys(out.Would)) {
			line(&b, "  would be %-12s %d", did, out.Would[did])
		}
		for _, why := range slices.Sorted(maps.Keys(out.Refusals)) {
			line(&b, "  refused, %d: %s", out.Refusals[why], why)
		}
		if out.Note != "" {
			line(&b, "  %s", out.Note)
		}
		line(&b, "to do it: the same with --expect %d instead of --dry-run", out.Events)
	} else {
		line(&b, "%s %s: %s, %d of %d events", out.ID, out.Mode, out.State, out.Seen, out.Events)
		line(&b, "  changed %d, left %d, refused %d", out.Changed, out.Left, out.Refused)
		if out.Refusal != "" {
			line(&b, "  refused     %s", out.Refusal)
		}
		line(&b, "  by %s, because: %s", out.Actor, out.Reason)
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

type eventsReject struct {
	ID     string `arg:"" help:"The event, by any id."`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
}

// Run is called by the parser.
func (c *eventsReject) Run(ctx context.Context, a *app) error {
	return decideEvent(ctx, a, c.ID, "reject", c.Reason, "rejected: copies of it stay duplicates, and nothing of it runs")
}

type replaysCommand struct {
	List   replaysList   `cmd:"" help:"List bulk replays and erasures, newest first."`
	Show   replaysShow   `cmd:"" help:"Show how far one is."`
	Cancel replaysCancel `cmd:"" help:"End one where it stands; what it did stays done."`
}

type replaysList struct{ paging }

// Run is called by the parser.
func (c *replaysList) Run(ctx context.Context, a *app) error {
	return list(ctx, a, "/v1/replays", filters(), c.paging, []column[api.Bulk]{
		{"BEGAN", func(b api.Bulk) string { return moment(b.CreatedAt) }},
		{"ID", func(b api.Bulk) string { return b.ID }},
		{"MODE", func(b api.Bulk) string { return b.Mode }},
		{"STATE", func(b api.Bulk) string { return b.State }},
		{"SEEN", func(b api.Bulk) string { return fmt.Sprintf("%d/%d", b.Seen, b.Events) }},
		{"CHANGED", func(b api.Bulk) string { return fmt.Sprint(b.Changed) }},
		{"REFUSED", func(b api.Bulk) string { return fmt.Sprint(b.Refused) }},
		{"ACTOR", func(b api.Bulk) string { return b.Actor }},
		{"REASON", func(b api.Bulk) string { return b.Reason }},
	})
}

type replaysShow struct {
	ID string `arg:"" help:"The bulk: bulk_…"`
}

// Run is called by the parser.
func (c *replaysShow) Run(ctx context.Context, a *app) error {
	var out api.Bulk
	if err := a.api.get(ctx, "/v1/replays/"+c.ID, nil, &out); err != nil {
		return err
	}
	return a.printBulk(out)
}

type replaysCancel struct {
	ID     string `arg:"" help:"The bulk: bulk_…"`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
}

// Run is called by the parser.
func (c *replaysCancel) Run(ctx context.Context, a *app) error {
	var out api.Bulk
	if err := a.api.post(ctx, "/v1/replays/"+c.ID+"/cancel", api.Rejection{Reason: c.Reason}, &out); err != nil {
		return err
	}
	return a.printBulk(out)
}
