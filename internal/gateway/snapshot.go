package gateway

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
)

// snapshot reads for the metrics what only the store knows. Every operation
// and state that can occur is there, at zero if need be, so that an alert does
// not wait for a first occurrence.
func (g *Gateway) snapshot(ctx context.Context) (telemetry.Snapshot, error) {
	p := g.current.Load().plan
	s := telemetry.Snapshot{Oldest: map[string]time.Duration{}, Paused: map[string]bool{}}
	counts, err := g.store.Counts(ctx)
	if err != nil {
		return s, err
	}
	numbers := map[onceward.Count]int64{}
	operations := map[string]bool{}
	for name := range p.routes {
		operations[name] = true
	}
	for _, c := range counts {
		n := c.N
		c.N = 0
		numbers[c] = n
		operations[c.Operation] = true
	}
	for name := range operations {
		for _, state := range onceward.States() {
			n := numbers[onceward.Count{Operation: name, State: state}]
			s.Operations = append(s.Operations, telemetry.OperationCount{Operation: name, State: state.String(), N: n})
		}
		oldest, err := g.store.Oldest(ctx, name)
		if err != nil {
			return s, err
		}
		s.Oldest[name] = 0
		if !oldest.IsZero() {
			s.Oldest[name] = max(time.Since(oldest), 0)
		}
	}
	pauses, err := g.store.Pauses(ctx)
	if err != nil {
		return s, err
	}
	for name := range p.destinations {
		s.Paused[name] = false
	}
	for _, pause := range pauses {
		s.Paused[pause.Destination] = true
	}
	s.Database, s.WAL = g.store.Sizes()
	return s, nil
}
