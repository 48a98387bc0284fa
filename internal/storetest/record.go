package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// record is what is kept of one change: the row of an attempt, or of the audit.
type record struct {
	by, action, reason string
	fence              int64
	state              string
}

// records are all that is kept about an operation, as "actor action" in some order.
func (s *suite) records(id onceward.OperationID) (all []record) {
	s.Helper()
	h, err := s.History(ctx, id.Event)
	if err != nil {
		s.Fatal(err)
	}
	for _, a := range h.Attempts {
		if a.Operation == id {
			all = append(all, record{a.Owner, a.Outcome, cmp.Or(a.Reason, a.Outcome), a.Fence, a.State.String()})
		}
	}
	for _, a := range h.Audits {
		if a.Operation == id {
			all = append(all, record{a.Actor, a.Action, a.Reason, a.Fence, a.To})
		}
	}
	return all
}

// changes brings operations through every transition that a store makes, each
// named with what must be on record afterwards: the actor, and the attempt's
// outcome or the transition. What makes a lease (T2, T11, T14) and what keeps
// it (T3, T4) is on record with the attempt that ends it; what is handed back
// before its call leaves nothing, because nothing happened.
var changes = map[string]struct {
	do   func(*suite) onceward.OperationID
	want string
}{
	"T2 T4 T7": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.end(l, onceward.Succeeded("r"), "")
		return l.Operation.ID
	}, "w1 completed"},
	"T2 T5 T7": {func(s *suite) onceward.OperationID {
		id := s.one("e", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("a"), twoSteps)
		s.end(s.the(1, twoSteps, onceward.Keyed), onceward.Succeeded("b"), twoSteps)
		return id
	}, "w1 completed, w1 completed"},
	"T9 T14": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.end(l, onceward.NotApplied("503", s.clock.Now()), "")
		s.end(s.the(0, "", onceward.Unsafe), onceward.NotApplied("503", s.clock.Now()), "")
		return l.Operation.ID
	}, "w1 not_applied, w1 not_applied"},
	"T10": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.end(l, onceward.Ambiguous("reset", s.clock.Now()), "")
		return l.Operation.ID
	}, "w1 ambiguous, worker T10"},
	"T9 T15": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.end(l, onceward.Refused("422"), "")
		return l.Operation.ID
	}, "w1 refused, worker T9+T15"},
	"T3 T11": {func(s *suite) onceward.OperationID {
		id := s.one("e")
		s.end(s.the(0, "", onceward.Keyed), onceward.Ambiguous("timeout", s.clock.Now()), "")
		s.end(s.the(0, "", onceward.Keyed), onceward.Succeeded("r"), "")
		return id
	}, "w1 ambiguous, w1 completed"},
	"T11 of a lost owner": {func(s *suite) onceward.OperationID {
		id := s.one("e")
		s.the(0, "", onceward.Keyed)
		s.clock.Advance(time.Minute)
		s.end(s.the(0, "", onceward.Keyed), onceward.Succeeded("r"), "")
		return id
	}, "w1 completed, w1 lost"},
	"T12": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.silent()
		return l.Operation.ID
	}, "janitor T12, w1 lost"},
	"T12b": {func(s *suite) onceward.OperationID {
		id := s.one("e", planned("", onceward.Unsafe))
		for range 3 {
			s.the(0, "", onceward.Unsafe)
			s.clock.Advance(time.Minute)
		}
		s.silent()
		return id
	}, "janitor T12b, w1 lost, w1 lost, w1 lost"},
	"T15 at the claim": {func(s *suite) onceward.OperationID {
		id := s.one("e")
		s.end(s.the(0, "", onceward.Keyed), onceward.NotApplied("503", s.clock.Now()), "")
		fewer := limits
		fewer.Attempts = 1 // the configuration of today
		if _, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w1", Effect: onceward.Keyed, Limits: fewer, Limit: 1}); err != nil {
			s.Fatal(err)
		}
		return id
	}, "janitor T15, w1 not_applied"},
	"T16": {func(s *suite) onceward.OperationID {
		l := s.unanswered("e")
		s.answer(onceward.Present)
		return l.Operation.ID
	}, "reconciler T16, w1 ambiguous, worker T10"},
	"T17": {func(s *suite) onceward.OperationID {
		l := s.unanswered("e")
		s.clock.Advance(time.Minute)
		s.answer(onceward.Absent)
		return l.Operation.ID
	}, "reconciler T17, w1 ambiguous, worker T10"},
	"T18": {func(s *suite) onceward.OperationID {
		l := s.unanswered("e")
		s.clock.Advance(time.Hour)
		s.answer(onceward.Unclear)
		return l.Operation.ID
	}, "reconciler T18, w1 ambiguous, worker T10"},
	"T19": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Unsafe)
		s.silent()
		s.end(l, onceward.Succeeded("late"), "")
		return l.Operation.ID
	}, "janitor T12, late owner T19, w1 completed"}, // the attempt is no longer lost
	"T15 by a dispute": {func(s *suite) onceward.OperationID {
		l := s.intendedAs(onceward.Lookup)
		s.silent()
		s.clock.Advance(time.Hour)
		s.answer(onceward.Absent)
		_, _ = s.Settle(ctx, l.Lease, onceward.Succeeded("late"), limits)
		return l.Operation.ID
	}, "janitor T12, late owner T15, reconciler T17, w1 completed"},
	"T20": {func(s *suite) onceward.OperationID {
		id := s.dead("e")
		_ = s.decided(s.Retry(ctx, id, decision))
		return id
	}, "ops T20, w1 refused, worker T9+T15"},
	"T18 T20": {func(s *suite) onceward.OperationID {
		id := s.unknown("e")
		d := decision
		d.Consent = true
		_ = s.decided(s.Retry(ctx, id, d))
		return id
	}, "ops T18+T20, w1 ambiguous, worker T10"},
	"T21": {func(s *suite) onceward.OperationID {
		id := s.dead("e")
		d := decision
		d.Evidence = "seen"
		_ = s.decided(s.Resolve(ctx, id, true, "r", d))
		return id
	}, "ops T21, w1 refused, worker T9+T15"},
	"T14b": {func(s *suite) onceward.OperationID {
		id := s.one("e")
		s.end(s.the(0, "", onceward.Keyed), onceward.NotApplied("503", s.clock.Now().Add(time.Hour)), "")
		_ = s.decided(s.Retry(ctx, id, decision))
		return id
	}, "ops T14b, w1 not_applied"},
	"T22 T23 T24": {func(s *suite) onceward.OperationID {
		id := s.one("e")
		for _, body := range []string{"other", "yet another"} {
			other := s.arrival("e", body)
			if _, err := s.RecordConflict(ctx, id.Event, s.admission(other), &other, onceward.HoldConflict); err != nil {
				s.Fatal(err)
			}
			if body == "other" {
				_ = s.decided(s.Retry(ctx, id, decision))
			}
		}
		_ = s.decided(s.Abandon(ctx, id, decision))
		return id
	}, "intake T24, intake T24, ops T22, ops T23"},
	"T24 by changed steps": {func(s *suite) onceward.OperationID {
		id := s.one("e", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("a"), twoSteps)
		s.at(1, onceward.NewPlan("other", "welcome"), onceward.Keyed)
		return id
	}, "janitor T9+T24, w1 completed"},
}

func (s *suite) intendedAs(effect onceward.Effect) onceward.Leased {
	s.Helper()
	s.one("e", planned("", effect))
	l := s.the(0, "", effect)
	var err error
	if l.Lease, err = s.Intend(ctx, l.Lease, time.Minute); err != nil {
		s.Fatal(err)
	}
	return l
}

// silent lets a lease run out, and the janitor look.
func (s *suite) silent() {
	s.Helper()
	s.clock.Advance(time.Minute)
	if n, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); n != 1 || err != nil {
		s.Fatal(n, err)
	}
}

func (s *suite) decided(o onceward.Operation, err error) onceward.Operation {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// recordCases hold I18: every change of state has a row that says by whom,
// under which fence and why, in the transaction that made it.
var recordCases = func() map[string]func(*suite) {
	all := map[string]func(*suite){}
	for name, change := range changes {
		all["of "+name] = func(s *suite) {
			id := change.do(s)
			var got []string
			last := record{}
			o, err := s.Operation(ctx, id)
			if err != nil {
				s.Fatal(err)
			}
			for _, r := range s.records(id) {
				got = append(got, r.by+" "+r.action)
				if r.by == "" || r.action == "" || r.reason == "" {
					s.Errorf("a record lacks who, what or why: %+v", r)
				}
				if r.state == o.State.String() {
					last = r
				}
			}
			slices.Sort(got)
			if have := strings.Join(got, ", "); have != change.want {
				s.Errorf("on record is\n%s, want\n%s", have, change.want)
			}
			if last.state == "" || last.fence > o.Fence || last.fence < o.Fence-1 {
				s.Errorf("it is %s under fence %d, and no record says so: %s", o.State, o.Fence, fmt.Sprint(s.records(id)))
			}
		}
	}
	return all
}()
