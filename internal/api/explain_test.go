package api_test

import (
	"strings"
	"testing"

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
			"yes", "one effect if the destination deduplicates as it promises",
		},
		{
			"found by a person",
			onceward.Operation{State: onceward.Completed, Effect: onceward.Unsafe},
			[]onceward.Attempt{{Number: 1, Outcome: "ambiguous"}},
			[]onceward.Audit{{Actor: "ops", To: "completed", Evidence: "row 17 of its log"}},
			"yes", "ops found it at the destination: row 17 of its log. 1 attempt had no clear answer",
		},
		{"superseded", onceward.Operation{State: onceward.Completed, Superseded: true, Reason: "version 1 is older than 2"}, nil, nil, "no_effect", "never had its effect: version 1 is older"},
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
			got := decode[api.Explanation](t, call(api.New(api.Options{Store: s}), "GET", "/v1/events/"+id.String()+"/explain", ""))
			if got.Operations[0].Once != c.once || !strings.Contains(got.Operations[0].How, c.how) {
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
