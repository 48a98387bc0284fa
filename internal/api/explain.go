package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Explanation says what happened to an event, whether each effect happened
// once and how that is known, and what the one safe next step is.
type Explanation struct {
	Event      string   `json:"event"`
	Status     string   `json:"status"`
	Summary    []string `json:"summary" doc:"What arrived, in sentences."`
	Operations []Answer `json:"operations"`
	Next       string   `json:"next" doc:"The one safe next thing to do."`
}

// Answer says whether an operation had its effect once.
type Answer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
	Key   string `json:"key" doc:"The Idempotency-Key that the other side is sent."`
	Once  string `json:"once" enum:"yes,not_yet,no_effect,unknown,disputed" doc:"yes: it happened, and once as far as can be known; not_yet: it is on its way; no_effect: it did not happen; unknown: nobody here can know; disputed: reports contradict each other."`
	How   string `json:"how" doc:"How that is known."`
}

func (s *server) explanations() {
	get := s.operation(http.MethodGet, "/v1/events/{id}/explain", "explain-event", "Say what happened, whether it was once, and what to do next", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.explainEvent)
}

func (s *server) explainEvent(ctx context.Context, in *EventRequest) (*answer[Explanation], error) {
	id, err := onceward.ParseEventID(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	const doing = "explain an event"
	h, err := s.Store.History(ctx, id)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	pauses, err := s.Store.Pauses(ctx)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	out := Explanation{Event: id.String(), Status: h.Event.Status(), Summary: summary(h), Next: s.advise(h.Event, pauses, time.Now()), Operations: []Answer{}}
	for _, o := range h.Event.Operations {
		a := Answer{ID: o.ID.String(), Name: o.Name, State: o.State.String(), Key: o.Downstream(h.Event.Key, o.StepName())}
		a.Once, a.How = once(o, h)
		out.Operations = append(out.Operations, a)
	}
	return &answer[Explanation]{out}, nil
}

// summary tells what arrived.
func summary(h onceward.History) []string {
	e := h.Event
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	kind := ""
	if e.Type != "" {
		kind = " of type " + e.Type
	}
	say("Source %s sent an event%s, first seen at %s and last at %s.", e.Source, kind, e.Received().Format(time.RFC3339), e.LastSeen.UTC().Format(time.RFC3339))
	if copies := e.Deliveries - 1 - e.Conflicts; copies > 0 {
		say("It came %s more; those are duplicates and caused nothing more by themselves.", counted(copies, "time", "times"))
	}
	if e.Conflicts > 0 {
		say("%s had other content under the same id.", counted(e.Conflicts, "delivery", "deliveries"))
	}
	switch {
	case !e.Erased.IsZero():
		say("What it carried was erased at %s; its key is remembered, so a copy is still a duplicate.", e.Erased.UTC().Format(time.RFC3339))
	case e.Verdict == onceward.QuarantinedBy:
		say("It is authentic and held for a person: %s.", e.Reason)
	case e.Verdict == onceward.Ignored:
		say("No operation was configured for it, so it caused nothing.")
	}
	return lines
}

// once says whether an operation had its effect once, and how that is known.
func once(o onceward.Operation, h onceward.History) (verdict, how string) {
	t := tally(o, h)
	switch {
	case o.Disputed:
		return "disputed", "A late report contradicts what was decided since. Count at the destination, by the key."
	case o.Superseded:
		return "no_effect", "It never had its effect: " + o.Reason + "."
	case o.State == onceward.Completed:
		return "yes", t.completed(o)
	case o.State == onceward.UnknownOutcome:
		return "unknown", "A call was made and its outcome never came back (" + o.Reason + "). Automation does not repeat it."
	case o.State == onceward.DeadLettered && o.Unknown:
		return "unknown", "It was given up after its outcome had been unknown: " + o.Reason + "."
	case o.State == onceward.DeadLettered:
		return "no_effect", fmt.Sprintf("%s ended with proof that nothing happened, the last: %s.", counted(len(t.attempts), "attempt", "attempts"), o.Reason)
	case o.State == onceward.Quarantined:
		return "no_effect", "It is held before any effect: " + o.Reason + "."
	case t.ambiguous > 0:
		return "not_yet", fmt.Sprintf("%s may have had its effect; it is repeated with the same key, which the destination deduplicates.", counted(t.ambiguous, "attempt", "attempts"))
	}
	return "not_yet", "Nothing has had an effect so far, and it is on its way."
}

// told is what is on record of one operation.
type told struct {
	attempts  []onceward.Attempt
	ambiguous int
	answered  *onceward.Attempt
	person    *onceward.Audit
}

func tally(o onceward.Operation, h onceward.History) (t told) {
	for i := range h.Attempts {
		a := &h.Attempts[i]
		if a.Operation != o.ID {
			continue
		}
		t.attempts = append(t.attempts, *a)
		switch a.Outcome {
		case "completed":
			t.answered = a
		case "ambiguous", "lost":
			t.ambiguous++
		}
	}
	for i := range h.Audits {
		if a := &h.Audits[i]; a.Operation == o.ID && a.To == onceward.Completed.String() && a.Evidence != "" {
			t.person = a
		}
	}
	return t
}

func (t told) completed(o onceward.Operation) string {
	var b strings.Builder
	switch {
	case t.person != nil:
		fmt.Fprintf(&b, "%s found it at the destination: %s.", t.person.Actor, t.person.Evidence)
	case t.answered != nil && t.answered.Status != 0:
		fmt.Fprintf(&b, "Attempt %d was answered %d.", t.answered.Number, t.answered.Status)
	case t.answered != nil:
		fmt.Fprintf(&b, "Attempt %d was answered with success.", t.answered.Number)
	default:
		b.WriteString("It is on record as completed.")
	}
	if o.Result != "" {
		fmt.Fprintf(&b, " The destination's reference is %s.", o.Result)
	}
	switch {
	case t.ambiguous == 0:
		b.WriteString(" Every other attempt ended with proof that nothing happened, and what is completed is never run again.")
	case o.Effect == onceward.Keyed:
		fmt.Fprintf(&b, " %s before it had no clear answer; all of them carried the same key, so it is one effect if the destination deduplicates as it promises.", counted(t.ambiguous, "attempt", "attempts"))
	default:
		fmt.Fprintf(&b, " %s had no clear answer; it was repeated only after somebody had looked or consented.", counted(t.ambiguous, "attempt", "attempts"))
	}
	if o.Redelivery > 0 {
		fmt.Fprintf(&b, " It is redelivery %d, which a person asked for, with the first one's key.", o.Redelivery)
	}
	return b.String()
}
