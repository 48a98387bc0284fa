package explore

import (
	"time"

	"github.com/onceward/onceward"
)

// Mutant is one rule or habit broken on purpose.
type Mutant struct {
	Name  string
	Break func(r *Rules)
	// Spec is where it shows.
	Spec Spec
	// Caught names the invariant that finds it; empty means that it harms
	// nothing by itself, and Harmless says why.
	Caught   string
	Harmless string
}

type owned = func(onceward.Operation, onceward.Lease) (onceward.Operation, string, error)

// asOwner makes a rule see a lease or a row that it should refuse.
func (r *Rules) asOwner(pretend func(o *onceward.Operation, l *onceward.Lease)) {
	wrap := func(f owned) owned {
		return func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			pretend(&o, &l)
			return f(o, l)
		}
	}
	r.Renew, r.Intend, r.HandBack = wrap(r.Renew), wrap(r.Intend), wrap(r.HandBack)
	r.changeSettle(func(o *onceward.Operation, l *onceward.Lease, _ *onceward.Outcome) { pretend(o, l) })
}

func (r *Rules) changeSettle(pretend func(*onceward.Operation, *onceward.Lease, *onceward.Outcome)) {
	f := r.Settle
	r.Settle = func(o onceward.Operation, l onceward.Lease, out onceward.Outcome, limits onceward.Limits, recorded int) (onceward.Operation, string, error) {
		pretend(&o, &l, &out)
		return f(o, l, out, limits, recorded)
	}
}

// after changes what the rules for silent owners decided.
func (r *Rules) after(change func(before, after onceward.Operation, by string, err error) (onceward.Operation, string, error)) {
	take, expire := r.Take, r.Expire
	r.Take = func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error) {
		after, by, err := take(o, l, intend)
		return change(o, after, by, err)
	}
	r.Expire = func(o onceward.Operation, l onceward.Limits) (onceward.Operation, string, error) {
		after, by, err := expire(o, l)
		return change(o, after, by, err)
	}
}

func dropFence(o *onceward.Operation, l *onceward.Lease) { l.Fence = o.Fence }

func dropState(o *onceward.Operation, _ *onceward.Lease) { o.State = onceward.Processing }

// Mutants are the faults that the explorer must find.
func Mutants() []Mutant {
	keyed := Spec{Effect: onceward.Keyed, Steps: 1, Attempts: 2, MaxFence: 4}
	lookup := Spec{Effect: onceward.Lookup, Steps: 1, Attempts: 2, MaxFence: 4}
	unsafe := Spec{Effect: onceward.Unsafe, Steps: 1, Attempts: 2, MaxFence: 4}
	steps := Spec{Effect: onceward.Unsafe, Steps: 2, Attempts: 1, MaxFence: 4}
	horizon := Spec{Effect: onceward.Keyed, Steps: 1, Attempts: 2, MaxFence: 4, KeyMemory: 3}
	people := Spec{Effect: onceward.Unsafe, Steps: 1, Attempts: 2, MaxFence: 4, Decisions: 1}
	keyedPeople := Spec{Effect: onceward.Keyed, Steps: 1, Attempts: 1, MaxFence: 4, Decisions: 1}
	all := []Mutant{
		{Name: "the fence is not compared", Spec: unsafe, Caught: "I4", Break: func(r *Rules) { r.asOwner(dropFence) }},
		{Name: "the state is not compared", Spec: unsafe, Caught: "I18", Break: func(r *Rules) { r.asOwner(dropState) }},
		{Name: "neither fence nor state is compared", Spec: unsafe, Caught: "I4", Break: func(r *Rules) {
			r.asOwner(func(o *onceward.Operation, l *onceward.Lease) { dropFence(o, l); dropState(o, l) })
		}},
		{Name: "any open intent is taken over", Spec: unsafe, Caught: "T19", Break: takeAnyIntent},
		{
			Name: "any open intent is taken over, of a keyed call", Spec: keyed, Break: takeAnyIntent,
			Harmless: "a keyed call may be repeated: that is what its class says",
		},
		{Name: "a call without an intent", Spec: unsafe, Caught: "I9", Break: func(r *Rules) { r.SendWithout = true }},
		{Name: "a timeout is a failure", Spec: unsafe, Caught: "I11", Break: func(r *Rules) { r.TimeoutFails = true }},
		{Name: "the janitor calls a lost call failed", Spec: unsafe, Caught: "I11", Break: func(r *Rules) {
			r.after(func(_, after onceward.Operation, by string, err error) (onceward.Operation, string, error) {
				if by == "T12" {
					after.State, after.Intent, after.IntentAt, after.Unknown, after.DueAt = onceward.FailedBeforeEffect, false, time.Time{}, false, noon
					by = "T9"
				}
				return after, by, err
			})
		}},
		{Name: "absence is believed whenever it was asked", Spec: lookup, Caught: "I11", Break: func(r *Rules) {
			f := r.Reconcile
			r.Reconcile = func(o onceward.Operation, fence int64, found onceward.Finding) (onceward.Operation, string, error) {
				found.Asked = noon.Add(100 * tick)
				return f(o, fence, found)
			}
		}},
		{Name: "an owner's pause is not allowed for", Spec: lookup, Caught: "I11", Break: func(r *Rules) {
			r.after(func(_, after onceward.Operation, by string, err error) (onceward.Operation, string, error) {
				if by == "T12" && !after.SentBy.IsZero() {
					after.SentBy = after.SentBy.Add(-onceward.OwnerPause)
				}
				return after, by, err
			})
		}},
		{Name: "an answer is recorded that was asked under an older fence", Spec: Spec{Effect: onceward.Lookup, Steps: 2, Attempts: 1, MaxFence: 5}, Caught: "I12", Break: func(r *Rules) {
			f := r.Reconcile
			r.Reconcile = func(o onceward.Operation, _ int64, found onceward.Finding) (onceward.Operation, string, error) {
				return f(o, o.Fence, found)
			}
		}},
		{Name: "a worker does not look at the clock before it calls", Spec: lookup, Caught: "I11", Break: func(r *Rules) { r.SendLate = true }},
		{Name: "the transport repeats a call by itself", Spec: unsafe, Caught: "I1", Break: func(r *Rules) { r.SendTwice = true }},
		{Name: "the reaper takes what is not completed", Spec: unsafe, Caught: "I17", Break: func(r *Rules) {
			r.Reap = func(o onceward.Operation) bool { return !o.State.Open() }
		}},
		{Name: "the key is burned before the operation is recorded", Spec: unsafe, Caught: "I3", Break: func(r *Rules) { r.BurnFirst = true }},
		{Name: "the sender is told before the commit", Spec: unsafe, Caught: "I3", Break: func(r *Rules) { r.AckFirst = true }},
		{Name: "no T12b", Spec: unsafe, Caught: "I12", Break: func(r *Rules) {
			r.after(func(before, after onceward.Operation, by string, err error) (onceward.Operation, string, error) {
				if by == "T12b" {
					return before, "", onceward.ErrNotDue
				}
				return after, by, err
			})
		}},
		{Name: "a late owner is believed after a later attempt", Spec: steps, Caught: "T19", Break: func(r *Rules) {
			r.changeSettle(func(o *onceward.Operation, l *onceward.Lease, _ *onceward.Outcome) {
				if o.State == onceward.UnknownOutcome {
					l.Attempt, l.Fence = o.Attempt, o.Fence-1
				}
			})
		}},
		{Name: "a taken over operation begins again at its first step", Spec: steps, Caught: "case 99", Break: func(r *Rules) {
			f := r.Take
			r.Take = func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error) {
				after, by, err := f(o, l, intend)
				if by == "T11" {
					after.Step = 0
				}
				return after, by, err
			}
		}},
		{Name: "a retry by hand makes a new key", Spec: keyedPeople, Caught: "I8", Break: func(r *Rules) {
			f := r.Retry
			r.Retry = func(o onceward.Operation, d onceward.Decision) (onceward.Operation, string, error) {
				after, by, err := f(o, d)
				if err == nil {
					after.Generation++
				}
				return after, by, err
			}
		}},
		{Name: "a retry by hand needs no consent", Spec: people, Caught: "I11", Break: func(r *Rules) {
			f := r.Retry
			r.Retry = func(o onceward.Operation, d onceward.Decision) (onceward.Operation, string, error) {
				d.Consent = true
				after, by, err := f(o, d)
				after.Unknown = after.Unknown && o.State != onceward.UnknownOutcome
				return after, by, err
			}
		}},
		{Name: "the memory of keys is ignored", Spec: horizon, Caught: "I1", Break: func(r *Rules) {
			take, expire := r.Take, r.Expire
			r.Take = func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error) {
				l.KeyMemory = 0
				return take(o, l, intend)
			}
			r.Expire = func(o onceward.Operation, l onceward.Limits) (onceward.Operation, string, error) {
				l.KeyMemory = 0
				return expire(o, l)
			}
			settle := r.Settle
			r.Settle = func(o onceward.Operation, l onceward.Lease, out onceward.Outcome, limits onceward.Limits, recorded int) (onceward.Operation, string, error) {
				limits.KeyMemory = 0
				return settle(o, l, out, limits, recorded)
			}
			r.SendLate = true
		}},
		{Name: "the destination forgets on the dot", Spec: horizon, Caught: "I1", Break: func(r *Rules) { r.ForgetsOnTheDot = true }},
		{Name: "that a later attempt was turned away answers for an earlier one", Spec: keyed, Caught: "I11", Break: func(r *Rules) {
			r.changeSettle(func(o *onceward.Operation, _ *onceward.Lease, _ *onceward.Outcome) { o.Doubt = false })
		}},
		{Name: "the janitor writes what it decided earlier", Spec: unsafe, Caught: "I18", Break: func(r *Rules) { r.BlindJanitor = true }},
		{Name: "the janitor's write compares state and fence only", Spec: unsafe, Caught: "I11", Break: func(r *Rules) { r.StaleJanitor = true }},
	}
	return all
}

func takeAnyIntent(r *Rules) {
	take, expire := r.Take, r.Expire
	r.Take = func(o onceward.Operation, l onceward.Limits, intend bool) (onceward.Operation, string, error) {
		effect := o.Effect
		o.Effect = onceward.Keyed
		after, by, err := take(o, l, intend)
		after.Effect = effect
		return after, by, err
	}
	r.Expire = func(o onceward.Operation, l onceward.Limits) (onceward.Operation, string, error) {
		effect := o.Effect
		o.Effect = onceward.Keyed
		after, by, err := expire(o, l)
		after.Effect = effect
		return after, by, err
	}
}
