// Package report holds what a benchmark found: rows of figures with their
// baselines and goals, what follows from several runs, and the page that shows
// them. It measures nothing and knows nothing of what was measured.
package report

import (
	"fmt"
	"math"
	"slices"
)

// Unit is what a figure counts.
type Unit uint8

// The units of figures.
const (
	PerSecond Unit = iota
	Milliseconds
	Megabytes
	Bytes
	Number
)

// Goal is a bound that a figure is to keep. The zero value is no goal.
type Goal struct {
	bound   float64
	atMost  bool
	present bool
}

// AtLeast is the goal of reaching a bound.
func AtLeast(bound float64) Goal { return Goal{bound: bound, present: true} }

// AtMost is the goal of not exceeding a bound.
func AtMost(bound float64) Goal { return Goal{bound: bound, atMost: true, present: true} }

func (g Goal) reached(figure float64) bool {
	if g.atMost {
		return figure <= g.bound
	}
	return figure >= g.bound
}

func (g Goal) String() string {
	switch {
	case !g.present:
		return "–"
	case g.atMost:
		return fmt.Sprintf("≤ %s", short(g.bound))
	}
	return fmt.Sprintf("≥ %s", short(g.bound))
}

// Row is one thing that was measured in several runs. With a baseline the
// goals are about the ratio of own to baseline, else about the own figure.
type Row struct {
	ID       string // of the goal, such as P1
	What     string
	Baseline []float64 // one for each run, measured beside Own; nil when there is none
	Own      []float64
	Unit     Unit
	Must     Goal
	Aim      Goal
	Worst    bool // the worst run is judged, not the median
	Note     string
}

// figures returns what the goals are about, run by run: a run is compared with
// the baseline that was measured beside it.
func (r *Row) figures() []float64 {
	if r.Baseline == nil {
		return r.Own
	}
	ratios := make([]float64, min(len(r.Own), len(r.Baseline)))
	for i := range ratios {
		ratios[i] = r.Own[i] / r.Baseline[i]
	}
	return ratios
}

// Figure is what the goals are judged by: the median of the runs, or the worst
// of them.
func (r *Row) Figure() float64 {
	all := r.figures()
	switch {
	case len(all) == 0:
		return math.NaN()
	case !r.Worst:
		return median(all)
	case r.Must.atMost:
		return slices.Max(all)
	}
	return slices.Min(all)
}

// Reached says which goal the figure keeps: aim, must, none of them, or that
// there was no goal.
func (r *Row) Reached() string {
	figure := r.Figure()
	switch {
	case !r.Must.present:
		return "–"
	case math.IsNaN(figure):
		return "not measured"
	case !r.Must.reached(figure):
		return "**no**"
	case r.Aim.present && r.Aim.reached(figure):
		return "aim"
	}
	return "must"
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(of))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
