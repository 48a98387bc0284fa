package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Violation is an invariant that does not hold, and how it came to that.
type Violation struct {
	Rule  string
	Trace []string
}

func (v *Violation) String() string {
	return fmt.Sprintf("%s\n  %s", v.Rule, strings.Join(v.Trace, "\n  "))
}

// Name is the invariant without its explanation.
func (v *Violation) Name() string {
	name, _, _ := strings.Cut(v.Rule, ":")
	return name
}

// Result is what a search found.
type Result struct {
	States, Transitions int
	Cut                 int // transitions beyond the bound
	Deepest             int
	Took                time.Duration
	Walked              map[onceward.Transition]bool // rows of the table
	Violation           *Violation
}

type node struct {
	parent int32
	depth  int32
	label  string
}

// Search walks through every state of one operation that can be reached.
func Search(s Spec, rules Rules) Result {
	x := &explorer{Spec: &s, Rules: rules, table: onceward.Transitions(), walked: map[onceward.Transition]bool{}}
	r := walk(start(), model[World]{
		next: func(w World, emit func(string, World, string)) {
			x.emit = emit
			x.next(w)
		},
		check:     x.check,
		canonical: World.canonical,
		atRest:    func(w World) bool { return w.Row.State != 0 && atRest(w) },
		beyond:    func(w World) bool { return int(w.Row.Fence) > s.MaxFence },
	})
	r.Walked = x.walked
	return r
}

// model is what a search walks through.
type model[W comparable] struct {
	next      func(w W, emit func(label string, next W, broken string)) // everything that can follow
	check     func(W) string                                            // what does not hold; empty when all does
	canonical func(W) W
	atRest    func(W) bool // nothing has to happen any more by itself
	beyond    func(W) bool // is not followed
}

// walk goes breadth first, so that the first violation has a shortest trace.
func walk[W comparable](first W, m model[W]) Result {
	began := time.Now()
	worlds := []W{first}
	nodes := []node{{parent: -1}}
	index := map[W]int32{first: 0}
	var edges []int32
	var ends []int // of edges, by state
	open := map[int32]bool{}
	var result Result
	var found *Violation
	current := int32(0)
	emit := func(label string, next W, broken string) {
		if found != nil {
			return
		}
		result.Transitions++
		if broken == "" {
			broken = m.check(next)
		}
		if broken != "" {
			found = &Violation{broken, append(trace(nodes, current), label)}
			return
		}
		if m.beyond(next) {
			result.Cut++
			open[current] = true
			return
		}
		next = m.canonical(next)
		i, known := index[next]
		if !known {
			i = int32(len(worlds))
			index[next] = i
			worlds = append(worlds, next)
			nodes = append(nodes, node{current, nodes[current].depth + 1, label})
		}
		edges = append(edges, i)
	}
	for current = 0; int(current) < len(worlds) && found == nil; current++ {
		m.next(worlds[current], emit)
		ends = append(ends, len(edges))
	}
	result.States = len(worlds)
	result.Deepest = int(nodes[len(nodes)-1].depth)
	if found == nil {
		good := func(i int) bool { return m.atRest(worlds[i]) || open[int32(i)] }
		if i := stuck(len(worlds), edges, ends, good); i >= 0 {
			found = &Violation{"I12: no end can be reached any more", trace(nodes, i)}
		}
	}
	result.Violation, result.Took = found, time.Since(began)
	return result
}

func trace(nodes []node, i int32) []string {
	var all []string
	for ; nodes[i].parent >= 0; i = nodes[i].parent {
		all = append(all, nodes[i].label)
	}
	for a, b := 0, len(all)-1; a < b; a, b = a+1, b-1 {
		all[a], all[b] = all[b], all[a]
	}
	return all
}

// stuck looks for a state from which no end can be reached any more, backwards
// from the ends; -1 when there is none. What was not followed counts as an end.
func stuck(states int, edges []int32, ends []int, end func(int) bool) int32 {
	before := make([][]int32, states)
	from := 0
	for i, upto := range ends {
		for _, to := range edges[from:upto] {
			before[to] = append(before[to], int32(i))
		}
		from = upto
	}
	good := make([]bool, states)
	var queue []int32
	for i := range good {
		if end(i) {
			good[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, b := range before[i] {
			if !good[b] {
				good[b] = true
				queue = append(queue, b)
			}
		}
	}
	for i := range good {
		if !good[i] {
			return int32(i)
		}
	}
	return -1
}
