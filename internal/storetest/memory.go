package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

const day = 24 * time.Hour

func (s *suite) complete() {
	s.Helper()
	for _, l := range s.claim("w", onceward.Keyed, 100) {
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *suite) prune() (forgotten int) {
	s.Helper()
	for {
		if n, err := s.PrunePayloads(ctx, 10); err != nil {
			s.Fatal(err)
		} else if n < 10 {
			break
		}
	}
	for after := onceward.EventID(0); ; {
		next, n, err := s.PruneKeys(ctx, after, 90*day, 10)
		if err != nil {
			s.Fatal(err)
		}
		forgotten += n
		if next == 0 {
			return forgotten
		}
		after = next
	}
}

var memoryCases = map[string]func(*suite){
	"payloads go first, the memory of the key stays": func(s *suite) {
		id := s.one("e1")
		s.complete()
		s.clock.Advance(30*day + 2*time.Hour)
		s.prune()
		if _, err := s.Payload(ctx, id.Event); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("payload: %v, want ErrNotFound", err)
		}
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate || got.Operations[0].Result != "r" {
			s.Fatalf("%+v", got)
		}
	},
	"a key is forgotten after its memory, counted from the last sighting": func(s *suite) {
		s.one("e1")
		s.complete()
		s.clock.Advance(80 * day)
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("%+v", got)
		}
		s.clock.Advance(80 * day)
		if n := s.prune(); n != 0 {
			s.Fatal("forgotten within 90 days of the last sighting")
		}
		s.clock.Advance(11 * day)
		if n := s.prune(); n != 1 {
			s.Fatalf("forgot %d events, want 1", n)
		}
		s.counts("")
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
	},
	"case 46: five hundred copies under a clock that jumps by minutes make one effect": func(s *suite) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for n := range 50 {
					s.clock.Advance([]time.Duration{5 * time.Minute, -5 * time.Minute}[n%2])
					if _, err := s.Admit(ctx, s.admission(s.arrival("e1", `{"id":"e1"}`))); err != nil {
						s.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s.clock.Advance(time.Hour) // due, however the clock stood when it was recorded
		s.complete()
		s.clock.Advance(-time.Hour)
		s.complete()
		s.counts("completed=1")
		events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 10}})
		if err != nil || len(events) != 1 || events[0].Deliveries != 500 {
			s.Fatalf("%d events, %v; want one of 500 deliveries", len(events), err)
		}
		if h, err := s.History(ctx, events[0].ID); err != nil || len(h.Attempts) != 1 {
			s.Fatalf("%+v, %v", h, err)
		}
	},
	"case 88: the reaper at any time touches nothing that is not completed": func(s *suite) {
		unknown := s.one("unknown", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now()), limits); err != nil {
			s.Fatal(err)
		}
		dead := s.one("dead")
		if _, err := s.Settle(ctx, s.take("w1", onceward.Keyed).Lease, onceward.Refused("422"), limits); err != nil {
			s.Fatal(err)
		}
		busy := s.one("busy")
		working := s.take("w1", onceward.Keyed)
		s.clock.Advance(400 * day)
		var wg sync.WaitGroup
		wg.Go(func() { s.prune() })
		wg.Go(func() { // its lease is long over, and nobody took it
			if _, err := s.Settle(ctx, working.Lease, onceward.Succeeded("r"), limits); err != nil {
				s.Error(err)
			}
		})
		wg.Wait()
		s.want(unknown, onceward.UnknownOutcome)
		s.want(dead, onceward.DeadLettered)
		// Completed a moment ago, it was last seen too long ago to be kept: the
		// reaper may take it now, and its late owner finds no row.
		s.prune()
		if _, err := s.Operation(ctx, busy); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("%v, want it forgotten", err)
		}
		if _, err := s.Settle(ctx, working.Lease, onceward.Succeeded("r"), limits); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("a report about what is forgotten: %v", err)
		}
		s.counts("unknown_outcome=1 dead_lettered=1")
	},
	"what is not completed is never forgotten, nor its payload": func(s *suite) {
		waiting := s.one("e0")
		held := s.arrival("held", "held")
		held.Verdict, held.Reason = onceward.QuarantinedBy, "body is not JSON"
		heldID := s.admit(held)[0].Event
		s.clock.Advance(400 * day)
		if n := s.prune(); n != 0 {
			s.Fatalf("forgot %d events", n)
		}
		for _, id := range []onceward.EventID{waiting.Event, heldID} {
			if _, err := s.Payload(ctx, id); err != nil {
				s.Fatal(err)
			}
		}
		l := s.take("w", onceward.Keyed)
		if l.Missing || string(l.Payload.Body) != `{"id":"e0"}` {
			s.Fatalf("%+v", l)
		}
	},
	"many old events are forgotten in small steps": func(s *suite) {
		for i := range 35 {
			s.one(string(rune('A' + i)))
		}
		s.complete()
		s.clock.Advance(91 * day)
		if n := s.prune(); n != 35 {
			s.Fatalf("forgot %d of 35", n)
		}
	},
	"the pepper is made once": func(s *suite) {
		first := s.Peppers()[0]
		s.reopen()
		if got := s.Peppers(); len(got) != 1 || string(got[0].Secret) != string(first.Secret) || len(first.Secret) != 32 {
			s.Fatal("the pepper changed, or is not 32 bytes")
		}
	},
}
