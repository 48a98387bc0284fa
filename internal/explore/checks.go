package explore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// write is one transaction: it reads the row, decides and writes. owner is the
// worker whose lease it goes by, or -1. done changes the rest of the world; it
// runs twice, for the answer may be lost although the commit was applied.
func (x *explorer) write(w World, label string, decide change, owner int, done func(next *World, told bool)) {
	if owner >= 0 {
		label = "a worker " + label
	}
	if w.Row.State == 0 || w.Reaped {
		if owner >= 0 {
			w.Workers[owner] = worker{}
			x.emit(label+": there is no row", w, "")
		}
		return
	}
	before := w.Row.operation(x.Spec)
	after, by, err := decide(before)
	if err != nil {
		if owner < 0 {
			return
		}
		w.Workers[owner] = worker{} // it is told, and lets go
		broken := ""
		if !errors.Is(err, onceward.ErrFenced) && !errors.Is(err, onceward.ErrNotAllowed) {
			broken = "I4: an unknown refusal: " + err.Error()
		}
		x.emit(label+": refused", w, broken)
		return
	}
	broken := x.written(w, before, after, by, owner)
	w.Row = rowOf(after)
	if after.Step > before.Step || after.State == onceward.Completed {
		w.Done[before.Step], w.Step[before.Step] = true, int8(before.Attempt)
	}
	if strings.Contains(by, "T17") {
		w.Absent[before.Step] = true
	}
	if by != "" {
		label += " (" + by + ")"
	}
	if done == nil {
		x.emit(label, w, broken)
		return
	}
	untold := w
	done(&w, true)
	x.emit(label, w, broken)
	done(&untold, false)
	x.emit(label+", and is not told", untold, broken)
}

// written checks one write. The names are those of the contract's invariants.
func (x *explorer) written(w World, before, after onceward.Operation, by string, owner int) string {
	from, to := before.State, after.State
	if x.HarmOnly {
		if from == onceward.Completed && to != from {
			return "I6: completed was left for " + to.String()
		}
		return ""
	}
	switch {
	case from == onceward.Completed && to != from:
		return "I6: completed was left for " + to.String()
	case from == onceward.Completed && !after.Disputed:
		return "I6: a completed operation was written again"
	case after.Fence < before.Fence:
		return "I4: the fence fell"
	case from == onceward.Processing && owner < 0 && after.Fence == before.Fence:
		return "I4: somebody else took an operation from its owner under the same fence"
	case to == onceward.Processing && from != to && after.Fence == before.Fence:
		return "I4: a new owner under an old fence"
	case owner >= 0 && w.Workers[owner].Fence != int8(before.Fence) && by != "T19" && by != "disputed" && (!after.Disputed || before.Disputed):
		return fmt.Sprintf("I4: a write under fence %d changed a row of fence %d", w.Workers[owner].Fence, before.Fence)
	case to == onceward.FailedBeforeEffect && before.Intent && owner < 0 && from == onceward.Processing && after.Step == before.Step:
		return "I11: an open intent of a lost owner became failed_before_effect"
	case after.Step < before.Step:
		return "case 99: a step that is done is to run again"
	case by == "T19" && w.Workers[owner].Fence != int8(before.Fence)-1:
		return "T19: an earlier attempt's report decides about a later one"
	}
	if by != "" && !after.Disputed && !x.onTable(from, to, by) {
		return fmt.Sprintf("I18: %s does not lead from %s to %s in the table", by, from, to)
	}
	if by == "" && from != to {
		return fmt.Sprintf("I18: from %s to %s without a name", from, to)
	}
	if after.Disputed && !before.Disputed && !decided(w) {
		return "T19: disputed although nothing was decided that success contradicts"
	}
	return ""
}

// decided reports whether anything was decided that success could contradict:
// by a person, by the reconciler, or that it was given up.
func decided(w World) bool {
	return w.Decided > 0 || w.Absent != [maxSteps]bool{} || w.Row.State == onceward.DeadLettered
}

// onTable reports whether a name leads from one state to the other; "T9+T15"
// are two rows at once. It remembers which rows were walked.
func (x *explorer) onTable(from, to onceward.State, by string) bool {
	name, rest, more := strings.Cut(by, "+")
	for _, tr := range x.table {
		if tr.Name == name && tr.From == from && (!more && tr.To == to || more && x.onTable(tr.To, to, rest)) {
			x.walked[tr] = true
			return true
		}
	}
	return false
}

// maySend checks a call at the moment of its first byte.
func (x *explorer) maySend(w World, o worker) string {
	if x.HarmOnly {
		return ""
	}
	switch {
	case !o.Recorded:
		return "I9: a call without an intent on record under its fence"
	case w.Sent[o.Step] != 0 && w.Sent[o.Step] != 1+o.Key:
		return "I8: the same step is called under another key"
	case w.Done[o.Step] && x.Effect != onceward.Keyed && w.Risked[o.Step] == 0:
		return "case 99: a step that is done is called again"
	}
	if x.Effect != onceward.Keyed && w.Risked[o.Step] == 0 {
		if w.Effects[o.Step] > 0 {
			return "I7: a call is repeated that had its effect"
		}
		for _, c := range w.Wire {
			if c.Used && c.Step == o.Step {
				return "I7: a call is repeated while another one is on its way"
			}
		}
	}
	return ""
}

// mayStillAct reports whether a call of this step can still reach the
// destination, or be begun by an owner that is no longer one.
func (x *explorer) mayStillAct(w World, step int8) bool {
	for _, c := range w.Wire {
		if c.Used && c.Step == step {
			return true
		}
	}
	for _, o := range w.Workers {
		if o.Step == step && (o.Phase == sending || o.Phase == intended && o.Until >= 0) && (o.Fence != w.Row.Fence || w.Row.State != onceward.Processing) {
			return true
		}
	}
	return false
}

// check is what must hold in every state, whoever did what last.
func (x *explorer) check(w World) string {
	r := w.Row
	if w.Acked && r.State == 0 {
		return "I3: a 2xx without a row, and nobody will send it again"
	}
	if r.State == 0 {
		return ""
	}
	if r.State == onceward.Completed {
		for i := range x.Steps {
			if w.Effects[i] == 0 {
				return "I12: completed without its effect"
			}
		}
	}
	if x.HarmOnly {
		return ""
	}
	if owners := x.owners(w); owners > 1 {
		return "I5: two owners under the present fence"
	}
	switch {
	case r.State.Open() == (r.DueAt == never):
		return "CHECK: something is due exactly while the state is open"
	case r.Occupied && r.State != onceward.Processing:
		return "CHECK: an owner of what is not leased"
	case r.Intent && r.State != onceward.Processing && r.State != onceward.UnknownOutcome && r.State != onceward.DeadLettered:
		return "CHECK: an open intent in " + r.State.String()
	case r.AskAt != never && r.State != onceward.UnknownOutcome:
		return "CHECK: asked about in " + r.State.String()
	}
	// Whoever says that nothing happened must be right about it: what waits to
	// run again, and what is given up without a word of doubt.
	sure := r.State == onceward.FailedBeforeEffect || r.State == onceward.DeadLettered && !r.Intent || r.State == onceward.Received
	if sure && !r.Unknown && !r.Disputed && w.Risked[r.Step] == 0 {
		if w.Effects[r.Step] > 0 {
			return "I11: " + r.State.String() + " says that nothing happened, and it did"
		}
		if x.mayStillAct(w, r.Step) {
			return "I11: " + r.State.String() + " says that nothing is on its way, and something is"
		}
	}
	return ""
}

func (x *explorer) owners(w World) (n int) {
	for _, o := range w.Workers {
		if o.Phase != idle && o.Fence == w.Row.Fence && w.Row.State == onceward.Processing {
			n++
		}
	}
	return n
}

// atRest reports whether nothing has to happen any more without a person.
func atRest(w World) bool {
	r := w.Row
	switch r.State {
	case onceward.Completed, onceward.DeadLettered, onceward.Quarantined:
		return true
	case onceward.UnknownOutcome:
		return r.AskAt == never
	}
	return w.Reaped
}
