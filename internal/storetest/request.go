package storetest

import (
	"errors"

	"github.com/onceward/onceward"
)

// requestCases are about requests of people that name themselves.
var requestCases = map[string]func(*suite){
	"one click is one, however often it is sent; two clicks are two": func(s *suite) {
		id, other := s.done("e1"), s.dead("e2")
		click := func(name string) func(*onceward.Replay) { return func(r *onceward.Replay) { r.Once = name } }
		for _, name := range []string{"click 1", "click 2"} {
			s.replay(id.Event, onceward.Redeliver, click(name))
			s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
			s.reopen()
			if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Redeliver, click(name))); !errors.Is(err, onceward.ErrRepeated) {
				s.Fatalf("%s again: %v", name, err)
			}
		}
		s.counts("completed=3 dead_lettered=1")
		// What was refused was not carried out, so its name is free.
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Reexecute, click("click 3"))); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.replay(id.Event, onceward.Reexecute, click("click 3"), consenting)
		named := decision
		named.Once = "click 1"
		// A name that means something else is a mistake, and is not carried out.
		if _, err := s.Retry(ctx, other, named); !errors.Is(err, onceward.ErrMismatch) {
			s.Fatalf("got %v", err)
		}
		s.want(other, onceward.DeadLettered)
		if _, err := s.Replay(ctx, other.Event, replayOf(onceward.Redeliver, click("click 1"))); !errors.Is(err, onceward.ErrMismatch) {
			s.Fatalf("got %v", err)
		}
		if _, err := s.BeginBulk(ctx, onceward.Bulk{Mode: onceward.Resume, Decision: named, Expect: 1}); !errors.Is(err, onceward.ErrMismatch) {
			s.Fatalf("got %v", err)
		}
		// The second of a double click says so, whatever came of the first.
		named.Once = "click 4"
		if _, err := s.Retry(ctx, other, named); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Retry(ctx, other, named); !errors.Is(err, onceward.ErrRepeated) {
			s.Fatalf("got %v", err)
		}
		bulk := onceward.Bulk{Mode: onceward.Resume, Decision: named, Filter: onceward.EventQuery{Source: "pay"}, Expect: 1}
		bulk.Decision.Once = "click 5"
		if _, err := s.BeginBulk(ctx, bulk); err != nil {
			s.Fatal(err)
		}
		if _, err := s.BeginBulk(ctx, bulk); !errors.Is(err, onceward.ErrRepeated) {
			s.Fatalf("got %v", err)
		}
		bulk.Filter.Account = "acct_2"
		if _, err := s.BeginBulk(ctx, bulk); !errors.Is(err, onceward.ErrMismatch) {
			s.Fatalf("got %v", err)
		}
	},
}
