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

// Search walks through every state that can be reached, breadth first, so that
// the first violation has a shortest trace.
func Search(s Spec, rules Rules) Result {
	began := time.Now()
	x := &explorer{Spec: &s, Rules: rules, table: onceward.Transitions(), walked: map[onceward.Transition]bool{}}
	worlds := []World{start()}
	nodes := []node{{parent: -1}}
	index := map[World]int32{worlds[0]: 0}
	var edges []int32
	var ends []int // of edges, by state
	open := map[int32]bool{}
	result := Result{Walked: x.walked}
	var found *Violation
	current := int32(0)
	x.emit = func(label string, next World, broken string) {
		if found != nil {
			return
		}
		result.Transitions++
		if broken == "" {
			broken = x.check(next)
		}
		if broken != "" {
			found = &Violation{broken, append(trace(nodes, current), label)}
			return
		}
		if int(next.Row.Fence) > s.MaxFence {
			result.Cut++
			open[current] = true
			return
		}
		next = next.canonical()
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
		x.next(worlds[current])
		ends = append(ends, len(edges))
	}
	result.States = len(worlds)
	result.Deepest = int(nodes[len(nodes)-1].depth)
	if found == nil {
		if i := stuck(worlds, edges, ends, open); i >= 0 {
			found = &Violation{"I12: nothing leads out of " + worlds[i].Row.State.String() + " to an end", trace(nodes, i)}
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
// from the ends. What was not followed counts as an end.
func stuck(worlds []World, edges []int32, ends []int, open map[int32]bool) int32 {
	before := make([][]int32, len(worlds))
	from := 0
	for i, end := range ends {
		for _, to := range edges[from:end] {
			before[to] = append(before[to], int32(i))
		}
		from = end
	}
	good := make([]bool, len(worlds))
	var queue []int32
	for i, w := range worlds {
		if w.Row.State != 0 && atRest(w) || open[int32(i)] {
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
	for i := range worlds {
		if !good[i] {
			return int32(i)
		}
	}
	return -1
}
