// Package explore walks through everything that can happen to one operation:
// two workers of which each may crash or be paused anywhere, the janitor, the
// reconciler, a person, a sender that repeats itself, a wire that loses and
// delays, and a destination that keeps its own ledger. It calls the real rules
// of the root package over a store in memory that keeps to a store's contract:
// one transaction reads the row, decides on it and writes it.
//
// In each state it checks what must always hold, against what really happened
// at the destination, which the rules cannot see. It owns no rule. That it can
// find a fault at all is shown by mutants: each breaks one rule, and is caught.
package explore

import (
	"time"

	"github.com/onceward/onceward"
)

// tick is the model's unit of time: the bound on an owner's pause. A call is at
// most so long on its way, and shows at the destination by then.
const tick = onceward.OwnerPause

// The bounds of the model, in ticks.
const (
	leaseTicks  = 2
	flightTicks = 1 // how long a call may be on its way
	pauseTicks  = 1 // between an owner's last look at the clock and its first byte
	giveUpTicks = 4 // how long the reconciler asks
	oldest      = -5
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// moment is a time in ticks from now; never is none. What is older than every
// bound of the rules is as old as it can be, which makes the states finite.
type moment int8

const never moment = -128

func at(t time.Time) moment {
	if t.IsZero() {
		return never
	}
	return moment(max(t.Sub(noon)/tick, oldest))
}

func (m moment) time() time.Time {
	if m == never {
		return time.Time{}
	}
	return noon.Add(time.Duration(m) * tick)
}

func (m moment) older() moment {
	if m == never {
		return m
	}
	return max(m-1, oldest)
}

// row is an operation as the store keeps it, without what is for people only.
type row struct {
	State                                      onceward.State
	Step, Fence, Attempt, Budget, Generation   int8
	Intent, Doubt, Unknown, Disputed, Occupied bool
	IntentAt, DueAt, AskAt, SentBy             moment
}

func rowOf(o onceward.Operation) row {
	return row{
		State: o.State, Step: int8(o.Step), Fence: int8(o.Fence), Attempt: int8(o.Attempt), Budget: int8(o.Budget), Generation: int8(o.Generation),
		Intent: o.Intent, Doubt: o.Doubt, Unknown: o.Unknown, Disputed: o.Disputed, Occupied: o.Owner != "",
		IntentAt: at(o.IntentAt), DueAt: at(o.DueAt), AskAt: at(o.AskAt), SentBy: at(o.SentBy),
	}
}

func (r row) operation(s *Spec) onceward.Operation {
	o := onceward.Operation{
		Name: "fulfil", State: r.State, Effect: s.Effect, Plan: s.plan(),
		Step: int(r.Step), Fence: int64(r.Fence), Attempt: int(r.Attempt), Budget: int(r.Budget), Generation: int(r.Generation),
		Intent: r.Intent, Doubt: r.Doubt, Unknown: r.Unknown, Disputed: r.Disputed,
		IntentAt: r.IntentAt.time(), DueAt: r.DueAt.time(), AskAt: r.AskAt.time(), SentBy: r.SentBy.time(),
	}
	if r.Occupied {
		o.Owner = "owner"
	}
	return o
}

// phase is where a worker stands; crashing leads to idle from everywhere.
type phase uint8

const (
	idle     phase = iota
	leased         // has the lease, no intent of its own
	intended       // the intent is on record
	sending        // looked at the clock, and may be paused before the first byte
	waiting        // the call is on its way, or was
	answered       // knows the outcome, and has to record it
)

// outcome is what a worker learned about its call.
type outcome uint8

const (
	none outcome = iota
	succeeded
	notApplied
	refused
	ambiguous
)

func (o outcome) real() onceward.Outcome {
	switch o {
	case succeeded:
		return onceward.Succeeded("r")
	case notApplied:
		return onceward.NotApplied("503", noon.Add(tick))
	case refused:
		return onceward.Refused("422")
	default:
		return onceward.Ambiguous("timeout", noon.Add(tick))
	}
}

// worker is one process's memory of its lease.
type worker struct {
	Phase                           phase
	Outcome                         outcome
	Fence, Attempt, Step, Key, Idle int8 // Idle: ticks since it looked at the clock
	Doubt, Recorded                 bool // Recorded: its intent was committed under its fence
	Until, IntentAt                 moment
}

func (w worker) lease(s *Spec) onceward.Lease {
	return onceward.Lease{Fence: int64(w.Fence), Attempt: int(w.Attempt), Step: int(w.Step), Until: w.Until.time(), Owner: "owner", Effect: s.Effect}
}

// call is a request on its way.
type call struct {
	Used             bool
	Fence, Step, Key int8
	Age              int8
}

// maxSteps and maxCalls bound the model's arrays.
const (
	maxSteps = 3
	maxCalls = 3
)

// inquiry is what the reconciler heard and has not recorded yet.
type inquiry struct {
	Heard    bool
	Presence onceward.Presence
	Fence    int8
	Asked    moment
}

// World is everything at one instant. It is comparable, and two of the same
// value have the same future.
type World struct {
	Row     row
	Known   bool // the ledger has the event's key
	Acked   bool // the sender has its 2xx and stops
	Reaped  bool
	Workers [2]worker
	Wire    [maxCalls]call
	Asking  inquiry
	Stale   row // what a careless janitor saw, for mutants only
	Decided int8
	Step    [maxSteps]int8 // the store's step table: the attempt that did it

	// What the destination did and remembers, step by step.
	Effects [maxSteps]int8
	KeyAge  [maxSteps]int8 // ticks since it learned the key; -1 when it does not know it
	KeyOf   [maxSteps]int8 // which key that is

	// What only the explorer knows.
	Risked [maxSteps]int8 // repetitions that a person accepted
	Done   [maxSteps]bool // recorded as done
	Sent   [maxSteps]int8 // 1 + the key of the first call
	Absent [maxSteps]bool // decided, at some time, that there was no effect
}

func start() World {
	w := World{Row: row{IntentAt: never, DueAt: never, AskAt: never, SentBy: never}}
	for i := range w.KeyAge {
		w.KeyAge[i] = -1
	}
	return w
}

// canonical makes worlds equal that differ only in which worker is which.
func (w World) canonical() World {
	for i := range w.Workers {
		if w.Workers[i].Phase == idle {
			w.Workers[i] = worker{}
		}
	}
	if less(w.Workers[1], w.Workers[0]) {
		w.Workers[0], w.Workers[1] = w.Workers[1], w.Workers[0]
	}
	for i := range w.Wire { // a handful: sorting by insertion
		for j := i; j > 0 && w.Wire[j-1].order() > w.Wire[j].order(); j-- {
			w.Wire[j-1], w.Wire[j] = w.Wire[j], w.Wire[j-1]
		}
	}
	return w
}

func (c call) order() int {
	if !c.Used {
		return 1 << 30
	}
	return int(c.Fence)<<16 | int(c.Step)<<8 | int(c.Key)<<4 | int(c.Age)
}

func less(a, b worker) bool {
	switch {
	case a.Fence != b.Fence:
		return a.Fence < b.Fence
	case a.Phase != b.Phase:
		return a.Phase < b.Phase
	case a.Outcome != b.Outcome:
		return a.Outcome < b.Outcome
	case a.Until != b.Until:
		return a.Until < b.Until
	}
	return a.Attempt < b.Attempt || a.Attempt == b.Attempt && a.Idle < b.Idle
}
