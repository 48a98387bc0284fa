package explore_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/explore"
)

var large = flag.Bool("explore.large", false, "the large bound: minutes, and some gigabytes")

// specs are what is walked through, by name.
func specs() map[string]explore.Spec {
	const keyed, lookup, unsafe = onceward.Keyed, onceward.Lookup, onceward.Unsafe
	if *large {
		return map[string]explore.Spec{
			"keyed, 1 step":             {Effect: keyed, Steps: 1, Attempts: 3, MaxFence: 5},
			"keyed, 1 step, forgetful":  {Effect: keyed, Steps: 1, Attempts: 3, MaxFence: 4, KeyMemory: 3},
			"keyed, 1 step, people":     {Effect: keyed, Steps: 1, Attempts: 2, MaxFence: 4, Decisions: 1},
			"keyed, 2 steps":            {Effect: keyed, Steps: 2, Attempts: 2, MaxFence: 4},
			"keyed, 3 steps":            {Effect: keyed, Steps: 3, Attempts: 1, MaxFence: 5},
			"lookup, 1 step":            {Effect: lookup, Steps: 1, Attempts: 3, MaxFence: 5},
			"lookup, 1 step, people":    {Effect: lookup, Steps: 1, Attempts: 2, MaxFence: 4, Decisions: 1},
			"lookup, 2 steps":           {Effect: lookup, Steps: 2, Attempts: 2, MaxFence: 5},
			"lookup, 3 steps":           {Effect: lookup, Steps: 3, Attempts: 1, MaxFence: 5},
			"unsafe, 1 step":            {Effect: unsafe, Steps: 1, Attempts: 3, MaxFence: 6},
			"unsafe, 1 step, people":    {Effect: unsafe, Steps: 1, Attempts: 2, MaxFence: 5, Decisions: 1},
			"unsafe, 1 step, 2 by hand": {Effect: unsafe, Steps: 1, Attempts: 1, MaxFence: 4, Decisions: 2},
			"lookup, 2 steps, people":   {Effect: lookup, Steps: 2, Attempts: 1, MaxFence: 4, Decisions: 1},
			"unsafe, 2 steps":           {Effect: unsafe, Steps: 2, Attempts: 2, MaxFence: 5},
			"unsafe, 3 steps":           {Effect: unsafe, Steps: 3, Attempts: 1, MaxFence: 6},
		}
	}
	return map[string]explore.Spec{
		"keyed, 1 step":             {Effect: keyed, Steps: 1, Attempts: 2, MaxFence: 3},
		"keyed, 1 step, forgetful":  {Effect: keyed, Steps: 1, Attempts: 2, MaxFence: 3, KeyMemory: 3},
		"keyed, 1 step, people":     {Effect: keyed, Steps: 1, Attempts: 1, MaxFence: 3, Decisions: 1},
		"keyed, 2 steps":            {Effect: keyed, Steps: 2, Attempts: 1, MaxFence: 3},
		"lookup, 1 step":            {Effect: lookup, Steps: 1, Attempts: 2, MaxFence: 3},
		"lookup, 1 step, people":    {Effect: lookup, Steps: 1, Attempts: 1, MaxFence: 3, Decisions: 1},
		"lookup, 2 steps":           {Effect: lookup, Steps: 2, Attempts: 1, MaxFence: 3},
		"unsafe, 1 step":            {Effect: unsafe, Steps: 1, Attempts: 2, MaxFence: 3},
		"unsafe, 1 step, people":    {Effect: unsafe, Steps: 1, Attempts: 1, MaxFence: 3, Decisions: 1},
		"unsafe, 1 step, 2 by hand": {Effect: unsafe, Steps: 1, Attempts: 1, MaxFence: 2, Decisions: 2},
		"unsafe, 3 steps":           {Effect: unsafe, Steps: 3, Attempts: 1, MaxFence: 4},
	}
}

// TestNothingBreaksThePromise walks through everything that can happen, and
// holds every state against the invariants.
func TestNothingBreaksThePromise(t *testing.T) {
	walked := map[onceward.Transition]bool{}
	all := specs()
	var table strings.Builder
	fmt.Fprintf(&table, "\n| class, steps | attempts | fence | states | transitions | beyond the bound | depth | time |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if racing { // one goroutine: nothing for the detector to find, and ten times slower
			s.MaxFence--
		}
		r := explore.Search(s, explore.Real())
		fmt.Fprintf(&table, "| %s | %d | ≤ %d | %d | %d | %d | %d | %.1f s |\n", name, s.Attempts, s.MaxFence, r.States, r.Transitions, r.Cut, r.Deepest, r.Took.Seconds())
		if r.Violation != nil {
			t.Errorf("%s: %s", name, r.Violation)
		}
		maps.Copy(walked, r.Walked)
	}
	report(t, "explorer", table.String())
	// What the model does not have: quarantine at the receiver, replays of
	// completed operations, finishing apart from the last step, streams.
	elsewhere := []string{"T0b", "T1", "T6", "T8", "T13", "T21b", "T25"}
	for _, tr := range onceward.Transitions() {
		if racing || !*large && tr.Name == "T21" && tr.To == onceward.FailedBeforeEffect { // takes a fence more
			continue
		}
		if !walked[tr] && !slices.Contains(elsewhere, tr.Name) {
			t.Errorf("%s was never walked", tr)
		}
	}
}

// TestEveryMutantIsCaught breaks one rule at a time. With the large bound it
// also looks for what comes of it, not only for the check that notices.
func TestEveryMutantIsCaught(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n| what is broken | caught by | steps to it | what comes of it |\n|---|---|---|---|\n")
	for _, m := range explore.Mutants() {
		if racing && m.Caught == "" { // a whole walk
			continue
		}
		rules := explore.Real()
		m.Break(&rules)
		r := explore.Search(m.Spec, rules)
		caught, steps := "", 0
		if r.Violation != nil {
			caught, steps = r.Violation.Name(), len(r.Violation.Trace)
		}
		if caught != m.Caught {
			t.Errorf("%s: caught by %q, want %q; %d states, %v", m.Name, caught, m.Caught, r.States, r.Violation)
		}
		harm := m.Harmless
		if *large && m.Caught != "" {
			m.Spec.HarmOnly = true
			harm = "no second and no lost effect within the bound: another guard holds, or only the record is wrong"
			if v := explore.Search(m.Spec, rules).Violation; v != nil {
				harm = v.Rule + ": " + strings.Join(v.Trace, "; ")
			}
		}
		fmt.Fprintf(&table, "| %s (%s) | %s | %d | %s |\n", m.Name, m.Spec.Effect, cmp.Or(caught, "not caught"), steps, harm)
	}
	report(t, "mutants", table.String())
}

// report shows a table, and keeps it where the page that quotes it is made.
func report(t *testing.T, name, table string) {
	t.Helper()
	t.Log(table)
	if dir := os.Getenv("ONCEWARD_REPORT"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(strings.TrimLeft(table, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
