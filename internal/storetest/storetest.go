// Package storetest is the contract of a store as tests: every store runs the
// same cases. It counts rows and effects, never only errors.
package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// Store is everything that the rooms ask of a store.
type Store interface {
	Admit(context.Context, *onceward.Admission) ([]onceward.Admitted, error)
	RecordCopy(context.Context, onceward.EventID, *onceward.Admission, *onceward.Arrival) (onceward.Admitted, error)
	RecordConflict(context.Context, onceward.EventID, *onceward.Admission, *onceward.Arrival, onceward.OnConflict) (onceward.Admitted, error)
	Rivals(context.Context, onceward.EventID, int) ([]onceward.Evidence, error)
	Conflicts(context.Context, onceward.ConflictQuery) ([]onceward.Conflict, string, error)
	Conflict(context.Context, int64) (onceward.Conflict, error)
	DecideConflict(context.Context, int64, onceward.Keep, *onceward.Arrival, onceward.Decision) ([]onceward.Replayed, error)
	Carried(context.Context, onceward.OperationID) (onceward.Payload, error)
	Claim(context.Context, onceward.ClaimRequest) ([]onceward.Leased, time.Time, error)
	Intend(context.Context, onceward.Lease, time.Duration) (onceward.Lease, error)
	Renew(context.Context, onceward.Lease, time.Duration) (onceward.Lease, error)
	HandBack(context.Context, onceward.Lease) error
	Reorder(context.Context, string, onceward.Key, onceward.Order) error
	Settle(context.Context, onceward.Lease, onceward.Outcome, onceward.Limits) (onceward.Operation, error)
	Recover(context.Context, map[string][]onceward.Limits, int) (int, error)
	Inquiries(context.Context, onceward.ClaimRequest) ([]onceward.Inquired, time.Time, error)
	Reconcile(context.Context, onceward.OperationID, int64, onceward.Finding, onceward.Inquiry, onceward.Plan) (onceward.Operation, error)
	Steps(context.Context, onceward.OperationID) ([]onceward.RecoveryPoint, error)
	Retry(context.Context, onceward.OperationID, onceward.Decision) (onceward.Operation, error)
	Resolve(context.Context, onceward.OperationID, bool, string, onceward.Decision) (onceward.Operation, error)
	Abandon(context.Context, onceward.OperationID, onceward.Decision) (onceward.Operation, error)
	Replay(context.Context, onceward.EventID, onceward.Replay) ([]onceward.Replayed, error)
	Erase(context.Context, onceward.EventID, onceward.Decision) error
	MarkRestored(context.Context, time.Time, onceward.Decision) error
	Restored(context.Context) (time.Time, error)
	Reject(context.Context, onceward.EventID, onceward.Decision) error
	BeginBulk(context.Context, onceward.Bulk) (onceward.Bulk, error)
	StepBulk(context.Context, onceward.Bulk, []onceward.Step, string, bool) (onceward.Bulk, error)
	CancelBulk(context.Context, int64, onceward.Decision) (onceward.Bulk, error)
	RunningBulk(context.Context) (onceward.Bulk, bool, error)
	Bulk(context.Context, int64) (onceward.Bulk, error)
	Bulks(context.Context, onceward.Page) ([]onceward.Bulk, string, error)
	Pause(context.Context, string, onceward.Decision) error
	Unpause(context.Context, string, onceward.Decision) error
	Pauses(context.Context) ([]onceward.Pause, error)
	Events(context.Context, onceward.EventQuery) ([]onceward.Event, string, error)
	History(context.Context, onceward.EventID) (onceward.History, error)
	Payload(context.Context, onceward.EventID) (onceward.Payload, error)
	Operations(context.Context, onceward.OperationQuery) ([]onceward.Operation, string, error)
	Operation(context.Context, onceward.OperationID) (onceward.Operation, error)
	Audit(context.Context, onceward.AuditQuery) ([]onceward.Audit, string, error)
	Counts(context.Context) ([]onceward.Count, error)
	Oldest(context.Context, string) (time.Time, error)
	Index(context.Context, int) (int, error)
	PrunePayloads(context.Context, int) (int, error)
	PruneKeys(context.Context, onceward.EventID, time.Duration, int) (onceward.EventID, int, error)
	Peppers() []onceward.Pepper
	Ping(context.Context) error
	Close() error
}

// Clock is a movable clock, safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// NewClock returns a clock that stands at a fixed moment.
func NewClock() *Clock { return &Clock{t: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// Open opens the store of one test; calling it again opens the same data.
type Open func(t *testing.T, clock *Clock) Store

// Run runs every case; fresh returns an opener on new, empty data.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	for name, group := range map[string]map[string]func(*suite){
		"admit": admitCases, "lease": leaseCases, "settle": settleCases, "operator": operatorCases, "list": listCases, "memory": memoryCases, "order": orderCases, "depth": depthCases,
		"step": stepCases, "reconcile": reconcileCases, "record": recordCases, "replay": replayCases, "release": releaseCases, "bulk": bulkCases, "conflict": conflictCases, "level": levelCases, "request": requestCases, "age": ageCases, "erase": eraseCases,
	} {
		t.Run(name, func(t *testing.T) {
			for name, test := range group {
				t.Run(name, func(t *testing.T) {
					clock := NewClock()
					open := fresh(t)
					s := &suite{T: t, clock: clock, open: open, Store: open(t, clock)}
					t.Cleanup(func() { _ = s.Store.Close() })
					test(s)
				})
			}
		})
	}
}

type suite struct {
	*testing.T
	Store
	clock *Clock
	open  Open

	ordered sync.Mutex // guards the names that ordered cases give
}

var ctx = context.Background()

// reopen closes the store and opens its data again.
func (s *suite) reopen() {
	s.Helper()
	if err := s.Store.Close(); err != nil {
		s.Fatal(err)
	}
	s.Store = s.open(s.T, s.clock)
}

// until waits for what a store may do a moment later, with a deadline.
func (s *suite) until(what string, done func() bool) {
	s.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			s.Fatalf("%s did not come true", what)
		}
	}
}

// arrival is one event of source "pay" with an operation "fulfil".
func (s *suite) arrival(id, body string) onceward.Arrival {
	key := onceward.Key{Tenant: "acme", Source: "pay", Environment: "production", EventID: id}
	return onceward.Arrival{
		Key: key, Digest: s.Peppers()[0].Digest(key), Type: "order.paid", Content: sha256.Sum256([]byte(body)), Raw: []byte(body),
		Verdict: onceward.Accepted, Operations: []onceward.Planned{{Name: "fulfil", Effect: onceward.Keyed}},
	}
}

func (s *suite) admission(arrivals ...onceward.Arrival) *onceward.Admission {
	return &onceward.Admission{
		At: s.clock.Now(), Header: []byte("Content-Type: application/json\n"), Secret: "secret 1", Remote: "192.0.2.1",
		Payloads: 30 * 24 * time.Hour, Keys: 90 * 24 * time.Hour, Arrivals: arrivals,
	}
}

// admit admits arrivals in one delivery and fails the test on an error.
func (s *suite) admit(arrivals ...onceward.Arrival) []onceward.Admitted {
	s.Helper()
	admitted, err := s.Admit(ctx, s.admission(arrivals...))
	if err != nil {
		s.Fatalf("admit: %v", err)
	}
	return admitted
}

// one admits one event and returns its only operation's id.
func (s *suite) one(id string, change ...func(*onceward.Arrival)) onceward.OperationID {
	s.Helper()
	a := s.arrival(id, `{"id":"`+id+`"}`)
	for _, c := range change {
		c(&a)
	}
	return onceward.OperationID{Event: s.admit(a)[0].Event, N: 1}
}

var limits = onceward.Limits{Attempts: 3, Lease: time.Minute}

func unsafely(a *onceward.Arrival) { a.Operations[0].Effect = onceward.Unsafe }

// claim takes due operations of "fulfil".
func (s *suite) claim(owner string, effect onceward.Effect, limit int) []onceward.Leased {
	s.Helper()
	leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: owner, Effect: effect, Limits: limits, Intend: effect == onceward.Keyed, Limit: limit})
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	return leased
}

// take claims exactly one operation.
func (s *suite) take(owner string, effect onceward.Effect) onceward.Leased {
	s.Helper()
	leased := s.claim(owner, effect, 10)
	if len(leased) != 1 {
		s.Fatalf("claimed %d operations, want 1", len(leased))
	}
	return leased[0]
}

func (s *suite) want(id onceward.OperationID, state onceward.State) onceward.Operation {
	s.Helper()
	o, err := s.Operation(ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	if o.State != state {
		s.Fatalf("operation %s is %s (%s), want %s", id, o.State, o.Reason, state)
	}
	return o
}

// counts checks the counters against a description like "completed=2 received=1".
func (s *suite) counts(want string) {
	s.Helper()
	all, err := s.Counts(ctx)
	if err != nil {
		s.Fatal(err)
	}
	got := ""
	for _, c := range all {
		if c.N != 0 {
			got += fmt.Sprintf(" %s=%d", c.State, c.N)
		}
	}
	if got != "" {
		got = got[1:]
	}
	if got != want {
		s.Fatalf("counters say %q, want %q", got, want)
	}
}
