package explore

import "github.com/onceward/onceward"

// StreamSpec is one run over the operations of one stream: which events there
// are, in which order they are to run, and what stands in their way.
type StreamSpec struct {
	Order     onceward.Order
	Events    []StreamEvent
	Decisions int
}

// StreamEvent is an event that the sender may send at any time, or never.
type StreamEvent struct {
	Place   onceward.Place
	Content byte
}

const (
	maxEvents  = 4
	gapTicks   = 2
	streamTurn = 2 // attempts
)

// ordered is one operation of the stream.
type ordered struct {
	State                               onceward.State
	Fence, Attempt, Budget, Came        int8 // Came: the order of arrival, from 1
	Intent, Unknown, Waved, Occupied    bool
	Superseded, Refetch, Orphan, Effect bool // Orphan: its owner is dead; Effect: it happened
	DueAt, IntentAt                     moment
}

// Line is a stream at one instant.
type Line struct {
	Rows     [maxEvents]ordered
	Begun    bool
	First    int8 // index of the event that was applied first
	Applied  int8 // and last
	GapSince moment
	Decided  int8
	Latest   int8 // 1 + the index of the event of the highest place that had its effect
}

// StreamRules are the rules of streams, for mutants to break.
type StreamRules struct {
	Turns func(s onceward.Stream, rows []onceward.InStream, seen func(onceward.Place) ([32]byte, bool)) ([]onceward.Turn, onceward.Stream)
	// NoSecondLook: the claim trusts the due time that the row had.
	NoSecondLook bool
}

// RealStream are the rules as they are shipped.
func RealStream() StreamRules {
	return StreamRules{Turns: func(s onceward.Stream, rows []onceward.InStream, seen func(onceward.Place) ([32]byte, bool)) ([]onceward.Turn, onceward.Stream) {
		return s.Turns(rows, seen, noon)
	}}
}

type lining struct {
	StreamSpec
	StreamRules
	emit func(label string, next Line, broken string)
}

// SearchStream walks through every state of one stream that can be reached.
func SearchStream(s StreamSpec, rules StreamRules) Result {
	s.Order.Gap = gapTicks * tick
	x := &lining{StreamSpec: s, StreamRules: rules}
	first := Line{GapSince: never}
	for i := range first.Rows {
		first.Rows[i].DueAt, first.Rows[i].IntentAt = never, never
	}
	return walk(first, model[Line]{
		next: func(w Line, emit func(string, Line, string)) {
			x.emit = emit
			x.next(w)
		},
		check:     x.check,
		canonical: func(w Line) Line { return w },
		atRest:    x.atRest,
		beyond: func(w Line) bool {
			for i := range w.Rows {
				if w.Rows[i].Fence > 5 {
					return true
				}
			}
			return false
		},
	})
}

func (x *lining) content(i int) (c [32]byte) {
	c[0] = x.Events[i].Content
	return c
}

func (x *lining) operation(w Line, i int) onceward.Operation {
	r := w.Rows[i]
	o := onceward.Operation{
		ID: onceward.OperationID{Event: onceward.EventID(r.Came), N: 1}, Name: "fulfil", State: r.State, Effect: onceward.Unsafe, Stream: 1, Place: x.Events[i].Place,
		Fence: int64(r.Fence), Attempt: int(r.Attempt), Budget: int(r.Budget), Intent: r.Intent, Unknown: r.Unknown, Waved: r.Waved, Superseded: r.Superseded,
		Refetch: r.Refetch, DueAt: r.DueAt.time(), IntentAt: r.IntentAt.time(), Reason: "as before",
	}
	if r.Occupied {
		o.Owner = "owner"
	}
	return o
}

// put writes an operation, and tells the stream what was applied.
func (x *lining) put(w Line, i int, o onceward.Operation) Line {
	r := &w.Rows[i]
	done := o.State == onceward.Completed && r.State != onceward.Completed && !o.Superseded
	r.State, r.Fence, r.Attempt, r.Budget = o.State, int8(o.Fence), int8(o.Attempt), int8(o.Budget)
	r.Intent, r.Unknown, r.Waved, r.Superseded, r.Refetch, r.Occupied = o.Intent, o.Unknown, o.Waved, o.Superseded, o.Refetch, o.Owner != ""
	r.DueAt, r.IntentAt = at(o.DueAt), at(o.IntentAt)
	if o.State != onceward.Processing {
		r.Orphan = false
	}
	if done {
		w = x.remember(w, x.stream(w).Apply(o, x.content(i)))
	}
	return w
}

func (x *lining) stream(w Line) onceward.Stream {
	s := onceward.Stream{ID: 1, Order: x.Order, Begun: w.Begun, GapSince: w.GapSince.time()}
	if w.Begun {
		s.First, s.Applied, s.Content = x.Events[w.First].Place, x.Events[w.Applied].Place, x.content(int(w.Applied))
	}
	return s
}

func (x *lining) remember(w Line, s onceward.Stream) Line {
	w.Begun, w.GapSince = s.Begun, at(s.GapSince)
	for i := range x.Events {
		if !s.Begun {
			break
		}
		if x.Events[i].Place == s.First {
			w.First = int8(i)
		}
		if x.Events[i].Place == s.Applied && x.content(i) == s.Content {
			w.Applied = int8(i)
		}
	}
	return w
}

// advance is what the store does at the end of a transaction that touched the
// stream: it asks the rule about all that are not completed.
func (x *lining) advance(w Line) Line {
	var index []int
	var rows []onceward.InStream
	for i := range x.Events { // Events are in order of place
		if s := w.Rows[i].State; s != 0 && s != onceward.Completed {
			index = append(index, i)
		}
	}
	for n := 1; n < len(index); n++ { // and of arrival within one
		for m := n; m > 0 && x.Events[index[m]].Place == x.Events[index[m-1]].Place && w.Rows[index[m]].Came < w.Rows[index[m-1]].Came; m-- {
			index[m], index[m-1] = index[m-1], index[m]
		}
	}
	for _, i := range index {
		rows = append(rows, onceward.InStream{Operation: x.operation(w, i), Content: x.content(i)})
	}
	turns, after := x.Turns(x.stream(w), rows, func(p onceward.Place) (content [32]byte, applied bool) {
		for i, e := range x.Events {
			if r := w.Rows[i]; e.Place == p && r.State == onceward.Completed && !r.Superseded {
				return x.content(i), true
			}
		}
		return content, false
	})
	w = x.remember(w, after)
	for n, t := range turns {
		if o, by, err := rows[n].Turn(t, noon); err == nil && by != "" {
			w = x.put(w, index[n], o)
		}
	}
	return w
}

func (x *lining) next(w Line) {
	later := w
	later.GapSince = later.GapSince.older()
	for i := range later.Rows {
		later.Rows[i].DueAt, later.Rows[i].IntentAt = later.Rows[i].DueAt.older(), later.Rows[i].IntentAt.older()
	}
	x.emit("time passes", later, "")
	came := int8(0)
	for i := range w.Rows {
		came = max(came, w.Rows[i].Came)
	}
	for i := range x.Events {
		if r := w.Rows[i]; r.State == 0 {
			arrived := w
			arrived.Rows[i].State, arrived.Rows[i].Came = onceward.Received, came+1
			x.emit("arrives: "+x.Events[i].Place.String(), x.advance(arrived), "")
			continue
		}
		x.operationsOwn(w, i)
	}
}

// operationsOwn is what can happen to one operation.
func (x *lining) operationsOwn(w Line, i int) {
	limits := onceward.Limits{Attempts: streamTurn, Lease: leaseTicks * tick}
	o, r := x.operation(w, i), w.Rows[i]
	name := x.Events[i].Place.String()
	if o.State.Open() && r.DueAt != never && r.DueAt <= 0 { // due, as the claim finds it
		now := w
		if o.State != onceward.Processing && !x.NoSecondLook {
			now = x.advance(w)
		}
		if again := x.operation(now, i); again.State.Open() && !again.DueAt.IsZero() && !again.DueAt.After(noon) {
			if taken, _, err := again.Take("owner", limits, false, noon); err == nil {
				after := x.put(now, i, taken)
				after.Rows[i].Orphan = false
				broken := ""
				if again.State != onceward.Processing {
					broken = x.mayRun(now, i)
				}
				x.emit("claimed: "+name, x.advance(after), broken)
			}
		} else if now != w {
			x.emit("looked at: "+name, now, "")
		}
	}
	if o.State == onceward.Processing && !r.Orphan {
		lease := onceward.Lease{Fence: o.Fence, Attempt: o.Attempt, Effect: onceward.Unsafe}
		dead := w
		dead.Rows[i].Orphan = true
		x.emit("the owner dies before its call: "+name, dead, "")
		if called, _, err := o.Intend(lease, leaseTicks*tick, noon); err == nil {
			for _, out := range []outcome{succeeded, notApplied, refused, ambiguous} {
				settled, _, err := called.Settle(lease, out.real(), limits, noon)
				if err != nil {
					continue
				}
				after := w
				if out == succeeded {
					after = x.effect(w, i)
				}
				x.emit("its call ends as "+out.real().String()+": "+name, x.advance(x.put(after, i, settled)), "")
			}
			died := x.put(w, i, called)
			died.Rows[i].Orphan = true
			x.emit("the owner dies in its call: "+name, died, "")
		}
	}
	if int(w.Decided) < x.Decisions {
		d := onceward.Decision{Actor: "ops", Reason: "looked", Evidence: "seen", Consent: true}
		decided := w
		decided.Decided++
		if retried, _, err := o.Retry(d, noon); err == nil {
			x.emit("a person retries: "+name, x.advance(x.put(decided, i, retried)), "")
		}
		if abandoned, _, err := o.Abandon(d, noon); err == nil {
			x.emit("a person abandons: "+name, x.advance(x.put(decided, i, abandoned)), "")
		}
	}
}

// mayRun checks an operation at the moment at which it is let go. What comes or
// is decided while it runs does not stop it any more.
func (x *lining) mayRun(w Line, i int) string {
	place := x.Events[i].Place
	behind := w.Latest > 0 && place.Compare(x.Events[w.Latest-1].Place) < 0
	switch {
	case w.Rows[i].Waved: // a person, or a policy on record, let it go on
	case x.Order.Mode == onceward.LatestFirst && behind:
		return "I16: an older version runs after a newer one had its effect"
	case !x.Order.Skip && x.stuckBefore(w, i):
		return "I16: an operation runs past one that is parked before it"
	case x.Order.Mode == onceward.StrictOrder && behind:
		return "I16: the sequence went back"
	case x.Order.Mode == onceward.StrictOrder && place.Sequence > 1 && !x.before(w, place):
		return "I16: a gap is passed over without a record"
	}
	return ""
}

// effect remembers that it happened. A person may let a stream begin anew.
func (x *lining) effect(w Line, i int) Line {
	r, place := &w.Rows[i], x.Events[i].Place
	anew := r.Waved && w.Begun && place.Compare(x.Events[w.First].Place) < 0
	r.Effect = true
	if anew || w.Latest == 0 || place.Compare(x.Events[w.Latest-1].Place) >= 0 {
		w.Latest = int8(i) + 1
	}
	return w
}

// before reports whether what comes right before a place was applied, or may be
// passed over because it is parked and the order says so.
func (x *lining) before(w Line, p onceward.Place) bool {
	for i, e := range x.Events {
		if e.Place.Epoch != p.Epoch || e.Place.Sequence != p.Sequence-1 {
			continue
		}
		r := w.Rows[i]
		parked := r.State == onceward.DeadLettered || r.State == onceward.Quarantined || r.State == onceward.UnknownOutcome
		if r.Effect || x.Order.Skip && parked {
			return true
		}
	}
	return false
}

// stuckBefore reports whether something parked lies between what was applied
// and the event.
func (x *lining) stuckBefore(w Line, i int) bool {
	for j, e := range x.Events {
		s := w.Rows[j].State
		parked := s == onceward.DeadLettered || s == onceward.Quarantined || s == onceward.UnknownOutcome
		if parked && e.Place.Compare(x.Events[i].Place) < 0 && (!w.Begun || e.Place.Compare(x.Events[w.Applied].Place) > 0) {
			return true
		}
	}
	return false
}

func (x *lining) check(w Line) string {
	active := 0
	for i := range w.Rows {
		if s := w.Rows[i].State; s == onceward.Processing || s == onceward.Dispatched {
			active++
		}
	}
	if active > 1 {
		return "I16: two operations of one stream are active"
	}
	return ""
}

// atRest reports whether nothing has to happen without a person: all are at
// their end, or wait behind one that is parked where the order says block.
func (x *lining) atRest(w Line) bool {
	parked, waiting := false, false
	for i := range x.Events {
		switch r := w.Rows[i]; {
		case r.State == 0 || r.State == onceward.Completed:
		case r.State.Open():
			waiting = true
			if r.DueAt != never {
				return false
			}
		default:
			parked = true
		}
	}
	return !waiting || parked && !x.Order.Skip
}
