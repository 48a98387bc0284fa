package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward"
)

var settleCases = map[string]func(*suite){
	"success is terminal and keeps the result": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("ch_1"), limits); err != nil {
			s.Fatal(err)
		}
		if o := s.want(id, onceward.Completed); o.Result != "ch_1" || o.Intent || !o.DueAt.IsZero() || o.Owner != "" {
			s.Fatalf("%+v", o)
		}
		if _, err := s.Settle(ctx, l.Lease, onceward.Refused("no"), limits); !errors.Is(err, onceward.ErrFenced) {
			s.Fatalf("settled twice: %v", err)
		}
		s.counts("completed=1")
		dup := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]
		if dup.Operations[0].State != onceward.Completed || dup.Operations[0].Result != "ch_1" {
			s.Fatalf("a copy is told %+v", dup.Operations[0])
		}
	},
	"between a recorded result and the end there is no gap (case 65)": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("ch_1"), limits); err != nil {
			s.Fatal(err)
		}
		s.reopen() // killed right after
		s.clock.Advance(time.Hour)
		if more := s.claim("w2", onceward.Keyed, 1); len(more) != 0 {
			s.Fatal("called again after its result was recorded")
		}
		s.want(id, onceward.Completed)
		s.counts("completed=1")
	},
	"not applied waits and is tried again": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.NotApplied("503", s.clock.Now().Add(time.Second)), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.FailedBeforeEffect)
		if more := s.claim("w1", onceward.Keyed, 1); len(more) != 0 {
			s.Fatal("claimed before it was due")
		}
		s.clock.Advance(time.Second)
		s.take("w1", onceward.Keyed)
	},
	"attempts end in a dead letter with the last reason": func(s *suite) {
		id := s.one("e1")
		for range 3 {
			l := s.take("w1", onceward.Keyed)
			if _, err := s.Settle(ctx, l.Lease, onceward.NotApplied("answered 503", s.clock.Now()), limits); err != nil {
				s.Fatal(err)
			}
		}
		if o := s.want(id, onceward.DeadLettered); o.Reason != "attempts spent: answered 503" {
			s.Fatalf("reason %q", o.Reason)
		}
		h, _ := s.History(ctx, id.Event)
		if len(h.Attempts) != 3 || h.Attempts[2].Number != 3 || h.Attempts[2].Outcome != "not_applied" {
			s.Fatalf("attempts %+v", h.Attempts)
		}
	},
	"a refusal is a dead letter at once": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Refused("answered 422"), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.DeadLettered)
	},
	"an ambiguous keyed call is repeated under the same event key": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now().Add(time.Second)), limits); err != nil {
			s.Fatal(err)
		}
		if o := s.want(id, onceward.Processing); !o.Intent || o.Reason != "timeout" {
			s.Fatalf("%+v", o)
		}
		s.clock.Advance(time.Second)
		again := s.take("w2", onceward.Keyed)
		if again.Event.Key != l.Event.Key || again.Lease.Attempt != 2 {
			s.Fatalf("%+v", again)
		}
	},
	"an ambiguous keyed call waits through a restart": func(s *suite) {
		s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now().Add(time.Minute)), limits); err != nil {
			s.Fatal(err)
		}
		s.reopen()
		if more := s.claim("w2", onceward.Keyed, 1); len(more) != 0 {
			s.Fatal("repeated before its time")
		}
	},
	"an ambiguous keyed call with its attempts spent is unknown": func(s *suite) {
		id := s.one("e1")
		for range 3 {
			l := s.take("w1", onceward.Keyed)
			if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now()), limits); err != nil {
				s.Fatal(err)
			}
		}
		if o := s.want(id, onceward.UnknownOutcome); !o.Unknown {
			s.Fatalf("%+v", o)
		}
	},
	"an ambiguous unsafe call is unknown at once and never claimed": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("reset", s.clock.Now()), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.UnknownOutcome)
		s.clock.Advance(24 * time.Hour)
		if more := s.claim("w2", onceward.Unsafe, 1); len(more) != 0 {
			s.Fatal("an unknown outcome was claimed")
		}
	},
	"the attempt that went unknown may report late": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(time.Minute)
		if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.UnknownOutcome)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("late"), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.Completed)
	},
	"the counters follow every move": func(s *suite) {
		for _, id := range []string{"a", "b", "c"} {
			s.one(id)
		}
		leased := s.claim("w1", onceward.Keyed, 3)
		for i, out := range []onceward.Outcome{onceward.Succeeded(""), onceward.NotApplied("503", s.clock.Now().Add(time.Hour)), onceward.Refused("400")} {
			if _, err := s.Settle(ctx, leased[i].Lease, out, limits); err != nil {
				s.Fatal(err)
			}
		}
		s.counts("completed=1 failed_before_effect=1 dead_lettered=1")
		s.reopen()
		s.counts("completed=1 failed_before_effect=1 dead_lettered=1")
	},
}
