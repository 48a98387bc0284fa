package main

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

type operationsCommand struct {
	List    operationsList    `cmd:"" help:"List operations, newest first."`
	Show    operationsShow    `cmd:"" help:"Show one operation."`
	Retry   operationsRetry   `cmd:"" help:"Run an operation again, with the same key."`
	Resolve operationsResolve `cmd:"" help:"Record what was found at the other side."`
	Abandon operationsAbandon `cmd:"" help:"Give an operation up."`
}

type operationsList struct {
	State string `help:"Only in this state." placeholder:"STATE"`
	Name  string `help:"Only of this name." placeholder:"NAME"`
	Event string `help:"Only of this event." placeholder:"evt_…"`
	period
	paging
}

// Run is called by the parser.
func (c *operationsList) Run(ctx context.Context, a *app) error {
	bounds, err := c.period.filters(time.Now())
	if err != nil {
		return err
	}
	query := filters(append(bounds, "state", c.State, "name", c.Name, "event", c.Event)...)
	return list(ctx, a, "/v1/operations", query, c.paging, []column[api.Operation]{
		{"OPERATION", func(o api.Operation) string { return o.ID }},
		{"NAME", func(o api.Operation) string { return named(o) }},
		{"STATE", func(o api.Operation) string { return stateOf(o) }},
		{"ATTEMPT", func(o api.Operation) string { return attempts(o.Attempt) }},
		{"NEXT", func(o api.Operation) string { return moment(o.NextAt) }},
		{"RESULT", func(o api.Operation) string { return o.Result }},
		{"REASON", func(o api.Operation) string { return o.Reason }},
	})
}

// named is an operation's name with the step at which it stands, if it has several.
func named(o api.Operation) string {
	if o.Step == "" {
		return o.Name
	}
	return o.Name + "/" + o.Step
}

// stateOf tells what completed without its effect from what had it.
func stateOf(o api.Operation) string {
	if o.Superseded {
		return o.State + " (superseded)"
	}
	return o.State
}

// tried says how often an operation was tried; none is not an attempt number 0.
func tried(attempt int) string {
	if attempt == 0 {
		return "not attempted"
	}
	return "attempt " + strconv.Itoa(attempt)
}

// attempts is tried for a table.
func attempts(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

type operationsShow struct {
	ID string `arg:"" help:"The operation: op_…"`
}

// Run is called by the parser.
func (c *operationsShow) Run(ctx context.Context, a *app) error {
	return a.operation(c.ID, func(path string, out *api.Operation) error { return a.api.get(ctx, path, nil, out) })
}

type operationsRetry struct {
	ID                  string `arg:"" help:"The operation: op_…"`
	Reason              string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	AcceptDuplicateRisk bool   `help:"Accept that the effect may happen a second time."`
}

// Run is called by the parser.
func (c *operationsRetry) Run(ctx context.Context, a *app) error {
	return a.operation(c.ID, func(path string, out *api.Operation) error {
		return a.api.post(ctx, path+"/retry", api.Retry{Reason: c.Reason, AcceptDuplicateRisk: c.AcceptDuplicateRisk}, out)
	})
}

type operationsResolve struct {
	ID         string `arg:"" help:"The operation: op_…"`
	Completed  bool   `help:"The other side has the effect." xor:"outcome" required:""`
	NotApplied bool   `help:"The other side does not have it; it runs again, with the same key." xor:"outcome" required:""`
	Evidence   string `help:"What was seen at the other side, and where." required:"" placeholder:"TEXT"`
	Reason     string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
	Result     string `help:"The other side's reference, with --completed." placeholder:"REF"`
}

// Run is called by the parser.
func (c *operationsResolve) Run(ctx context.Context, a *app) error {
	body := api.Resolve{Outcome: "completed", Evidence: c.Evidence, Reason: c.Reason, Result: c.Result}
	if c.NotApplied {
		body.Outcome = "not_applied"
	}
	return a.operation(c.ID, func(path string, out *api.Operation) error { return a.api.post(ctx, path+"/resolve", body, out) })
}

type operationsAbandon struct {
	ID     string `arg:"" help:"The operation: op_…"`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
}

// Run is called by the parser.
func (c *operationsAbandon) Run(ctx context.Context, a *app) error {
	return a.operation(c.ID, func(path string, out *api.Operation) error {
		return a.api.post(ctx, path+"/abandon", api.Abandon{Reason: c.Reason}, out)
	})
}

// operation calls the API about one operation and prints how it stands then.
func (a *app) operation(id string, call func(path string, out *api.Operation) error) error {
	if _, err := onceward.ParseOperationID(id); err != nil {
		if _, event := onceward.ParseEventID(id); event == nil {
			return misuse("%s is an event, which may have several operations; its story names them: onceward events show %s", id, id)
		}
		return usageError{err}
	}
	var out api.Operation
	if err := call("/v1/operations/"+id, &out); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, out)
	}
	return printOperation(a.stdout, out)
}

func printOperation(w io.Writer, o api.Operation) error {
	var b strings.Builder
	tellOperation(&b, o)
	line(&b, "    onceward events show %s tells the whole story", o.Event)
	_, err := io.WriteString(w, b.String())
	return err
}

func tellOperation(b *strings.Builder, o api.Operation) {
	to := ""
	if o.Destination != "" {
		to = " at " + o.Destination
	}
	line(b, "  %s %s%s: %s, %s, effect %s", o.ID, o.Name, to, stateOf(o), tried(o.Attempt), o.Effect)
	disputed := ""
	if o.Disputed {
		disputed = "a late report contradicts what was decided since"
	}
	for _, s := range o.Steps {
		line(b, "    %-12s %s, attempt %d, done %s", "step "+s.Name, cmp.Or(s.Result, "no result"), s.Attempt, moment(s.DoneAt))
	}
	next := "next attempt"
	if o.State == onceward.UnknownOutcome.String() {
		next = "asked next"
	}
	for _, f := range []struct{ name, value string }{
		{"again", tellAgain(o)},
		{"step", o.Step},
		{"key", o.Key},
		{"result", o.Result},
		{"reason", o.Reason},
		{next, moment(o.NextAt)},
		{"lease until", moment(o.LeaseUntil)},
		{"disputed", disputed},
	} {
		if f.value != "" {
			line(b, "    %-12s %s", f.name, f.value)
		}
	}
}

// tellAgain says what sets an operation apart from an earlier one of its name.
func tellAgain(o api.Operation) string {
	var parts []string
	if o.Revision != "" {
		parts = append(parts, "carries the later content "+o.Revision[:min(len(o.Revision), 12)])
	}
	if o.Generation > 0 {
		parts = append(parts, "generation "+strconv.Itoa(o.Generation)+", under a key of its own")
	}
	if o.Redelivery > 0 {
		parts = append(parts, "redelivery "+strconv.Itoa(o.Redelivery)+", with the same key")
	}
	if o.Superseded {
		parts = append(parts, "superseded: it had no effect")
	}
	return strings.Join(parts, "; ")
}
