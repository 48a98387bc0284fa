package onceward_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// rows lists which transitions lead from one state to another: every pair that
// is missing here must be impossible.
var rows = map[string]string{
	"∅ → received":                                "T0 T0b",
	"∅ → quarantined":                             "T1",
	"received → processing":                       "T2",
	"received → quarantined":                      "T24",
	"received → completed":                        "T25",
	"processing → processing":                     "T3 T4 T5 T11",
	"processing → dispatched":                     "T6",
	"processing → completed":                      "T7",
	"processing → failed_before_effect":           "T9",
	"processing → unknown_outcome":                "T10 T12",
	"processing → dead_lettered":                  "T12b",
	"dispatched → dispatched":                     "T13",
	"dispatched → completed":                      "T8",
	"failed_before_effect → processing":           "T14",
	"failed_before_effect → failed_before_effect": "T14b",
	"failed_before_effect → dead_lettered":        "T15",
	"failed_before_effect → quarantined":          "T24",
	"failed_before_effect → completed":            "T25",
	"unknown_outcome → completed":                 "T16 T19",
	"unknown_outcome → failed_before_effect":      "T16 T17 T19",
	"unknown_outcome → dead_lettered":             "T18",
	"dead_lettered → received":                    "T20",
	"dead_lettered → completed":                   "T21",
	"dead_lettered → dead_lettered":               "T21b",
	"dead_lettered → failed_before_effect":        "T21",
	"quarantined → received":                      "T22",
	"quarantined → dead_lettered":                 "T23",
}

func TestEveryPairOfStatesHasExactlyItsTransitions(t *testing.T) {
	got := map[string][]string{}
	for _, tr := range onceward.Transitions() {
		if tr.By == "" || tr.Guard == "" || tr.To == 0 {
			t.Errorf("%s lacks who does it, its guard or its end", tr)
		}
		pair := tr.From.String() + " → " + tr.To.String()
		if tr.String() != tr.Name+" "+pair {
			t.Errorf("a transition is written %q", tr)
		}
		got[pair] = append(got[pair], tr.Name)
	}
	froms := append([]onceward.State{0}, onceward.States()...)
	for _, from := range froms {
		for _, to := range onceward.States() {
			pair := from.String() + " → " + to.String()
			if have := strings.Join(got[pair], " "); have != rows[pair] {
				t.Errorf("%s: transitions %q, want %q", pair, have, rows[pair])
			}
		}
	}
	if len(got) != len(rows) {
		t.Errorf("%d pairs have transitions, want %d", len(got), len(rows))
	}
}

func TestNothingLeavesCompletedAndOnlyPersonsLeaveAParkedState(t *testing.T) {
	people := map[string]bool{"operator": true, "reconciler": true, "late owner": true}
	for _, tr := range onceward.Transitions() {
		switch tr.From {
		case onceward.Completed:
			t.Errorf("%s leaves completed", tr)
		case onceward.UnknownOutcome, onceward.DeadLettered, onceward.Quarantined:
			if !people[tr.By] {
				t.Errorf("%s is done by the %s", tr, tr.By)
			}
		}
	}
}

func TestEveryStateCanBeReachedAndLeft(t *testing.T) {
	into, out := map[onceward.State]bool{}, map[onceward.State]bool{}
	for _, tr := range onceward.Transitions() {
		if tr.From != tr.To {
			into[tr.To], out[tr.From] = true, true
		}
	}
	for _, s := range onceward.States() {
		if !into[s] {
			t.Errorf("nothing leads to %s", s)
		}
		if out[s] == (s == onceward.Completed) {
			t.Errorf("leaving %s: %v", s, out[s])
		}
	}
}

func TestStatesKeepTheirNumbersAndNames(t *testing.T) {
	want := map[string]uint8{ // numbers are on disk
		"received": 1, "processing": 2, "dispatched": 3, "completed": 4, "failed_before_effect": 5,
		"unknown_outcome": 6, "dead_lettered": 7, "quarantined": 8,
	}
	got := map[string]uint8{}
	for _, s := range onceward.States() {
		got[s.String()] = uint8(s)
		if back, err := onceward.ParseState(s.String()); err != nil || back != s {
			t.Errorf("%s came back as %s, %v", s, back, err)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	for _, name := range []string{"", "∅", "Received", "state(9)", "done"} {
		if s, err := onceward.ParseState(name); err == nil {
			t.Errorf("%q was read as %s", name, s)
		}
	}
	if got := onceward.State(99).String(); got != "state(99)" {
		t.Errorf("an unknown state is called %q", got)
	}
}

func TestOpenStatesAreThoseThatNeedNobody(t *testing.T) {
	var open []string
	for _, s := range onceward.States() {
		if s.Open() {
			open = append(open, s.String())
		}
	}
	if want := []string{"received", "processing", "dispatched", "failed_before_effect"}; !slices.Equal(open, want) {
		t.Errorf("open: %v, want %v", open, want)
	}
}

func TestAnEventShowsTheWorstOfItsOperations(t *testing.T) {
	fromBest := []onceward.State{
		onceward.Completed, onceward.Dispatched, onceward.Received, onceward.Processing, onceward.FailedBeforeEffect,
		onceward.Quarantined, onceward.DeadLettered, onceward.UnknownOutcome,
	}
	for i, worst := range fromBest {
		var e onceward.Event
		for _, s := range fromBest[:i+1] {
			e.Operations = append(e.Operations, onceward.Operation{State: s})
		}
		slices.Reverse(e.Operations)
		if e.Status() != worst.String() {
			t.Errorf("status %s, want %s", e.Status(), worst)
		}
	}
	for _, v := range []onceward.Verdict{onceward.Ignored, onceward.QuarantinedBy} {
		if got := (onceward.Event{Verdict: v}).Status(); got != v.String() {
			t.Errorf("an event without operations shows %s, want %s", got, v)
		}
	}
}

func TestEffectClassesKeepTheirNumbersAndNames(t *testing.T) {
	for n, name := range map[uint8]string{1: "local", 2: "keyed", 3: "lookup", 4: "unsafe"} {
		e, err := onceward.ParseEffect(name)
		if err != nil || uint8(e) != n || e.String() != name {
			t.Errorf("%s is %d (%s), %v, want %d", name, e, e, err, n)
		}
	}
	for _, name := range []string{"", "Keyed", "safe"} {
		if e, err := onceward.ParseEffect(name); err == nil || !strings.Contains(err.Error(), "unsafe (neither)") {
			t.Errorf("%q gave %v, %v; want an error that explains the classes", name, e, err)
		}
	}
	if got := onceward.Effect(9).String(); got != "effect(9)" {
		t.Errorf("an unknown class is called %q", got)
	}
}
