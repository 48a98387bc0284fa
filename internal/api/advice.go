package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// advise says in one sentence the one safe next thing to do for an event. It
// speaks about the operation that an operator must worry about most.
func (s *server) advise(h onceward.History, pauses []onceward.Pause, now time.Time) string {
	e := h.Event
	if len(e.Operations) == 0 {
		return adviseVerdict(h)
	}
	worst, needy := e.Operations[0], 0
	for _, o := range e.Operations {
		if o.State.Rank() > worst.State.Rank() || o.State.Rank() == worst.State.Rank() && o.Disputed && !worst.Disputed {
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
		return s.adviseEach(e, needy, pauses, now)
	}
	if advice := adviseErased(e, worst); advice != "" {
		return advice
	}
	destination := s.destination(worst)
	paused := pauseOf(destination, pauses)
	if worst.State.Open() && paused != nil {
		return fmt.Sprintf("Destination %s is paused by %s (%s); when it can be called again: onceward destinations resume %s --reason …", paused.Destination, paused.Actor, paused.Reason, paused.Destination)
	}
	if worst.State == onceward.Completed && e.Conflicts > 0 && !slices.ContainsFunc(e.Operations, func(o onceward.Operation) bool { return o.Disputed }) {
		return adviseConflicts(h)
	}
	return adviseOperation(worst, worst.Downstream(e.Key, worst.StepName()), destination, paused, now)
}

func pauseOf(destination string, pauses []onceward.Pause) *onceward.Pause {
	for i := range pauses {
		if pauses[i].Destination == destination {
			return &pauses[i]
		}
	}
	return nil
}

// adviseConflicts speaks about an event whose operations all completed, and that
// was contradicted.
func adviseConflicts(h onceward.History) string {
	var decided []string
	open := 0
	for _, c := range h.Conflicts {
		if c.Decided == onceward.KeepOpen {
			open += c.Count
			continue
		}
		decided = append(decided, decision(c, h.Audits))
	}
	was := ""
	if len(decided) > 0 {
		was = " What was decided: " + strings.Join(decided, "; ") + "."
	}
	switch {
	case open > 0:
		return fmt.Sprintf("Every operation completed; %s said something else under the same id, and nobody has decided about that.%s Ask the sender which one counts: onceward conflicts list --event %s",
			counted(open, "later delivery", "later deliveries"), was, h.Event.ID)
	case was == "":
		return "Nothing to do: every operation completed."
	}
	return "Nothing to do: every operation completed, and the other content was decided about." + was
}

// decision says what was decided about a contradicting content, and by whom.
func decision(c onceward.Evidence, audits []onceward.Audit) string {
	name := onceward.ConflictName(c.ID)
	what := map[onceward.Keep]string{
		onceward.KeepFirst: "the first content counts", onceward.KeepSecond: "the second content counts and ran as a revision", onceward.KeepNeither: "neither counts",
		onceward.KeepNewer: "the newer content ran as a revision, by on_conflict", onceward.KeepOlder: "it is older than what was known, by on_conflict", onceward.KeepRefused: "it was refused, by on_conflict",
	}[c.Decided]
	for i := len(audits) - 1; i >= 0; i-- {
		if a := audits[i]; a.Target == name {
			return fmt.Sprintf("%s: %s (%s: %s)", name, what, a.Actor, a.Reason)
		}
	}
	return name + ": " + what
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
func (s *server) adviseEach(e onceward.Event, needy int, pauses []onceward.Pause, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations need a person.", needy)
	for _, o := range e.Operations {
		if needsPerson(o.State) {
			to := s.destination(o)
			if advice := adviseErased(e, o); advice != "" {
				fmt.Fprintf(&b, " %s: %s", o.Name, advice)
				continue
			}
			fmt.Fprintf(&b, " %s: %s", o.Name, adviseOperation(o, o.Downstream(e.Key, o.StepName()), to, pauseOf(to, pauses), now))
		}
	}
	return b.String()
}

// adviseErased speaks about an operation of which there is nothing left to send
// or to compare; empty when the usual advice can be followed.
func adviseErased(e onceward.Event, o onceward.Operation) string {
	switch {
	case e.Erased.IsZero():
	case o.State == onceward.Quarantined:
		return fmt.Sprintf("What it carried was erased while it was held, so there is nothing to compare and nothing to send; to close it: onceward operations abandon %s --reason …", o.ID)
	case o.State == onceward.DeadLettered:
		return fmt.Sprintf("Nothing to do: it ended without a clear success, and what it carried was erased, so nothing of it can be sent again. If it had its effect all the same: onceward operations resolve %s --completed --evidence … --reason …", o.ID)
	}
	return ""
}

func adviseVerdict(h onceward.History) string {
	e := h.Event
	if !e.Erased.IsZero() {
		return "Nothing to do: what it carried was erased."
	}
	switch e.Verdict {
	case onceward.Ignored:
		if d := rejection(h); d != nil {
			return fmt.Sprintf("Nothing to do: it was held (%s), and %s rejected it: %s.", e.Reason, d.Actor, d.Reason)
		}
		return fmt.Sprintf("Nothing to do: no operation was configured for this type of event when it came. One that was added since takes it by name: onceward events replay %s --operation NAME --reason …", e.ID)
	case onceward.QuarantinedBy:
		if other, ok := strings.CutPrefix(e.Reason, "same_body_other_id: this signed body is known as "); ok {
			return fmt.Sprintf("The very same signed body is known as %s; look there. If it is a copy: onceward events reject %s --reason …; if both were meant: onceward events replay %s --accept-duplicate-risk --reason …", other, e.ID, e.ID)
		}
		return fmt.Sprintf("Nothing of it runs by itself (%s). Correct the source's configuration if it should be understood, look at the body (onceward events show %s --payload), then let it go: onceward events replay %s --reason …; or close it: onceward events reject %s --reason …", e.Reason, e.ID, e.ID, e.ID)
	}
	return "Nothing to do: it has no operations."
}

// rejection is the decision by which an event that was held was closed.
func rejection(h onceward.History) *onceward.Audit {
	for i := range h.Audits {
		if a := &h.Audits[i]; a.Action == "T23" && a.Operation.N == 0 {
			return a
		}
	}
	return nil
}

func adviseOperation(o onceward.Operation, key, destination string, paused *onceward.Pause, now time.Time) string {
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
		if paused != nil {
			return fmt.Sprintf("Destination %s is paused by %s (%s). When it wants calls again, first: onceward destinations resume %s --reason …; then: onceward operations retry %s --reason …", paused.Destination, paused.Actor, paused.Reason, paused.Destination, o.ID)
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
