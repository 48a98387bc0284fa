package explore

import "github.com/onceward/onceward"

// janitor settles what no worker may take over.
func (x *explorer) janitor(w World) {
	expire := func(o onceward.Operation) (onceward.Operation, string, error) { return x.Expire(o, x.limits()) }
	if !x.StaleJanitor && !x.BlindJanitor {
		x.write(w, "the janitor sweeps", expire, -1, nil)
		return
	}
	if w.Stale.State == 0 {
		if _, _, err := expire(w.Row.operation(x.Spec)); err == nil {
			next := w
			next.Stale = w.Row
			x.emit("the janitor looks", next, "")
		}
		return
	}
	stale := w.Stale
	next := w
	next.Stale = row{}
	if w.Row.State == stale.State && w.Row.Fence == stale.Fence || x.BlindJanitor {
		x.write(next, "the janitor writes what it decided earlier", func(onceward.Operation) (onceward.Operation, string, error) {
			return expire(stale.operation(x.Spec))
		}, -1, nil)
	} else {
		x.emit("the janitor's write finds another row", next, "")
	}
}

func (x *explorer) reconciler(w World) {
	if w.Asking.Heard {
		q := w.Asking
		w.Asking = inquiry{}
		x.emit("the reconciler crashes", w, "")
		x.write(w, "the reconciler records "+q.Presence.String(), func(o onceward.Operation) (onceward.Operation, string, error) {
			return x.Reconcile(o, int64(q.Fence), onceward.Finding{Presence: q.Presence, Result: "r", Asked: q.Asked.time(), Evidence: "asked"})
		}, -1, nil)
		return
	}
	if w.Row.State != onceward.UnknownOutcome || w.Row.AskAt == never || w.Row.AskAt > 0 {
		return
	}
	if x.lastMoment(w) {
		return
	}
	found := onceward.Absent
	if w.Effects[w.Row.Step] > 0 {
		found = onceward.Present
	}
	for _, p := range []onceward.Presence{found, onceward.Unclear} {
		next := w
		next.Asking = inquiry{Heard: true, Presence: p, Fence: w.Row.Fence}
		x.emit("the reconciler asks: "+p.String(), next, "")
	}
}

// lastMoment reports whether something is as late as it can be. It happens
// before anybody asks at that instant: a bound is a bound.
func (x *explorer) lastMoment(w World) bool {
	for _, c := range w.Wire {
		if c.Used && c.Age >= flightTicks {
			return true
		}
	}
	for _, o := range w.Workers {
		if o.Phase == sending && o.Idle >= pauseTicks {
			return true
		}
	}
	return false
}

// person decides, honestly: what is resolved as completed is completed, and
// what is resolved as not applied cannot come any more.
func (x *explorer) person(w World) {
	if int(w.Decided) >= x.Decisions {
		return
	}
	w.Decided++
	step := w.Row.Step
	d := onceward.Decision{Actor: "ops", Reason: "looked", Evidence: "seen"}
	x.write(w, "a person retries", func(o onceward.Operation) (onceward.Operation, string, error) { return x.Retry(o, d) }, -1, nil)
	if w.Row.Unknown {
		consented := d
		consented.Consent = true
		risky := w
		risky.Risked[step] = min(risky.Risked[step]+1, 2)
		x.write(risky, "a person retries with consent", func(o onceward.Operation) (onceward.Operation, string, error) { return x.Retry(o, consented) }, -1, nil)
	}
	if w.Effects[step] > 0 {
		x.write(w, "a person resolves: completed", func(o onceward.Operation) (onceward.Operation, string, error) {
			return o.Resolve(true, "r", d, noon)
		}, -1, nil)
	} else if !x.mayStillAct(w, step) {
		x.write(w, "a person resolves: not applied", func(o onceward.Operation) (onceward.Operation, string, error) {
			return o.Resolve(false, "", d, noon)
		}, -1, nil)
	}
	x.write(w, "a person abandons", func(o onceward.Operation) (onceward.Operation, string, error) { return o.Abandon(d, noon) }, -1, nil)
	x.write(w, "a contradicting delivery", func(o onceward.Operation) (onceward.Operation, string, error) { return o.Hold("other content", noon) }, -1, nil)
}
