package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// happened makes an arrival that is authentic about when it happened.
func happened(at time.Time) func(*onceward.Arrival) {
	return func(a *onceward.Arrival) { a.Authentic = at }
}

// arrive admits one event under a policy for what is older than the memory.
func (s *suite) arrive(id string, policy onceward.OnStale, change ...func(*onceward.Arrival)) onceward.Admitted {
	s.Helper()
	a := s.arrival(id, `{"id":"`+id+`"}`)
	for _, c := range change {
		c(&a)
	}
	admission := s.admission(a)
	admission.Stale = policy
	got, err := s.Admit(ctx, admission)
	if err != nil {
		s.Fatal(err)
	}
	return got[0]
}

var ageCases = map[string]func(*suite){
	"case 86: a replay after the memory is held when its time is authentic": func(s *suite) {
		first := s.arrive("e1", onceward.ReviewStale, happened(s.clock.Now()))
		born := s.clock.Now()
		s.complete()
		s.clock.Advance(91 * day)
		if n := s.prune(); n != 1 {
			s.Fatalf("forgot %d", n)
		}
		got := s.arrive("e1", onceward.ReviewStale, happened(born))
		if got.Verdict != onceward.QuarantinedBy || !strings.HasPrefix(got.Reason, onceward.Stale) || got.Event == first.Event || len(got.Operations) != 0 {
			s.Fatalf("%+v", got)
		}
		// Letting it go is a person's risk.
		reading := s.arrival("e1", `{"id":"e1"}`)
		read := func(r *onceward.Replay) { r.Reading = &reading }
		if _, err := s.Replay(ctx, got.Event, replayOf(onceward.Resume, read)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.replay(got.Event, onceward.Resume, read, consenting)
		s.counts("received=1")
	},
	"case 86: without an authentic time it is new": func(s *suite) {
		s.arrive("e1", onceward.ReviewStale)
		s.complete()
		s.clock.Advance(91 * day)
		s.prune()
		if got := s.arrive("e1", onceward.ReviewStale); got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
	},
	"case 86: it may be accepted or refused instead, and a refusal leaves nothing": func(s *suite) {
		old := s.clock.Now().Add(-91 * day)
		if got := s.arrive("e1", onceward.AcceptStale, happened(old)); got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
		got := s.arrive("e2", onceward.RejectStale, happened(old))
		if !got.Refused || got.Event != 0 || len(got.Operations) != 0 {
			s.Fatalf("%+v", got)
		}
		if events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 9}}); err != nil || len(events) != 1 {
			s.Fatalf("%d events, %v", len(events), err)
		}
		if got := s.arrive("e2", onceward.RejectStale, happened(old.Add(2*day))); got.Verdict != onceward.Accepted { // its key was not burned
			s.Fatalf("%+v", got)
		}
	},
	"what is known is a copy, however old": func(s *suite) {
		born := s.clock.Now()
		s.arrive("e1", onceward.ReviewStale, happened(born))
		s.complete()
		for range 3 {
			s.clock.Advance(60 * day)
			s.prune()
			for _, policy := range []onceward.OnStale{onceward.ReviewStale, onceward.RejectStale} {
				if got := s.arrive("e1", policy, happened(born)); got.Verdict != onceward.Duplicate || got.Refused {
					s.Fatalf("%+v", got)
				}
			}
		}
	},
	"case 85: repeated every day across the window it stays a duplicate, unless the memory has a bound": func(s *suite) {
		bounded := func(a *onceward.Admission) { a.Longest = 100 * day }
		a := s.admission(s.arrival("bounded", "x"))
		bounded(a)
		if _, err := s.Admit(ctx, a); err != nil {
			s.Fatal(err)
		}
		s.one("e1")
		s.complete()
		for d := range 200 {
			s.clock.Advance(day)
			s.prune()
			if got := s.arrive("e1", onceward.ReviewStale); got.Verdict != onceward.Duplicate {
				s.Fatalf("day %d: %+v", d, got)
			}
			a := s.admission(s.arrival("bounded", "x"))
			bounded(a)
			got, err := s.Admit(ctx, a)
			if err != nil {
				s.Fatal(err)
			}
			if want := (map[bool]onceward.Verdict{true: onceward.Accepted, false: onceward.Duplicate})[d == 100]; got[0].Verdict != want {
				s.Fatalf("day %d: %+v", d, got)
			}
			if d == 100 {
				break
			}
		}
	},
	"case 87: after a restore, what happened before it and is not known is held": func(s *suite) {
		before := s.clock.Now()
		s.arrive("known", onceward.AcceptStale, happened(before))
		s.clock.Advance(time.Hour)
		if err := s.MarkRestored(ctx, s.clock.Now(), decision); err != nil {
			s.Fatal(err)
		}
		s.reopen()
		if at, err := s.Restored(ctx); err != nil || !at.Equal(s.clock.Now()) {
			s.Fatalf("%v, %v", at, err)
		}
		for _, policy := range []onceward.OnStale{onceward.ReviewStale, onceward.AcceptStale, onceward.RejectStale} {
			got := s.arrive(fmt.Sprint("lost ", policy), policy, happened(before.Add(time.Minute)))
			if got.Verdict != onceward.QuarantinedBy || !strings.HasPrefix(got.Reason, onceward.Restored) {
				s.Fatalf("%+v", got)
			}
		}
		if got := s.arrive("known", onceward.ReviewStale, happened(before)); got.Verdict != onceward.Duplicate {
			s.Fatalf("%+v", got)
		}
		if got := s.arrive("later", onceward.ReviewStale, happened(s.clock.Now().Add(time.Minute))); got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
		if got := s.arrive("timeless", onceward.ReviewStale); got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
		if err := s.MarkRestored(ctx, time.Time{}, decision); err != nil {
			s.Fatal(err)
		}
		if got := s.arrive("lost again", onceward.ReviewStale, happened(before)); got.Verdict != onceward.Accepted {
			s.Fatalf("%+v", got)
		}
		if s.audited() != 2 {
			s.Fatalf("%d rows in the audit log", s.audited())
		}
	},
	"case 88: the reaper never takes what is not completed": func(s *suite) {
		unknown, dead, done := s.unknown("e1"), s.dead("e2"), s.done("e3")
		running := s.one("e4")
		s.take("w", onceward.Keyed)
		s.clock.Advance(400 * day)
		if n := s.prune(); n != 1 {
			s.Fatalf("forgot %d", n)
		}
		s.want(unknown, onceward.UnknownOutcome)
		s.want(dead, onceward.DeadLettered)
		s.want(running, onceward.Processing)
		if _, err := s.Operation(ctx, done); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("got %v", err)
		}
		for _, id := range []onceward.OperationID{unknown, dead, running} {
			if _, err := s.Payload(ctx, id.Event); err != nil {
				s.Fatal(err)
			}
		}
	},
	"case 88: the reaper, beside copies and work, forgets no event that is seen or open": func(s *suite) {
		for i := range 40 {
			s.done(fmt.Sprint("old ", i))
		}
		open := s.one("open")
		s.clock.Advance(91 * day)
		l := s.take("w", onceward.Keyed)
		var all sync.WaitGroup
		seen := make([]onceward.Admitted, 20)
		for i := range seen {
			all.Go(func() {
				a := s.arrival(fmt.Sprint("old ", i), fmt.Sprintf(`{"id":"old %d"}`, i))
				got, err := s.Admit(ctx, s.admission(a))
				if err == nil {
					seen[i] = got[0]
				}
			})
		}
		all.Go(func() {
			for after := onceward.EventID(0); ; {
				next, _, err := s.PruneKeys(ctx, after, 90*day, 3)
				if err != nil || next == 0 {
					return
				}
				after = next
			}
		})
		all.Wait()
		for i, got := range seen { // each was seen before it was forgotten, or forgotten before it was seen
			if got.Verdict != onceward.Duplicate && got.Verdict != onceward.Accepted {
				s.Fatalf("%d: %+v", i, got)
			}
			again := s.admit(s.arrival(fmt.Sprint("old ", i), fmt.Sprintf(`{"id":"old %d"}`, i)))[0]
			if again.Verdict != onceward.Duplicate || again.Event != got.Event {
				s.Fatalf("%d: %+v, then %+v", i, got, again)
			}
		}
		s.settle(l, onceward.Succeeded("r"))
		s.want(open, onceward.Completed)
	},
	"the bodies of an open conflict are kept until it is decided": func(s *suite) {
		id := s.done("e1")
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		s.clock.Advance(31 * day)
		s.prune()
		c := s.conflict()
		if !c.KeptSecond {
			s.Fatal("the second body is gone")
		}
		s.decideConflict(c.ID, onceward.KeepFirst, nil, decision)
		s.clock.Advance(2 * day)
		s.prune()
		if c, err := s.Conflict(ctx, c.ID); err != nil || c.KeptSecond || c.KeptFirst {
			s.Fatalf("%+v, %v", c, err)
		}
	},
}

var eraseCases = map[string]func(*suite){
	"what was erased is gone, and a copy of it is still a duplicate": func(s *suite) {
		shared := []onceward.Arrival{s.arrival("e1", "the body of e1"), s.arrival("e2", "the body of e2")}
		shared[0].Key.Account = "acct_1"
		admitted := s.admit(shared...)
		s.complete()
		id := admitted[0].Event
		s.contradict(id, "e1", "another body of e1", onceward.HoldConflict)
		if err := s.Erase(ctx, id, onceward.Decision{Actor: "ops"}); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("without a reason: %v", err)
		}
		if err := s.Erase(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Payload(ctx, id); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("payload: %v", err)
		}
		if p, err := s.Payload(ctx, admitted[1].Event); err != nil || string(p.Body) != "the body of e2" {
			s.Fatalf("its neighbour: %q, %v", p.Body, err)
		}
		h, err := s.History(ctx, id)
		if err != nil || h.Event.EventID != "" || h.Event.Account != "" || h.Event.Erased.IsZero() || h.Event.Content != [32]byte{} || len(h.Conflicts) != 0 || h.Deliveries[0].Remote != "" {
			s.Fatalf("%+v, %v", h, err)
		}
		if o := h.Event.Operations[0]; o.State != onceward.Completed || o.Result != "r" {
			s.Fatalf("the outcome: %+v", o)
		}
		for _, body := range []string{"the body of e1", "quite another body"} { // nothing of either is kept anew
			got := s.admit(s.arrival("e1", body))[0]
			if got.Verdict != onceward.Duplicate || got.Differs || got.Event != id || len(got.Operations) != 1 {
				s.Fatalf("%+v", got)
			}
		}
		if got := s.contradict(id, "e1", "a third body", onceward.HoldConflict); got.Verdict != onceward.Duplicate {
			s.Fatalf("%+v", got)
		}
		if rivals, err := s.Rivals(ctx, id, 5); err != nil || len(rivals) != 0 {
			s.Fatalf("%+v, %v", rivals, err)
		}
		if err := s.Erase(ctx, id, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("twice: %v", err)
		}
		if found, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 5}, Search: "e1"}); err != nil || len(found) != 0 {
			s.Fatalf("found by its id: %+v, %v", found, err)
		}
		if _, err := s.Replay(ctx, id, replayOf(onceward.Redeliver)); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("replay: %v", err)
		}
		s.reopen()
		if got := s.admit(s.arrival("e1", "the body of e1"))[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("after a restart: %+v", got)
		}
		if s.audited() != 1 {
			s.Fatalf("%d rows in the audit log", s.audited())
		}
	},
	"nothing loses what it still has to carry": func(s *suite) {
		id := s.one("e1")
		if err := s.Erase(ctx, id.Event, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
		if l := s.take("w", onceward.Keyed); string(l.Payload.Body) != `{"id":"e1"}` {
			s.Fatalf("%+v", l)
		}
		if err := s.Erase(ctx, id.Event, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
	},
	"nothing of what was erased is taken up again": func(s *suite) {
		dead := s.dead("e1")
		held := s.one("e2")
		s.contradict(held.Event, "e2", "other", onceward.HoldConflict)
		for _, id := range []onceward.OperationID{dead, held} {
			before := s.want(id, map[onceward.OperationID]onceward.State{dead: onceward.DeadLettered, held: onceward.Quarantined}[id])
			if err := s.Erase(ctx, id.Event, decision); err != nil {
				s.Fatal(err)
			}
			for _, d := range []onceward.Decision{decision, consented} {
				if _, err := s.Retry(ctx, id, d); !errors.Is(err, onceward.ErrNotAllowed) {
					s.Fatalf("got %v", err)
				}
			}
			if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Resume, consenting)); !errors.Is(err, onceward.ErrNotAllowed) {
				s.Fatalf("got %v", err)
			}
			if got := s.want(id, before.State); got != before {
				s.Fatalf("%+v, was %+v", got, before)
			}
		}
		if _, err := s.Abandon(ctx, held, decision); err != nil {
			s.Fatal(err)
		}
		s.counts("dead_lettered=2")
	},
	"what is held and erased is out of the way": func(s *suite) {
		id := s.holdEvent("e1", "x", "unknown version")
		if err := s.Erase(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		if events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 5}, Status: "quarantined"}); err != nil || len(events) != 0 {
			s.Fatalf("%+v, %v", events, err)
		}
		s.clock.Advance(91 * day)
		if n := s.prune(); n != 1 {
			s.Fatalf("forgot %d", n)
		}
	},
	"a subject is erased in bulk, in bounded steps": func(s *suite) {
		var steps []onceward.Step
		for i := range 3 {
			steps = append(steps, onceward.Step{Event: s.done(fmt.Sprint("e", i)).Event})
		}
		steps = append(steps, onceward.Step{Event: s.one("open").Event})
		b, err := s.BeginBulk(ctx, onceward.Bulk{Mode: onceward.Erase, Decision: decision, Filter: onceward.EventQuery{Account: "acct_1"}, Expect: 4})
		if err != nil {
			s.Fatal(err)
		}
		if b, err = s.StepBulk(ctx, b, steps, "", true); err != nil || b.Changed != 3 || b.Refused != 1 || b.Filter.Account != "acct_1" {
			s.Fatalf("%+v, %v", b, err)
		}
	},
}
