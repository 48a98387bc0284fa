package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var inquiry = onceward.Inquiry{Settle: time.Minute, First: 5 * time.Second, Max: 10 * time.Minute, GiveUp: time.Hour}

// unanswered brings a lookup operation to unknown_outcome: its owner reports
// that he got no answer.
func (s *suite) unanswered(id string) onceward.Leased {
	s.Helper()
	s.one(id, planned("", onceward.Lookup))
	l := s.intended()
	s.end(l, onceward.Ambiguous("timeout", s.clock.Now()), "")
	return l
}

// intended takes a lookup operation and opens its intent.
func (s *suite) intended() onceward.Leased {
	s.Helper()
	l := s.the(0, "", onceward.Lookup)
	var err error
	if l.Lease, err = s.Intend(ctx, l.Lease, time.Minute); err != nil {
		s.Fatal(err)
	}
	return l
}

func (s *suite) inquiries() []onceward.Inquired {
	s.Helper()
	due, _, err := s.Inquiries(ctx, onceward.ClaimRequest{Name: "fulfil", Limit: 10})
	if err != nil {
		s.Fatal(err)
	}
	return due
}

// answer hands in what the other side said to the only question that is due.
func (s *suite) answer(p onceward.Presence) onceward.Operation {
	s.Helper()
	due := s.inquiries()
	if len(due) != 1 {
		s.Fatalf("%d questions are due, want 1", len(due))
	}
	f := onceward.Finding{Presence: p, Asked: due[0].Now, Evidence: "answered something"}
	if p == onceward.Present {
		f.Result = "ch_9"
	}
	o, err := s.Reconcile(ctx, due[0].Operation.ID, due[0].Operation.Fence, f, inquiry, "")
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// lastAudit is the newest audit row.
func (s *suite) lastAudit() onceward.Audit {
	s.Helper()
	all, _, err := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 1}})
	if err != nil || len(all) != 1 {
		s.Fatal(all, err)
	}
	return all[0]
}

var reconcileCases = map[string]func(*suite){
	"an ambiguous lookup call is asked about at once, and what is found completes it (case 62)": func(s *suite) {
		l := s.unanswered("e1")
		due := s.inquiries()
		if len(due) != 1 || due[0].Key != l.Event.Key || !due[0].Now.Equal(s.clock.Now()) {
			s.Fatalf("%+v", due)
		}
		if more := s.at(0, "", onceward.Lookup); len(more) != 0 {
			s.Fatal("an unknown outcome was claimed")
		}
		if o := s.answer(onceward.Present); o.State != onceward.Completed || o.Result != "ch_9" || !o.AskAt.IsZero() {
			s.Fatalf("%+v", o)
		}
		if a := s.lastAudit(); a.Actor != "reconciler" || a.Action != "T16" || a.Evidence == "" || a.To != "completed" {
			s.Fatalf("%+v", a)
		}
		s.counts("completed=1")
	},
	"an absence that is found too early waits for the settle time (case 62)": func(s *suite) {
		l := s.unanswered("e1")
		o := s.answer(onceward.Absent)
		if o.State != onceward.UnknownOutcome || !o.AskAt.After(s.clock.Now()) {
			s.Fatalf("%+v", o)
		}
		for o.State == onceward.UnknownOutcome {
			if o.AskAt.After(s.clock.Now().Add(time.Minute)) {
				s.Fatalf("asked next at %s, want it no later than when an absence can be believed", o.AskAt)
			}
			s.clock.Advance(o.AskAt.Sub(s.clock.Now()))
			o = s.answer(onceward.Absent)
		}
		if o.State != onceward.FailedBeforeEffect || o.Unknown || o.Intent || s.clock.Now().Before(l.Operation.Changed.Add(time.Minute)) {
			s.Fatalf("%+v", o)
		}
		if a := s.lastAudit(); a.Action != "T17" || a.Actor != "reconciler" || a.Fence != o.Fence {
			s.Fatalf("%+v", a)
		}
		if again := s.intended(); again.Lease.Attempt != 2 {
			s.Fatalf("%+v", again.Lease)
		}
	},
	"an answer to a question that was asked too early does not count, however late it comes": func(s *suite) {
		s.unanswered("e1")
		early := s.inquiries()[0]
		s.clock.Advance(2 * time.Minute)
		o, err := s.Reconcile(ctx, early.Operation.ID, early.Operation.Fence, onceward.Finding{Presence: onceward.Absent, Asked: early.Now}, inquiry, "")
		if err != nil || o.State != onceward.UnknownOutcome {
			s.Fatalf("%+v, %v", o, err)
		}
	},
	"of an owner that was lost an absence counts only after its pause, too (case 97)": func(s *suite) {
		s.one("e1", planned("", onceward.Lookup))
		s.intended()
		s.clock.Advance(time.Minute)
		if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
			s.Fatal(err)
		}
		final := s.clock.Now().Add(onceward.OwnerPause + inquiry.Settle)
		for s.clock.Now().Before(final) {
			o := s.answer(onceward.Absent)
			if o.State != onceward.UnknownOutcome {
				s.Fatalf("%s before a frozen owner can have sent: %+v", final.Sub(s.clock.Now()), o)
			}
			s.clock.Advance(o.AskAt.Sub(s.clock.Now()))
		}
		if o := s.answer(onceward.Absent); o.State != onceward.FailedBeforeEffect {
			s.Fatalf("%+v", o)
		}
	},
	"of an owner whose process is known to be dead only the settle time is waited for": func(s *suite) {
		s.one("e1", planned("", onceward.Lookup))
		s.intended()
		s.reopen()
		if more := s.at(0, "", onceward.Lookup); len(more) != 0 {
			s.Fatal("repeated without asking")
		}
		s.clock.Advance(inquiry.Settle)
		if o := s.answer(onceward.Absent); o.State != onceward.FailedBeforeEffect {
			s.Fatalf("%+v", o)
		}
	},
	"without a clear answer it is asked ever more rarely, and then a person decides": func(s *suite) {
		s.unanswered("e1")
		began, asked, last := s.clock.Now(), 0, time.Duration(0)
		o := s.answer(onceward.Unclear)
		for ; o.State == onceward.UnknownOutcome; o = s.answer(onceward.Unclear) {
			wait := o.AskAt.Sub(s.clock.Now())
			if wait < last || wait > inquiry.Max {
				s.Fatalf("waits %s after %s", wait, last)
			}
			asked, last = asked+1, wait
			s.clock.Advance(wait)
		}
		if o.State != onceward.DeadLettered || s.clock.Now().Sub(began) < inquiry.GiveUp || asked > 30 {
			s.Fatalf("asked %d times: %+v", asked, o)
		}
		if a := s.lastAudit(); a.Action != "T18" || a.Actor != "reconciler" {
			s.Fatalf("%+v", a)
		}
		if _, err := s.Retry(ctx, o.ID, decision); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("repeating without consent: %v", err)
		}
	},
	"what was decided meanwhile is not decided by an answer (case 66)": func(s *suite) {
		s.unanswered("e1")
		q := s.inquiries()[0]
		with := decision
		with.Evidence = "ch_1 in the console"
		if _, err := s.Resolve(ctx, q.Operation.ID, true, "ch_1", with); err != nil {
			s.Fatal(err)
		}
		for _, p := range []onceward.Presence{onceward.Present, onceward.Absent, onceward.Unclear} {
			if _, err := s.Reconcile(ctx, q.Operation.ID, q.Operation.Fence, onceward.Finding{Presence: p, Asked: q.Now.Add(time.Hour)}, inquiry, ""); !errors.Is(err, onceward.ErrFenced) {
				s.Fatalf("%s: %v", p, err)
			}
		}
		if o := s.want(q.Operation.ID, onceward.Completed); o.Result != "ch_1" {
			s.Fatalf("%+v", o)
		}
	},
	"a late success is taken while the outcome is unknown (case 64)": func(s *suite) {
		s.one("e1", planned("", onceward.Lookup))
		l := s.intended()
		s.clock.Advance(time.Minute)
		if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
			s.Fatal(err)
		}
		if o := s.end(l, onceward.Succeeded("late"), ""); o.State != onceward.Completed || o.Disputed {
			s.Fatalf("%+v", o)
		}
		if a := s.lastAudit(); a.Action != "T19" || a.Actor != "late owner" {
			s.Fatalf("%+v", a)
		}
		if due := s.inquiries(); len(due) != 0 {
			s.Fatalf("still asked about: %+v", due)
		}
	},
	"a late success after a believed absence is a dispute, and nothing more happens by itself (case 63)": func(s *suite) {
		for name, then := range map[string]func() onceward.State{
			"nobody has taken it yet": func() onceward.State { return onceward.DeadLettered },
			"it is repeated just now": func() onceward.State { s.intended(); return onceward.Processing },
			"its repetition is done": func() onceward.State {
				s.end(s.intended(), onceward.Succeeded("second"), "")
				return onceward.Completed
			},
			"its repetition was turned away": func() onceward.State {
				s.end(s.intended(), onceward.Refused("422"), "")
				return onceward.DeadLettered
			},
		} {
			s.one(name, planned("", onceward.Lookup))
			l := s.intended()
			s.clock.Advance(time.Minute)
			if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
				s.Fatal(err)
			}
			s.clock.Advance(onceward.OwnerPause + inquiry.Settle)
			if o := s.answer(onceward.Absent); o.State != onceward.FailedBeforeEffect {
				s.Fatalf("%+v", o)
			}
			state := then()
			if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("first"), limits); !errors.Is(err, onceward.ErrDisputed) || !errors.Is(err, onceward.ErrFenced) {
				s.Fatalf("%s: %v, want a dispute", name, err)
			}
			o := s.want(l.Operation.ID, state)
			if a := s.lastAudit(); !o.Disputed || a.Actor != "late owner" || !strings.Contains(a.Evidence, "first") {
				s.Fatalf("%s: %+v, audit %+v", name, o, a)
			}
			if state == onceward.Completed {
				if o.Result != "second" {
					s.Fatalf("%s: a completed result was changed to %q", name, o.Result)
				}
				continue
			}
			if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("first"), limits); !errors.Is(err, onceward.ErrFenced) || errors.Is(err, onceward.ErrDisputed) {
				s.Fatalf("%s: reported twice: %v", name, err)
			}
			if state == onceward.Processing { // turned away, it is not tried again
				second := onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Owner: o.Owner}
				if o, err := s.Settle(ctx, second, onceward.NotApplied("503", s.clock.Now()), limits); err != nil || o.State != onceward.DeadLettered {
					s.Fatalf("%s: %+v, %v", name, o, err)
				}
			}
			if more := s.at(0, "", onceward.Lookup); len(more) != 0 {
				s.Fatalf("%s: claimed again", name)
			}
			if _, err := s.Retry(ctx, l.Operation.ID, decision); !errors.Is(err, onceward.ErrConsent) {
				s.Fatalf("%s: repeating without consent: %v", name, err)
			}
		}
	},
	"a late success that agrees with what was found is no dispute": func(s *suite) {
		s.one("e1", planned("", onceward.Lookup))
		l := s.intended()
		s.clock.Advance(time.Minute)
		if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
			s.Fatal(err)
		}
		s.answer(onceward.Present)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("late"), limits); !errors.Is(err, onceward.ErrFenced) || errors.Is(err, onceward.ErrDisputed) {
			s.Fatalf("%v", err)
		}
		if o := s.want(l.Operation.ID, onceward.Completed); o.Disputed || o.Result != "ch_9" {
			s.Fatalf("%+v", o)
		}
	},
	"what is found of a middle step is its recovery point": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Lookup))
		l := s.the(0, twoSteps, onceward.Lookup)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.end(l, onceward.Ambiguous("timeout", s.clock.Now()), twoSteps)
		q := s.inquiries()[0]
		o, err := s.Reconcile(ctx, id, q.Operation.Fence, onceward.Finding{Presence: onceward.Present, Result: "acc_1", Asked: q.Now}, inquiry, twoSteps)
		if err != nil || o.State != onceward.FailedBeforeEffect || o.Step != 1 || o.Unknown {
			s.Fatalf("%+v, %v", o, err)
		}
		s.points(id, "account=acc_1")
		if l := s.the(1, twoSteps, onceward.Keyed); l.Results["account"] != "acc_1" {
			s.Fatalf("%+v", l)
		}
	},
	"only lookup operations are asked about, and when the next is due is said": func(s *suite) {
		s.unknown("e1") // unsafe
		if due := s.inquiries(); len(due) != 0 {
			s.Fatalf("%+v", due)
		}
		s.unanswered("e2")
		o := s.answer(onceward.Unclear)
		due, next, err := s.Inquiries(ctx, onceward.ClaimRequest{Name: "fulfil", Limit: 10})
		if err != nil || len(due) != 0 || !next.Equal(o.AskAt) {
			s.Fatalf("%v, next %s, %v; want %s", due, next, err, o.AskAt)
		}
		s.reopen()
		s.clock.Advance(time.Minute)
		if due := s.inquiries(); len(due) != 1 {
			s.Fatalf("after a restart %d questions are due", len(due))
		}
	},
}
