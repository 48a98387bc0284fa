package api_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store is an in-memory Store that runs the root package's own rules and keeps
// which decisions it was handed.
type store struct {
	api.Store // what is not implemented must not be called
	conflicts map[int64]onceward.Conflict
	histories map[onceward.EventID]*onceward.History
	payloads  map[onceward.EventID]onceward.Payload
	pauses    []onceward.Pause
	audits    []onceward.Audit
	calls     []string // what was changed: "retry op_… by ops because …"
	decided   []onceward.Decision
	queries   []any
	replays   []onceward.Replay
	bulks     []onceward.Bulk
	err       error // answered by everything
}

func newStore() *store {
	return &store{histories: map[onceward.EventID]*onceward.History{}, payloads: map[onceward.EventID]onceward.Payload{}}
}

// add records an event whose operations stand in the given states.
func (s *store) add(at time.Time, sender string, states ...onceward.State) onceward.EventID {
	id := onceward.EventIDAt(at)
	e := onceward.Event{ID: id, Source: "gh", EventID: sender, Type: "push", Verdict: onceward.Accepted, Deliveries: 1, Key: onceward.Digest{1, 2, byte(len(s.histories))}}
	if len(states) == 0 {
		e.Verdict = onceward.Ignored
	}
	for i, state := range states {
		o := onceward.Operation{ID: onceward.OperationID{Event: id, N: i + 1}, Name: fmt.Sprintf("work%d", i+1), State: state, Effect: onceward.Unsafe, Fence: 1, Attempt: 1, Changed: at}
		o.Unknown = state == onceward.UnknownOutcome
		if state.Open() {
			o.DueAt = at.Add(time.Minute)
		}
		e.Operations = append(e.Operations, o)
	}
	s.histories[id] = &onceward.History{Event: e, Deliveries: []onceward.Delivery{{At: at, Verdict: e.Verdict, Count: 1, Remote: "192.0.2.1"}}}
	return id
}

func (s *store) find(id onceward.OperationID) (*onceward.Operation, error) {
	if h, ok := s.histories[id.Event]; ok && id.N <= len(h.Event.Operations) {
		return &h.Event.Operations[id.N-1], s.err
	}
	return nil, fmt.Errorf("operation %s: %w", id, onceward.ErrNotFound)
}

func (s *store) Steps(_ context.Context, id onceward.OperationID) (all []onceward.RecoveryPoint, err error) {
	if h, ok := s.histories[id.Event]; ok {
		all = h.Steps
	}
	return all, s.err
}

func (s *store) Events(_ context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error) {
	s.queries = append(s.queries, q)
	if q.After == "nonsense" {
		return nil, "", fmt.Errorf("cursor %q: %w", q.After, onceward.ErrBadCursor)
	}
	var ids []onceward.EventID
	for id := range s.histories {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	for _, id := range ids {
		e := s.histories[id].Event
		if q.After != "" && id.String() >= q.After || q.Search != "" && !strings.Contains(e.EventID+e.ID.String(), q.Search) {
			continue
		}
		if len(items) == q.Limit {
			return items, items[len(items)-1].ID.String(), s.err
		}
		items = append(items, e)
	}
	return items, "", s.err
}

func (s *store) History(_ context.Context, id onceward.EventID) (onceward.History, error) {
	h, ok := s.histories[id]
	if !ok {
		return onceward.History{}, fmt.Errorf("event %s: %w", id, onceward.ErrNotFound)
	}
	return *h, s.err
}

func (s *store) Payload(_ context.Context, id onceward.EventID) (onceward.Payload, error) {
	p, ok := s.payloads[id]
	if !ok {
		return p, fmt.Errorf("payload of %s: %w", id, onceward.ErrNotFound)
	}
	return p, s.err
}

func (s *store) Operations(_ context.Context, q onceward.OperationQuery) (items []onceward.Operation, next string, err error) {
	s.queries = append(s.queries, q)
	for _, h := range s.histories {
		for _, o := range h.Event.Operations {
			if q.State == 0 || q.State == o.State {
				items = append(items, o)
			}
		}
	}
	return items, "", s.err
}

func (s *store) Operation(_ context.Context, id onceward.OperationID) (onceward.Operation, error) {
	o, err := s.find(id)
	if err != nil {
		return onceward.Operation{}, err
	}
	return *o, nil
}

func (s *store) change(what string, id onceward.OperationID, d onceward.Decision, rule func(onceward.Operation) (onceward.Operation, string, error)) (onceward.Operation, error) {
	o, err := s.find(id)
	if err != nil {
		return onceward.Operation{}, err
	}
	next, _, err := rule(*o)
	if err != nil {
		return onceward.Operation{}, fmt.Errorf("operation %s: %w", id, err)
	}
	*o = next
	s.calls = append(s.calls, what+" "+id.String())
	s.decided = append(s.decided, d)
	return next, nil
}

func (s *store) Retry(_ context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.change("retry", id, d, func(o onceward.Operation) (onceward.Operation, string, error) { return o.Retry(d, start) })
}

func (s *store) Resolve(_ context.Context, id onceward.OperationID, completed bool, result string, d onceward.Decision) (onceward.Operation, error) {
	return s.change(fmt.Sprintf("resolve %t %q", completed, result), id, d, func(o onceward.Operation) (onceward.Operation, string, error) {
		return o.Resolve(completed, result, d, start)
	})
}

func (s *store) Abandon(_ context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.change("abandon", id, d, func(o onceward.Operation) (onceward.Operation, string, error) { return o.Abandon(d, start) })
}

// Replay runs the rules and keeps what they say, as a store does.
func (s *store) Replay(_ context.Context, id onceward.EventID, r onceward.Replay) ([]onceward.Replayed, error) {
	h, ok := s.histories[id]
	if !ok {
		return nil, fmt.Errorf("event %s: %w", id, onceward.ErrNotFound)
	}
	s.replays = append(s.replays, r)
	all, err := h.Event.Replay(r, start)
	if err == nil && !r.DryRun {
		err = onceward.Refusal(all)
	}
	if err != nil || r.DryRun {
		return all, err
	}
	for i, step := range all {
		switch {
		case step.Did == onceward.Left:
			continue
		case step.From.State == 0:
			all[i].To.ID.N = len(h.Event.Operations) + 1
			h.Event.Operations = append(h.Event.Operations, all[i].To)
		default:
			h.Event.Operations[step.To.ID.N-1] = step.To
		}
		s.calls = append(s.calls, step.Did+" "+all[i].To.ID.String())
		s.decided = append(s.decided, r.Decision)
	}
	return all, nil
}

func (s *store) Reject(_ context.Context, id onceward.EventID, d onceward.Decision) error {
	h, ok := s.histories[id]
	if !ok {
		return fmt.Errorf("event %s: %w", id, onceward.ErrNotFound)
	}
	if err := h.Event.Reject(d); err != nil {
		return err
	}
	h.Event.Verdict = onceward.Ignored
	s.calls, s.decided = append(s.calls, "reject "+id.String()), append(s.decided, d)
	return nil
}

func (s *store) BeginBulk(_ context.Context, b onceward.Bulk) (onceward.Bulk, error) {
	b.ID, b.At = int64(len(s.bulks)+1), start
	s.bulks = append(s.bulks, b)
	return b, s.err
}

func (s *store) Bulk(_ context.Context, id int64) (onceward.Bulk, error) {
	if id < 1 || id > int64(len(s.bulks)) {
		return onceward.Bulk{}, fmt.Errorf("%s: %w", onceward.BulkName(id), onceward.ErrNotFound)
	}
	return s.bulks[id-1], s.err
}

func (s *store) Bulks(context.Context, onceward.Page) ([]onceward.Bulk, string, error) {
	return s.bulks, "", s.err
}

func (s *store) CancelBulk(ctx context.Context, id int64, d onceward.Decision) (onceward.Bulk, error) {
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return b, err
	}
	s.bulks[id-1].Cancelled, s.bulks[id-1].Ended = true, start
	s.decided = append(s.decided, d)
	return s.bulks[id-1], nil
}

func (s *store) Conflicts(_ context.Context, q onceward.ConflictQuery) (items []onceward.Conflict, next string, err error) {
	s.queries = append(s.queries, q)
	for _, id := range slices.Sorted(maps.Keys(s.conflicts)) {
		items = append(items, s.conflicts[id])
	}
	return items, "", s.err
}

func (s *store) Conflict(_ context.Context, id int64) (onceward.Conflict, error) {
	c, ok := s.conflicts[id]
	if !ok {
		return c, fmt.Errorf("%s: %w", onceward.ConflictName(id), onceward.ErrNotFound)
	}
	return c, s.err
}

func (s *store) DecideConflict(_ context.Context, id int64, keep onceward.Keep, reading *onceward.Arrival, d onceward.Decision) ([]onceward.Replayed, error) {
	all, err := s.conflicts[id].Settle(keep, reading, d, start)
	if err == nil {
		s.calls, s.decided = append(s.calls, "keep "+keep.String()), append(s.decided, d)
	}
	return all, err
}

func (s *store) Pauses(context.Context) ([]onceward.Pause, error) { return s.pauses, s.err }

func (s *store) Pause(_ context.Context, destination string, d onceward.Decision) error {
	s.calls, s.decided = append(s.calls, "pause "+destination), append(s.decided, d)
	s.pauses = append(s.pauses, onceward.Pause{Destination: destination, At: start, Actor: d.Actor, Reason: d.Reason})
	return s.err
}

func (s *store) Unpause(_ context.Context, destination string, d onceward.Decision) error {
	s.calls, s.decided = append(s.calls, "unpause "+destination), append(s.decided, d)
	s.pauses = slices.DeleteFunc(s.pauses, func(p onceward.Pause) bool { return p.Destination == destination })
	return s.err
}

func (s *store) Audit(_ context.Context, p onceward.AuditQuery) ([]onceward.Audit, string, error) {
	s.queries = append(s.queries, p)
	return s.audits, "", s.err
}

func (s *store) Counts(context.Context) ([]onceward.Count, error) {
	return []onceward.Count{{Operation: "work1", State: onceward.Completed, N: 7}}, s.err
}

func (s *store) Ping(context.Context) error { return s.err }
