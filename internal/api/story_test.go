package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

func TestTheTimelineTellsEverythingInOrder(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Processing)
	h := s.histories[id]
	op := &h.Event.Operations[0]
	op.Owner, op.Attempt, op.Changed, op.DueAt = "host/1", 2, start.Add(50*time.Second), start.Add(90*time.Second)
	h.Deliveries = append(h.Deliveries, onceward.Delivery{At: start.Add(2 * time.Second), Verdict: onceward.Duplicate, Count: 4})
	h.Conflicts = []onceward.Evidence{{At: start.Add(30 * time.Second), Count: 1}}
	h.Attempts = []onceward.Attempt{{
		Operation: op.ID, Number: 1, Fence: 1, Started: start.Add(time.Second), Ended: start.Add(1500 * time.Millisecond),
		Outcome: "not_applied", Status: 503, State: onceward.FailedBeforeEffect, Reason: "the destination asked to wait",
	}}
	h.Audits = []onceward.Audit{{At: start.Add(40 * time.Second), Actor: "ops", Action: "T14", Operation: op.ID, From: "failed_before_effect", To: "failed_before_effect", Reason: "it is up again"}}
	got := decode[api.EventPage](t, call(api.New(api.Options{Store: s}), "GET", "/v1/events/"+id.String(), ""))
	var story []string
	for _, e := range got.Timeline {
		story = append(story, e.At.Sub(start).String()+" "+e.Kind+": "+e.Text)
	}
	want := []string{
		"0s delivery: 1 delivery: accepted, from 192.0.2.1",
		"0s operation: operation work1 recorded",
		"1.5s attempt: attempt 1 of work1: not_applied, answered 503, took 500ms → failed_before_effect (the destination asked to wait)",
		"2s delivery: 4 deliveries: duplicate",
		"30s conflict: 1 delivery with other content, kept as evidence",
		"40s audit: ops: T14 of work1, failed_before_effect → failed_before_effect, because: it is up again",
		"50s attempt: attempt 2 of work1 is under way, lease until 2026-03-01T12:01:30Z",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Error(diff)
	}
	if got.Operations[0].LeaseUntil == nil || got.Operations[0].NextAt != nil {
		t.Errorf("an operation under way has next_at %v, lease_until %v", got.Operations[0].NextAt, got.Operations[0].LeaseUntil)
	}
	if want := h.Event.Key.Downstream("work1", 0, ""); got.Operations[0].Key != want {
		t.Errorf("key %q, want %q", got.Operations[0].Key, want)
	}
}

func TestAdviceNamesTheOneSafeNextThing(t *testing.T) {
	s := newStore()
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	id := s.add(start, "guid", onceward.Completed, onceward.Completed)
	op := &s.histories[id].Event.Operations[1]
	name := op.ID.String()
	key := s.histories[id].Event.Key.Downstream("work2", 0, "")
	h := api.New(api.Options{Store: s, Routes: map[string][]string{"work2": {"billing"}}})
	for _, c := range []struct {
		name string
		set  onceward.Operation
		want string
	}{
		{"completed", onceward.Operation{State: onceward.Completed}, "Nothing to do: every operation completed."},
		{
			"unknown",
			onceward.Operation{State: onceward.UnknownOutcome, Unknown: true},
			"Ask destination billing whether " + key + " was applied, then: onceward operations resolve " + name + " --completed|--not-applied --evidence … --reason …",
		},
		{
			"dead",
			onceward.Operation{State: onceward.DeadLettered, Reason: "answered 422"},
			"Remove the cause (answered 422), then: onceward operations retry " + name + " --reason …",
		},
		{
			"dead after unknown",
			onceward.Operation{State: onceward.DeadLettered, Unknown: true},
			"Ask destination billing whether " + key + " was applied (its outcome was once unknown); if it was: onceward operations resolve " + name + " --completed --evidence … --reason …; if not: onceward operations retry " + name + " --accept-duplicate-risk --reason …",
		},
		{
			"held",
			onceward.Operation{State: onceward.Quarantined, Reason: "contradicted"},
			"Compare what was delivered (contradicted); to run it: onceward operations retry " + name + " --reason …; to give it up: onceward operations abandon " + name + " --reason …",
		},
		{"under way", onceward.Operation{State: onceward.Processing, Owner: "host/1", DueAt: soon}, "Wait: an attempt is under way."},
		{"waiting", onceward.Operation{State: onceward.FailedBeforeEffect, DueAt: soon}, "Wait: work2 is tried again at " + soon.Format(time.RFC3339) + " by itself."},
		{"keyed and waiting with its intent open", onceward.Operation{State: onceward.Processing, DueAt: soon}, "Wait: work2 is tried again at " + soon.Format(time.RFC3339) + " by itself."},
		{"behind another", onceward.Operation{State: onceward.Received, DueAt: onceward.Behind}, "Wait: work2 runs when the one that is under way has ended."},
		{"due", onceward.Operation{State: onceward.Received, DueAt: start}, "Wait: work2 is due and runs as soon as a worker is free."},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.set.ID, c.set.Name, c.set.Effect = op.ID, op.Name, onceward.Unsafe
			*op = c.set
			got := decode[api.EventPage](t, call(h, "GET", "/v1/events/"+id.String(), ""))
			if diff := cmp.Diff(c.want, got.Advice); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a paused destination", func(t *testing.T) {
		s.pauses = []onceward.Pause{{Destination: "billing", Actor: "ops", Reason: "migration"}}
		got := decode[api.EventPage](t, call(h, "GET", "/v1/events/"+id.String(), ""))
		if want := "Destination billing is paused by ops (migration); when it can be called again: onceward destinations resume billing --reason …"; got.Advice != want {
			t.Error(cmp.Diff(want, got.Advice))
		}
	})
}

func TestWhatWaitsBehindAnotherHasNoTimeOfItsOwn(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Received)
	s.histories[id].Event.Operations[0].DueAt = onceward.Behind
	if got := decode[api.EventPage](t, call(api.New(api.Options{Store: s}), "GET", "/v1/events/"+id.String(), "")); got.Operations[0].NextAt != nil {
		t.Errorf("next at %v", got.Operations[0].NextAt)
	}
}

func TestAdviceForEventsWithoutOperations(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid")
	h := api.New(api.Options{Store: s})
	for verdict, want := range map[onceward.Verdict]string{
		onceward.Ignored:       "Nothing to do: no operation was configured for this type of event when it came. One that was added since takes it by name: onceward events replay {id} --operation NAME --reason …",
		onceward.QuarantinedBy: "Nothing of it runs by itself (no id). Correct the source's configuration if it should be understood, look at the body (onceward events show {id} --payload), then let it go: onceward events replay {id} --reason …; or close it: onceward events reject {id} --reason …",
	} {
		s.histories[id].Event.Verdict, s.histories[id].Event.Reason = verdict, "no id"
		got := decode[api.EventPage](t, call(h, "GET", "/v1/events/"+id.String(), ""))
		want = strings.ReplaceAll(want, "{id}", got.ID)
		if got.Advice != want || got.Status != verdict.String() {
			t.Errorf("%s: %s", got.Status, got.Advice)
		}
	}
}

// TestStepsAndQuestionsAreShown: where it stands, what is done, what is asked.
func TestStepsAndQuestionsAreShown(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.UnknownOutcome)
	h := s.histories[id]
	op := &h.Event.Operations[0]
	op.Plan, op.Step, op.Effect, op.Attempt = onceward.NewPlan("account", "pay"), 1, onceward.Lookup, 3
	op.AskAt, op.SentBy = start.Add(time.Hour), start
	h.Steps = []onceward.RecoveryPoint{{Operation: op.ID, Name: "account", Result: "acc_1", Attempt: 2, Fence: 4, At: start.Add(time.Second)}}
	handler := api.New(api.Options{Store: s, Routes: map[string][]string{"work1": {"crm", "bank"}}})
	page := decode[api.EventPage](t, call(handler, "GET", "/v1/events/"+id.String(), ""))
	key := h.Event.Key.Downstream("work1", 0, "pay")
	for _, o := range []api.Operation{page.Operations[0], decode[api.Operation](t, call(handler, "GET", "/v1/operations/"+op.ID.String(), ""))} {
		if o.Step != "pay" || o.Destination != "bank" || len(o.Steps) != 1 || o.Steps[0].Name != "account" || o.Steps[0].Result != "acc_1" || o.Steps[0].Attempt != 2 {
			t.Errorf("%+v", o)
		}
		if o.NextAt == nil || !o.NextAt.Equal(op.AskAt) {
			t.Errorf("asked next at %v, want %s", o.NextAt, op.AskAt)
		}
	}
	if page.Operations[0].Key != key {
		t.Errorf("key %s, want the step's, %s", page.Operations[0].Key, key)
	}
	if want := "Wait: destination bank is asked about " + key + " by itself, next at 2026-03-01T13:00:00Z"; !strings.Contains(page.Advice, want) {
		t.Errorf("advice %q, want %q", page.Advice, want)
	}
	if e := page.Timeline[len(page.Timeline)-1]; e.Kind != "step" || e.Text != "step account of work1 is done and is not repeated, result acc_1" {
		t.Errorf("%+v", e)
	}
}
