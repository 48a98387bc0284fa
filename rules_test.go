package onceward_test

import (
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var (
	limits   = onceward.Limits{Attempts: 3, Lease: time.Minute}
	twoSteps = onceward.NewPlan("account", "welcome")
	inquiry  = onceward.Inquiry{Settle: time.Minute, First: 5 * time.Second, Max: 10 * time.Minute, GiveUp: time.Hour}
	decision = onceward.Decision{Actor: "ops", Reason: "looked at it", Evidence: "ch_9 in the dashboard"}
	consent  = onceward.Decision{Actor: "ops", Reason: "looked at it", Evidence: "ch_9 in the dashboard", Consent: true}
)

// move is one of the functions that change an operation, ready to be called.
type move struct {
	name string
	call func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error)
	// from are the states that it may be called in at all.
	from []onceward.State
	// leased says that only the lease's owner may call it.
	leased bool
}

func moves() []move {
	const (
		received, processing, failed = onceward.Received, onceward.Processing, onceward.FailedBeforeEffect
		unknown, dead, quarantined   = onceward.UnknownOutcome, onceward.DeadLettered, onceward.Quarantined
	)
	all := []move{
		{"Take", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Take("w2", limits, false, noon)
		}, []onceward.State{received, processing, failed}, false},
		{"Take and intend", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Take("w2", limits, true, noon)
		}, []onceward.State{received, processing, failed}, false},
		{"Take under the plan of two steps", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			l := limits
			l.Plan, l.KeyMemory = twoSteps, time.Hour
			return o.Take("w2", l, true, noon)
		}, []onceward.State{received, processing, failed}, false},
		{"Reconcile as present", reconcile(onceward.Present), []onceward.State{unknown}, false},
		{"Reconcile as absent", reconcile(onceward.Absent), []onceward.State{unknown}, false},
		{"Reconcile without an answer", reconcile(onceward.Unclear), []onceward.State{unknown}, false},
		{"Dispute", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			l.Fence, l.Attempt, l.Effect = l.Fence-3, l.Attempt-1, o.Effect
			return o.Dispute(l, 0, noon)
		}, onceward.States(), false},
		{"Expire", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Expire(limits, noon)
		}, []onceward.State{received, processing, failed}, false}, // of the others those at a step that is gone
		{"Renew", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Renew(l, time.Minute, noon)
		}, []onceward.State{processing}, true},
		{"Intend", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Intend(l, time.Minute, noon)
		}, []onceward.State{processing}, true},
		{"HandBack", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.HandBack(l, noon)
		}, []onceward.State{processing}, true},
		{"Retry", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Retry(decision, noon)
		}, []onceward.State{failed, unknown, dead, quarantined}, false},
		{"Retry with consent", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Retry(consent, noon)
		}, []onceward.State{failed, unknown, dead, quarantined}, false},
		{"Resolve as completed", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Resolve(true, "ch_9", decision, noon)
		}, []onceward.State{unknown, dead}, false},
		{"Resolve as not applied", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Resolve(false, "", decision, noon)
		}, []onceward.State{unknown}, false},
		{"Abandon", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Abandon(decision, noon)
		}, []onceward.State{received, failed, unknown, quarantined}, false},
		{"Supersede", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Supersede("a later one", noon)
		}, []onceward.State{received, failed, dead, quarantined}, false},
		{"Hold", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Hold("contradicted", noon)
		}, []onceward.State{received, failed}, false},
	}
	for _, out := range outcomes() {
		from := []onceward.State{processing}
		if out.String() == "completed" {
			from = append(from, unknown) // T19
		}
		all = append(all, move{"Settle as " + out.String(), func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Settle(l, out, limits, noon)
		}, from, true})
	}
	return all
}

func reconcile(p onceward.Presence) func(onceward.Operation, onceward.Lease) (onceward.Operation, string, error) {
	return func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
		return o.Reconcile(o.Fence, onceward.Finding{Presence: p, Result: "ch_9", Asked: noon, Evidence: "answered"}, inquiry, o.Plan, noon)
	}
}

func outcomes() []onceward.Outcome {
	later := noon.Add(time.Hour)
	return []onceward.Outcome{
		onceward.Succeeded("ch_1"), onceward.NotApplied("503", later), onceward.Refused("422"), onceward.Ambiguous("timeout", later),
	}
}

// standings are operations in every state, as the schema allows them: each
// effect class, with and without an open intent, with attempts left and spent,
// due and not, known to have been unknown and not; of a single step, and at
// each of two.
func standings() []onceward.Operation {
	all := standingsOf("", 0)
	all = append(all, standingsOf(twoSteps, 0)...)
	return append(all, standingsOf(twoSteps, 1)...)
}

func standingsOf(plan onceward.Plan, step int) []onceward.Operation {
	var all []onceward.Operation
	for _, s := range onceward.States() {
		for _, e := range []onceward.Effect{onceward.Keyed, onceward.Lookup, onceward.Unsafe} {
			for bits := range 16 {
				o := onceward.Operation{ID: onceward.OperationID{Event: 1, N: 1}, Name: "fulfil", State: s, Effect: e, Fence: 7, Attempt: 2, Changed: noon.Add(-time.Hour), Reason: "before"}
				if bits&1 != 0 {
					o.Attempt = limits.Attempts
				}
				o.Intent, o.Unknown = bits&2 != 0, bits&4 != 0
				o.Plan, o.Step = plan, step
				if o.Intent {
					o.IntentAt = noon.Add(-2 * time.Hour)
				}
				if s == onceward.UnknownOutcome && e == onceward.Lookup {
					o.AskAt, o.SentBy = noon, noon.Add(-time.Minute)
				}
				if s.Open() {
					if o.DueAt = noon; bits&8 != 0 {
						o.DueAt = noon.Add(time.Second)
					}
				} else if bits&8 != 0 {
					continue
				}
				if s == onceward.Processing {
					o.Owner = "w1"
				}
				if broken(o) == "" {
					all = append(all, o)
				}
			}
		}
	}
	return all
}

// broken says which rule of the schema an operation breaks.
func broken(o onceward.Operation) string {
	switch s := o.State; {
	case s.Open() == o.DueAt.IsZero():
		return "something is due exactly while the state is open"
	case o.Owner != "" && s != onceward.Processing && s != onceward.Dispatched:
		return "only what is leased has an owner"
	case o.Intent && s != onceward.Processing && s != onceward.UnknownOutcome && s != onceward.DeadLettered:
		return "an intent is open only where a call may have happened"
	case o.Intent && o.IntentAt.IsZero():
		return "an intent has a time"
	case !o.AskAt.IsZero() && (s != onceward.UnknownOutcome || o.Effect != onceward.Lookup || o.SentBy.IsZero()):
		return "only an unknown outcome of a lookup step is asked about"
	case o.Step < 0 || o.Step >= o.Plan.Len():
		return "it stands at a step of its plan"
	case o.Attempt <= 0 && (s == onceward.Processing || s == onceward.Dispatched || s == onceward.UnknownOutcome):
		return "there is no call without an attempt"
	case len(o.Result) > onceward.MaxResult:
		return "the result is too long"
	}
	return ""
}

// follows reports whether the transition's name leads from one state to the
// other; "T18+T20" names two rows that are written at once.
func follows(name string, from, to onceward.State) bool {
	if name == "" || name == "disputed" { // only a mark, or the time of the next question
		return from == to
	}
	first, rest, more := strings.Cut(name, "+")
	for _, tr := range onceward.Transitions() {
		if tr.Name == first && tr.From == from && (!more && tr.To == to || more && follows(rest, tr.To, to)) {
			return true
		}
	}
	return false
}

func lease(o onceward.Operation) onceward.Lease {
	return onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner, Step: o.Step, Effect: o.Effect}
}
