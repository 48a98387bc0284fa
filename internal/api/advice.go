package api

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// advise says in one sentence the one safe next thing to do for an event. It
// speaks about the operation that an operator must worry about most.
func (s *server) advise(e onceward.Event, pauses []onceward.Pause, now time.Time) string {
	if len(e.Operations) == 0 {
		return adviseVerdict(e)
	}
	worst := e.Operations[0]
	for _, o := range e.Operations[1:] {
		if o.State.Rank() > worst.State.Rank() {
			worst = o
		}
	}
	destination := s.Routes[worst.Name]
	for _, p := range pauses {
		if worst.State.Open() && destination != "" && p.Destination == destination {
			return fmt.Sprintf("Destination %s is paused by %s (%s); when it can be called again: onceward destinations resume %s --reason …", p.Destination, p.Actor, p.Reason, p.Destination)
		}
	}
	if worst.State == onceward.Completed && e.Conflicts > 0 && !worst.Disputed {
		return fmt.Sprintf("Every operation completed with the first content; %d later deliveries said something else under the same id. Ask the sender which one counts.", e.Conflicts)
	}
	return adviseOperation(worst, e.Key.Downstream(worst.Name, worst.Generation, ""), destination, now)
}

func adviseVerdict(e onceward.Event) string {
	switch e.Verdict {
	case onceward.Ignored:
		return "Nothing to do: no operation is configured for this type of event."
	case onceward.QuarantinedBy:
		return fmt.Sprintf("Nothing runs: it is authentic but was held (%s); correct the source's configuration or tell the sender.", e.Reason)
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
		return fmt.Sprintf("Ask %s whether %s was applied, then: onceward operations resolve %s --completed|--not-applied --evidence … --reason …", destination, key, o.ID)
	case onceward.DeadLettered:
		if o.Unknown {
			return fmt.Sprintf("Ask %s whether %s was applied (its outcome was once unknown); if it was: onceward operations resolve %s --completed --evidence … --reason …; if not: onceward operations retry %s --accept-duplicate-risk --reason …", destination, key, o.ID, o.ID)
		}
		return fmt.Sprintf("Remove the cause (%s), then: onceward operations retry %s --reason …", o.Reason, o.ID)
	case onceward.Quarantined:
		return fmt.Sprintf("Compare what was delivered (%s); to run it: onceward operations retry %s --reason …; to give it up: onceward operations abandon %s --reason …", o.Reason, o.ID, o.ID)
	case onceward.Processing, onceward.Dispatched:
		if underWay(o) {
			return "Wait: an attempt is under way."
		}
	}
	if o.DueAt.After(now) {
		return fmt.Sprintf("Wait: %s is tried again at %s by itself.", o.Name, o.DueAt.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("Wait: %s is due and runs as soon as a worker is free.", o.Name)
}
