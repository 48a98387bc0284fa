package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store is the part of a store that the commands reach, in memory. It keeps
// which decisions it was handed.
type store struct {
	api.Store // what is not implemented must not be called
	events    map[onceward.EventID]onceward.History
	payload   []byte
	calls     []string
	decided   []onceward.Decision
	pauses    []onceward.Pause
	pages     int
}

func newStore(states ...onceward.State) (*store, onceward.EventID) {
	s := &store{events: map[onceward.EventID]onceward.History{}}
	return s, s.add(start, "guid-1", states...)
}

func (s *store) add(at time.Time, sender string, states ...onceward.State) onceward.EventID {
	id := onceward.EventIDAt(at)
	e := onceward.Event{ID: id, Key: onceward.Digest{9, byte(len(s.events))}, Source: "gh", EventID: sender, Type: "push", Verdict: onceward.Accepted, Deliveries: 5}
	for i, state := range states {
		e.Operations = append(e.Operations, onceward.Operation{
			ID: onceward.OperationID{Event: id, N: i + 1}, Name: "fulfil", State: state, Effect: onceward.Unsafe, Attempt: 1, Fence: 1,
			Unknown: state == onceward.UnknownOutcome, Reason: "reset after the request was written", Changed: at,
		})
	}
	s.events[id] = onceward.History{
		Event:      e,
		Deliveries: []onceward.Delivery{{At: at, Verdict: onceward.Accepted, Count: 1, Remote: "192.0.2.1"}, {At: at.Add(time.Second), Verdict: onceward.Duplicate, Count: 4}},
		Attempts:   []onceward.Attempt{{Operation: onceward.OperationID{Event: id, N: 1}, Number: 1, Started: at.Add(time.Second), Ended: at.Add(3 * time.Second), Outcome: "ambiguous", State: onceward.UnknownOutcome, Reason: "reset after the request was written"}},
	}
	return id
}

func (s *store) Events(_ context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error) {
	s.pages++
	if q.After == "bad" {
		return nil, "", onceward.ErrBadCursor
	}
	var ids []onceward.EventID
	for id := range s.events {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if e := s.events[id].Event; id.String() > q.After && (q.Search == "" || q.Search == e.EventID || q.Search == e.Key.Downstream("fulfil", 0, "")) {
			if len(items) == q.Limit {
				return items, items[len(items)-1].ID.String(), nil
			}
			items = append(items, e)
		}
	}
	return items, "", nil
}

func (s *store) History(_ context.Context, id onceward.EventID) (onceward.History, error) {
	h, ok := s.events[id]
	if !ok {
		return h, fmt.Errorf("event %s: %w", id, onceward.ErrNotFound)
	}
	return h, nil
}

func (s *store) Payload(context.Context, onceward.EventID) (onceward.Payload, error) {
	if s.payload == nil {
		return onceward.Payload{}, onceward.ErrNotFound
	}
	return onceward.Payload{Body: s.payload}, nil
}

func (s *store) Operations(_ context.Context, q onceward.OperationQuery) (items []onceward.Operation, next string, err error) {
	for _, h := range s.events {
		items = append(items, h.Event.Operations...)
	}
	return slices.DeleteFunc(items, func(o onceward.Operation) bool { return q.State != 0 && o.State != q.State }), "", nil
}

func (s *store) Operation(_ context.Context, id onceward.OperationID) (onceward.Operation, error) {
	if h, ok := s.events[id.Event]; ok && id.N <= len(h.Event.Operations) {
		return h.Event.Operations[id.N-1], nil
	}
	return onceward.Operation{}, fmt.Errorf("operation %s: %w", id, onceward.ErrNotFound)
}

func (s *store) decide(ctx context.Context, what string, id onceward.OperationID, d onceward.Decision, rule func(onceward.Operation) (onceward.Operation, string, error)) (onceward.Operation, error) {
	o, err := s.Operation(ctx, id)
	if err != nil {
		return o, err
	}
	if o, _, err = rule(o); err == nil {
		s.events[id.Event].Event.Operations[id.N-1] = o
		s.calls, s.decided = append(s.calls, what+" "+id.String()), append(s.decided, d)
	}
	return o, err
}

func (s *store) Retry(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, "retry", id, d, func(o onceward.Operation) (onceward.Operation, string, error) { return o.Retry(d, start) })
}

func (s *store) Resolve(ctx context.Context, id onceward.OperationID, completed bool, result string, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, fmt.Sprintf("resolve %t %q", completed, result), id, d, func(o onceward.Operation) (onceward.Operation, string, error) {
		return o.Resolve(completed, result, d, start)
	})
}

func (s *store) Abandon(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, "abandon", id, d, func(o onceward.Operation) (onceward.Operation, string, error) { return o.Abandon(d, start) })
}

func (s *store) Replay(ctx context.Context, id onceward.EventID, r onceward.Replay) ([]onceward.Replayed, error) {
	h := s.events[id]
	all, err := h.Event.Replay(r, start)
	if err == nil {
		err = onceward.Refusal(all)
	}
	for _, step := range all {
		if err == nil && !r.DryRun && step.Did == onceward.Retried {
			_, err = s.Retry(ctx, step.To.ID, r.Decision)
		}
	}
	return all, err
}

func (s *store) Pauses(context.Context) ([]onceward.Pause, error) { return s.pauses, nil }

func (s *store) Pause(_ context.Context, name string, d onceward.Decision) error {
	s.calls, s.decided = append(s.calls, "pause "+name), append(s.decided, d)
	s.pauses = []onceward.Pause{{Destination: name, At: start, Actor: d.Actor, Reason: d.Reason}}
	return nil
}

func (s *store) Unpause(_ context.Context, name string, d onceward.Decision) error {
	s.calls, s.decided, s.pauses = append(s.calls, "unpause "+name), append(s.decided, d), nil
	return nil
}

// onceward runs the program against a gateway over the store.
func (s *store) onceward(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	gateway := httptest.NewServer(api.New(api.Options{
		Store: s, Destinations: []string{"billing", "mail"}, Routes: map[string][]string{"fulfil": {"billing"}},
		Tokens: []api.Token{{Name: "ops", Role: api.Operator, Secret: "operator-token"}, {Name: "wall", Role: api.Viewer, Secret: "viewer-token"}},
	}))
	defer gateway.Close()
	t.Setenv("ONCEWARD_ADMIN", gateway.URL)
	t.Setenv("ONCEWARD_TOKEN", "operator-token")
	return program(args...)
}

func program(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}
