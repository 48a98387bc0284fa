package onceward_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

var (
	limits   = onceward.Limits{Attempts: 3, Lease: time.Minute}
	decision = onceward.Decision{Actor: "ops", Reason: "looked at it", Evidence: "ch_9 in the dashboard"}
	consent  = onceward.Decision{Actor: "ops", Reason: "looked at it", Evidence: "ch_9 in the dashboard", Consent: true}
)

// move is one of the functions that change an operation, ready to be called.
type move struct {
	name string
	call func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error)
	// from are the states that it may be called in at all.
	from []onceward.State
	// leased says that only the lease's owner may call it.
	leased bool
}

func moves() []move {
	const (
		received, processing, failed = onceward.Received, onceward.Processing, onceward.FailedBeforeEffect
		unknown, dead, quarantined   = onceward.UnknownOutcome, onceward.DeadLettered, onceward.Quarantined
	)
	all := []move{
		{"Take", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Take("w2", limits, false, noon)
		}, []onceward.State{received, processing, failed}, false},
		{"Take and intend", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Take("w2", limits, true, noon)
		}, []onceward.State{received, processing, failed}, false},
		{"Expire", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Expire(limits, noon)
		}, []onceward.State{processing}, false},
		{"Renew", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Renew(l, time.Minute, noon)
		}, []onceward.State{processing}, true},
		{"Intend", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Intend(l, time.Minute, noon)
		}, []onceward.State{processing}, true},
		{"HandBack", func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.HandBack(l, noon)
		}, []onceward.State{processing}, true},
		{"Retry", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Retry(decision, noon)
		}, []onceward.State{failed, unknown, dead, quarantined}, false},
		{"Retry with consent", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Retry(consent, noon)
		}, []onceward.State{failed, unknown, dead, quarantined}, false},
		{"Resolve as completed", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Resolve(true, "ch_9", decision, noon)
		}, []onceward.State{unknown, dead}, false},
		{"Resolve as not applied", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Resolve(false, "", decision, noon)
		}, []onceward.State{unknown}, false},
		{"Abandon", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Abandon(decision, noon)
		}, []onceward.State{received, failed, unknown, quarantined}, false},
		{"Hold", func(o onceward.Operation, _ onceward.Lease) (onceward.Operation, string, error) {
			return o.Hold("contradicted", noon)
		}, []onceward.State{received, failed}, false},
	}
	for _, out := range outcomes() {
		from := []onceward.State{processing}
		if out.String() == "completed" {
			from = append(from, unknown) // T19
		}
		all = append(all, move{"Settle as " + out.String(), func(o onceward.Operation, l onceward.Lease) (onceward.Operation, string, error) {
			return o.Settle(l, out, limits, noon)
		}, from, true})
	}
	return all
}

func outcomes() []onceward.Outcome {
	later := noon.Add(time.Hour)
	return []onceward.Outcome{
		onceward.Succeeded("ch_1"), onceward.NotApplied("503", later), onceward.Refused("422"), onceward.Ambiguous("timeout", later),
	}
}

// standings are operations in every state, as the schema allows them: each
// effect class, with and without an open intent, with attempts left and spent,
// due and not, known to have been unknown and not.
func standings() []onceward.Operation {
	var all []onceward.Operation
	for _, s := range onceward.States() {
		for _, e := range []onceward.Effect{onceward.Keyed, onceward.Lookup, onceward.Unsafe} {
			for bits := range 16 {
				o := onceward.Operation{ID: onceward.OperationID{Event: 1, N: 1}, Name: "fulfil", State: s, Effect: e, Fence: 7, Attempt: 2, Changed: noon.Add(-time.Hour), Reason: "before"}
				if bits&1 != 0 {
					o.Attempt = limits.Attempts
				}
				o.Intent, o.Unknown = bits&2 != 0, bits&4 != 0
				if s.Open() {
					if o.DueAt = noon; bits&8 != 0 {
						o.DueAt = noon.Add(time.Second)
					}
				} else if bits&8 != 0 {
					continue
				}
				if s == onceward.Processing {
					o.Owner = "w1"
				}
				if broken(o) == "" {
					all = append(all, o)
				}
			}
		}
	}
	return all
}

// broken says which rule of the schema an operation breaks.
func broken(o onceward.Operation) string {
	switch s := o.State; {
	case s.Open() == o.DueAt.IsZero():
		return "something is due exactly while the state is open"
	case o.Owner != "" && s != onceward.Processing && s != onceward.Dispatched:
		return "only what is leased has an owner"
	case o.Intent && s != onceward.Processing && s != onceward.UnknownOutcome && s != onceward.DeadLettered:
		return "an intent is open only where a call may have happened"
	case o.Attempt <= 0 && (s == onceward.Processing || s == onceward.Dispatched || s == onceward.UnknownOutcome):
		return "there is no call without an attempt"
	case len(o.Result) > onceward.MaxResult:
		return "the result is too long"
	}
	return ""
}

// follows reports whether the transition's name leads from one state to the
// other; "T18+T20" names two rows that are written at once.
func follows(name string, from, to onceward.State) bool {
	at := from
	for part := range strings.SplitSeq(name, "+") {
		found := false
		for _, tr := range onceward.Transitions() {
			if tr.Name == part && tr.From == at {
				at, found = tr.To, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return at == to
}

func lease(o onceward.Operation) onceward.Lease {
	return onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner}
}

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
			if after.ID != before.ID || after.Name != before.Name || after.Generation != before.Generation || before.Unknown && !after.Unknown && name != "T17" {
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

func TestWhatALostOwnerMeansDependsOnItsIntent(t *testing.T) {
	for name, test := range map[string]struct {
		effect  onceward.Effect
		intent  bool
		attempt int
		take    string
		state   onceward.State
	}{
		"nothing was sent":                      {onceward.Unsafe, false, 1, "T11", onceward.Processing},
		"nothing was sent, attempts spent":      {onceward.Unsafe, false, 3, "T12b", onceward.DeadLettered},
		"an unsafe call was under way":          {onceward.Unsafe, true, 1, "T12", onceward.UnknownOutcome},
		"a call to be looked up was under way":  {onceward.Lookup, true, 1, "T12", onceward.UnknownOutcome},
		"a keyed call was under way":            {onceward.Keyed, true, 1, "T11", onceward.Processing},
		"a keyed call, attempts spent":          {onceward.Keyed, true, 3, "T12", onceward.UnknownOutcome},
		"a keyed operation before its call":     {onceward.Keyed, false, 2, "T11", onceward.Processing},
		"a keyed one before its call, all gone": {onceward.Keyed, false, 3, "T12b", onceward.DeadLettered},
	} {
		t.Run(name, func(t *testing.T) {
			o := onceward.Operation{State: onceward.Processing, Effect: test.effect, Intent: test.intent, Attempt: test.attempt, Fence: 5, Owner: "w1", DueAt: noon}
			after, by, err := o.Take("w2", limits, false, noon)
			if err != nil || by != test.take || after.State != test.state || after.Fence != 6 {
				t.Fatalf("%+v, %s, %v", after, by, err)
			}
			if after.State == onceward.Processing && after.Intent != test.intent {
				t.Fatal("the intent was not inherited")
			}
			swept, by, err := o.Expire(limits, noon)
			if test.state == onceward.Processing {
				if !errors.Is(err, onceward.ErrNotDue) {
					t.Fatalf("the janitor took what a worker may take over: %s, %v", by, err)
				}
				return
			}
			if err != nil || by != test.take || swept.State != test.state || swept.Fence != 6 {
				t.Fatalf("the janitor and a worker disagree: %+v, %s, %v", swept, by, err)
			}
		})
	}
}

func TestNoLimitOfAttemptsMeansNone(t *testing.T) {
	o := onceward.Operation{State: onceward.Processing, Effect: onceward.Keyed, Attempt: 1 << 30, Fence: 1, DueAt: noon}
	if after, _, err := o.Settle(lease(o), onceward.NotApplied("503", noon), onceward.Limits{}, noon); err != nil || after.State != onceward.FailedBeforeEffect {
		t.Fatalf("%+v, %v", after, err)
	}
}

func TestWhatWasHandedBackHasNotBegun(t *testing.T) {
	for name, test := range map[string]struct {
		effect onceward.Effect
		intent bool
		doubt  bool
		number int // of the attempt
		state  onceward.State
	}{
		"the first attempt of a keyed operation":    {onceward.Keyed, true, false, 1, onceward.FailedBeforeEffect},
		"a later one, with an intent of its own":    {onceward.Keyed, true, false, 2, onceward.FailedBeforeEffect},
		"a later one, with an earlier one's intent": {onceward.Keyed, true, true, 2, onceward.Processing},
		"an unsafe operation before its intent":     {onceward.Unsafe, false, false, 1, onceward.FailedBeforeEffect},
		"a later attempt of it":                     {onceward.Unsafe, false, false, 3, onceward.FailedBeforeEffect},
		"a keyed operation before its intent":       {onceward.Keyed, false, false, 2, onceward.FailedBeforeEffect},
	} {
		t.Run(name, func(t *testing.T) {
			o := onceward.Operation{State: onceward.Processing, Effect: test.effect, Intent: test.intent, Doubt: test.doubt, Attempt: test.number, Fence: 5, Owner: "w1", DueAt: noon.Add(time.Minute)}
			after, _, err := o.HandBack(lease(o), noon)
			if err != nil || after.State != test.state || after.Intent != test.doubt || after.Doubt != test.doubt || after.Attempt != test.number-1 || after.Fence != 6 || after.Owner != "" || !after.DueAt.Equal(noon) {
				t.Fatalf("%+v, %v", after, err)
			}
			if after.Reason == "" {
				t.Fatal("without a reason it looks like one whose owner fell silent")
			}
			if rule := broken(after); rule != "" {
				t.Fatal(rule)
			}
			again, _, err := after.Take("w2", limits, test.intent, noon)
			if err != nil || again.Attempt != test.number || again.Doubt != test.doubt {
				t.Fatalf("%+v, %v; want attempt %d once more", again, err, test.number)
			}
		})
	}
	begun := onceward.Operation{State: onceward.Processing, Effect: onceward.Unsafe, Intent: true, Attempt: 1, Fence: 5, Owner: "w1", DueAt: noon}
	if _, _, err := begun.HandBack(lease(begun), noon); !errors.Is(err, onceward.ErrNotAllowed) {
		t.Errorf("an unsafe call that may have happened was handed back: %v", err)
	}
	if _, _, err := begun.Intend(lease(begun), time.Minute, noon); !errors.Is(err, onceward.ErrNotAllowed) {
		t.Errorf("an unsafe call was intended twice: %v", err)
	}
}

func TestAPersonMustSayWhoWhyAndWhatWasSeen(t *testing.T) {
	dead := onceward.Operation{State: onceward.UnknownOutcome, Attempt: 1}
	for name, d := range map[string]onceward.Decision{
		"nobody":      {Reason: "r", Evidence: "e", Consent: true},
		"blanks":      {Actor: " \t", Reason: "r", Evidence: "e", Consent: true},
		"no reason":   {Actor: "a", Evidence: "e", Consent: true},
		"no evidence": {Actor: "a", Reason: "r", Evidence: "\n", Consent: true},
	} {
		_, _, resolve := dead.Resolve(true, "", d, noon)
		_, _, retry := dead.Retry(d, noon)
		_, _, abandon := dead.Abandon(d, noon)
		if !errors.Is(resolve, onceward.ErrNotAllowed) {
			t.Errorf("%s: resolve gave %v", name, resolve)
		}
		if name != "no evidence" && (!errors.Is(retry, onceward.ErrNotAllowed) || !errors.Is(abandon, onceward.ErrNotAllowed)) {
			t.Errorf("%s: retry gave %v, abandon %v", name, retry, abandon)
		}
	}
	if _, _, err := dead.Retry(decision, noon); err != nil {
		t.Errorf("an outcome that never was unknown needs no consent: %v", err)
	}
	dead.Unknown = true
	if _, _, err := dead.Retry(decision, noon); !errors.Is(err, onceward.ErrConsent) {
		t.Errorf("repeating without consent: %v, want ErrConsent", err)
	}
}

func TestAPersonsRetryRenewsTheBudget(t *testing.T) {
	o := onceward.Operation{State: onceward.DeadLettered, Effect: onceward.Unsafe, Attempt: 3, Fence: 9}
	o, _, err := o.Retry(decision, noon)
	if err != nil {
		t.Fatal(err)
	}
	for n := 4; n <= 6; n++ {
		if o, _, err = o.Take("w", limits, false, noon); err != nil || o.Attempt != n {
			t.Fatalf("attempt %d: %+v, %v", n, o, err)
		}
		if o, _, err = o.Settle(lease(o), onceward.NotApplied("503", noon), limits, noon); err != nil {
			t.Fatal(err)
		}
	}
	if o.State != onceward.DeadLettered || o.Reason != "attempts spent: 503" {
		t.Fatalf("%+v, want a dead letter after three more attempts", o)
	}
}

func TestAnOutcomeComesFromAConstructor(t *testing.T) {
	o := onceward.Operation{State: onceward.Processing, Effect: onceward.Keyed, Attempt: 1, DueAt: noon}
	if _, _, err := o.Settle(lease(o), onceward.Outcome{Reason: "made by hand"}, limits, noon); !errors.Is(err, onceward.ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	names := "none"
	for _, out := range outcomes() {
		names += " " + out.String()
	}
	if (onceward.Outcome{}).String()+names[4:] != "none completed not_applied refused ambiguous" {
		t.Errorf("outcomes are called %s", names)
	}
}

func TestAResultReferenceIsBounded(t *testing.T) {
	for name, result := range map[string]string{
		"plain": strings.Repeat("x", 2000), "in the middle of a character": strings.Repeat("x", 1023) + "é", "no text at all": strings.Repeat("\x80", 2000),
	} {
		o := onceward.Operation{State: onceward.UnknownOutcome, Attempt: 1}
		resolved, _, err := o.Resolve(true, result, decision, noon)
		for who, got := range map[string]string{"the destination": onceward.Succeeded(result).Result, "a person": resolved.Result} {
			if err != nil || len(got) > onceward.MaxResult || len(got) < onceward.MaxResult-4 || utf8.ValidString(result) && !utf8.ValidString(got) {
				t.Errorf("%s from %s: %d bytes kept, %v", name, who, len(got), err)
			}
		}
	}
	if got := onceward.Succeeded("ch_1").Result; got != "ch_1" {
		t.Errorf("a short result became %q", got)
	}
}
