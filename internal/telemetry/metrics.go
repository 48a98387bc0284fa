// Package telemetry names every metric and every log key in one place, so that
// dashboards and alerts can be written against them. It counts and formats; it
// knows nothing of what is counted. No label ever takes its value from an
// event: labels are names from the configuration, states and outcomes.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is the process's registry. It is safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	deliveries counters
	attempts   counters
	recovered  prometheus.Counter
	reexecuted prometheus.Counter
	keyRefused prometheus.Counter
	disputed   prometheus.Counter
	intake     prometheus.Histogram
	commit     prometheus.Histogram
	batch      prometheus.Histogram
	attempt    prometheus.Histogram
}

// DeliveryStatuses are the values of the label status.
func DeliveryStatuses() []string {
	return []string{
		"accepted", "duplicate_in_flight", "duplicate_completed", "conflict", "quarantined", "ignored",
		"unauthenticated", "stale", "malformed", "too_large", "overloaded", "unavailable",
	}
}

// New returns a registry; what has labels of the configuration's names is at
// zero once these are declared.
func New() *Metrics {
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		deliveries: newCounters("onceward_deliveries_total", "Deliveries by source and what became of them.", "source", "status"),
		attempts:   newCounters("onceward_attempts_total", "Attempts that ended, by operation and outcome.", "operation", "outcome"),
		recovered:  counter("onceward_leases_recovered_total", "Operations taken over from an owner that fell silent."),
		reexecuted: counter("onceward_reexecuted_after_completion_total", "Operations that ran again after they were completed. Must stay 0; alert."),
		disputed:   counter("onceward_disputed_total", "Successes that were reported too late and contradict what was decided: the effect may have happened twice. Alert on any."),
		keyRefused: counter("onceward_downstream_key_rejected_total", "Calls whose key a destination refused as used for something else."),
		intake:     histogram("onceward_intake_seconds", "From a delivery's headers to its answer.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		commit:     histogram("onceward_commit_seconds", "One durable commit of the store.", prometheus.ExponentialBuckets(0.0002, 2, 14)),
		batch:      histogram("onceward_batch_size", "Requests that shared one commit.", prometheus.ExponentialBuckets(1, 2, 10)),
		attempt:    histogram("onceward_attempt_seconds", "One attempt, from its begin to its record.", prometheus.ExponentialBuckets(0.001, 2, 16)),
	}
	m.registry.MustRegister(m.deliveries.vec, m.attempts.vec, m.recovered, m.reexecuted, m.keyRefused, m.disputed, m.intake, m.commit, m.batch, m.attempt,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// Outcomes are the values of the label outcome.
func Outcomes() []string { return []string{"completed", "not_applied", "refused", "ambiguous"} }

// Declare makes every counter of these sources and operations begin at zero,
// so that the first occurrence is a rise that an alert can see.
func (m *Metrics) Declare(sources, operations []string) {
	for _, s := range sources {
		for _, status := range DeliveryStatuses() {
			m.deliveries.add([2]string{s, status})
		}
	}
	for _, o := range operations {
		for _, outcome := range Outcomes() {
			m.attempts.add([2]string{o, outcome})
		}
	}
}

// Delivery counts a delivery's end.
func (m *Metrics) Delivery(source, status string) { m.deliveries.inc(source, status) }

// Intake measures a delivery from its headers to its answer.
func (m *Metrics) Intake(took time.Duration) { m.intake.Observe(took.Seconds()) }

// Commit measures one commit of the store.
func (m *Metrics) Commit(items int, took time.Duration) {
	m.batch.Observe(float64(items))
	m.commit.Observe(took.Seconds())
}

// Attempt counts and measures an attempt that ended.
func (m *Metrics) Attempt(operation, outcome string, took time.Duration) {
	m.attempts.inc(operation, outcome)
	m.attempt.Observe(took.Seconds())
}

// LeaseRecovered counts a takeover.
func (m *Metrics) LeaseRecovered() { m.recovered.Inc() }

// Reexecuted counts a completed operation that ran again, which must not be.
func (m *Metrics) Reexecuted() { m.reexecuted.Inc() }

// Disputed counts a late success that contradicts what was decided.
func (m *Metrics) Disputed() { m.disputed.Inc() }

// DownstreamKeyRejected counts a call whose key a destination refused.
func (m *Metrics) DownstreamKeyRejected() { m.keyRefused.Inc() }

// Handler answers GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Snapshot is what is read from the store when somebody looks.
type Snapshot struct {
	Operations []OperationCount
	Oldest     map[string]time.Duration // by operation: age of its oldest open event
	Paused     map[string]bool          // by destination
	Database   int64                    // bytes
	WAL        int64
}

// OperationCount is how many operations of a name stand in a state.
type OperationCount struct {
	Operation, State string
	N                int64
}

// Observe registers the gauges that snapshot feeds. It is asked at most once a
// second, however often metrics are read.
func (m *Metrics) Observe(snapshot func(context.Context) (Snapshot, error)) {
	m.registry.MustRegister(newStoreCollector(snapshot))
}
