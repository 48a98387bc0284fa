package api_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

func adviceFor(t *testing.T, s *store, id onceward.EventID) string {
	t.Helper()
	h := api.New(api.Options{Store: s, Routes: map[string][]string{"work1": {"billing"}, "work2": {"press"}}})
	return decode[api.EventPage](t, call(h, "GET", "/v1/events/"+id.String(), "")).Advice
}

// What was decided about a contradiction is said, and is nothing to do any more.
func TestAdviceAfterAConflict(t *testing.T) {
	for _, c := range []struct {
		name      string
		conflicts []onceward.Evidence
		audits    []onceward.Audit
		want      string
	}{
		{"open", []onceward.Evidence{{ID: 7, Count: 1}}, nil, "Every operation completed; 1 later delivery said something else under the same id, and nobody has decided about that. Ask the sender which one counts: onceward conflicts list --event {id}"},
		{
			"the second was taken",
			[]onceward.Evidence{{ID: 7, Count: 2, Decided: onceward.KeepSecond}},
			[]onceward.Audit{{Actor: "ops", Action: "keep second", Target: onceward.ConflictName(7), Reason: "they meant 6"}},
			"Nothing to do: every operation completed, and the other content was decided about. What was decided: " + onceward.ConflictName(7) + ": the second content counts and ran as a revision (ops: they meant 6).",
		},
		{
			"by policy",
			[]onceward.Evidence{{ID: 7, Count: 1, Decided: onceward.KeepNewer}},
			nil,
			"Nothing to do: every operation completed, and the other content was decided about. What was decided: " + onceward.ConflictName(7) + ": the newer content ran as a revision, by on_conflict.",
		},
		{
			"one of two",
			[]onceward.Evidence{{ID: 7, Count: 1, Decided: onceward.KeepFirst}, {ID: 8, Count: 3}},
			nil,
			"Every operation completed; 3 later deliveries said something else under the same id, and nobody has decided about that. What was decided: " + onceward.ConflictName(7) + ": the first content counts. Ask the sender which one counts: onceward conflicts list --event {id}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore()
			id := s.add(start, "guid", onceward.Completed, onceward.Completed)
			h := s.histories[id]
			h.Event.Conflicts, h.Conflicts, h.Audits = 3, c.conflicts, c.audits
			if got := adviceFor(t, s, id); got != strings.ReplaceAll(c.want, "{id}", id.String()) {
				t.Error(got)
			}
		})
	}
}

// A destination that answered 410 paused itself: a retry alone would only wait.
func TestAdviceForADeadLetterOfAPausedDestinationHasBothSteps(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.DeadLettered)
	s.pauses = []onceward.Pause{{Destination: "billing", Actor: "onceward", Reason: "it answered 410 Gone: it wants no more calls"}}
	op := onceward.OperationID{Event: id, N: 1}.String()
	want := "Destination billing is paused by onceward (it answered 410 Gone: it wants no more calls). When it wants calls again, first: onceward destinations resume billing --reason …; then: onceward operations retry " + op + " --reason …"
	if got := adviceFor(t, s, id); got != want {
		t.Error(got)
	}
}

func TestAdviceForARejectedEventSaysWhoRejectedIt(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid")
	h := s.histories[id]
	h.Event.Verdict, h.Event.Reason = onceward.Ignored, "no id"
	h.Audits = []onceward.Audit{{Actor: "ops", Action: "T23", Target: id.String(), Reason: "a probe"}}
	if got := adviceFor(t, s, id); got != "Nothing to do: it was held (no id), and ops rejected it: a probe." {
		t.Error(got)
	}
}

func TestAdviceSpeaksAboutTheDisputedOperation(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Completed, onceward.Completed)
	s.histories[id].Event.Operations[1].Disputed = true
	if got := adviceFor(t, s, id); !strings.Contains(got, "is disputed") {
		t.Error(got)
	}
}

// What waits in its stream is not due, and says for what it waits.
func TestARetryOfWhatWaitsSaysForWhat(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Received)
	o := &s.histories[id].Event.Operations[0]
	o.Stream, o.Reason = 1, "waits: 4 is missing"
	h := api.New(api.Options{Store: s})
	const want = "it runs in order, and waits: 4 is missing"
	refused(t, call(h, "POST", "/v1/operations/"+o.ID.String()+"/retry", `{"reason":"x"}`), 409, want)
	got := decode[api.ReplayAnswer](t, call(h, "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"resume","reason":"x"}`))
	if got.Items[0].Did != "left" || !strings.HasPrefix(got.Items[0].Why, want) {
		t.Errorf("%+v", got.Items[0])
	}
}
