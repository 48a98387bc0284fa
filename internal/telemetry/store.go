package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	snapshotAge     = time.Second
	snapshotTimeout = 2 * time.Second
)

// storeCollector turns snapshots of the store into gauges.
type storeCollector struct {
	snapshot                                          func(context.Context) (Snapshot, error)
	operations, oldest, unknown, paused, database, up *prometheus.Desc
	wal                                               *prometheus.Desc

	mu    sync.Mutex
	at    time.Time
	last  Snapshot
	fault error
}

func newStoreCollector(snapshot func(context.Context) (Snapshot, error)) *storeCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &storeCollector{
		snapshot:   snapshot,
		operations: desc("onceward_operations", "Operations by name and state.", "operation", "state"),
		oldest:     desc("onceward_oldest_pending_seconds", "Age of the oldest event with an open operation of this name; 0 without one.", "operation"),
		unknown:    desc("onceward_unknown_outcomes", "Operations whose outcome nobody knows; each needs a person.", "operation"),
		paused:     desc("onceward_destination_paused", "1 while a destination gets no calls.", "destination"),
		database:   desc("onceward_store_bytes", "Size of the database file."),
		wal:        desc("onceward_store_wal_bytes", "Size of the write-ahead log."),
		up:         desc("onceward_store_up", "1 when the store answered the last look at it."),
	}
}

// Describe sends the descriptions of all gauges.
func (c *storeCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.operations, c.oldest, c.unknown, c.paused, c.database, c.wal, c.up} {
		out <- d
	}
}

// Collect sends the gauges' values. Without an answer from the store only
// onceward_store_up is sent: an old number would look like a fact.
func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	s, err := c.current()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if err != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	for _, o := range s.Operations {
		gauge(c.operations, float64(o.N), o.Operation, o.State)
		if o.State == "unknown_outcome" {
			gauge(c.unknown, float64(o.N), o.Operation)
		}
	}
	for operation, age := range s.Oldest {
		gauge(c.oldest, age.Seconds(), operation)
	}
	for destination, paused := range s.Paused {
		v := 0.0
		if paused {
			v = 1
		}
		gauge(c.paused, v, destination)
	}
	gauge(c.database, float64(s.Database))
	gauge(c.wal, float64(s.WAL))
}

func (c *storeCollector) current() (Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < snapshotAge {
		return c.last, c.fault
	}
	ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
	defer cancel()
	c.last, c.fault = c.snapshot(ctx)
	c.at = time.Now()
	return c.last, c.fault
}
