package onceward_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
)

// world is one operation and everybody who may touch it. It knows, unlike the
// rules under test, what really went out.
type world struct {
	op  onceward.Operation
	now time.Time
	// held are the leases that each of two workers believes in; they are never
	// told that one was lost.
	held [2]*onceward.Lease

	// calls are the fences under which a call was intended of which nobody has
	// proof yet that it had no effect.
	calls   map[int64]bool
	takes   int  // attempts since a person renewed the budget
	everUnk bool // its outcome was unknown at some time
}

// TestNobodyCanBreakTheRules lets two workers, the janitor, a person and a
// contradicting delivery act on one operation in any order and at any time.
func TestNobodyCanBreakTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		effect := rapid.SampledFrom([]onceward.Effect{onceward.Keyed, onceward.Lookup, onceward.Unsafe}).Draw(t, "effect")
		w := &world{now: noon, op: onceward.Operation{Name: "fulfil", State: onceward.Received, Effect: effect, DueAt: noon}, calls: map[int64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"": w.check,
			"time goes by": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			},
			"a worker takes":      w.take,
			"a worker renews":     func(t *rapid.T) { w.owned(t, "renew") },
			"a worker intends":    func(t *rapid.T) { w.owned(t, "intend") },
			"a worker gives back": func(t *rapid.T) { w.owned(t, "hand back") },
			"a worker settles":    w.settle,
			"the janitor sweeps": func(t *rapid.T) {
				after, by, err := w.op.Expire(limits, w.now)
				w.move(t, after, by, err)
			},
			"a contradiction arrives": func(t *rapid.T) {
				after, by, err := w.op.Hold("contradicted", w.now)
				w.move(t, after, by, err)
			},
			"a person decides": w.decide,
		})
	})
}

// move applies what a function decided, after holding it against what must
// never happen. It reports whether the operation was changed.
func (w *world) move(t *rapid.T, after onceward.Operation, by string, err error) bool {
	before := w.op
	if err != nil {
		if after != before {
			t.Fatalf("refused (%v), and yet %+v became %+v", err, before, after)
		}
		return false
	}
	if before.State == onceward.Completed {
		t.Fatalf("%s left completed: %+v", by, after)
	}
	if !follows(by, before.State, after.State) {
		t.Fatalf("%s does not lead from %s to %s", by, before.State, after.State)
	}
	if after.Fence < before.Fence {
		t.Fatalf("%s: the fence fell from %d to %d", by, before.Fence, after.Fence)
	}
	w.op = after
	w.everUnk = w.everUnk || after.State == onceward.UnknownOutcome
	return true
}

func (w *world) check(t *rapid.T) {
	if rule := broken(w.op); rule != "" {
		t.Fatalf("%+v: %s", w.op, rule)
	}
	if w.takes > limits.Attempts {
		t.Fatalf("%d attempts since a person decided, of %d: %+v", w.takes, limits.Attempts, w.op)
	}
	if w.op.Effect != onceward.Keyed && len(w.calls) > 1 {
		t.Fatalf("a call of class %s was intended under the fences %v without a proof or a person in between", w.op.Effect, w.calls)
	}
	if len(w.calls) > 0 && !w.op.Intent && w.op.State.Open() {
		t.Fatalf("a call that may have had its effect is forgotten: %+v", w.op)
	}
}

func (w *world) take(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "worker")
	intend := w.op.Effect == onceward.Keyed && rapid.Bool().Draw(t, "intend")
	if w.op.DueAt.After(w.now) && rapid.Bool().Draw(t, "patient") {
		w.now = w.op.DueAt
	}
	before := w.op
	after, by, err := w.op.Take([]string{"w0", "w1"}[i], limits, intend, w.now)
	if !w.move(t, after, by, err) || after.State != onceward.Processing {
		return
	}
	if before.DueAt.After(w.now) {
		t.Fatalf("taken before its time: %+v", before)
	}
	if after.Fence == before.Fence {
		t.Fatalf("%s: another owner under the same fence", by)
	}
	w.takes++
	if intend {
		w.calls[after.Fence] = true
	}
	l := lease(after)
	w.held[i] = &l
}

// owned lets a worker use the lease that it believes in.
func (w *world) owned(t *rapid.T, what string) {
	i := rapid.IntRange(0, 1).Draw(t, "worker")
	l := w.held[i]
	if l == nil {
		return
	}
	before := w.op
	valid := before.State == onceward.Processing && before.Fence == l.Fence
	var after onceward.Operation
	var by string
	var err error
	switch what {
	case "renew":
		after, by, err = w.op.Renew(*l, time.Minute, w.now)
	case "intend":
		after, by, err = w.op.Intend(*l, time.Minute, w.now)
	case "hand back":
		after, by, err = w.op.HandBack(*l, w.now)
	}
	if !valid && !errors.Is(err, onceward.ErrFenced) {
		t.Fatalf("%s with a stale lease: %s, %v", what, by, err)
	}
	if !w.move(t, after, by, err) {
		return
	}
	switch what {
	case "intend":
		if w.calls[l.Fence] && before.Effect != onceward.Keyed {
			t.Fatalf("a call of class %s was intended twice under one fence", before.Effect)
		}
		w.calls[l.Fence] = true
	case "hand back":
		w.held[i] = nil
		w.takes--
		delete(w.calls, l.Fence) // the owner's word that nothing was sent
	}
}

func (w *world) settle(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "worker")
	l := w.held[i]
	if l == nil {
		return
	}
	later := w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "wait")) * time.Second)
	out := rapid.SampledFrom([]onceward.Outcome{
		onceward.Succeeded("r"), onceward.NotApplied("503", later), onceward.Refused("422"), onceward.Ambiguous("timeout", later),
	}).Draw(t, "outcome")
	if !w.op.Intent && out.String() == "ambiguous" {
		return // a worker intends before it calls
	}
	valid := w.op.State == onceward.Processing && w.op.Fence == l.Fence
	after, by, err := w.op.Settle(*l, out, limits, w.now)
	if !valid && by != "T19" && !errors.Is(err, onceward.ErrFenced) {
		t.Fatalf("settled with a stale lease: %s, %v", by, err)
	}
	if by == "T19" && (out.String() != "completed" || w.op.State != onceward.UnknownOutcome) {
		t.Fatalf("%s taken late from %s", out, w.op.State)
	}
	if !w.move(t, after, by, err) {
		return
	}
	w.held[i] = nil
	switch {
	case out.String() == "completed":
		clear(w.calls)
	case out.String() != "ambiguous":
		delete(w.calls, l.Fence) // this one had no effect; what is known of the earlier ones?
		if len(w.calls) > 0 && (after.State == onceward.FailedBeforeEffect || after.State == onceward.DeadLettered) {
			t.Fatalf("%s: %d earlier calls may have had their effect, and it says %s", by, len(w.calls), after.State)
		}
	}
}

func (w *world) decide(t *rapid.T) {
	d := decision
	d.Consent = rapid.Bool().Draw(t, "consent")
	before := w.op
	var after onceward.Operation
	var by string
	var err error
	what := rapid.SampledFrom([]string{"retry", "completed", "not applied", "abandon"}).Draw(t, "decision")
	switch what {
	case "retry":
		after, by, err = w.op.Retry(d, w.now)
	case "completed":
		after, by, err = w.op.Resolve(true, "seen", d, w.now)
	case "not applied":
		after, by, err = w.op.Resolve(false, "", d, w.now)
	case "abandon":
		after, by, err = w.op.Abandon(d, w.now)
	}
	if !w.move(t, after, by, err) {
		return
	}
	switch what {
	case "retry":
		if w.everUnk && !d.Consent {
			t.Fatalf("repeated without consent although its outcome was unknown: %+v", before)
		}
		w.takes = 0
		clear(w.calls)
	case "not applied":
		w.takes, w.everUnk = 0, false // what was seen settles what was unknown
		clear(w.calls)
	}
}
