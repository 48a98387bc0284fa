package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// advise says in one sentence the one safe next thing to do for an event. It
// speaks about the operation that an operator must worry about most.
func (s *server) advise(e onceward.Event, pauses []onceward.Pause, now time.Time) string {
	if len(e.Operations) == 0 {
		return adviseVerdict(e)
	}
	worst, needy := e.Operations[0], 0
	for _, o := range e.Operations {
		if o.State.Rank() > worst.State.Rank() {
			worst = o
		}
		if needsPerson(o.State) {
			needy++
		}
	}
	if worst.State == onceward.Completed && !e.Erased.IsZero() {
		return "Nothing to do: what it carried was erased, so nothing of it can be sent again."
	}
	if needy > 1 {
		return s.adviseEach(e, needy, now)
	}
	destination := s.destination(worst)
	for _, p := range pauses {
		if worst.State.Open() && destination != "" && p.Destination == destination {
			return fmt.Sprintf("Destination %s is paused by %s (%s); when it can be called again: onceward destinations resume %s --reason …", p.Destination, p.Actor, p.Reason, p.Destination)
		}
	}
	if worst.State == onceward.Completed && e.Conflicts > 0 && !worst.Disputed {
		return fmt.Sprintf("Every operation completed with the first content; %d later deliveries said something else under the same id. Ask the sender which one counts: onceward conflicts list --event %s", e.Conflicts, e.ID)
	}
	return adviseOperation(worst, worst.Downstream(e.Key, worst.StepName()), destination, now)
}

// destination is where an operation's present step goes; empty when that is not
// configured.
func (s *server) destination(o onceward.Operation) string {
	if steps := s.Routes[o.Name]; o.Step < len(steps) {
		return steps[o.Step]
	}
	return ""
}

func needsPerson(s onceward.State) bool {
	return s == onceward.UnknownOutcome || s == onceward.DeadLettered || s == onceward.Quarantined
}

// adviseEach speaks about every operation that a person must decide about.
func (s *server) adviseEach(e onceward.Event, needy int, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations need a person.", needy)
	for _, o := range e.Operations {
		if needsPerson(o.State) {
			fmt.Fprintf(&b, " %s: %s", o.Name, adviseOperation(o, o.Downstream(e.Key, o.StepName()), s.destination(o), now))
		}
	}
	return b.String()
}

func adviseVerdict(e onceward.Event) string {
	if !e.Erased.IsZero() {
		return "Nothing to do: what it carried was erased."
	}
	switch e.Verdict {
	case onceward.Ignored:
		return fmt.Sprintf("Nothing to do: no operation was configured for this type of event when it came. One that was added since takes it by name: onceward events replay %s --operation NAME --reason …", e.ID)
	case onceward.QuarantinedBy:
		if other, ok := strings.CutPrefix(e.Reason, "same_body_other_id: this signed body is known as "); ok {
			return fmt.Sprintf("The very same signed body is known as %s; look there. If it is a copy: onceward events reject %s --reason …; if both were meant: onceward events replay %s --accept-duplicate-risk --reason …", other, e.ID, e.ID)
		}
		return fmt.Sprintf("Nothing of it runs by itself (%s). Correct the source's configuration if it should be understood, look at the body (onceward events show %s --payload), then let it go: onceward events replay %s --reason …; or close it: onceward events reject %s --reason …", e.Reason, e.ID, e.ID, e.ID)
	}
	return "Nothing to do: it has no operations."
}

func adviseOperation(o onceward.Operation, key, destination string, now time.Time) string {
	if destination == "" {
		destination = "the destination"
	} else {
		destination = "destination " + destination
	}
	switch o.State {
	case onceward.Completed:
		if o.Disputed {
			return fmt.Sprintf("Compare with %s: a late report about %s contradicts what was decided; operation %s is disputed.", destination, key, o.ID)
		}
		return "Nothing to do: every operation completed."
	case onceward.UnknownOutcome:
		if !o.AskAt.IsZero() {
			return fmt.Sprintf("Wait: %s is asked about %s by itself, next at %s; who knows already: onceward operations resolve %s --completed|--not-applied --evidence … --reason …", destination, key, o.AskAt.UTC().Format(time.RFC3339), o.ID)
		}
		return fmt.Sprintf("Ask %s whether %s was applied, then: onceward operations resolve %s --completed|--not-applied --evidence … --reason …", destination, key, o.ID)
	case onceward.DeadLettered:
		if o.Unknown {
			return fmt.Sprintf("Ask %s whether %s was applied (its outcome was once unknown); if it was: onceward operations resolve %s --completed --evidence … --reason …; if not: onceward operations retry %s --accept-duplicate-risk --reason …", destination, key, o.ID, o.ID)
		}
		return fmt.Sprintf("Remove the cause (%s), then: onceward operations retry %s --reason …", o.Reason, o.ID)
	case onceward.Quarantined:
		if o.Reason == onceward.Contradicted {
			return fmt.Sprintf("Compare both contents and decide: onceward conflicts list --event %s", o.ID.Event)
		}
		return fmt.Sprintf("Compare what was delivered (%s); to run it: onceward operations retry %s --reason …; to give it up: onceward operations abandon %s --reason …", o.Reason, o.ID, o.ID)
	case onceward.Processing, onceward.Dispatched:
		if underWay(o) {
			return "Wait: an attempt is under way."
		}
	}
	if strings.HasPrefix(o.Reason, "waits") { // its stream says for what
		return fmt.Sprintf("Wait: %s runs in order, and %s. What holds it up is where to look.", o.Name, o.Reason)
	}
	if o.DueAt.Equal(onceward.Behind) {
		return fmt.Sprintf("Wait: %s runs when the one that is under way has ended.", o.Name)
	}
	if o.DueAt.After(now) {
		return fmt.Sprintf("Wait: %s is tried again at %s by itself.", o.Name, o.DueAt.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("Wait: %s is due and runs as soon as a worker is free.", o.Name)
}
