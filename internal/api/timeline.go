package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// timeline is everything recorded about an event, in the order of time; what
// happened in one moment stays in the order in which it follows.
func timeline(h onceward.History) []Entry {
	names := map[onceward.OperationID]string{}
	for _, o := range h.Event.Operations {
		names[o.ID] = o.Name
	}
	var all []Entry
	for _, d := range h.Deliveries {
		all = append(all, deliveryEntry(d))
	}
	later := map[onceward.OperationID]bool{} // begun by a person or a later delivery, which its audit row tells
	for _, a := range h.Audits {
		if a.Action == "T0b" {
			later[a.Operation] = true
		}
	}
	for _, o := range h.Event.Operations {
		if later[o.ID] {
			continue
		}
		all = append(all, Entry{
			At: h.Event.Received(), Kind: "operation", Operation: o.ID.String(), Name: o.Name,
			Text: fmt.Sprintf("operation %s recorded", o.Name),
		})
	}
	for _, c := range h.Conflicts {
		all = append(all, Entry{
			At: c.At, Kind: "conflict", Count: c.Count,
			Text: fmt.Sprintf("%s with other content, kept as evidence", counted(c.Count, "delivery", "deliveries")),
		})
	}
	for _, a := range h.Attempts {
		all = append(all, attemptEntry(a, names[a.Operation]))
	}
	for _, s := range h.Steps {
		all = append(all, stepEntry(s, names[s.Operation]))
	}
	for _, a := range h.Audits {
		all = append(all, auditEntry(a, names[a.Operation]))
	}
	for _, o := range h.Event.Operations {
		if underWay(o) {
			all = append(all, Entry{
				At: o.Changed, Kind: "attempt", Operation: o.ID.String(), Name: o.Name, Attempt: o.Attempt, Fence: o.Fence, State: o.State.String(),
				Text: fmt.Sprintf("attempt %d of %s is under way, lease until %s", o.Attempt, o.Name, o.DueAt.UTC().Format(time.RFC3339)),
			})
		}
	}
	for i := range all {
		all[i].At = all[i].At.UTC()
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func deliveryEntry(d onceward.Delivery) Entry {
	e := Entry{At: d.At, Kind: "delivery", Count: d.Count, Verdict: d.Verdict.String(), Remote: d.Remote, Secret: d.Secret}
	e.Text = counted(d.Count, "delivery", "deliveries") + ": " + e.Verdict
	if d.Remote != "" {
		e.Text += ", from " + d.Remote
	}
	return e
}

func attemptEntry(a onceward.Attempt, name string) Entry {
	e := Entry{
		At: cmp.Or(a.Ended, a.Started), Kind: "attempt", Operation: a.Operation.String(), Name: name, Attempt: a.Number, Fence: a.Fence,
		Outcome: a.Outcome, Answered: a.Status, State: a.State.String(), Reason: a.Reason, Actor: a.Owner,
	}
	e.Text = fmt.Sprintf("attempt %d of %s: %s", a.Number, name, a.Outcome)
	if a.Status != 0 {
		e.Text += fmt.Sprintf(", answered %d", a.Status)
	}
	if took := a.Ended.Sub(a.Started); took > 0 && !a.Started.IsZero() {
		e.Text += fmt.Sprintf(", took %s", took.Round(time.Millisecond))
	}
	e.Text += fmt.Sprintf(" → %s", e.State)
	if a.Reason != "" {
		e.Text += " (" + a.Reason + ")"
	}
	return e
}

func stepEntry(s onceward.RecoveryPoint, name string) Entry {
	e := Entry{At: s.At, Kind: "step", Operation: s.Operation.String(), Name: name, Attempt: s.Attempt, Fence: s.Fence}
	e.Text = fmt.Sprintf("step %s of %s is done and is not repeated", s.Name, name)
	if s.Result != "" {
		e.Text += ", result " + s.Result
	}
	return e
}

func auditEntry(a onceward.Audit, name string) Entry {
	e := Entry{
		At: a.At, Kind: "audit", Name: name, Fence: a.Fence, Actor: a.Actor, Action: a.Action,
		From: a.From, To: a.To, Reason: a.Reason, Evidence: a.Evidence, Mode: a.Mode, Consent: a.Consent,
	}
	if a.Operation.N > 0 {
		e.Operation = a.Operation.String()
	}
	e.Text = fmt.Sprintf("%s: %s", a.Actor, a.Action)
	if name != "" {
		e.Text += " of " + name
	}
	if a.From != "" || a.To != "" {
		e.Text += fmt.Sprintf(", %s → %s", a.From, a.To)
	}
	if a.Reason != "" {
		e.Text += fmt.Sprintf(", because: %s", a.Reason)
	}
	if a.Evidence != "" {
		e.Text += fmt.Sprintf(", evidence: %s", a.Evidence)
	}
	if a.Mode != "" {
		e.Text += ", by replay " + a.Mode
	}
	if a.Consent {
		e.Text += ", accepting the risk of a second effect"
	}
	return e
}
