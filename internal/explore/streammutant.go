package explore

import (
	"slices"

	"github.com/onceward/onceward"
)

// StreamMutant is one rule of streams broken on purpose.
type StreamMutant struct {
	Name   string
	Spec   StreamSpec
	Break  func(r *StreamRules)
	Caught string
}

// unseen hides some of a stream's operations from the rule.
func (r *StreamRules) unseen(hidden func(onceward.InStream) bool) {
	f := r.Turns
	r.Turns = func(s onceward.Stream, rows []onceward.InStream, seen func(onceward.Place) ([32]byte, bool)) ([]onceward.Turn, onceward.Stream) {
		kept := slices.DeleteFunc(slices.Clone(rows), hidden)
		told, after := f(s, kept, seen)
		all := make([]onceward.Turn, len(rows))
		for i, n := 0, 0; i < len(rows); i++ {
			if !hidden(rows[i]) {
				all[i] = told[n]
				n++
			}
		}
		return all, after
	}
}

// otherwise changes what the rule said.
func (r *StreamRules) otherwise(change func(t *onceward.Turn)) {
	f := r.Turns
	r.Turns = func(s onceward.Stream, rows []onceward.InStream, seen func(onceward.Place) ([32]byte, bool)) ([]onceward.Turn, onceward.Stream) {
		all, after := f(s, rows, seen)
		for i := range all {
			change(&all[i])
		}
		return all, after
	}
}

// StreamMutants are the faults of streams that the explorer must find.
func StreamMutants() []StreamMutant {
	place := func(n int64) StreamEvent {
		return StreamEvent{onceward.Place{Sequence: n}, byte(n)}
	}
	three := []StreamEvent{place(1), place(2), place(3)}
	latest := StreamSpec{Order: onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseQuarantine}, Events: three}
	strict := StreamSpec{Order: onceward.Order{Mode: onceward.StrictOrder, OnGap: onceward.ChooseQuarantine}, Events: three}
	proceed := StreamSpec{Order: onceward.Order{Mode: onceward.StrictOrder, OnGap: onceward.ChooseProceed}, Events: three}
	return []StreamMutant{
		{Name: "an active operation holds nobody up", Spec: latest, Caught: "I16", Break: func(r *StreamRules) {
			r.unseen(func(o onceward.InStream) bool { return o.State == onceward.Processing })
		}},
		{Name: "a parked operation holds nobody up", Spec: latest, Caught: "I16", Break: func(r *StreamRules) {
			r.unseen(func(o onceward.InStream) bool {
				return o.State == onceward.DeadLettered || o.State == onceward.UnknownOutcome || o.State == onceward.Quarantined
			})
		}},
		{Name: "what is stale runs", Spec: latest, Caught: "I16", Break: func(r *StreamRules) {
			r.otherwise(func(t *onceward.Turn) {
				if t.To == onceward.Completed {
					*t = onceward.Turn{To: onceward.Processing, DueAt: noon}
				}
			})
		}},
		{Name: "what was applied is forgotten", Spec: latest, Caught: "I16", Break: func(r *StreamRules) {
			f := r.Turns
			r.Turns = func(s onceward.Stream, rows []onceward.InStream, seen func(onceward.Place) ([32]byte, bool)) ([]onceward.Turn, onceward.Stream) {
				blank := s
				blank.Begun, blank.Applied, blank.First = false, onceward.Place{}, onceward.Place{}
				turns, _ := f(blank, rows, seen)
				return turns, s
			}
		}},
		{Name: "a gap is not waited for", Spec: strict, Caught: "I16", Break: func(r *StreamRules) {
			r.otherwise(func(t *onceward.Turn) {
				if t.To == onceward.Received && !t.DueAt.IsZero() {
					*t = onceward.Turn{To: onceward.Processing, DueAt: noon}
				}
			})
		}},
		{Name: "a gap is waited for without end", Spec: strict, Caught: "I12", Break: func(r *StreamRules) {
			r.otherwise(func(t *onceward.Turn) {
				if t.To == onceward.Quarantined {
					*t = onceward.Turn{To: onceward.Received}
				}
			})
		}},
		{Name: "that a gap was passed over is not put on record", Spec: proceed, Caught: "I16", Break: func(r *StreamRules) {
			r.otherwise(func(t *onceward.Turn) { t.Passed = false })
		}},
		{Name: "the claim does not look again", Spec: strict, Caught: "I16", Break: func(r *StreamRules) { r.NoSecondLook = true }},
	}
}
