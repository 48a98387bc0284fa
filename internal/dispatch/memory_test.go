package dispatch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// memory is a store in memory that runs the rules of package onceward, can be
// made unavailable call by call, and refuses what the schema would refuse.
type memory struct {
	t   testing.TB
	now func() time.Time

	mu       sync.Mutex
	changed  *sync.Cond
	last     onceward.EventID
	all      map[onceward.OperationID]*record
	attempts map[onceward.OperationID][]onceward.Attempt
	pauses   map[string]onceward.Decision
	fault    func(method string, n int) error // asked before each call; n counts the method's calls from 1
	called   map[string]int
}

type record struct {
	onceward.Operation
	event    onceward.Event
	payload  onceward.Payload
	results  map[string]string
	recorded map[int]int // step: the attempt that did it
	missing  bool
	large    bool
	faults   int // how often it cannot be read
}

func newMemory(t testing.TB) *memory {
	m := &memory{
		t: t, now: time.Now, all: map[onceward.OperationID]*record{}, attempts: map[onceward.OperationID][]onceward.Attempt{},
		pauses: map[string]onceward.Decision{}, called: map[string]int{}, last: onceward.EventIDAt(time.Now()),
	}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// add records one event with one operation that is due now.
func (m *memory) add(name string, effect onceward.Effect, change ...func(*record)) onceward.OperationID {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	id := onceward.OperationID{Event: m.last, N: 1}
	now := m.now()
	r := &record{
		Operation: onceward.Operation{ID: id, Name: name, State: onceward.Received, Effect: effect, DueAt: now, Changed: now},
		event: onceward.Event{
			ID: m.last, Key: onceward.Pepper{Secret: []byte("p")}.Digest(onceward.Key{Source: "pay", EventID: m.last.String()}),
			Source: "pay", EventID: m.last.String(), Type: "order.paid",
		},
		payload: onceward.Payload{Header: []byte("Content-Type: application/json\nX-Signature: theirs\n"), Body: []byte(`{"id":"` + m.last.String() + `"}`)},
	}
	for _, c := range change {
		c(r)
	}
	m.all[id] = r
	return id
}

// call counts a method's call and asks whether it fails. The lock is held.
func (m *memory) call(method string) error {
	m.called[method]++
	defer m.changed.Broadcast()
	if m.fault == nil {
		return nil
	}
	return m.fault(method, m.called[method])
}

// put writes an operation as the schema allows it. The lock is held.
func (m *memory) put(o onceward.Operation) error {
	r := m.all[o.ID]
	switch {
	case o.State.Open() == o.DueAt.IsZero(), o.Attempt == 0 && o.State == onceward.Processing,
		o.Intent && !slices.Contains([]onceward.State{onceward.Processing, onceward.UnknownOutcome, onceward.DeadLettered}, o.State):
		m.t.Errorf("the schema would refuse %+v", o)
		return fmt.Errorf("%w: constraint failed", onceward.ErrUnavailable)
	}
	r.Operation = o
	m.changed.Broadcast()
	return nil
}

func (m *memory) Claim(_ context.Context, r onceward.ClaimRequest) (leased []onceward.Leased, next time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("Claim"); err != nil {
		return nil, time.Time{}, err
	}
	now := m.now()
	for _, rec := range m.due(r.Name, r.Step) {
		if len(leased) == r.Limit || rec.DueAt.After(now) {
			return leased, rec.DueAt, nil
		}
		o := rec.Operation
		if !o.Intent {
			o.Effect = r.Effect
		}
		lost := o.State == onceward.Processing && (o.Owner != "" || o.Reason == "")
		taken, _, err := o.Take(r.Owner, r.Limits, r.Intend, now)
		if err != nil {
			m.t.Errorf("take %+v: %v", o, err)
			continue
		}
		if err := m.put(taken); err != nil {
			return nil, time.Time{}, err
		}
		if taken.State == onceward.Processing {
			leased = append(leased, rec.lease(lost))
		}
	}
	return leased, time.Time{}, nil
}

func (r *record) lease(recovered bool) onceward.Leased {
	o := r.Operation
	l := onceward.Leased{
		Operation: o, Event: r.event, Payload: r.payload, Missing: r.missing, Recovered: recovered,
		Lease:   onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner, Step: o.Step, Effect: o.Effect},
		Results: maps.Clone(r.results),
	}
	if r.missing {
		l.Payload = onceward.Payload{}
	}
	if r.large {
		l.Payload, l.Large = onceward.Payload{}, true
	}
	if r.faults > 0 {
		r.faults--
		l.Event, l.Payload, l.Fault = onceward.Event{}, onceward.Payload{}, "a page cannot be read"
	}
	return l
}

func (m *memory) due(name string, step int) []*record {
	var all []*record
	for _, r := range m.all {
		if r.Name == name && r.Step == step && !r.DueAt.IsZero() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID.Event, b.ID.Event))
	})
	return all
}

func (m *memory) owned(method string, l onceward.Lease, change func(onceward.Operation, time.Time) (onceward.Operation, string, error)) (onceward.Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(method); err != nil {
		return onceward.Operation{}, err
	}
	after, _, err := change(m.all[l.Operation].Operation, m.now())
	if err != nil {
		return onceward.Operation{}, err
	}
	return after, m.put(after)
}

func (m *memory) Intend(_ context.Context, l onceward.Lease, d time.Duration) (onceward.Lease, error) {
	o, err := m.owned("Intend", l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Intend(l, d, now)
	})
	l.Until = o.DueAt
	return l, err
}

func (m *memory) Renew(_ context.Context, l onceward.Lease, d time.Duration) (onceward.Lease, error) {
	o, err := m.owned("Renew", l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Renew(l, d, now)
	})
	l.Until = o.DueAt
	return l, err
}

func (m *memory) HandBack(_ context.Context, l onceward.Lease) error {
	_, err := m.owned("HandBack", l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.HandBack(l, now)
	})
	return err
}

func (m *memory) Settle(_ context.Context, l onceward.Lease, out onceward.Outcome, limits onceward.Limits) (onceward.Operation, error) {
	disputed := false
	o, err := m.owned("Settle", l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		settled, by, err := o.Settle(l, out, limits, now)
		if errors.Is(err, onceward.ErrFenced) && out.Success() {
			settled, by, err = o.Dispute(l, m.all[o.ID].recorded[l.Step], now)
			disputed = err == nil
		}
		if err == nil && settled.Step > o.Step {
			rec := m.all[o.ID]
			if rec.results == nil {
				rec.results = map[string]string{}
			}
			rec.results[o.StepName()] = out.Result
			if rec.recorded == nil {
				rec.recorded = map[int]int{}
			}
			rec.recorded[o.Step] = o.Attempt
		}
		if err == nil { // in one piece with the state, as in a store
			m.attempts[o.ID] = append(m.attempts[o.ID], onceward.Attempt{Number: l.Attempt, Fence: l.Fence, Outcome: out.String(), Status: out.Status, Reason: out.Reason, State: settled.State})
		}
		return settled, by, err
	})
	if disputed {
		err = onceward.ErrDisputed
	}
	return o, err
}

// Payload gives the payload of a large one, when its call begins.
func (m *memory) Carried(_ context.Context, op onceward.OperationID) (onceward.Payload, error) {
	id := op.Event
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("Payload"); err != nil {
		return onceward.Payload{}, err
	}
	for _, r := range m.all {
		if r.event.ID == id {
			return r.payload, nil
		}
	}
	return onceward.Payload{}, onceward.ErrNotFound
}

func (m *memory) Pause(_ context.Context, destination string, d onceward.Decision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauses[destination] = d
	m.changed.Broadcast()
	return m.call("Pause")
}

func (m *memory) Unpause(destination string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pauses, destination)
}

func (m *memory) Pauses(context.Context) (all []onceward.Pause, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.pauses {
		all = append(all, onceward.Pause{Destination: name})
	}
	return all, m.call("Pauses")
}

// failing makes a method fail from its first call to its nth.
func (m *memory) failing(method string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = func(called string, k int) error {
		if called == method && k <= n {
			return fmt.Errorf("%w: as the test wants it", onceward.ErrUnavailable)
		}
		return nil
	}
}

// get returns an operation as it stands.
func (m *memory) get(id onceward.OperationID) onceward.Operation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id].Operation
}

// leased counts operations that somebody holds.
func (m *memory) leased() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.all {
		if r.Owner != "" {
			n++
		}
	}
	return n
}

func (m *memory) ended(id onceward.OperationID) []onceward.Attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.attempts[id])
}

func (m *memory) calls(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.called[method]
}

// patience bounds every wait; nothing that works comes near it.
const patience = 20 * time.Second

// until waits until done is true of the store; it is asked after every change.
func (m *memory) until(what string, done func() bool) {
	m.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		late = true
		m.changed.Broadcast()
	})
	defer timer.Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for !done() {
		if late {
			for _, r := range m.all {
				m.t.Logf("%+v", r.Operation)
			}
			m.t.Fatalf("%s did not happen within %s", what, patience)
		}
		m.changed.Wait()
	}
}

// untilState waits until an operation is in a state and has no owner.
func (m *memory) untilState(id onceward.OperationID, s onceward.State) onceward.Operation {
	m.t.Helper()
	var o onceward.Operation
	m.until(fmt.Sprintf("%s in %s", id, s), func() bool {
		o = m.all[id].Operation
		return o.State == s && o.Owner == ""
	})
	return o
}
