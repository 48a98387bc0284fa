package explore

import (
	"errors"
	"time"

	"github.com/onceward/onceward"
)

// Spec is one run: what kind of operation, and how far it is followed.
type Spec struct {
	Effect    onceward.Effect
	Steps     int
	Attempts  int
	MaxFence  int // states beyond are not followed
	Decisions int // of a person, and contradicting deliveries
	KeyMemory int // ticks for which the destination is sure to know a key; 0 is for ever
	// HarmOnly leaves out the checks of how things are done, and keeps those of
	// what came of it: effects, lost events, what is completed.
	HarmOnly bool
}

func (s *Spec) plan() onceward.Plan {
	return [...]onceward.Plan{1: "", 2: onceward.NewPlan("a", "b"), 3: onceward.NewPlan("a", "b", "c")}[s.Steps]
}

func (s *Spec) limits() onceward.Limits {
	return onceward.Limits{Attempts: s.Attempts, Lease: leaseTicks * tick, Plan: s.plan(), KeyMemory: time.Duration(s.KeyMemory) * tick}
}

func asked() onceward.Inquiry {
	return onceward.Inquiry{Settle: flightTicks * tick, First: tick, Max: tick, GiveUp: giveUpTicks * tick}
}

type change func(o onceward.Operation) (onceward.Operation, string, error)

// Rules are the real rules, one field for each place at which a mutant may
// stand in. Everything is decided on the row as the transaction reads it.
type Rules struct {
	Take      func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error)
	Expire    func(o onceward.Operation, l onceward.Limits) (onceward.Operation, string, error)
	Renew     func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error)
	Intend    func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error)
	HandBack  func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error)
	Settle    func(o onceward.Operation, l onceward.Lease, out onceward.Outcome, limits onceward.Limits, recorded int) (onceward.Operation, string, error)
	Reconcile func(o onceward.Operation, fence int64, f onceward.Finding) (onceward.Operation, string, error)
	Retry     func(o onceward.Operation, d onceward.Decision) (onceward.Operation, string, error)
	Reap      func(o onceward.Operation) bool

	// What is no rule of the root but a habit of the rooms around it.
	SendWithout     bool // the worker calls without an intent
	SendLate        bool // the worker does not look at the clock before it calls
	SendTwice       bool // the transport repeats a call by itself
	TimeoutFails    bool // the worker takes a timeout for a failure
	BurnFirst       bool // the key is recorded in a commit of its own, before the operation
	AckFirst        bool // the sender is told before the commit
	StaleJanitor    bool // the janitor decides on what it saw earlier, guarded by state and fence
	BlindJanitor    bool // the same without any guard
	ForgetsOnTheDot bool // the destination forgets without the margin that the model grants
}

// Real are the rules as they are shipped.
func Real() Rules {
	return Rules{
		Take: func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error) {
			return o.Take("owner", l, intend, noon)
		},
		Expire: func(o onceward.Operation, l onceward.Limits) (onceward.Operation, string, error) {
			return o.Expire(l, noon)
		},
		Renew: func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Renew(l, leaseTicks*tick, noon)
		},
		Intend: func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Intend(l, leaseTicks*tick, noon)
		},
		HandBack: func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.HandBack(l, noon)
		},
		Settle: settle,
		Reconcile: func(o onceward.Operation, fence int64, f onceward.Finding) (onceward.Operation, string, error) {
			return o.Reconcile(fence, f, asked(), o.Plan, noon)
		},
		Retry: func(o onceward.Operation, d onceward.Decision) (onceward.Operation, string, error) {
			return o.Retry(d, noon)
		},
		Reap: func(o onceward.Operation) bool { return o.State == onceward.Completed },
	}
}

// settle is what a store does with a report; recorded is the attempt that its
// step table has for the lease's step.
func settle(o onceward.Operation, l onceward.Lease, out onceward.Outcome, limits onceward.Limits, recorded int) (onceward.Operation, string, error) {
	after, by, err := o.Settle(l, out, limits, noon)
	if errors.Is(err, onceward.ErrFenced) && out.Success() {
		return o.Dispute(l, recorded, noon)
	}
	return after, by, err
}
