package explore

import "github.com/onceward/onceward"

// explorer produces everything that can happen next.
type explorer struct {
	*Spec
	Rules
	emit   func(label string, next World, broken string)
	table  []onceward.Transition
	walked map[onceward.Transition]bool
}

// next calls emit for each world that can follow.
func (x *explorer) next(w World) {
	x.time(w)
	x.sender(w)
	x.wire(w)
	if w.Row.State == 0 || w.Reaped {
		for i := range w.Workers {
			if w.Workers[i].Phase != idle {
				x.worker(w, i)
			}
		}
		return
	}
	for i := range w.Workers {
		x.worker(w, i)
	}
	x.janitor(w)
	x.reconciler(w)
	x.person(w)
	if x.Reap(w.Row.operation(x.Spec)) {
		next, broken := w, ""
		if w.Row.State != onceward.Completed && !x.HarmOnly {
			broken = "I17: the reaper removed a row that is " + w.Row.State.String()
		}
		next.Reaped = true
		x.emit("the reaper removes the row", next, broken)
	}
}

// time passes, unless something would be later than the model's assumptions
// allow: a call that is on its way, an owner paused before its first byte.
func (x *explorer) time(w World) {
	for i := range w.Wire {
		if w.Wire[i].Used {
			if w.Wire[i].Age++; w.Wire[i].Age > flightTicks {
				return
			}
		}
	}
	for i := range w.Workers {
		o := &w.Workers[i]
		if o.Phase == sending {
			if o.Idle++; o.Idle > pauseTicks {
				return
			}
		}
		if o.Phase != idle {
			o.Until, o.IntentAt = max(o.Until.older(), -1), o.IntentAt.older()
		}
	}
	r := &w.Row
	r.IntentAt, r.DueAt, r.AskAt, r.SentBy = r.IntentAt.older(), r.DueAt.older(), r.AskAt.older(), r.SentBy.older()
	if w.Asking.Heard {
		w.Asking.Asked = w.Asking.Asked.older()
	}
	for i, age := range w.KeyAge {
		if age >= 0 && x.KeyMemory > 0 {
			w.KeyAge[i] = min(age+1, int8(x.forgets()))
		}
	}
	if w.Stale.State != 0 {
		s := &w.Stale
		s.IntentAt, s.DueAt = s.IntentAt.older(), s.DueAt.older()
	}
	x.emit("time passes", w, "")
}

// forgets is when the destination may forget a key. The rules compare with the
// moment at which a call is begun; a call that is begun in time may be paused
// and may be under way, and the destination is to know the key that much longer.
func (x *explorer) forgets() int {
	if x.ForgetsOnTheDot {
		return x.KeyMemory
	}
	return x.KeyMemory + pauseTicks + flightTicks
}

// sender delivers until it is told that it was heard.
func (x *explorer) sender(w World) {
	if w.Acked || w.Reaped {
		return
	}
	if x.AckFirst {
		next := w
		next.Acked = true
		x.emit("the sender is told, and then nothing is committed", next, "")
	}
	next := w
	if x.BurnFirst && !w.Known {
		next.Known = true
		x.emit("the key is committed, and the process dies", next, "")
	}
	if !w.Known {
		next.Known = true
		next.Row.State, next.Row.DueAt = onceward.Received, 0
		x.onTable(0, onceward.Received, "T0")
		x.emit("delivered and committed, the answer is lost", next, "")
	}
	next.Acked = true
	x.emit("delivered and answered", next, "")
}

func (x *explorer) wire(w World) {
	if x.KeyMemory > 0 && x.Effect == onceward.Keyed && !x.lastMoment(w) {
		for i, age := range w.KeyAge {
			if int(age) >= x.forgets() {
				next := w
				next.KeyAge[i], next.KeyOf[i] = -1, 0
				x.emit("the destination forgets the key", next, "")
			}
		}
	}
	for i, c := range w.Wire {
		if !c.Used {
			continue
		}
		lost := w
		lost.Wire[i] = call{}
		x.emit("the call is lost on its way", lost, "")
		acted, broken := x.act(lost, c)
		x.emit("the destination acts, its answer is lost", acted, broken)
		for j, o := range w.Workers {
			if o.Phase != waiting || o.Fence != c.Fence {
				continue
			}
			told := acted
			told.Workers[j].Phase, told.Workers[j].Outcome = answered, succeeded
			x.emit("the destination acts and answers", told, broken)
			told = lost
			told.Workers[j].Phase, told.Workers[j].Outcome = answered, notApplied
			x.emit("the destination answers 503", told, "")
			told.Workers[j].Outcome = refused
			x.emit("the destination answers 422", told, "")
		}
	}
}

// act is what a call does at the destination.
func (x *explorer) act(w World, c call) (World, string) {
	if x.Effect == onceward.Keyed {
		if w.KeyAge[c.Step] >= 0 && w.KeyOf[c.Step] == c.Key {
			return w, ""
		}
		w.KeyAge[c.Step], w.KeyOf[c.Step] = 0, c.Key
	}
	w.Effects[c.Step]++
	if w.Effects[c.Step] > 1+w.Risked[c.Step] {
		return w, "I1: a second effect that nobody accepted"
	}
	return w, ""
}

func (x *explorer) worker(w World, i int) {
	o := w.Workers[i]
	switch o.Phase {
	case idle:
		x.claim(w, i)
		return
	case leased:
		x.write(w, "intends", func(op onceward.Operation) (onceward.Operation, string, error) { return x.Intend(op, o.lease(x.Spec)) }, i, func(n *World, told bool) {
			if !told {
				n.Workers[i] = worker{}
				return
			}
			n.Workers[i].Phase, n.Workers[i].Recorded = intended, true
			n.Workers[i].Until, n.Workers[i].IntentAt = n.Row.DueAt, n.Row.IntentAt
		})
		if x.SendWithout {
			next := w
			next.Workers[i].Phase = sending
			x.emit("a worker goes on without an intent", next, "")
		}
		x.handBack(w, i)
	case intended:
		x.look(w, i)
		x.renew(w, i)
		if x.Effect == onceward.Keyed {
			x.handBack(w, i)
		}
	case sending:
		x.send(w, i)
		next := w
		next.Workers[i].Phase, next.Workers[i].Outcome = answered, notApplied
		x.emit("the connection is refused", next, "")
		x.renew(w, i)
	case waiting:
		next := w
		next.Workers[i].Phase, next.Workers[i].Outcome = answered, ambiguous
		if x.TimeoutFails {
			next.Workers[i].Outcome = notApplied
		}
		x.emit("the call times out", next, "")
		x.renew(w, i)
	case answered:
		x.settleReport(w, i)
	}
	next := w
	next.Workers[i] = worker{}
	x.emit("a worker crashes", next, "")
}

func (x *explorer) claim(w World, i int) {
	if i > 0 && w.Workers[0].Phase == idle {
		return // the other one does the same
	}
	intend := x.Effect == onceward.Keyed
	x.write(w, "claims", func(o onceward.Operation) (onceward.Operation, string, error) { return x.Take(o, x.limits(), intend) }, -1, func(n *World, told bool) {
		if !told || n.Row.State != onceward.Processing {
			return
		}
		o := worker{
			Phase: leased, Fence: n.Row.Fence, Attempt: n.Row.Attempt, Step: n.Row.Step, Key: n.Row.Generation,
			Doubt: n.Row.Doubt, Until: n.Row.DueAt, IntentAt: never,
		}
		if n.Row.Intent { // by this claim, or inherited by it
			o.Phase, o.Recorded, o.IntentAt = intended, true, n.Row.IntentAt
		}
		n.Workers[i] = o
	})
}

func (x *explorer) renew(w World, i int) {
	o := w.Workers[i]
	if o.Until >= leaseTicks {
		return
	}
	x.write(w, "renews", func(op onceward.Operation) (onceward.Operation, string, error) { return x.Renew(op, o.lease(x.Spec)) }, i, func(n *World, told bool) {
		if told {
			n.Workers[i].Until = n.Row.DueAt
		}
	})
}

func (x *explorer) handBack(w World, i int) {
	o := w.Workers[i]
	x.write(w, "hands back", func(op onceward.Operation) (onceward.Operation, string, error) {
		return x.HandBack(op, o.lease(x.Spec))
	}, i, func(n *World, _ bool) {
		n.Workers[i] = worker{}
	})
}

// look is the look at the clock right before the call.
func (x *explorer) look(w World, i int) {
	o := w.Workers[i]
	next := w
	next.Workers[i].Phase, next.Workers[i].Idle = sending, 0
	late := o.Until < 0
	if x.KeyMemory > 0 && o.Doubt && x.limits().KeyMemory > 0 {
		late = late || int(o.IntentAt)+x.KeyMemory < 0
	}
	if late && !x.SendLate {
		next.Workers[i].Phase, next.Workers[i].Outcome = answered, notApplied
		x.emit("a worker is too late to call", next, "")
		return
	}
	x.emit("a worker looks at the clock", next, "")
}

func (x *explorer) send(w World, i int) {
	o := &w.Workers[i]
	broken := x.maySend(w, *o)
	calls := 1
	if x.SendTwice {
		calls = 2
	}
	for n := range w.Wire {
		if !w.Wire[n].Used && calls > 0 {
			w.Wire[n] = call{Used: true, Fence: o.Fence, Step: o.Step, Key: o.Key}
			calls--
		}
	}
	if calls > 0 {
		return // beyond the bound
	}
	if w.Sent[o.Step] == 0 {
		w.Sent[o.Step] = 1 + o.Key
	}
	o.Phase = waiting
	x.emit("a worker calls", w, broken)
}

func (x *explorer) settleReport(w World, i int) {
	o := w.Workers[i]
	x.write(w, "reports", func(op onceward.Operation) (onceward.Operation, string, error) {
		return x.Settle(op, o.lease(x.Spec), o.Outcome.real(), x.limits(), int(w.Step[o.Step]))
	}, i, func(n *World, told bool) {
		if told {
			n.Workers[i] = worker{}
		}
	})
}
