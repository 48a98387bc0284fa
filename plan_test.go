package onceward_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestAPlanNamesItsSteps(t *testing.T) {
	for _, names := range [][]string{{""}, {"account"}, {"account", "welcome"}, {"a", "b-1", "c_2"}} {
		p := onceward.NewPlan(names...)
		if p.Len() != len(names) || !slices.Equal(p.Names(), names) {
			t.Errorf("%q: %d steps %q, want %q", p, p.Len(), p.Names(), names)
		}
		for i, name := range names {
			if p.Name(i) != name {
				t.Errorf("%q: step %d is %q", p, i, p.Name(i))
			}
		}
		if p.Name(len(names)) != "" || p.Name(-1) != "" {
			t.Errorf("%q has names beyond its ends", p)
		}
	}
	if onceward.NewPlan() != "" || onceward.NewPlan("") != "" {
		t.Error("a single step without a name is the empty plan")
	}
}

// TestAnOperationGoesOnOnlyWhereItStood holds every plan of today against every
// place at which an operation may stand.
func TestAnOperationGoesOnOnlyWhereItStood(t *testing.T) {
	const was = "account,welcome"
	for _, test := range []struct {
		today      onceward.Plan
		step       int
		begun      bool
		goesOn     bool
		underAName string
	}{
		{was, 0, false, true, "account"},
		{was, 0, true, true, "account"},
		{was, 1, false, true, "welcome"},
		{was, 1, true, true, "welcome"},
		// What nobody has begun may change.
		{"", 0, false, true, ""},
		{"profile", 0, false, true, "profile"},
		{"account,note,welcome", 1, false, true, "note"},
		{"account,note,welcome", 0, true, true, "account"},
		{"account", 0, true, true, "account"},
		{"account,welcome,report", 1, true, true, "welcome"},
		// What has begun, or is done, may not.
		{"", 0, true, false, ""},
		{"profile,welcome", 0, true, false, ""},
		{"account,note,welcome", 1, true, false, ""},
		{"profile,welcome", 1, false, false, ""},
		{"welcome,account", 1, false, false, ""},
		{"account", 1, false, false, ""},
		{"", 1, false, false, ""},
	} {
		for _, state := range []onceward.State{onceward.Received, onceward.FailedBeforeEffect, onceward.Processing} {
			o := onceward.Operation{State: state, Effect: onceward.Keyed, Plan: was, Step: test.step, Attempt: 1, Fence: 3, DueAt: noon, Reason: "waits"}
			if test.begun && state == onceward.Processing {
				o.Intent, o.IntentAt = true, noon.Add(-time.Minute)
			} else if test.begun {
				o.Unknown = true // a person retried it, with consent
			}
			l := limits
			l.Plan = test.today
			after, by, err := o.Take("w1", l, true, noon)
			if err != nil {
				t.Fatal(err)
			}
			want := onceward.Quarantined
			switch {
			case test.goesOn:
				want = onceward.Processing
			case o.Intent:
				want = onceward.UnknownOutcome
			}
			if after.State != want || !follows(by, o.State, after.State) || after.Fence != 4 || after.Step != test.step {
				t.Errorf("%s at step %d (begun %v) under %q: %s %+v, want %s", state, test.step, test.begun, test.today, by, after, want)
			}
			if test.goesOn && (after.StepName() != test.underAName || after.Plan != test.today) {
				t.Errorf("it goes on at step %q of %q", after.StepName(), after.Plan)
			}
			if rule := broken(after); rule != "" {
				t.Errorf("%+v: %s", after, rule)
			}
		}
	}
}

func TestEveryStepHasItsOwnBudgetAndIntent(t *testing.T) {
	l := limits
	l.Plan = twoSteps
	o := onceward.Operation{State: onceward.Received, Effect: onceward.Keyed, DueAt: noon}
	for range 3 { // the last attempt does it
		var err error
		if o, _, err = o.Take("w1", l, true, noon); err != nil {
			t.Fatal(err)
		}
		out := onceward.Ambiguous("timeout", noon)
		if o.Attempt == 3 {
			out = onceward.Succeeded("acc_1")
		}
		before := o
		if o, _, err = o.Settle(lease(o), out, l, noon); err != nil {
			t.Fatal(err)
		}
		if o.Step == 1 {
			if _, _, err := o.Settle(lease(before), out, l, noon); !errors.Is(err, onceward.ErrFenced) {
				t.Fatalf("the owner of the first step settled the second: %v", err)
			}
		}
	}
	if o.State != onceward.Processing || o.Step != 1 || o.Intent || o.Doubt || !o.IntentAt.IsZero() || o.Result != "" {
		t.Fatalf("%+v", o)
	}
	if _, _, err := o.Expire(l, noon); !errors.Is(err, onceward.ErrNotDue) {
		t.Fatalf("the janitor took it for one whose owner was lost: %v", err)
	}
	for range 3 {
		var err error
		if o, _, err = o.Take("w1", l, false, noon); err != nil || o.State != onceward.Processing {
			t.Fatalf("%+v, %v", o, err)
		}
		if o, _, err = o.Settle(lease(o), onceward.NotApplied("503", noon), l, noon); err != nil {
			t.Fatal(err)
		}
	}
	if o.State != onceward.DeadLettered || o.Step != 1 || o.Attempt != 6 {
		t.Fatalf("%+v", o)
	}
}

func TestKeysOfStepsDiffer(t *testing.T) {
	event := onceward.Digest{1}
	keys := map[string]string{}
	for _, o := range []onceward.Operation{
		{Name: "onboard"}, {Name: "onboard", Plan: twoSteps}, {Name: "onboard", Plan: twoSteps, Step: 1}, {Name: "onboard", Plan: twoSteps, Generation: 1},
	} {
		key := o.Downstream(event, o.StepName())
		if other, known := keys[key]; known {
			t.Errorf("%+v has the key of %s", o, other)
		}
		keys[key] = o.StepName()
	}
	later := onceward.Operation{Name: "onboard", Plan: "account,note,welcome"}
	if _, known := keys[later.Downstream(event, later.StepName())]; !known {
		t.Error("a step's key changed with the steps after it")
	}
}
