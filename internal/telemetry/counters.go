package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counters is a counter with two labels. The library hashes and locks at every
// look-up of a child, and a sync.Map would box the pair; here children are
// found in a map that is replaced as a whole when a new pair appears. Both
// labels' values come from the configuration, so that is a few dozen times in
// a process's life.
type counters struct {
	vec  *prometheus.CounterVec
	seen *atomic.Pointer[map[[2]string]prometheus.Counter]
	grow *sync.Mutex
}

func newCounters(name, help, first, second string) counters {
	c := counters{
		vec:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{first, second}),
		seen: new(atomic.Pointer[map[[2]string]prometheus.Counter]),
		grow: new(sync.Mutex),
	}
	c.seen.Store(&map[[2]string]prometheus.Counter{})
	return c
}

func (c counters) inc(first, second string) {
	pair := [2]string{first, second}
	child, ok := (*c.seen.Load())[pair]
	if !ok {
		child = c.add(pair)
	}
	child.Inc()
}

func (c counters) add(pair [2]string) prometheus.Counter {
	c.grow.Lock()
	defer c.grow.Unlock()
	next := maps.Clone(*c.seen.Load())
	next[pair] = c.vec.WithLabelValues(pair[0], pair[1])
	c.seen.Store(&next)
	return next[pair]
}
