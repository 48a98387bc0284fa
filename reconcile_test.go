package onceward_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// asked is a lookup operation whose outcome is unknown; its call cannot have
// been sent after noon.
func asked() onceward.Operation {
	return onceward.Operation{
		Name: "fulfil", State: onceward.UnknownOutcome, Effect: onceward.Lookup, Fence: 4, Attempt: 1,
		Intent: true, IntentAt: noon.Add(-time.Minute), Unknown: true, AskAt: noon, SentBy: noon,
	}
}

func TestAnAbsenceCountsOnlyWhenAskedLateEnough(t *testing.T) {
	for name, test := range map[string]struct {
		asked, now time.Duration // after the call can last have been sent
		state      onceward.State
	}{
		"asked at once":                            {0, 0, onceward.UnknownOutcome},
		"asked at once, answered late":             {0, 10 * time.Minute, onceward.UnknownOutcome},
		"asked a moment too early":                 {time.Minute - 1, time.Minute, onceward.UnknownOutcome},
		"asked when it has settled":                {time.Minute, time.Minute, onceward.FailedBeforeEffect},
		"asked after the time for asking is over":  {2 * time.Hour, 2 * time.Hour, onceward.FailedBeforeEffect},
		"asked too early, and the time is over":    {time.Minute - 1, 2 * time.Hour, onceward.DeadLettered},
		"asked before the owner's pause has ended": {-onceward.OwnerPause, 0, onceward.UnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			f := onceward.Finding{Presence: onceward.Absent, Asked: noon.Add(test.asked), Evidence: "answered 404"}
			after, by, err := asked().Reconcile(4, f, inquiry, "", noon.Add(test.now))
			if err != nil || after.State != test.state || !follows(by, onceward.UnknownOutcome, after.State) {
				t.Fatalf("%s %+v, %v; want %s", by, after, err, test.state)
			}
			if after.State == onceward.FailedBeforeEffect && (after.Unknown || after.Intent || !after.DueAt.Equal(noon.Add(test.now)) || after.Fence != 5) {
				t.Fatalf("%+v", after)
			}
			if after.State == onceward.DeadLettered && !after.Unknown {
				t.Fatal("repeating it would need no consent")
			}
		})
	}
}

func TestAPresenceCountsAtAnyTime(t *testing.T) {
	for _, at := range []time.Duration{0, 30 * time.Second, 48 * time.Hour} {
		f := onceward.Finding{Presence: onceward.Present, Result: "ch_9", Asked: noon}
		after, by, err := asked().Reconcile(4, f, inquiry, "other,steps", noon.Add(at))
		if err != nil || by != "T16" || after.State != onceward.Completed || after.Result != "ch_9" || after.Intent {
			t.Fatalf("after %s: %s %+v, %v", at, by, after, err)
		}
	}
}

func TestOnlyWhatWasAskedAboutIsDecided(t *testing.T) {
	present := onceward.Finding{Presence: onceward.Present, Asked: noon}
	other := asked()
	other.AskAt, other.SentBy, other.Effect = time.Time{}, time.Time{}, onceward.Unsafe
	for name, try := range map[string]func() error{
		"another fence":        func() error { _, _, err := asked().Reconcile(3, present, inquiry, "", noon); return err },
		"not one to ask about": func() error { _, _, err := other.Reconcile(4, present, inquiry, "", noon); return err },
		"decided by its owner": func() error {
			l := lease(asked())
			l.Fence--
			late, _, err := asked().Settle(l, onceward.Succeeded("r"), limits, noon)
			if err != nil {
				return err
			}
			_, _, err = late.Reconcile(4, present, inquiry, "", noon)
			return err
		},
	} {
		if err := try(); !errors.Is(err, onceward.ErrFenced) {
			t.Errorf("%s: %v, want ErrFenced", name, err)
		}
	}
}

// TestWhenTheCallCanHaveBeenSent: what the waiting of an absence begins with.
func TestWhenTheCallCanHaveBeenSent(t *testing.T) {
	o := onceward.Operation{State: onceward.Processing, Effect: onceward.Lookup, Fence: 3, Attempt: 1, Intent: true, IntentAt: noon.Add(-time.Minute), Owner: "w1", DueAt: noon}
	told, _, err := o.Settle(lease(o), onceward.Ambiguous("timeout", noon), limits, noon.Add(-time.Second))
	if err != nil || !told.SentBy.Equal(noon.Add(-time.Second)) || !told.AskAt.Equal(noon.Add(-time.Second)) {
		t.Errorf("its owner says that its call is over: %+v, %v", told, err)
	}
	lost, by, err := o.Expire(limits, noon.Add(time.Hour))
	if err != nil || by != "T12" || !lost.SentBy.Equal(noon.Add(onceward.OwnerPause)) || !lost.AskAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("its owner was lost: %s %+v, %v", by, lost, err)
	}
	for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Unsafe} {
		o := o
		o.Effect, o.Attempt = effect, limits.Attempts
		if lost, _, err := o.Expire(limits, noon); err != nil || !lost.AskAt.IsZero() {
			t.Errorf("%s is asked about: %+v, %v", effect, lost, err)
		}
	}
}

func TestTheMemoryOfKeysCountsFromTheFirstCallThatMayHaveHadItsEffect(t *testing.T) {
	l := limits
	l.KeyMemory, l.Attempts = time.Hour, 0
	o := onceward.Operation{State: onceward.Received, Effect: onceward.Keyed, DueAt: noon}
	at := noon
	take := func(after time.Duration) {
		t.Helper()
		var err error
		at = at.Add(after)
		if o, _, err = o.Take("w1", l, true, at); err != nil {
			t.Fatal(err)
		}
	}
	settle := func(out onceward.Outcome) {
		t.Helper()
		var err error
		if o, _, err = o.Settle(lease(o), out, l, at); err != nil {
			t.Fatal(err)
		}
	}
	take(0)
	settle(onceward.NotApplied("503", at.Add(50*time.Minute)))
	take(50 * time.Minute) // the first had no effect, so its key was not remembered either
	began := at
	settle(onceward.Ambiguous("timeout", at.Add(time.Minute)))
	take(time.Minute)
	if !o.IntentAt.Equal(began) {
		t.Fatalf("it counts from %s, want %s", o.IntentAt, began)
	}
	late := o
	settle(onceward.Ambiguous("timeout", began.Add(time.Hour+1)))
	if o.State != onceward.UnknownOutcome || !o.Unknown {
		t.Fatalf("its repetition would come too late: %+v", o)
	}
	o, at = late, began
	settle(onceward.NotApplied("503", began.Add(time.Hour))) // in doubt, and just in time
	take(time.Hour)
	if o.State != onceward.Processing {
		t.Fatalf("%+v", o)
	}
	o, at = late, began
	settle(onceward.Ambiguous("timeout", began.Add(time.Hour)))
	take(time.Hour + time.Second) // nobody had room for it in time
	if o.State != onceward.UnknownOutcome {
		t.Fatalf("repeated too late: %+v", o)
	}
}

// TestWhatIsDisputed holds a success that comes too late against what was
// decided in the meantime.
func TestWhatIsDisputed(t *testing.T) {
	first := onceward.Lease{Fence: 3, Attempt: 1, Effect: onceward.Unsafe}
	standing := func(s onceward.State, attempt int) onceward.Operation {
		o := onceward.Operation{State: s, Effect: onceward.Unsafe, Fence: 6, Attempt: attempt, Plan: twoSteps}
		if s.Open() {
			o.DueAt = noon
		}
		return o
	}
	for name, test := range map[string]struct {
		o      onceward.Operation
		l      onceward.Lease
		state  onceward.State // 0: no dispute
		unsure bool           // repeating needs consent
	}{
		"found absent, and due":                {standing(onceward.FailedBeforeEffect, 1), first, onceward.DeadLettered, true},
		"retried with consent, and due":        {standing(onceward.Received, 1), first, onceward.DeadLettered, true},
		"its repetition is under way":          {standing(onceward.Processing, 2), first, onceward.Processing, true},
		"its repetition is unknown, too":       {standing(onceward.UnknownOutcome, 2), first, onceward.UnknownOutcome, true},
		"given up":                             {standing(onceward.DeadLettered, 1), first, onceward.DeadLettered, true},
		"its repetition is done":               {standing(onceward.Completed, 2), first, onceward.Completed, false},
		"found present":                        {standing(onceward.Completed, 1), first, 0, false},
		"of a keyed call":                      {standing(onceward.FailedBeforeEffect, 2), onceward.Lease{Fence: 3, Attempt: 1, Effect: onceward.Keyed}, 0, false},
		"by the owner of now":                  {standing(onceward.Processing, 2), onceward.Lease{Fence: 6, Attempt: 2, Effect: onceward.Unsafe}, 0, false},
		"its repetition did it, step by step":  {func() onceward.Operation { o := standing(onceward.Processing, 3); o.Step, o.Budget = 1, 2; return o }(), first, onceward.Processing, false},
		"it was found, and the next step runs": {func() onceward.Operation { o := standing(onceward.Processing, 2); o.Step, o.Budget = 1, 1; return o }(), first, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			after, by, err := test.o.Dispute(test.l, test.o.Budget, noon)
			if test.state == 0 {
				if !errors.Is(err, onceward.ErrFenced) || after != test.o {
					t.Fatalf("%s %+v, %v; want no dispute", by, after, err)
				}
				return
			}
			if err != nil || after.State != test.state || !after.Disputed || after.Unknown != test.unsure || !follows(by, test.o.State, after.State) {
				t.Fatalf("%s %+v, %v", by, after, err)
			}
			if after.State == onceward.FailedBeforeEffect || after.State == onceward.Received {
				t.Fatal("it would be repeated by itself")
			}
			if _, _, err := after.Dispute(test.l, test.o.Budget, noon); !errors.Is(err, onceward.ErrFenced) {
				t.Fatalf("disputed twice: %v", err)
			}
		})
	}
}

func TestNothingRepeatsADisputedStepByItself(t *testing.T) {
	disputed := onceward.Operation{State: onceward.Processing, Effect: onceward.Lookup, Fence: 6, Attempt: 2, Owner: "w2", DueAt: noon}
	disputed, _, err := disputed.Dispute(onceward.Lease{Fence: 3, Attempt: 1, Effect: onceward.Lookup}, 0, noon)
	if err != nil {
		t.Fatal(err)
	}
	if after, by, err := disputed.Take("w3", limits, false, noon); err != nil || after.State != onceward.DeadLettered {
		t.Errorf("its owner was lost before its call: %s %+v, %v", by, after, err)
	}
	if after, by, err := disputed.Settle(lease(disputed), onceward.NotApplied("503", noon), limits, noon); err != nil || after.State != onceward.DeadLettered || !after.Unknown {
		t.Errorf("turned away: %s %+v, %v", by, after, err)
	}
	if after, by, err := disputed.Settle(lease(disputed), onceward.Ambiguous("timeout", noon), limits, noon); err != nil || after.State != onceward.UnknownOutcome || !after.AskAt.IsZero() {
		t.Errorf("without an answer: %s %+v, %v", by, after, err)
	}
	dead, _, err := disputed.Settle(lease(disputed), onceward.Refused("422"), limits, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dead.Retry(decision, noon); !errors.Is(err, onceward.ErrConsent) {
		t.Errorf("retried without consent: %v", err)
	}
	if again, _, err := dead.Retry(consent, noon); err != nil || again.Disputed {
		t.Errorf("a person decided: %+v, %v", again, err)
	}
}
