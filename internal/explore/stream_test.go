package explore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/explore"
)

func at(sequence int64, content byte) explore.StreamEvent {
	return explore.StreamEvent{Place: onceward.Place{Sequence: sequence}, Content: content}
}

type streamRun struct {
	name string
	spec explore.StreamSpec
}

func streams() []streamRun {
	const latest, strict, refetch = onceward.LatestFirst, onceward.StrictOrder, onceward.RefetchOnly
	const hold, proceed, reread = onceward.ChooseQuarantine, onceward.ChooseProceed, onceward.ChooseRefetch
	three := []explore.StreamEvent{at(1, 1), at(2, 2), at(3, 3)}
	tie := []explore.StreamEvent{at(1, 1), at(2, 2), at(2, 3)}
	same := []explore.StreamEvent{at(1, 1), at(2, 2), at(2, 2)}
	all := []streamRun{
		{"latest", explore.StreamSpec{Order: onceward.Order{Mode: latest, Tie: reread}, Events: three}},
		{"latest, skip", explore.StreamSpec{Order: onceward.Order{Mode: latest, Tie: reread, Skip: true}, Events: three}},
		{"latest, a tie", explore.StreamSpec{Order: onceward.Order{Mode: latest, Tie: hold}, Events: tie}},
		{"latest, a tie is run", explore.StreamSpec{Order: onceward.Order{Mode: latest, Tie: proceed}, Events: tie}},
		{"latest, the same twice", explore.StreamSpec{Order: onceward.Order{Mode: latest, Tie: hold}, Events: same}},
		{"strict", explore.StreamSpec{Order: onceward.Order{Mode: strict, OnGap: hold}, Events: three}},
		{"strict, gaps are passed over", explore.StreamSpec{Order: onceward.Order{Mode: strict, OnGap: proceed}, Events: three}},
		{"strict, skip", explore.StreamSpec{Order: onceward.Order{Mode: strict, OnGap: hold, Skip: true}, Events: three}},
		{"strict, a tie", explore.StreamSpec{Order: onceward.Order{Mode: strict, OnGap: hold}, Events: tie}},
		{"refetch", explore.StreamSpec{Order: onceward.Order{Mode: refetch}, Events: three}},
	}
	for i := range all {
		if racing || all[i].spec.Order.Skip && !*large {
			all[i].spec.Events = all[i].spec.Events[1:]
		} else if *large && !all[i].spec.Order.Skip { // where nothing blocks, a person's decisions make five times as many states
			all[i].spec.Decisions = 1
		}
	}
	return all
}

// TestStreamsKeepTheirOrder walks through all orders of arrival, outcomes and
// deaths of the events of one stream.
func TestStreamsKeepTheirOrder(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n| order | events | by hand | states | transitions | depth | time |\n|---|---|---|---|---|---|---|\n")
	for _, run := range streams() {
		r := explore.SearchStream(run.spec, explore.RealStream())
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d | %.1f s |\n", run.name, len(run.spec.Events), run.spec.Decisions, r.States, r.Transitions, r.Deepest, r.Took.Seconds())
		if r.Violation != nil {
			t.Errorf("%s: %s", run.name, r.Violation)
		}
	}
	report(t, "streams", table.String())
}

// TestEveryMutantOfStreamsIsCaught breaks one rule of streams at a time.
func TestEveryMutantOfStreamsIsCaught(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n| what is broken | caught by | steps to it |\n|---|---|---|\n")
	for _, m := range explore.StreamMutants() {
		rules := explore.RealStream()
		m.Break(&rules)
		r := explore.SearchStream(m.Spec, rules)
		caught, rule, steps := "", "not caught", 0
		if r.Violation != nil {
			caught, rule, steps = r.Violation.Name(), r.Violation.Rule, len(r.Violation.Trace)
		}
		if caught != m.Caught {
			t.Errorf("%s: caught by %q, want %q; %d states, %v", m.Name, caught, m.Caught, r.States, r.Violation)
		}
		fmt.Fprintf(&table, "| %s | %s | %d |\n", m.Name, rule, steps)
	}
	report(t, "streammutants", table.String())
}
