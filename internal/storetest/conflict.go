package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// contradict records another content of an event.
func (s *suite) contradict(id onceward.EventID, sender, body string, policy onceward.OnConflict, change ...func(*onceward.Arrival)) onceward.Admitted {
	s.Helper()
	second := s.arrival(sender, body)
	for _, c := range change {
		c(&second)
	}
	got, err := s.RecordConflict(ctx, id, s.admission(second), &second, policy)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// conflict returns the only open conflict.
func (s *suite) conflict() onceward.Conflict {
	s.Helper()
	all, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 10}, Open: true})
	if err != nil || len(all) != 1 {
		s.Fatalf("%d open conflicts, %v", len(all), err)
	}
	c, err := s.Conflict(ctx, all[0].ID)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *suite) decideConflict(id int64, keep onceward.Keep, reading *onceward.Arrival, d onceward.Decision) string {
	s.Helper()
	all, err := s.DecideConflict(ctx, id, keep, reading, d)
	if err != nil {
		s.Fatal(err)
	}
	return did(all)
}

var consented = onceward.Decision{Actor: "ops", Reason: "both count", Consent: true}

var conflictCases = map[string]func(*suite){
	"case 74: before any effect, keeping the first lets it run": func(s *suite) {
		id := s.one("e1")
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		c := s.conflict()
		if string(c.First.Body) != `{"id":"e1"}` || string(c.Payload.Body) != "other" || !c.KeptFirst || !c.KeptSecond || c.Of.ID != id.Event {
			s.Fatalf("%+v", c)
		}
		if got := s.decideConflict(c.ID, onceward.KeepFirst, nil, decision); got != "retried T22" {
			s.Fatal(got)
		}
		l := s.take("w", onceward.Keyed)
		if l.Operation.ID != id || string(l.Payload.Body) != `{"id":"e1"}` {
			s.Fatalf("%+v", l)
		}
		s.settle(l, onceward.Succeeded("r"))
		if got := s.contradict(id.Event, "e1", "other", onceward.HoldConflict); got.Verdict != onceward.Conflicting {
			s.Fatalf("the same once more: %+v", got)
		}
		if all, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 10}, Open: true}); err != nil || len(all) != 0 {
			s.Fatalf("decided, and open again: %+v, %v", all, err)
		}
	},
	"case 74: taking the second supersedes the first and runs under a key of its own": func(s *suite) {
		id := s.one("e1")
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		reading := s.arrival("e1", "other")
		c := s.conflict()
		if got := s.decideConflict(c.ID, onceward.KeepSecond, &reading, decision); got != "superseded T22+T25, revised T0b" {
			s.Fatal(got)
		}
		if o := s.want(id, onceward.Completed); !o.Superseded {
			s.Fatalf("%+v", o)
		}
		l := s.take("w", onceward.Keyed)
		if string(l.Payload.Body) != "other" || l.Operation.ID.N != 2 || s.key(l.Operation.ID) == s.key(id) {
			s.Fatalf("%+v", l)
		}
		if p, err := s.Carried(ctx, l.Operation.ID); err != nil || string(p.Body) != "other" {
			s.Fatalf("it carries %q, %v", p.Body, err)
		}
		s.settle(l, onceward.Succeeded("r"))
		if _, err := s.DecideConflict(ctx, c.ID, onceward.KeepSecond, &reading, consented); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("twice: %v", err)
		}
		if got := s.contradict(id.Event, "e1", "other", onceward.HoldConflict); got.Verdict != onceward.Duplicate {
			s.Fatalf("a copy of the second: %+v", got)
		}
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("a copy of the first: %+v", got)
		}
		s.counts("completed=2")
	},
	"case 74: neither gives up what was held": func(s *suite) {
		id := s.one("e1")
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		if got := s.decideConflict(s.conflict().ID, onceward.KeepNeither, nil, decision); got != "given_up T23" {
			s.Fatal(got)
		}
		s.want(id, onceward.DeadLettered)
	},
	"case 74: during and after the effect the first stands, and the second on top needs consent": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		s.settle(l, onceward.Succeeded("r1"))
		s.want(id, onceward.Completed)
		reading := s.arrival("e1", "other")
		c := s.conflict()
		if _, err := s.DecideConflict(ctx, c.ID, onceward.KeepSecond, &reading, decision); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		if got := s.decideConflict(c.ID, onceward.KeepSecond, &reading, consented); got != "revised T0b" {
			s.Fatal(got)
		}
		if l := s.take("w", onceward.Keyed); string(l.Payload.Body) != "other" {
			s.Fatalf("%+v", l)
		}
	},
	"running what was held says that the first counts": func(s *suite) {
		for _, run := range []func(onceward.OperationID){
			func(id onceward.OperationID) { s.replay(id.Event, onceward.Resume) },
			func(id onceward.OperationID) {
				if _, err := s.Retry(ctx, id, decision); err != nil {
					s.Fatal(err)
				}
			},
		} {
			id := s.one("e1")
			s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
			c := s.conflict()
			run(id)
			if c, err := s.Conflict(ctx, c.ID); err != nil || c.Decided != onceward.KeepFirst {
				s.Fatalf("%+v, %v", c, err)
			}
			s.complete()
			if err := s.Erase(ctx, id.Event, decision); err != nil {
				s.Fatal(err)
			}
			s.clock.Advance(91 * day)
			s.prune()
		}
	},
	"a revision whose content was erased is refused for good": func(s *suite) {
		id := s.done("e1")
		s.contradict(id.Event, "e1", "later", onceward.NewerConflict, unsafely)
		l := s.take("w", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.settle(l, onceward.Ambiguous("reset", s.clock.Now()))
		if err := s.Erase(ctx, id.Event, decision); err != nil {
			s.Fatal(err)
		}
		found := decision
		found.Evidence = "nothing of it at the other side"
		if _, err := s.Resolve(ctx, l.Operation.ID, false, "", found); err != nil {
			s.Fatal(err)
		}
		if l := s.take("w", onceward.Unsafe); !l.Missing || l.Fault != "" {
			s.Fatalf("%+v", l)
		}
	},
	"a decision needs a reason, a body and an open conflict": func(s *suite) {
		id := s.one("e1")
		s.contradict(id.Event, "e1", "other", onceward.HoldConflict)
		c := s.conflict()
		for name, err := range map[string]error{
			"no reason":  second(s.DecideConflict(ctx, c.ID, onceward.KeepFirst, nil, onceward.Decision{Actor: "ops"})),
			"no reading": second(s.DecideConflict(ctx, c.ID, onceward.KeepSecond, nil, consented)),
		} {
			if !errors.Is(err, onceward.ErrNotAllowed) {
				s.Errorf("%s: %v", name, err)
			}
		}
		s.want(id, onceward.Quarantined)
		s.decideConflict(c.ID, onceward.KeepFirst, nil, decision)
		if _, err := s.DecideConflict(ctx, c.ID, onceward.KeepNeither, nil, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("decided twice: %v", err)
		}
		if _, err := s.DecideConflict(ctx, 42, onceward.KeepFirst, nil, decision); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("got %v", err)
		}
		h, err := s.History(ctx, id.Event)
		if err != nil || len(h.Conflicts) != 1 || h.Conflicts[0].Decided != onceward.KeepFirst || h.Audits[len(h.Audits)-1].Action != "keep first" {
			s.Fatalf("%+v, %v", h, err)
		}
	},
	"under newer a later content runs as a revision, an older one is evidence": func(s *suite) {
		at := func(t time.Time) func(*onceward.Arrival) { return func(a *onceward.Arrival) { a.OccurredAt = t } }
		noon := s.clock.Now()
		id := s.one("e1", at(noon))
		got := s.contradict(id.Event, "e1", "later", onceward.NewerConflict, at(noon.Add(time.Hour)))
		if got.Verdict != onceward.Accepted || !got.Again || len(got.Operations) != 2 || !got.Operations[0].Superseded {
			s.Fatalf("%+v", got)
		}
		older := s.contradict(id.Event, "e1", "between", onceward.NewerConflict, at(noon.Add(time.Minute)))
		if older.Verdict != onceward.Duplicate || older.Again || len(older.Operations) != 2 {
			s.Fatalf("%+v", older)
		}
		copies := s.contradict(id.Event, "e1", "later", onceward.NewerConflict, at(noon.Add(time.Hour)))
		if copies.Verdict != onceward.Duplicate || copies.Again {
			s.Fatalf("%+v", copies)
		}
		l := s.take("w", onceward.Keyed)
		if string(l.Payload.Body) != "later" || !l.Event.OccurredAt.Equal(noon.Add(time.Hour)) {
			s.Fatalf("%+v", l)
		}
		first := s.key(l.Operation.ID)
		s.settle(l, onceward.Succeeded("r"))
		if got := s.contradict(id.Event, "e1", "latest", onceward.NewerConflict); got.Verdict != onceward.Accepted { // without a time, it came later
			s.Fatalf("%+v", got)
		}
		if l := s.take("w", onceward.Keyed); string(l.Payload.Body) != "latest" || s.key(l.Operation.ID) == first {
			s.Fatalf("%+v", l)
		}
		all, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 10}, Open: true})
		if err != nil || len(all) != 0 {
			s.Fatalf("what the policy decided is open: %+v, %v", all, err)
		}
		s.counts("processing=1 completed=2")
	},
	"a revision's key is that of its content, wherever it is recorded": func(s *suite) {
		one, two := s.one("e1"), s.arrival("e1", "x")
		key := func(n int) string { return s.key(onceward.OperationID{Event: one.Event, N: n}) }
		s.contradict(one.Event, "e1", "b", onceward.NewerConflict)
		s.contradict(one.Event, "e1", "c", onceward.NewerConflict)
		last := s.arrival("e1", "c")
		o := onceward.Operation{Name: "fulfil", Revision: string(last.Content[:])}
		if want := o.Downstream(two.Digest, ""); key(3) != want || key(2) == key(3) {
			s.Fatalf("keys %s %s, want %s", key(2), key(3), want)
		}
	},
	"rejected conflicts wait for nobody": func(s *suite) {
		id := s.one("e1")
		s.contradict(id.Event, "e1", "other", onceward.RejectConflict)
		s.want(id, onceward.Received)
		all, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 10}})
		if err != nil || len(all) != 1 || all[0].Decided != onceward.KeepRefused {
			s.Fatalf("%+v, %v", all, err)
		}
	},
	"conflicts are listed by pages and by source": func(s *suite) {
		for _, name := range []string{"a", "b", "c"} {
			id := s.one(name)
			s.contradict(id.Event, name, "other", onceward.HoldConflict)
		}
		var seen []string
		for q := (onceward.ConflictQuery{Page: onceward.Page{Limit: 2}, Source: "pay"}); ; {
			page, next, err := s.Conflicts(ctx, q)
			if err != nil {
				s.Fatal(err)
			}
			for _, c := range page {
				seen = append(seen, c.Of.EventID)
			}
			if q.After = next; next == "" {
				break
			}
		}
		if strings.Join(seen, "") != "cba" {
			s.Fatal(seen)
		}
		if page, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 2}, Source: "other"}); err != nil || len(page) != 0 {
			s.Fatalf("%+v, %v", page, err)
		}
		if _, _, err := s.Conflicts(ctx, onceward.ConflictQuery{Page: onceward.Page{Limit: 2, After: "x"}}); !errors.Is(err, onceward.ErrBadCursor) {
			s.Fatalf("got %v", err)
		}
		rivals, err := s.Rivals(ctx, s.admit(s.arrival("a", `{"id":"a"}`))[0].Event, 5)
		if err != nil || len(rivals) != 1 || string(rivals[0].Payload.Body) != "other" {
			s.Fatalf("%+v, %v", rivals, err)
		}
	},
}

func second[T any](_ T, err error) error { return err }
