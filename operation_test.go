package onceward_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

func TestEveryFunctionInEveryStateFollowsTheTable(t *testing.T) {
	for _, m := range moves() {
		reached := map[onceward.State]bool{}
		for _, before := range standings() {
			l := lease(before)
			if before.State == onceward.UnknownOutcome {
				l.Fence-- // as its owner remembers it
			}
			after, name, err := m.call(before, l)
			where := fmt.Sprintf("%s on %+v", m.name, before)
			if err != nil {
				if diff := cmp.Diff(before, after); diff != "" || name != "" {
					t.Fatalf("%s: refused (%v), and yet %q changed it:\n%s", where, err, name, diff)
				}
				continue
			}
			reached[before.State] = true
			if !follows(name, before.State, after.State) {
				t.Fatalf("%s: %s does not lead from %s to %s", where, name, before.State, after.State)
			}
			if rule := broken(after); rule != "" {
				t.Fatalf("%s left %+v: %s", where, after, rule)
			}
			if after.Fence < before.Fence {
				t.Fatalf("%s: the fence fell from %d to %d", where, before.Fence, after.Fence)
			}
			if !after.Changed.Equal(noon) {
				t.Fatalf("%s: changed at %s, not now", where, after.Changed)
			}
			if after.ID != before.ID || after.Name != before.Name || after.Generation != before.Generation || before.Unknown && !after.Unknown && name != "T17" && after.Step == before.Step || after.Step < before.Step {
				t.Fatalf("%s lost what must stay: %+v", where, after)
			}
		}
		for _, s := range onceward.States() {
			may := false
			for _, f := range m.from {
				may = may || f == s
			}
			if reached[s] != may {
				t.Errorf("%s from %s: possible is %v, want %v", m.name, s, reached[s], may)
			}
		}
	}
}

func TestAStaleLeaseChangesNothing(t *testing.T) {
	for _, m := range moves() {
		if !m.leased {
			continue
		}
		for _, before := range standings() {
			for _, fence := range []int64{before.Fence - 2, before.Fence - 1, before.Fence + 1} {
				l := lease(before)
				l.Fence = fence
				_, name, err := m.call(before, l)
				late := before.State == onceward.UnknownOutcome && fence == before.Fence-1 && name == "T19"
				if !errors.Is(err, onceward.ErrFenced) && !late {
					t.Fatalf("%s with fence %d on %+v: %s, %v; want ErrFenced", m.name, fence, before, name, err)
				}
			}
		}
	}
}

func TestWhoWorksChangesTheFence(t *testing.T) {
	for _, m := range moves() {
		for _, before := range standings() {
			after, name, err := m.call(before, lease(before))
			if err != nil || m.leased {
				continue
			}
			taken := after.Owner != before.Owner && after.Owner != ""
			leaves := before.Owner != "" && after.Owner == ""
			if (taken || leaves) && after.Fence == before.Fence {
				t.Fatalf("%s (%s) on %+v: another owner under the same fence", m.name, name, before)
			}
		}
	}
}

func TestOnlySuccessOfTheVeryAttemptIsTakenLate(t *testing.T) {
	taken := onceward.Operation{State: onceward.Processing, Effect: onceward.Unsafe, Fence: 4, Attempt: 2, Intent: true, Owner: "w1", DueAt: noon}
	gone, by, err := taken.Expire(limits, noon)
	if err != nil || by != "T12" || gone.State != onceward.UnknownOutcome || !gone.Unknown {
		t.Fatalf("%+v, %s, %v", gone, by, err)
	}
	l := lease(taken)
	for _, out := range outcomes()[1:] {
		if _, _, err := gone.Settle(l, out, limits, noon); !errors.Is(err, onceward.ErrFenced) {
			t.Errorf("%s came late: %v, want ErrFenced", out, err)
		}
	}
	earlier := l
	earlier.Attempt, earlier.Fence = 1, 3
	if _, _, err := gone.Settle(earlier, outcomes()[0], limits, noon); !errors.Is(err, onceward.ErrFenced) {
		t.Errorf("an earlier attempt's success: %v, want ErrFenced", err)
	}
	done, by, err := gone.Settle(l, outcomes()[0], limits, noon)
	if err != nil || by != "T19" || done.State != onceward.Completed || done.Result != "ch_1" || done.Intent {
		t.Fatalf("%+v, %s, %v", done, by, err)
	}
	retried, _, err := gone.Retry(consent, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := retried.Settle(l, outcomes()[0], limits, noon); !errors.Is(err, onceward.ErrFenced) {
		t.Errorf("after a person decided: %v, want ErrFenced", err)
	}
}

func TestWhatAnOutcomeMeansDependsOnTheEffectAndTheAttemptsLeft(t *testing.T) {
	later := noon.Add(time.Hour)
	for name, test := range map[string]struct {
		effect  onceward.Effect
		attempt int
		out     onceward.Outcome
		by      string
		state   onceward.State
		intent  bool
		due     time.Time
		reason  string
	}{
		"keyed, completed":               {onceward.Keyed, 1, onceward.Succeeded("r"), "T7", onceward.Completed, false, time.Time{}, ""},
		"unsafe, completed at the last":  {onceward.Unsafe, 3, onceward.Succeeded("r"), "T7", onceward.Completed, false, time.Time{}, ""},
		"keyed, not applied":             {onceward.Keyed, 2, onceward.NotApplied("503", later), "T9", onceward.FailedBeforeEffect, false, later, "503"},
		"unsafe, not applied":            {onceward.Unsafe, 2, onceward.NotApplied("503", later), "T9", onceward.FailedBeforeEffect, false, later, "503"},
		"keyed, not applied at the last": {onceward.Keyed, 3, onceward.NotApplied("503", later), "T9+T15", onceward.DeadLettered, false, time.Time{}, "attempts spent: 503"},
		"keyed, refused":                 {onceward.Keyed, 1, onceward.Refused("422"), "T9+T15", onceward.DeadLettered, false, time.Time{}, "422"},
		"unsafe, refused":                {onceward.Unsafe, 1, onceward.Refused("422"), "T9+T15", onceward.DeadLettered, false, time.Time{}, "422"},
		"keyed, ambiguous":               {onceward.Keyed, 2, onceward.Ambiguous("timeout", later), "T3", onceward.Processing, true, later, "timeout"},
		"keyed, ambiguous at the last":   {onceward.Keyed, 3, onceward.Ambiguous("timeout", later), "T10", onceward.UnknownOutcome, true, time.Time{}, "timeout"},
		"lookup, ambiguous":              {onceward.Lookup, 1, onceward.Ambiguous("timeout", later), "T10", onceward.UnknownOutcome, true, time.Time{}, "timeout"},
		"unsafe, ambiguous":              {onceward.Unsafe, 1, onceward.Ambiguous("timeout", later), "T10", onceward.UnknownOutcome, true, time.Time{}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			o := onceward.Operation{State: onceward.Processing, Effect: test.effect, Attempt: test.attempt, Fence: 5, Intent: true, Owner: "w1", DueAt: noon}
			after, by, err := o.Settle(lease(o), test.out, limits, noon)
			if err != nil || by != test.by {
				t.Fatalf("%s, %v; want %s", by, err, test.by)
			}
			if after.State != test.state || after.Intent != test.intent || !after.DueAt.Equal(test.due) || after.Reason != test.reason || after.Owner != "" {
				t.Fatalf("%+v", after)
			}
			if after.State == onceward.UnknownOutcome && after.Fence != 6 {
				t.Fatal("the fence did not rise, so the owner could still settle")
			}
		})
	}
}

// TestAnAmbiguousCallIsSettledByNothingButSuccess: being turned away at the
// second attempt says nothing about what the first one did.
func TestAnAmbiguousCallIsSettledByNothingButSuccess(t *testing.T) {
	later := noon.Add(time.Hour)
	ambiguous := func(o onceward.Operation) (onceward.Operation, string, error) {
		return o.Settle(lease(o), onceward.Ambiguous("timeout", noon), limits, noon)
	}
	fellSilent := func(o onceward.Operation) (onceward.Operation, string, error) { return o, "", nil }
	for name, test := range map[string]struct {
		first  func(onceward.Operation) (onceward.Operation, string, error)
		second onceward.Outcome
		state  onceward.State
		intent bool
	}{
		"ambiguous, then done":                 {ambiguous, onceward.Succeeded("r"), onceward.Completed, false},
		"ambiguous, then turned away":          {ambiguous, onceward.NotApplied("answered 409", later), onceward.Processing, true},
		"ambiguous, then refused":              {ambiguous, onceward.Refused("answered 422"), onceward.UnknownOutcome, true},
		"ambiguous twice":                      {ambiguous, onceward.Ambiguous("timeout", later), onceward.Processing, true},
		"its owner was lost, then done":        {fellSilent, onceward.Succeeded("r"), onceward.Completed, false},
		"its owner was lost, then refused":     {fellSilent, onceward.Refused("answered 422"), onceward.UnknownOutcome, true},
		"its owner was lost, then turned away": {fellSilent, onceward.NotApplied("connection refused", later), onceward.Processing, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := onceward.Operation{State: onceward.Received, Effect: onceward.Keyed, DueAt: noon}
			o, _, err := o.Take("w1", onceward.Limits{Attempts: 3}, true, noon)
			if err != nil {
				t.Fatal(err)
			}
			if o, _, err = test.first(o); err != nil {
				t.Fatal(err)
			}
			if o, _, err = o.Take("w2", limits, true, noon); err != nil || o.Attempt != 2 || !o.Doubt {
				t.Fatalf("%+v, %v", o, err)
			}
			after, _, err := o.Settle(lease(o), test.second, limits, noon)
			if err != nil || after.State != test.state || after.Intent != test.intent {
				t.Fatalf("%+v, %v", after, err)
			}
			if after.State != onceward.Processing {
				return
			}
			if !after.DueAt.Equal(later) || after.Reason == "" {
				t.Errorf("%+v, want it to wait for its repetition", after)
			}
			if last, _, err := after.Take("w3", limits, true, later); err != nil || last.Attempt != 3 {
				t.Fatalf("%+v, %v", last, err)
			} else if end, _, err := last.Settle(lease(last), onceward.NotApplied("answered 503", later), limits, later); err != nil || end.State != onceward.UnknownOutcome || !strings.Contains(end.Reason, "earlier attempt") || !strings.Contains(end.Reason, "503") {
				t.Errorf("with its attempts spent: %+v, %v, want an unknown outcome that says why", end, err)
			}
		})
	}
}

func TestWhatIsNotDueIsNotTaken(t *testing.T) {
	for name, test := range map[string]struct {
		due  time.Time
		want error
	}{
		"a moment before":  {noon.Add(time.Microsecond), onceward.ErrNotDue},
		"at the moment":    {noon, nil},
		"without a moment": {time.Time{}, onceward.ErrNotDue},
	} {
		for _, s := range []onceward.State{onceward.Received, onceward.FailedBeforeEffect, onceward.Processing} {
			o := onceward.Operation{State: s, Effect: onceward.Keyed, DueAt: test.due, Attempt: 1}
			if _, _, err := o.Take("w", limits, true, noon); !errors.Is(err, test.want) {
				t.Errorf("%s, %s: %v, want %v", name, s, err, test.want)
			}
		}
	}
}
