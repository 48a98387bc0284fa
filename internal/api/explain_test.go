package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

func TestAnExplanationSaysWhetherItWasOnceAndHowThatIsKnown(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      onceward.Operation
		attempts []onceward.Attempt
		audits   []onceward.Audit
		once     string
		how      string
	}{
		{
			"answered at once",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe, Result: "ch_1"},
			[]onceward.Attempt{{Number: 1, Outcome: "not_applied", Status: 503}, {Number: 2, Outcome: "completed", Status: 200}},
			nil,
			"yes", "Attempt 2 was answered 200. The destination's reference is ch_1. Every other attempt ended with proof",
		},
		{
			"repeated under the same key",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Keyed},
			[]onceward.Attempt{{Number: 1, Outcome: "ambiguous"}, {Number: 2, Outcome: "completed", Status: 200}},
			nil,
			"yes", "1 attempt before it had no clear answer; all of them carried the same key, so it is one effect if destination press deduplicates as it promises (key_memory 24h0m0s).",
		},
		{
			"found by a person",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Outcome: "ambiguous"}},
			[]onceward.Audit{{Actor: "ops", To: "completed", Evidence: "row 17 of its log"}},
			"yes", "ops found it at destination press: row 17 of its log. Attempt 1 had no clear answer.",
		},
		{
			"answered at the first attempt", // nothing is said about others that there were not
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Outcome: "completed", Status: 200}},
			nil,
			"yes", "Attempt 1 was answered 200.$",
		},
		{
			"repeated at somebody's risk, where nothing deduplicates",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome}, {Number: 2, Fence: 4, Outcome: "completed", Status: 200}},
			[]onceward.Audit{{Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "they wait", Consent: true}},
			"at_least_once", "Attempt 2 was answered 200. Attempt 1 is unknown, destination press does not deduplicate (unsafe), and ops accepted the risk: they wait.$",
		},
		{
			"repeated at somebody's risk at a destination that can be asked",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Lookup},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "lost", State: onceward.UnknownOutcome}, {Number: 2, Fence: 5, Outcome: "completed", Status: 200}},
			[]onceward.Audit{
				{Actor: "ops", Action: "T18", From: "unknown_outcome", To: "dead_lettered", Fence: 3, Reason: "no time"},
				{Actor: "eve", Action: "T20", From: "dead_lettered", To: "received", Fence: 4, Reason: "now", Consent: true},
			},
			"at_least_once", "does not deduplicate (lookup), and eve accepted the risk: now.",
		},
		{
			"repeated after somebody had looked",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome}, {Number: 2, Fence: 4, Outcome: "completed", Status: 200}},
			[]onceward.Audit{{Actor: "ops", Action: "T17", From: "unknown_outcome", To: "failed_before_effect", Fence: 3, Reason: "looked", Evidence: "no sheet in its log"}},
			"yes", "Attempt 2 was answered 200. Attempt 1 had no clear answer; ops looked, and it had not happened: no sheet in its log.$",
		},
		{
			"repeated at somebody's risk, and then looked",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome}, {Number: 2, Fence: 4, Outcome: "ambiguous", State: onceward.UnknownOutcome}, {Number: 3, Fence: 7, Outcome: "completed", Status: 200}},
			[]onceward.Audit{
				{Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "they wait", Consent: true},
				{Actor: "ops", Action: "T17", From: "unknown_outcome", To: "failed_before_effect", Fence: 6, Reason: "looked", Evidence: "nothing there"},
			},
			"yes", "Attempt 2 had no clear answer; ops looked, and it had not happened: nothing there.$",
		},
		{
			"on its way again after somebody had looked",
			onceward.Operation{State: onceward.Processing, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome}},
			[]onceward.Audit{{Actor: "ops", Action: "T17", From: "unknown_outcome", To: "failed_before_effect", Fence: 3, Evidence: "no sheet in its log"}},
			"not_yet", "^Attempt 1 had no clear answer; ops looked, and it had not happened: no sheet in its log. It is on its way again.$",
		},
		{
			"on its way again after the destination was asked",
			onceward.Operation{State: onceward.Processing, Effect: onceward.Lookup},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome}},
			[]onceward.Audit{{Actor: "reconciler", Action: "T17", From: "unknown_outcome", To: "failed_before_effect", Fence: 3, Evidence: "answered 404"}},
			"not_yet", "^Attempt 1 had no clear answer; destination press was asked, and it had not happened: answered 404. It is on its way again.$",
		},
		{
			"a keyed one repeated by consent",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Keyed},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome, Started: start}, {Number: 2, Fence: 4, Outcome: "completed", Status: 200, Started: start.Add(time.Hour)}},
			[]onceward.Audit{{Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "again", Consent: true}},
			"yes", "so it is one effect if destination press deduplicates as it promises (key_memory 24h0m0s)",
		},
		{
			"a keyed one repeated by consent after its key may have been forgotten",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Keyed},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.UnknownOutcome, Started: start}, {Number: 2, Fence: 4, Outcome: "completed", Status: 200, Started: start.Add(30 * time.Hour)}},
			[]onceward.Audit{{Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "again", Consent: true}},
			"at_least_once", "but 30h0m0s after the first, and destination press is sure to remember a key for 24h0m0s only",
		},
		{
			"a keyed one whose destination was said not to deduplicate since, repeated at somebody's risk",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.Processing}, {Number: 2, Fence: 4, Outcome: "completed", Status: 200}},
			[]onceward.Audit{{Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "they wait", Consent: true}},
			"at_least_once", "does not deduplicate (unsafe), and ops accepted the risk: they wait.",
		},
		{"given up before any attempt", onceward.Operation{State: onceward.DeadLettered, Reason: "abandoned by ops"}, nil, nil, "no_effect", "^It was given up before any attempt: abandoned by ops.$"},
		{"superseded", onceward.Operation{State: onceward.Completed, Superseded: true, Reason: "version 1 is older than 2"}, nil, nil, "no_effect", "never had its effect: version 1 is older"},
		{"superseded after an unknown outcome", onceward.Operation{State: onceward.Completed, Superseded: true, Unknown: true, Reason: "executed again"}, nil, nil, "unknown", "outcome had been unknown: executed again"},
		{"disputed", onceward.Operation{State: onceward.Completed, Disputed: true}, nil, nil, "disputed", "contradicts"},
		{"unknown", onceward.Operation{State: onceward.UnknownOutcome, Reason: "timeout"}, nil, nil, "unknown", "its outcome never came back (timeout)"},
		{"given up while unknown", onceward.Operation{State: onceward.DeadLettered, Unknown: true, Reason: "abandoned"}, nil, nil, "unknown", "given up"},
		{"dead", onceward.Operation{State: onceward.DeadLettered, Reason: "answered 422"}, []onceward.Attempt{{Number: 1, Outcome: "refused"}}, nil, "no_effect", "1 attempt ended with proof that nothing happened, the last: answered 422"},
		{"held", onceward.Operation{State: onceward.Quarantined, Reason: "contradicted"}, nil, nil, "no_effect", "held before any effect"},
		{"on its way again", onceward.Operation{State: onceward.Processing, Effect: onceward.Keyed}, []onceward.Attempt{{Number: 1, Outcome: "ambiguous"}}, nil, "not_yet", "repeated with the same key"},
		{"on its way", onceward.Operation{State: onceward.Received}, nil, nil, "not_yet", "Nothing has had an effect so far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore()
			id := s.add(start, "guid", onceward.Completed)
			h := s.histories[id]
			op := &h.Event.Operations[0]
			c.set.ID, c.set.Name = op.ID, op.Name
			*op = c.set
			h.Event.Deliveries, h.Event.Conflicts = 5, 1
			for i := range c.attempts {
				c.attempts[i].Operation = op.ID
			}
			for i := range c.audits {
				c.audits[i].Operation = op.ID
			}
			h.Attempts, h.Audits = c.attempts, c.audits
			got := decode[api.Explanation](t, call(api.New(api.Options{
				Store: s, Routes: map[string][]string{op.Name: {"press"}}, KeyMemory: map[string]time.Duration{op.Name: 24 * time.Hour},
			}), "GET", "/v1/events/"+id.String()+"/explain", ""))
			text := "^" + got.Operations[0].How + "$" // ends, where a case wants them
			if got.Operations[0].Once != c.once || !strings.Contains(text, c.how) {
				t.Errorf("%s: %s", got.Operations[0].Once, got.Operations[0].How)
			}
			if text := strings.Join(got.Summary, " "); !strings.Contains(text, "It came 3 times more") || !strings.Contains(text, "1 delivery had other content") {
				t.Errorf("%s", text)
			}
			if got.Next == "" || got.Operations[0].Key == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A repetition on purpose is a second effect, not another "yes"; a redelivery
// is the first one again.
func TestAnExplanationSumsUpWhatWasRepeatedOnPurpose(t *testing.T) {
	for _, c := range []struct {
		name     string
		effect   onceward.Effect
		again    []onceward.Audit // of the second, third, … operation
		headline string
		once     []string
		how      string
	}{
		{"re-executed", onceward.Keyed, []onceward.Audit{{Mode: "reexecute", Reason: "printed on the wrong paper"}}, "work1: twice, on purpose", []string{"yes", "again"}, "A second effect on purpose, under a new key: ops, printed on the wrong paper."},
		{"re-executed twice", onceward.Unsafe, []onceward.Audit{{Mode: "reexecute", Reason: "a"}, {Mode: "reexecute", Reason: "b"}}, "work1: 3 times, on purpose", []string{"yes", "again", "again"}, "A further effect on purpose, under a new key: ops, b."},
		{"redelivered", onceward.Keyed, []onceward.Audit{{Mode: "redeliver", Reason: "it lost it"}}, "work1: once, and sent again with the same key", []string{"yes", "redelivered"}, "Redelivery 1, sent again with the first one's key, so it is the same effect as far as the destination deduplicates the key: ops, it lost it."},
		{"redelivered where nothing deduplicates", onceward.Unsafe, []onceward.Audit{{Mode: "redeliver", Reason: "it lost it", Consent: true}}, "work1: twice, on purpose", []string{"yes", "again"}, "the destination does not deduplicate (unsafe), so it is a further effect, on purpose: ops, it lost it."},
		{"a level trigger that was seen again", onceward.Keyed, []onceward.Audit{{Actor: "intake"}}, "", []string{"yes", "yes"}, "Attempt 1 was answered 200."},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore()
			states := make([]onceward.State, len(c.again)+1)
			for i := range states {
				states[i] = onceward.Completed
			}
			id := s.add(start, "guid", states...)
			h := s.histories[id]
			for i := range h.Event.Operations {
				o := &h.Event.Operations[i]
				o.Name, o.Effect = "work1", c.effect
				h.Attempts = append(h.Attempts, onceward.Attempt{Operation: o.ID, Number: 1, Outcome: "completed", Status: 200})
				if i == 0 {
					continue
				}
				a := c.again[i-1]
				a.Operation, a.Action, a.To = o.ID, "T0b", "received"
				if a.Actor == "" {
					a.Actor = "ops"
				}
				if a.Mode == "redeliver" {
					o.Redelivery = i
				} else {
					o.Generation = i
				}
				h.Audits = append(h.Audits, a)
			}
			got := decode[api.Explanation](t, call(api.New(api.Options{Store: s}), "GET", "/v1/events/"+id.String()+"/explain", ""))
			var once []string
			for _, o := range got.Operations {
				once = append(once, o.Once)
			}
			if last := got.Operations[len(got.Operations)-1]; !slices.Equal(once, c.once) || strings.Join(got.Headline, "\n") != c.headline || !strings.Contains(last.How, c.how) {
				t.Errorf("%q %v: %s", got.Headline, once, last.How)
			}
		})
	}
}

// A step that is done is told with its own destination, and its doubts do not
// count against the key of a later step.
func TestAnExplanationKeepsStepsApart(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Completed)
	h := s.histories[id]
	o := &h.Event.Operations[0]
	o.Plan, o.Step, o.Effect = onceward.NewPlan("account", "pay"), 1, onceward.Keyed
	h.Attempts = []onceward.Attempt{
		{Operation: o.ID, Number: 1, Fence: 1, Outcome: "ambiguous", State: onceward.Processing, Started: start},
		{Operation: o.ID, Number: 2, Fence: 2, Outcome: "completed", Status: 200, Started: start.Add(time.Minute)},
		{Operation: o.ID, Number: 3, Fence: 4, Outcome: "completed", Status: 200, Started: start.Add(48 * time.Hour)},
	}
	h.Steps = []onceward.RecoveryPoint{{Operation: o.ID, Name: "account", Attempt: 2}}
	explain := func() api.Answer {
		handler := api.New(api.Options{Store: s, Routes: map[string][]string{o.Name: {"crm", "bank"}}, KeyMemory: map[string]time.Duration{o.Name: 24 * time.Hour}})
		return decode[api.Explanation](t, call(handler, "GET", "/v1/events/"+id.String()+"/explain", "")).Operations[0]
	}
	if got := explain(); got.Once != "yes" || strings.Contains(got.How, "only") {
		t.Errorf("%s: %s", got.Once, got.How)
	}
	h.Attempts[0].State, h.Attempts[1].Fence = onceward.UnknownOutcome, 4
	h.Audits = []onceward.Audit{{Operation: o.ID, Actor: "ops", Action: "T18+T20", From: "unknown_outcome", To: "received", Fence: 3, Reason: "they wait", Consent: true}}
	if got := explain(); got.Once != "at_least_once" || !strings.Contains(got.How, "Attempt 1 is unknown, and ops accepted the risk of a second effect at destination crm: they wait.") {
		t.Errorf("%s: %s", got.Once, got.How)
	}
}
