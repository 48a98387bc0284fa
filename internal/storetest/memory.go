package storetest

import (
	"errors"
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
