package onceward

import (
	"slices"
	"strings"
	"time"
)

// Plan names an operation's steps in their order, separated by commas. The
// empty plan is a single step without a name. An operation keeps the plan under
// which it began, because its downstream keys hang on the names.
type Plan string

// NewPlan makes a plan of the steps' names.
func NewPlan(names ...string) Plan { return Plan(strings.Join(names, ",")) }

// Names lists the steps; a single step without a name is one empty name.
func (p Plan) Names() []string { return strings.Split(string(p), ",") }

// Len is how many steps there are.
func (p Plan) Len() int { return strings.Count(string(p), ",") + 1 }

// Name is the name of step i, from 0; empty beyond the end.
func (p Plan) Name(i int) string {
	if names := p.Names(); i >= 0 && i < len(names) {
		return names[i]
	}
	return ""
}

// StepName is the name of the step that runs or is next; it is part of the
// downstream key. It is empty for an operation of a single step without a name.
func (o Operation) StepName() string { return o.Plan.Name(o.Step) }

// begun reports whether a call of the current step may have been made.
func (o Operation) begun() bool { return !o.IntentAt.IsZero() || o.Intent || o.Unknown }

// fits reports whether an operation can go on under today's plan: the steps
// that are done, and the one that may have been called, must stand where they
// stood. What comes after them may change.
func (o Operation) fits(today Plan) bool {
	fixed := o.Step
	if o.begun() {
		fixed++
	}
	if fixed == 0 {
		return true
	}
	was, is := o.Plan.Names(), today.Names()
	return o.Step < len(is) && fixed <= len(is) && fixed <= len(was) && slices.Equal(was[:fixed], is[:fixed])
}

// misfit sets an operation aside whose steps are no longer the configured ones:
// going on would repeat a step under another key, or leave one out.
func (o Operation) misfit(today Plan, now time.Time) (Operation, string) {
	reason := "its steps were " + o.Plan.told() + " and are " + today.told() + " now; it stands at " + o.told() + ": put the steps back and retry it, or abandon it"
	by := "T24"
	switch {
	case o.Intent:
		by = "T12"
		o = o.lost(reason, now)
	case o.State == Processing:
		by = "T9+T24"
		o = o.move(Quarantined, reason, now)
	default:
		o = o.move(Quarantined, reason, now)
	}
	if by != "T12" {
		o.Fence++
	}
	return o, by
}

func (p Plan) told() string {
	if p == "" {
		return "a single one without a name"
	}
	return strings.Join(p.Names(), ", ")
}

func (o Operation) told() string {
	if name := o.StepName(); name != "" {
		return "step " + name
	}
	return "its only step"
}

// advance records that the current step is done, when another one follows.
// Everything that was about the step's own calls ends with it.
func (o Operation) advance() (Operation, bool) {
	if o.Step+1 >= o.Plan.Len() {
		return o, false
	}
	o.Step++
	o.Intent, o.Doubt, o.Unknown, o.IntentAt = false, false, false, time.Time{}
	o.Budget = o.Attempt
	return o, true
}
