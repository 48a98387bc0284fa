package sqlitestore

import (
	"cmp"
	"context"
	"time"

	"github.com/onceward/onceward"
)

// admitAll takes a delivery through the writer.
func (s *Store) admitAll(ctx context.Context, a *onceward.Admission) ([]onceward.Admitted, error) {
	var results []onceward.Admitted
	err := s.write(ctx, func(w *writer) error {
		admitted := make([]onceward.Admitted, len(a.Arrivals))
		for i := range a.Arrivals {
			var err error
			if admitted[i], err = w.admit(a, &a.Arrivals[i]); err != nil {
				return err
			}
		}
		results = admitted
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// freshEvent is an event that the running transaction made.
type freshEvent struct {
	id      onceward.EventID
	content [32]byte
	result  onceward.Admitted
}

func (w *writer) admit(a *onceward.Admission, r *onceward.Arrival) (onceward.Admitted, error) {
	if seen, ok := w.fresh[r.Digest]; ok { // a copy inside this very batch
		return w.admitCopy(a, r, seen.id, seen.content, &seen.result)
	}
	if seen, ok := w.lately.find(r.Digest); ok { // copies come in bursts
		return w.admitLately(a, r, seen)
	}
	for _, alias := range r.Aliases {
		if id, found, err := w.lookup(alias); err != nil || found {
			return w.admitKnown(a, r, id, err)
		}
	}
	stale, refuse := a.Age(r, w.restored)
	if refuse {
		if id, found, err := w.lookup(r.Digest); err != nil || found {
			return w.admitKnown(a, r, id, err)
		}
		return onceward.Admitted{Verdict: onceward.QuarantinedBy, Reason: stale, Refused: true}, nil
	}
	id := w.ids.Next(w.now)
	fresh, err := w.insertKey(r.Digest, id)
	if err != nil {
		return onceward.Admitted{}, err
	}
	if !fresh {
		id, _, err := w.lookup(r.Digest)
		return w.admitKnown(a, r, id, err)
	}
	verdict, reason, body := r.Verdict, r.Reason, r.Body
	if stale != "" && verdict == onceward.Accepted {
		verdict, reason = onceward.QuarantinedBy, stale
	}
	if !r.Body.IsZero() {
		fresh, err := w.insertKey(r.Body, id)
		if err != nil {
			return onceward.Admitted{}, err
		}
		if !fresh {
			first, _, err := w.lookup(r.Body)
			if err != nil {
				return onceward.Admitted{}, err
			}
			verdict, reason = onceward.QuarantinedBy, "same_body_other_id: this signed body is known as "+first.String()
			body = onceward.Digest{} // it is the other event's
		}
	}
	return w.admitNew(a, r, newEvent{id, body, verdict, reason})
}

const insertEvent = `INSERT INTO event (id, key, body, source, mode, account, event_id, type, version, occurred_at, content,
 verdict, reason, segment, slot, item, items, secret, remote, last_seen, keep, forget_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// newEvent is what was decided about an arrival whose key is new.
type newEvent struct {
	id      onceward.EventID
	body    onceward.Digest // second key that it owns; zero for none
	verdict onceward.Verdict
	reason  string
}

func (w *writer) admitNew(a *onceward.Admission, r *onceward.Arrival, e newEvent) (onceward.Admitted, error) {
	id, verdict, reason := e.id, e.verdict, e.reason
	source, err := w.source(r.Key)
	if err != nil {
		return onceward.Admitted{}, err
	}
	at, err := w.addPayload(id, onceward.Payload{Header: a.Header, Body: r.Raw}, a.At.Add(a.Payloads))
	if err != nil {
		return onceward.Admitted{}, err
	}
	var forgetAt time.Time
	if a.Longest > 0 {
		forgetAt = a.At.Add(a.Longest)
	}
	q := w.c.q(insertEvent).int(int64(id)).blob(r.Digest[:])
	if e.body.IsZero() {
		q.null()
	} else {
		q.blob(e.body[:])
	}
	if err := q.int(source).text(r.Key.Mode).text(r.Key.Account).text(shownID(r)).text(r.Type).text(r.Version).time(r.OccurredAt).
		blob(r.Content[:]).int(int64(verdict)).text(reason).int(at.segment).int(at.slot).optional(int64(r.Item)).optional(int64(r.Of)).
		text(a.Secret).text(a.Remote).int(a.At.UnixMicro()).int(int64(a.Keys / time.Microsecond)).time(forgetAt).run(); err != nil {
		return onceward.Admitted{}, err
	}
	result := onceward.Admitted{Event: id, Verdict: verdict, FirstSeen: a.At}
	if verdict == onceward.QuarantinedBy {
		result.Reason = reason
	}
	if verdict == onceward.Accepted {
		result.Operations = make([]onceward.Operation, len(r.Operations))
		for i := range r.Operations {
			if result.Operations[i], err = w.plan(onceward.OperationID{Event: id, N: i + 1}, r, &r.Operations[i]); err != nil {
				return onceward.Admitted{}, err
			}
		}
	}
	w.fresh[r.Digest] = freshEvent{id, r.Content, result}
	return result, nil
}

// shownID is how people know an arrival: the sender's id, where it has one.
func shownID(r *onceward.Arrival) string {
	if r.HideID {
		return ""
	}
	return cmp.Or(r.Shown, r.Key.EventID)
}

const insertOperation = `INSERT INTO operation (event, n, label, generation, state, effect, fence, attempt, budget, intent, owner, due_at, changed, plan, intent_at)
 VALUES (?, ?, ?, 0, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`

// plan writes an operation: T0, and when a worker is waiting for it T2 (and T4)
// in the same write.
func (w *writer) plan(id onceward.OperationID, a *onceward.Arrival, p *onceward.Planned) (onceward.Operation, error) {
	label, err := w.label(p.Name)
	if err != nil {
		return onceward.Operation{}, err
	}
	o := onceward.Operation{ID: id, Name: p.Name, State: onceward.Received, Effect: p.Effect, Plan: p.Plan, DueAt: w.now, Changed: w.now}
	if p.Order.Mode != onceward.Unordered {
		return w.planOrdered(label, o, a, p.Order)
	}
	if p.Owner != "" {
		if o, _, err = o.Take(p.Owner, onceward.Limits{Lease: p.Lease, Plan: p.Plan}, p.Intend, w.now); err != nil {
			return onceward.Operation{}, err
		}
	}
	w.count(label, 0, o.State)
	return o, w.c.q(insertOperation).int(int64(id.Event)).int(int64(id.N)).int(label).int(int64(o.State)).int(int64(o.Effect)).
		int(o.Fence).int(int64(o.Attempt)).bool(o.Intent).text(o.Owner).time(o.DueAt).time(o.Changed).text(string(o.Plan)).time(o.IntentAt).run()
}

// admitLately answers for an event that was new a moment ago: all but the state
// of its operations is remembered.
func (w *writer) admitLately(a *onceward.Admission, r *onceward.Arrival, seen freshEvent) (onceward.Admitted, error) {
	if seen.content == r.Content {
		var err error
		if seen.result.Operations, err = w.operations(seen.id); err != nil {
			return onceward.Admitted{}, err
		}
	}
	return w.admitCopy(a, r, seen.id, seen.content, &seen.result)
}

// lately remembers the events that were new in the last few commits. It saves
// copies the way through the ledger and answers nothing by itself: an event
// that is not here is looked up.
type lately struct {
	young, old map[onceward.Digest]freshEvent
}

const latelyEach = 2048

func (l *lately) find(d onceward.Digest) (freshEvent, bool) {
	if e, ok := l.young[d]; ok {
		return e, true
	}
	e, ok := l.old[d]
	return e, ok
}

// add takes the events that a commit made.
func (l *lately) add(fresh map[onceward.Digest]freshEvent) {
	if l.young == nil || len(l.young) > latelyEach {
		l.young, l.old = make(map[onceward.Digest]freshEvent, latelyEach), l.young
	}
	for d, e := range fresh {
		e.result.Operations = nil
		l.young[d] = e
	}
}

func (l *lately) forget(d onceward.Digest) {
	delete(l.young, d)
	delete(l.old, d)
}

const selectKnown = `SELECT content, verdict, reason, erased FROM event WHERE id = ?`

// admitKnown answers for an event that was committed earlier.
func (w *writer) admitKnown(a *onceward.Admission, r *onceward.Arrival, id onceward.EventID, err error) (onceward.Admitted, error) {
	if err != nil {
		return onceward.Admitted{}, err
	}
	var content [32]byte
	known := onceward.Admitted{Event: id, FirstSeen: id.Time()}
	if _, err := w.c.q(selectKnown).int(int64(id)).row(func(s *stmt) {
		copy(content[:], s.ColumnRawBlob(0))
		if known.Verdict = onceward.Verdict(s.ColumnInt64(1)); known.Verdict == onceward.QuarantinedBy {
			known.Reason = s.ColumnText(2)
		}
		if s.ColumnInt64(3) != 0 { // nothing is kept that it could differ from
			content = r.Content
		}
	}); err != nil {
		return onceward.Admitted{}, err
	}
	if content == r.Content {
		if known.Operations, err = w.operations(id); err != nil {
			return onceward.Admitted{}, err
		}
	}
	return w.admitCopy(a, r, id, content, &known)
}

// admitCopy records an arrival of a known event, or says that it differs.
func (w *writer) admitCopy(a *onceward.Admission, r *onceward.Arrival, id onceward.EventID, content [32]byte, known *onceward.Admitted) (onceward.Admitted, error) {
	result := *known
	if content != r.Content {
		result.Verdict, result.Differs, result.Operations = onceward.Conflicting, true, nil
		return result, nil
	}
	result.Verdict = onceward.Duplicate
	err := w.sighted(a, r, &result)
	return result, err
}
