package storetest

import (
	"errors"

	"github.com/onceward/onceward"
)

func coalescing(a *onceward.Admission) { a.Coalesce = true }

// see admits a copy of a level trigger.
func (s *suite) see(id string) onceward.Admitted {
	s.Helper()
	a := s.admission(s.arrival(id, "item changed"))
	coalescing(a)
	got, err := s.Admit(ctx, a)
	if err != nil {
		s.Fatal(err)
	}
	return got[0]
}

// levelCases are about senders that say only that something changed.
var levelCases = map[string]func(*suite){
	"a level trigger runs again, never two at a time, and bursts merge": func(s *suite) {
		first := s.see("item")
		id := onceward.OperationID{Event: first.Event, N: 1}
		for range 3 { // while it waits
			if got := s.see("item"); got.Verdict != onceward.Duplicate || got.Again {
				s.Fatalf("%+v", got)
			}
		}
		l := s.take("w", onceward.Keyed)
		if got := s.see("item"); got.Verdict != onceward.Accepted || !got.Again || len(got.Operations) != 2 {
			s.Fatalf("while it runs: %+v", got)
		}
		for range 3 { // while one waits behind it
			if got := s.see("item"); got.Verdict != onceward.Duplicate {
				s.Fatalf("%+v", got)
			}
		}
		if leased := s.claim("w", onceward.Keyed, 10); len(leased) != 0 {
			s.Fatal("two at a time")
		}
		s.settle(l, onceward.Succeeded("r1"))
		again := s.take("w", onceward.Keyed)
		if again.Operation.ID.N != 2 || s.key(again.Operation.ID) == s.key(id) || string(again.Payload.Body) != "item changed" {
			s.Fatalf("%+v", again)
		}
		s.settle(again, onceward.Succeeded("r2"))
		if got := s.see("item"); got.Verdict != onceward.Accepted {
			s.Fatalf("after it: %+v", got)
		}
		s.counts("received=1 completed=2")
	},
	"a new signal is not lost in a run whose key was sent before": func(s *suite) {
		for name, wait := range map[string]func(onceward.OperationID){
			"a redelivery": func(id onceward.OperationID) {
				s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
				s.replay(id.Event, onceward.Redeliver)
			},
			"a failure": func(onceward.OperationID) {
				s.settle(s.take("w", onceward.Keyed), onceward.NotApplied("503", s.clock.Now()))
			},
			"a retried dead letter": func(id onceward.OperationID) {
				s.settle(s.take("w", onceward.Keyed), onceward.Refused("422"))
				s.replay(id.Event, onceward.Resume)
			},
		} {
			first := s.see(name)
			wait(onceward.OperationID{Event: first.Event, N: 1})
			if got := s.see(name); got.Verdict != onceward.Accepted || !got.Again {
				s.Fatalf("%s: %+v", name, got)
			}
			if got := s.see(name); got.Verdict != onceward.Duplicate { // one waits already
				s.Fatalf("%s: %+v", name, got)
			}
			old := s.take("w", onceward.Keyed) // and never two at a time
			s.settle(old, onceward.Succeeded("from memory"))
			l := s.take("w", onceward.Keyed)
			if l.Operation.Generation != 1 || s.key(l.Operation.ID) == s.key(old.Operation.ID) {
				s.Fatalf("%s: %+v", name, l.Operation)
			}
			s.settle(l, onceward.Succeeded("r"))
			if leased := s.claim("w", onceward.Keyed, 10); len(leased) != 0 {
				s.Fatalf("%s: more than one", name)
			}
		}
	},
	"erasing what a level trigger delivered does not silence it": func(s *suite) {
		first := s.see("item")
		s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
		for round := range 2 {
			if err := s.Erase(ctx, first.Event, decision); err != nil {
				s.Fatal(err)
			}
			if got := s.see("item"); got.Verdict != onceward.Accepted || !got.Again || got.Event != first.Event {
				s.Fatalf("%+v", got)
			}
			l := s.take("w", onceward.Keyed)
			if string(l.Payload.Body) != "item changed" || l.Operation.Generation != round+1 || l.Event.EventID != "item" {
				s.Fatalf("%+v", l)
			}
			if err := s.Erase(ctx, first.Event, decision); !errors.Is(err, onceward.ErrNotAllowed) { // it runs
				s.Fatalf("got %v", err)
			}
			s.settle(l, onceward.Succeeded("r"))
			if found, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 5}, Search: "item"}); err != nil || len(found) != 1 || !found[0].Erased.IsZero() {
				s.Fatalf("%+v, %v", found, err)
			}
		}
		s.counts("completed=3")
	},
	"a held run of a level trigger carries what came after the erasure": func(s *suite) {
		first := s.see("item")
		s.contradict(first.Event, "item", "other", onceward.HoldConflict)
		if err := s.Erase(ctx, first.Event, decision); err != nil {
			s.Fatal(err)
		}
		s.see("item")
		if _, err := s.Retry(ctx, onceward.OperationID{Event: first.Event, N: 1}, decision); err != nil {
			s.Fatal(err)
		}
		if l := s.take("w", onceward.Keyed); string(l.Payload.Body) != "item changed" {
			s.Fatalf("%+v", l)
		}
	},
	"a run that waits behind another survives its owner, its failures and a restart": func(s *suite) {
		s.see("item")
		l := s.take("w", onceward.Keyed)
		s.see("item")
		s.settle(l, onceward.NotApplied("503", s.clock.Now()))
		l = s.take("w", onceward.Keyed)
		if l.Operation.ID.N != 1 {
			s.Fatalf("%+v", l)
		}
		s.reopen()
		l = s.take("w2", onceward.Keyed)
		if l.Operation.ID.N != 1 {
			s.Fatalf("%+v", l)
		}
		s.settle(l, onceward.Refused("422"))
		if l := s.take("w2", onceward.Keyed); l.Operation.ID.N != 2 {
			s.Fatalf("%+v", l)
		}
	},
	"without coalesce the same is a copy": func(s *suite) {
		s.done("e1")
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate || got.Again {
			s.Fatalf("%+v", got)
		}
		s.counts("completed=1")
	},
	"what was given up before the last is not re-executed beside it: one run, and a generation that is free": func(s *suite) {
		first := onceward.OperationID{Event: s.see("item").Event, N: 1}
		if _, err := s.Abandon(ctx, first, decision); err != nil {
			s.Fatal(err)
		}
		s.see("item")
		s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
		if got := did(s.replay(first.Event, onceward.Reexecute, consenting)); got != "superseded T20+T25, reexecuted T0b" {
			s.Fatal(got)
		}
		l := s.take("w", onceward.Keyed)
		if l.Operation.ID.N != 3 || l.Operation.Generation != 2 {
			s.Fatalf("%+v", l.Operation)
		}
		s.settle(l, onceward.Succeeded("r"))
		if got := did(s.replay(first.Event, onceward.Reexecute, consenting)); got != "reexecuted T0b" {
			s.Fatal(got)
		}
		s.counts("received=1 completed=3")
	},
}
