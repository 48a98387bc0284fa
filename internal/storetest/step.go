package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// twoSteps is an operation that opens an account and then sends a mail.
var twoSteps = onceward.NewPlan("account", "welcome")

func planned(plan onceward.Plan, effect onceward.Effect) func(*onceward.Arrival) {
	return func(a *onceward.Arrival) { a.Operations[0].Plan, a.Operations[0].Effect = plan, effect }
}

func under(plan onceward.Plan) onceward.Limits {
	l := limits
	l.Plan = plan
	return l
}

// at claims what is due of "fulfil" at one step, under a plan.
func (s *suite) at(step int, plan onceward.Plan, effect onceward.Effect) []onceward.Leased {
	s.Helper()
	leased, _, err := s.Claim(ctx, onceward.ClaimRequest{
		Name: "fulfil", Step: step, Owner: "w1", Effect: effect, Limits: under(plan), Intend: effect == onceward.Keyed, Limit: 10,
	})
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	return leased
}

// the claims exactly one operation at a step.
func (s *suite) the(step int, plan onceward.Plan, effect onceward.Effect) onceward.Leased {
	s.Helper()
	leased := s.at(step, plan, effect)
	if len(leased) != 1 {
		s.Fatalf("claimed %d operations at step %d, want 1", len(leased), step)
	}
	return leased[0]
}

func (s *suite) end(l onceward.Leased, out onceward.Outcome, plan onceward.Plan) onceward.Operation {
	s.Helper()
	o, err := s.Settle(ctx, l.Lease, out, under(plan))
	if err != nil {
		s.Fatalf("settle: %v", err)
	}
	return o
}

// points checks the recovery points of an operation: "account=acc_1 welcome=m_1".
func (s *suite) points(id onceward.OperationID, want string) {
	s.Helper()
	all, err := s.Steps(ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	got := ""
	for _, step := range all {
		got += fmt.Sprintf(" %s=%s", step.Name, step.Result)
	}
	if got != "" {
		got = got[1:]
	}
	if got != want {
		s.Fatalf("recovery points %q, want %q", got, want)
	}
}

var stepCases = map[string]func(*suite){
	"a step that is done is kept with its result, and the next is due at once": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		if more := s.at(1, twoSteps, onceward.Keyed); len(more) != 0 {
			s.Fatal("the second step was claimed before the first was done")
		}
		first := s.the(0, twoSteps, onceward.Keyed)
		o := s.end(first, onceward.Succeeded("acc_1"), twoSteps)
		if o.State != onceward.Processing || o.Step != 1 || o.StepName() != "welcome" || o.Owner != "" || o.Intent || !o.DueAt.Equal(s.clock.Now()) || o.Budget != o.Attempt {
			s.Fatalf("%+v", o)
		}
		s.points(id, "account=acc_1")
		if again := s.at(0, twoSteps, onceward.Keyed); len(again) != 0 {
			s.Fatal("the first step was claimed again")
		}
		// The owner of the first step, who does not know that his report was
		// recorded, must not settle the second with it.
		if _, err := s.Settle(ctx, first.Lease, onceward.Succeeded("acc_1"), under(twoSteps)); !errors.Is(err, onceward.ErrFenced) {
			s.Fatalf("the first step's success was recorded twice: %v", err)
		}
		second := s.the(1, twoSteps, onceward.Unsafe)
		if second.Results["account"] != "acc_1" || second.Operation.Effect != onceward.Unsafe || second.Lease.Step != 1 {
			s.Fatalf("%+v", second)
		}
		if second.Operation.Intent {
			s.Fatal("the first step's intent is still open")
		}
		if o := s.end(second, onceward.Succeeded("m_1"), twoSteps); o.State != onceward.Completed || o.Result != "m_1" {
			s.Fatalf("%+v", o)
		}
		s.points(id, "account=acc_1 welcome=m_1")
		s.counts("completed=1")
		h, err := s.History(ctx, id.Event)
		if err != nil || len(h.Steps) != 2 || len(h.Attempts) != 2 {
			s.Fatalf("%+v, %v", h, err)
		}
	},
	"a success that is reported twice is no dispute, however far the operation has come": func(s *suite) {
		plan := onceward.NewPlan("account", "welcome", "invoice")
		id := s.one("e1", planned(plan, onceward.Unsafe))
		intend := func(step int) onceward.Leased {
			l := s.the(step, plan, onceward.Unsafe)
			if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
				s.Fatal(err)
			}
			return l
		}
		first := intend(0)
		s.end(first, onceward.Succeeded("acc_1"), plan) // and say that the answer was lost
		s.end(intend(1), onceward.Succeeded("m_1"), plan)
		again := func(when string) {
			s.Helper()
			if _, err := s.Settle(ctx, first.Lease, onceward.Succeeded("acc_1"), under(plan)); !errors.Is(err, onceward.ErrFenced) || errors.Is(err, onceward.ErrDisputed) {
				s.Fatalf("%s: %v, want fenced", when, err)
			}
			if o, err := s.Operation(ctx, id); err != nil || o.Disputed {
				s.Fatalf("%s: %+v, %v", when, o, err)
			}
		}
		again("two steps later")
		s.end(intend(2), onceward.Succeeded("i_1"), plan)
		again("at the end")
	},
	"a step is not repeated, through backoff, dead letter, retry and a restart (case 99)": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
		for n := range 3 { // the second step has a whole budget of its own
			o := s.end(s.the(1, twoSteps, onceward.Keyed), onceward.NotApplied("503", s.clock.Now().Add(time.Second)), twoSteps)
			if want := onceward.FailedBeforeEffect; n < 2 && o.State != want {
				s.Fatalf("after attempt %d of the second step: %s", n+1, o.State)
			}
			s.clock.Advance(time.Second)
			s.reopen()
		}
		s.want(id, onceward.DeadLettered)
		if _, err := s.Retry(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		if more := s.at(0, twoSteps, onceward.Keyed); len(more) != 0 {
			s.Fatal("the first step was claimed after the retry")
		}
		l := s.the(1, twoSteps, onceward.Keyed)
		if l.Results["account"] != "acc_1" {
			s.Fatalf("results %v", l.Results)
		}
		s.end(l, onceward.Succeeded("m_1"), twoSteps)
		s.points(id, "account=acc_1 welcome=m_1")
	},
	"an owner that is lost at a later step leaves it for a takeover at that step": func(s *suite) {
		s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
		lost := s.the(1, twoSteps, onceward.Keyed)
		s.clock.Advance(time.Minute)
		l := s.the(1, twoSteps, onceward.Keyed)
		if l.Lease.Fence <= lost.Lease.Fence || !l.Operation.Doubt || l.Results["account"] != "acc_1" || !l.Recovered {
			s.Fatalf("%+v", l)
		}
	},
	"a person resolves the step at which it stands, and the next one is due": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Unsafe))
		l := s.the(0, twoSteps, onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.end(l, onceward.Ambiguous("reset", s.clock.Now()), twoSteps)
		with := decision
		with.Evidence = "acc_7 in the console"
		if _, err := s.Resolve(ctx, id, true, "acc_7", with); err != nil {
			s.Fatal(err)
		}
		if o := s.want(id, onceward.FailedBeforeEffect); o.Step != 1 || o.Unknown || o.Intent {
			s.Fatalf("%+v", o)
		}
		s.points(id, "account=acc_7")
		if l := s.the(1, twoSteps, onceward.Keyed); l.Results["account"] != "acc_7" {
			s.Fatalf("%+v", l)
		}
	},
	"another delivery's content no longer holds what has had an effect (2e)": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
		s.end(s.the(1, twoSteps, onceward.Keyed), onceward.NotApplied("503", s.clock.Now()), twoSteps)
		other := s.arrival("e1", "other")
		if _, err := s.RecordConflict(ctx, id.Event, s.admission(other), &other, onceward.HoldConflict); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.FailedBeforeEffect)
	},
	"steps that were renamed, reordered or removed stop what stands in the middle": func(s *suite) {
		for name, today := range map[string]onceward.Plan{
			"renamed": onceward.NewPlan("profile", "welcome"), "reordered": onceward.NewPlan("welcome", "account"),
			"removed": onceward.NewPlan("account"), "replaced by a destination": "",
		} {
			id := s.one(name, planned(twoSteps, onceward.Keyed))
			s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
			leased := s.at(1, today, onceward.Keyed)
			limits := make([]onceward.Limits, today.Len())
			for i := range limits {
				limits[i] = under(today)
			}
			if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": limits}, 10); err != nil {
				s.Fatal(err)
			}
			if o := s.want(id, onceward.Quarantined); len(leased) != 0 || o.Step != 1 || o.Reason == "" {
				s.Fatalf("%s: leased %d, %+v", name, len(leased), o)
			}
			// Put back, and retried by a person, it goes on where it stood.
			if _, err := s.Retry(ctx, id, decision); err != nil {
				s.Fatal(err)
			}
			s.end(s.the(1, twoSteps, onceward.Keyed), onceward.Succeeded("m_1"), twoSteps)
			s.points(id, "account=acc_1 welcome=m_1")
		}
	},
	"steps may change after the one at which it stands, and before any has begun": func(s *suite) {
		longer := onceward.NewPlan("account", "note", "welcome")
		s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
		if l := s.the(1, longer, onceward.Keyed); l.Operation.StepName() != "note" {
			s.Fatalf("%+v", l.Operation)
		}
		s.one("e2", planned("", onceward.Keyed))
		if l := s.the(0, longer, onceward.Keyed); l.Operation.StepName() != "account" {
			s.Fatalf("%+v", l.Operation)
		}
	},
	"a renamed step whose call may have had its effect becomes an unknown outcome": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Ambiguous("timeout", s.clock.Now()), twoSteps)
		if leased := s.at(0, onceward.NewPlan("profile", "welcome"), onceward.Keyed); len(leased) != 0 {
			s.Fatal("called again under another key")
		}
		s.want(id, onceward.UnknownOutcome)
	},
	"a keyed call is not repeated past the memory of its key (case 61)": func(s *suite) {
		memory := limits
		memory.KeyMemory = time.Hour
		claim := func() []onceward.Leased {
			leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w1", Effect: onceward.Keyed, Limits: memory, Intend: true, Limit: 10})
			if err != nil {
				s.Fatal(err)
			}
			return leased
		}
		waits := s.one("e1")
		l := claim()[0]
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now().Add(59*time.Minute)), memory); err != nil {
			s.Fatal(err)
		}
		s.want(waits, onceward.Processing)
		s.clock.Advance(59 * time.Minute)
		l = claim()[0] // within
		if !l.Operation.IntentAt.Equal(s.clock.Now().Add(-59 * time.Minute)) {
			s.Fatalf("the memory of the key counts from %s", l.Operation.IntentAt)
		}
		if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("timeout", s.clock.Now().Add(2*time.Minute)), memory); err != nil {
			s.Fatal(err)
		}
		s.want(waits, onceward.UnknownOutcome) // its repetition would have come too late

		lost := s.one("e2")
		claim()
		s.clock.Advance(time.Hour + time.Second) // its owner is gone for longer than that
		if again := claim(); len(again) != 0 {
			s.Fatal("repeated past the memory of the key")
		}
		s.want(lost, onceward.UnknownOutcome)

		// What provably had no effect does not count.
		fresh := s.one("e3")
		l = claim()[0]
		if _, err := s.Settle(ctx, l.Lease, onceward.NotApplied("503", s.clock.Now().Add(3*time.Hour)), memory); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(3 * time.Hour)
		if again := claim(); len(again) != 1 {
			s.Fatal("not tried again")
		}
		s.want(fresh, onceward.Processing)
	},
	"recovery points are forgotten with their event": func(s *suite) {
		id := s.one("e1", planned(twoSteps, onceward.Keyed))
		s.end(s.the(0, twoSteps, onceward.Keyed), onceward.Succeeded("acc_1"), twoSteps)
		s.end(s.the(1, twoSteps, onceward.Keyed), onceward.Succeeded("m_1"), twoSteps)
		s.clock.Advance(91 * 24 * time.Hour)
		if _, n, err := s.PruneKeys(ctx, 0, 90*24*time.Hour, 10); n != 1 || err != nil {
			s.Fatal(n, err)
		}
		s.points(id, "")
	},
	"operations at different steps do not wait for each other": func(s *suite) {
		for i := range 5 {
			s.one(fmt.Sprint("e", i), planned(twoSteps, onceward.Keyed))
		}
		for i, l := range s.at(0, twoSteps, onceward.Keyed) {
			if i%2 == 0 {
				s.end(l, onceward.Succeeded(""), twoSteps)
			} else {
				s.end(l, onceward.NotApplied("503", s.clock.Now()), twoSteps)
			}
		}
		var steps []int
		for step := range 2 {
			for _, l := range s.at(step, twoSteps, onceward.Keyed) {
				steps = append(steps, l.Operation.Step)
			}
		}
		if !slices.Equal(steps, []int{0, 0, 1, 1, 1}) {
			s.Fatalf("claimed at steps %v", steps)
		}
	},
}
