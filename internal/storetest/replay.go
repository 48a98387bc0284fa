package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// replay replays an event and fails the test on an error.
func (s *suite) replay(id onceward.EventID, mode onceward.Mode, change ...func(*onceward.Replay)) []onceward.Replayed {
	s.Helper()
	all, err := s.Replay(ctx, id, replayOf(mode, change...))
	if err != nil {
		s.Fatalf("%s: %v", mode, err)
	}
	return all
}

func replayOf(mode onceward.Mode, change ...func(*onceward.Replay)) onceward.Replay {
	r := onceward.Replay{Decision: decision, Mode: mode, Held: true}
	for _, c := range change {
		c(&r)
	}
	return r
}

func consenting(r *onceward.Replay) { r.Consent = true }
func dry(r *onceward.Replay)        { r.DryRun = true }

// did says in short what a replay did: "retried T20, left".
func did(all []onceward.Replayed) string {
	var b strings.Builder
	for i, r := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.TrimSpace(r.Did + " " + r.By))
	}
	return b.String()
}

// done runs one operation of an event to completed.
func (s *suite) done(id string) onceward.OperationID {
	s.Helper()
	op := s.one(id)
	s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r-"+id))
	return op
}

func (s *suite) settle(l onceward.Leased, out onceward.Outcome) onceward.Operation {
	s.Helper()
	o, err := s.Settle(ctx, l.Lease, out, limits)
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// key is what the other side is sent for an operation.
func (s *suite) key(id onceward.OperationID) string {
	s.Helper()
	h, err := s.History(ctx, id.Event)
	if err != nil {
		s.Fatal(err)
	}
	return h.Event.Operations[id.N-1].Downstream(h.Event.Key, "")
}

// audited is the number of rows in the audit log.
func (s *suite) audited() int {
	s.Helper()
	all, _, err := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 100}})
	if err != nil {
		s.Fatal(err)
	}
	return len(all)
}

var replayCases = map[string]func(*suite){
	"resume takes up what is unfinished and leaves what is done": func(s *suite) {
		a := s.arrival("e1", "x")
		a.Operations = append(a.Operations, onceward.Planned{Name: "mail", Effect: onceward.Keyed})
		event := s.admit(a)[0].Event
		s.settle(s.take("w1", onceward.Keyed), onceward.Succeeded("r"))
		mail, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "mail", Owner: "w", Effect: onceward.Keyed, Limits: limits, Limit: 1})
		if err != nil || len(mail) != 1 {
			s.Fatal(mail, err)
		}
		s.settle(mail[0], onceward.Refused("400"))
		if got := did(s.replay(event, onceward.Resume)); got != "left, retried T20" {
			s.Fatal(got)
		}
		s.want(onceward.OperationID{Event: event, N: 1}, onceward.Completed)
		s.want(onceward.OperationID{Event: event, N: 2}, onceward.Received)
		s.counts("completed=1 received=1")
	},
	"case 73: a dead letter that dies again is taken up again, with the same key": func(s *suite) {
		id := s.dead("e1")
		key := s.key(id)
		for range 3 { // K12 114: the second click works as the first did
			if got := did(s.replay(id.Event, onceward.Resume)); got != "retried T20" {
				s.Fatal(got)
			}
			l := s.take("w", onceward.Keyed)
			if l.Operation.ID != id || l.Operation.Downstream(l.Event.Key, "") != key {
				s.Fatalf("%+v", l)
			}
			s.settle(l, onceward.Refused("answered 422"))
		}
	},
	"the audit log tells a redelivery from a second effect, and who took a risk": func(s *suite) {
		id := s.done("e1")
		want := func(when, mode string, consent bool) {
			s.Helper()
			h, err := s.History(ctx, id.Event)
			if err != nil {
				s.Fatal(err)
			}
			last := s.lastAudit()
			if last.Mode != mode || last.Consent != consent || h.Audits[len(h.Audits)-1] != last {
				s.Fatalf("%s: %+v, in the history %+v", when, last, h.Audits)
			}
		}
		s.replay(id.Event, onceward.Redeliver)
		want("redelivered", "redeliver", false)
		s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
		s.replay(id.Event, onceward.Reexecute, consenting)
		want("re-executed", "reexecute", true)
		l := s.take("w", onceward.Keyed)
		s.settle(l, onceward.Refused("422"))
		s.replay(id.Event, onceward.Resume)
		want("resumed", "resume", false)
		s.settle(s.take("w", onceward.Keyed), onceward.Refused("422"))
		risky := decision
		risky.Consent = true
		if _, err := s.Retry(ctx, l.Operation.ID, risky); err != nil {
			s.Fatal(err)
		}
		want("retried at somebody's risk", "", true)
	},
	"redeliver repeats what is completed in an operation of its own: same key, attempt rising": func(s *suite) {
		id := s.done("e1")
		first := s.want(id, onceward.Completed)
		for n := 2; n <= 3; n++ {
			if got := did(s.replay(id.Event, onceward.Redeliver)); got != "redelivered T0b" {
				s.Fatal(got)
			}
			l := s.take("w", onceward.Keyed)
			if l.Operation.ID.N != n || l.Operation.Attempt != n || l.Operation.Redelivery != n-1 || l.Operation.Generation != 0 || string(l.Payload.Body) != `{"id":"e1"}` {
				s.Fatalf("%+v", l)
			}
			if s.key(l.Operation.ID) != s.key(id) {
				s.Fatal("another key")
			}
			s.settle(l, onceward.Succeeded("r2"))
		}
		if got := s.want(id, onceward.Completed); got != first {
			s.Fatalf("the completed operation changed: %+v, was %+v", got, first)
		}
		s.counts("completed=3")
	},
	"whoever asks at the same time, one redelivery is recorded": func(s *suite) {
		id := s.done("e1")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Redeliver)); err != nil {
					s.Errorf("redeliver: %v", err)
				}
			})
		}
		all.Wait()
		s.counts("received=1 completed=1")
	},
	"a redelivery has a retry budget of its own": func(s *suite) {
		id := s.done("e1")
		s.replay(id.Event, onceward.Redeliver)
		for range limits.Attempts {
			s.settle(s.take("w", onceward.Keyed), onceward.NotApplied("503", s.clock.Now()))
		}
		again := onceward.OperationID{Event: id.Event, N: 2}
		s.want(again, onceward.DeadLettered)
		if got := did(s.replay(id.Event, onceward.Redeliver)); got != "retried T20" {
			s.Fatal(got)
		}
	},
	"a redelivery that is not done is not doubled": func(s *suite) {
		id := s.done("e1")
		s.replay(id.Event, onceward.Redeliver)
		if got := did(s.replay(id.Event, onceward.Redeliver)); got != "left" {
			s.Fatal(got)
		}
		s.take("w", onceward.Keyed)
		if got := did(s.replay(id.Event, onceward.Redeliver)); got != "left" {
			s.Fatal(got)
		}
		s.counts("processing=1 completed=1")
	},
	"what is no longer kept is not redelivered": func(s *suite) {
		id := s.done("e1")
		s.clock.Advance(31 * day)
		s.prune()
		for _, mode := range []onceward.Mode{onceward.Redeliver, onceward.Reexecute} {
			for _, change := range []func(*onceward.Replay){dry, consenting} {
				if _, err := s.Replay(ctx, id.Event, replayOf(mode, change)); !errors.Is(err, onceward.ErrNotAllowed) {
					s.Fatalf("%s: %v", mode, err)
				}
			}
		}
		s.counts("completed=1")
	},
	"redelivery past the destination's memory of the key needs consent": func(s *suite) {
		id := s.done("e1")
		remembering := func(r *onceward.Replay) { r.KeyMemory = map[string]time.Duration{"fulfil": time.Hour} }
		s.clock.Advance(59 * time.Minute)
		if got := did(s.replay(id.Event, onceward.Redeliver, remembering, dry)); got != "redelivered T0b" {
			s.Fatal(got)
		}
		s.clock.Advance(2 * time.Minute)
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Redeliver, remembering)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.replay(id.Event, onceward.Redeliver, remembering, consenting)
		// The key is as old as its first call, also for the redelivery.
		l := s.take("w", onceward.Keyed)
		if want := s.want(id, onceward.Completed).IntentAt; !l.Operation.IntentAt.Equal(want) || want.IsZero() {
			s.Fatalf("intent at %v, want %v", l.Operation.IntentAt, want)
		}
	},
	"redelivery of several steps repeats all of them, with consent": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc"), twoSteps)
		s.end(s.the(1, twoSteps, onceward.Keyed), onceward.Succeeded("sent"), twoSteps)
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Redeliver)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.replay(id.Event, onceward.Redeliver, consenting)
		l := s.the(0, twoSteps, onceward.Keyed)
		if l.Operation.Redelivery != 1 || l.Operation.Step != 0 || len(l.Results) != 0 || l.Operation.StepName() != "account" {
			s.Fatalf("%+v", l)
		}
		s.end(l, onceward.Succeeded("acc"), twoSteps)
		if l := s.the(1, twoSteps, onceward.Keyed); l.Operation.Attempt != 4 {
			s.Fatalf("%+v", l)
		}
	},
	"redelivery to who does not deduplicate needs consent": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, limits.Lease); err != nil {
			s.Fatal(err)
		}
		s.settle(l, onceward.Succeeded("r"))
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Redeliver)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.counts("completed=1")
		s.replay(id.Event, onceward.Redeliver, consenting)
		s.counts("received=1 completed=1")
	},
	"re-execution is a new generation with a new key, and never without consent": func(s *suite) {
		id := s.done("e1")
		before := s.audited()
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Reexecute)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		if s.audited() != before {
			s.Fatal("a refused replay left a trace")
		}
		if got := did(s.replay(id.Event, onceward.Reexecute, consenting)); got != "reexecuted T0b" {
			s.Fatal(got)
		}
		l := s.take("w", onceward.Keyed)
		if l.Operation.Generation != 1 || l.Operation.Attempt != 1 || s.key(l.Operation.ID) == s.key(id) {
			s.Fatalf("%+v", l.Operation)
		}
		s.settle(l, onceward.Succeeded("r2"))
		s.replay(id.Event, onceward.Reexecute, consenting)
		if l := s.take("w", onceward.Keyed); l.Operation.Generation != 2 {
			s.Fatalf("%+v", l.Operation)
		}
		audit, _, err := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 10}})
		if err != nil || audit[0].Actor != "ops" || audit[0].Reason != decision.Reason || audit[0].Action != "T0b" || audit[0].To != "received" {
			s.Fatalf("%+v, %v", audit, err)
		}
	},
	"re-executing a dead letter closes it without saying that it had its effect": func(s *suite) {
		id := s.dead("e1")
		if got := did(s.replay(id.Event, onceward.Reexecute, consenting)); got != "superseded T20+T25, reexecuted T0b" {
			s.Fatal(got)
		}
		if o := s.want(id, onceward.Completed); !o.Superseded || o.Result != "" {
			s.Fatalf("%+v", o)
		}
		// What never ran is not redelivered; what replaced it is.
		s.settle(s.take("w", onceward.Keyed), onceward.Succeeded("r"))
		if got := did(s.replay(id.Event, onceward.Redeliver, func(r *onceward.Replay) { r.Operations = []string{"fulfil"} })); got != "redelivered T0b" {
			s.Fatal(got)
		}
		s.counts("received=1 completed=2")
	},
	"an unknown outcome is not re-executed, and resumed only with consent": func(s *suite) {
		id := s.unknown("e1")
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Reexecute, consenting)); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
		if _, err := s.Replay(ctx, id.Event, replayOf(onceward.Resume)); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.want(id, onceward.UnknownOutcome)
	},
	"a dry run tells the same and changes nothing": func(s *suite) {
		done, dead, held := s.done("e1"), s.dead("e2"), s.holdEvent("e3", "x", "unknown version")
		reading := s.arrival("e3", "x")
		before, audited := s.eventRows(), s.audited()
		for _, c := range []struct {
			event onceward.EventID
			mode  onceward.Mode
			want  string
		}{
			{done.Event, onceward.Resume, "left"},
			{done.Event, onceward.Redeliver, "redelivered T0b"},
			{dead.Event, onceward.Resume, "retried T20"},
			{dead.Event, onceward.Reexecute, "superseded T20+T25, reexecuted T0b"},
			{held, onceward.Resume, "released T0b"},
		} {
			read := func(r *onceward.Replay) { r.Reading = &reading }
			told := did(s.replay(c.event, c.mode, dry, consenting, read))
			if told != c.want {
				s.Errorf("%s: %s, want %s", c.mode, told, c.want)
			}
			if after := s.eventRows(); after != before || s.audited() != audited {
				s.Fatalf("%s changed something:\n%s\n%s", c.mode, before, after)
			}
		}
	},
	"a replay obeys the guard of its stream: the newest is repeated, an older one is not": func(s *suite) {
		for _, order := range []onceward.Order{{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed}, strict()} {
			st := s.stream(order)
			one := st.arrive(1)
			st.runs(1, one)
			two := st.arrive(2)
			st.runs(1, two)
			s.replay(two.Event, onceward.Redeliver)
			again := onceward.OperationID{Event: two.Event, N: 2}
			l := st.take(again)
			three := st.arrive(3)
			st.idle() // never two active in one stream
			st.succeed(l)
			st.runs(1, three)
			s.replay(one.Event, onceward.Redeliver)
			st.idle()
			if o := s.want(onceward.OperationID{Event: one.Event, N: 2}, onceward.Completed); !o.Superseded {
				s.Fatalf("%+v", o)
			}
		}
	},
}

// eventRows are all events with their operations, as one text.
func (s *suite) eventRows() string {
	s.Helper()
	all, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 100}})
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprintf("%+v", all)
}
