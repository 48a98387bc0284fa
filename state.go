package onceward

import "fmt"

// State is where an operation stands. The numbers are stored; never reuse one.
type State uint8

// The states of an operation. Completed is terminal: nothing leaves it.
const (
	Received            State = 1 // recorded, waiting for a worker or for its turn
	Processing          State = 2 // leased: an owner works on it, or its lease ran out
	Dispatched          State = 3 // every outside step has its result; only finishing is left
	Completed           State = 4 // done, result kept
	FailedBeforeEffect  State = 5 // the next step provably had no effect; runs again when due
	UnknownOutcome      State = 6 // an outside call may have had its effect; automation stops here
	DeadLettered        State = 7 // attempts or age spent, or refused for good; a person decides
	Quarantined         State = 8 // authentic but not safe to run: held for a person
	lastState                 = Quarantined
	noState             State = 0
	stateNamesSeparator       = " → "
)

var stateNames = [...]string{"∅", "received", "processing", "dispatched", "completed", "failed_before_effect", "unknown_outcome", "dead_lettered", "quarantined"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// States lists every state, in the order of their numbers.
func States() []State {
	all := make([]State, 0, lastState)
	for s := Received; s <= lastState; s++ {
		all = append(all, s)
	}
	return all
}

// ParseState reads a state's name.
func ParseState(name string) (State, error) {
	for s := Received; s <= lastState; s++ {
		if stateNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is not a state; the states are %v", name, States())
}

// Open reports whether something still has to happen to an operation in s
// without a person's help.
func (s State) Open() bool {
	return s == Received || s == Processing || s == Dispatched || s == FailedBeforeEffect
}

// Rank orders states by how much an operator must worry; an event shows the
// worst of its operations.
func (s State) Rank() int {
	return [...]int{noState: 0, Completed: 1, Dispatched: 2, Received: 3, Processing: 4, FailedBeforeEffect: 5, Quarantined: 6, DeadLettered: 7, UnknownOutcome: 8}[s]
}

// Transition is one row of the state machine.
type Transition struct {
	Name     string // T0 … T25, as in docs/reference/states.md
	From, To State  // From is 0 for a new operation
	By       string // receiver, worker, owner, janitor, reconciler, late owner, operator, gate
	Guard    string // what must hold, checked in the same write
}

func (t Transition) String() string {
	return t.Name + " " + t.From.String() + stateNamesSeparator + t.To.String()
}

// Transitions is the whole state machine, as a table. Everything that changes
// an operation's state is one of these rows; stores check state and fence again
// in the UPDATE, and the schema checks the rest.
func Transitions() []Transition {
	return []Transition{
		{"T0", noState, Received, "receiver", "signature holds; the key was not known"},
		{"T0b", noState, Received, "operator or receiver", "a person: redelivered with the same key, re-executed under a new one (consent), or released from an event that was held; by the source's policy: a later content, or a level trigger seen again"},
		{"T1", noState, Quarantined, "receiver", "authentic, not processable"},
		{"T2", Received, Processing, "worker", "due; fence and attempt rise"},
		{"T3", Processing, Processing, "owner", "fence equal; lease moved"},
		{"T4", Processing, Processing, "owner", "fence equal, no open intent, or the inherited intent of a keyed step"},
		{"T5", Processing, Processing, "owner", "fence equal; a step is done and another one follows: its result is kept, the next is due; fence rises"},
		{"T6", Processing, Dispatched, "owner", "fence equal; every outside step has its result"},
		{"T7", Processing, Completed, "owner", "fence equal; the result closes the intent"},
		{"T8", Dispatched, Completed, "owner", "fence equal"},
		{"T9", Processing, FailedBeforeEffect, "owner", "fence equal; proof that nothing happened closes the intent"},
		{"T10", Processing, UnknownOutcome, "owner", "fence equal, open intent, ambiguous error; fence rises"},
		{"T11", Processing, Processing, "worker", "lease past; no open intent, or a keyed one within the memory of keys; attempts left; fence rises"},
		{"T12", Processing, UnknownOutcome, "janitor", "lease past; open intent that may not be repeated, or keyed with attempts or the memory of keys spent; fence rises"},
		{"T12b", Processing, DeadLettered, "janitor", "lease past, no open intent, attempts spent; fence rises"},
		{"T13", Dispatched, Dispatched, "worker", "lease past; fence rises; finish only"},
		{"T14", FailedBeforeEffect, Processing, "worker", "due; attempts left; fence and attempt rise"},
		{"T14b", FailedBeforeEffect, FailedBeforeEffect, "operator", "actor and reason; due at once with a fresh budget"},
		{"T15", FailedBeforeEffect, DeadLettered, "worker", "attempts or age spent, or refused for good"},
		{"T16", UnknownOutcome, Completed, "reconciler", "state and fence unchanged; evidence of presence"},
		{"T16", UnknownOutcome, FailedBeforeEffect, "reconciler", "as T16, of a step that another one follows: that one is due"},
		{"T17", UnknownOutcome, FailedBeforeEffect, "reconciler", "state and fence unchanged; evidence of final absence; fence rises"},
		{"T18", UnknownOutcome, DeadLettered, "reconciler", "reconcile budget spent, or given up by a person"},
		{"T19", UnknownOutcome, Completed, "late owner", "its attempt is the one that went unknown; no later attempt"},
		{"T19", UnknownOutcome, FailedBeforeEffect, "late owner", "as T19, of a step that another one follows: that one is due"},
		{"T20", DeadLettered, Received, "operator", "actor and reason; same key; consent when it came through unknown; fence rises"},
		{"T21", DeadLettered, Completed, "operator", "actor, reason and evidence"},
		{"T21", DeadLettered, FailedBeforeEffect, "operator", "as T21, of a step that another one follows: that one is due"},
		{"T22", Quarantined, Received, "operator", "actor and reason; fence rises"},
		{"T21b", DeadLettered, DeadLettered, "operator", "actor and reason; its stream goes on without it"},
		{"T23", Quarantined, DeadLettered, "operator", "actor and reason"},
		{"T24", Received, Quarantined, "receiver", "conflict before any effect; its steps are no longer the configured ones"},
		{"T24", FailedBeforeEffect, Quarantined, "receiver", "conflict before any effect; its steps are no longer the configured ones"},
		{"T25", Received, Completed, "gate", "stale version or ignored type; no effect"},
		{"T25", FailedBeforeEffect, Completed, "gate", "stale version since; no effect"},
	}
}
