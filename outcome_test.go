package onceward_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

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
			o := onceward.Operation{State: onceward.Processing, Effect: test.effect, Intent: test.intent, IntentAt: noon, Doubt: test.doubt, Attempt: test.number, Fence: 5, Owner: "w1", DueAt: noon.Add(time.Minute)}
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
			if err != nil || !onceward.ResultCut(got) || len(got) > onceward.MaxResult || len(got) < onceward.MaxResult-4 || utf8.ValidString(result) && !utf8.ValidString(got) {
				t.Errorf("%s from %s: %d bytes kept, %v", name, who, len(got), err)
			}
		}
	}
	if got := onceward.Succeeded("ch_1").Result; got != "ch_1" || onceward.ResultCut(got) {
		t.Errorf("a short result became %q", got)
	}
}
