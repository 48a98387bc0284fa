package sqlitestore

import (
	"context"

	"github.com/onceward/onceward"
)

// copies are the arrivals of one event with one verdict in one transaction:
// one row with a count, however many there were.
type copies struct {
	count  int64
	secret string
	remote string
	at     int64
}

type copyKey struct {
	event   onceward.EventID
	verdict onceward.Verdict
}

func (w *writer) addCopy(id onceward.EventID, verdict onceward.Verdict, a *onceward.Admission) {
	w.addCopies(id, verdict, a, 1)
}

func (w *writer) addCopies(id onceward.EventID, verdict onceward.Verdict, a *onceward.Admission, n int64) {
	key := copyKey{id, verdict}
	c := w.copies[key]
	if c == nil {
		c = &copies{secret: a.Secret, remote: a.Remote, at: a.At.UnixMicro()}
		w.copies[key] = c
	}
	c.count += n
}

const (
	insertDelivery = `INSERT INTO delivery (event, at, verdict, count, secret, remote) VALUES (?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET count = count + excluded.count`
	touchEvent = `UPDATE event SET deliveries = deliveries + ?2, conflicts = conflicts + ?3, last_seen = max(last_seen, ?4) WHERE id = ?1`
)

func (w *writer) flushCopies() error {
	for key, c := range w.copies {
		if err := w.c.q(insertDelivery).int(int64(key.event)).int(c.at).int(int64(key.verdict)).int(c.count).text(c.secret).text(c.remote).run(); err != nil {
			return err
		}
		conflicts := int64(0)
		if key.verdict == onceward.Conflicting {
			conflicts = c.count
		}
		if err := w.c.q(touchEvent).int(int64(key.event)).int(c.count).int(conflicts).int(c.at).run(); err != nil {
			return err
		}
	}
	return nil
}

// RecordCopy records an arrival whose bytes differ from its event's but whose
// content was found to be the same: a sender that wrote it anew.
func (s *Store) RecordCopy(ctx context.Context, id onceward.EventID, a *onceward.Admission) ([]onceward.Operation, error) {
	var operations []onceward.Operation
	err := s.write(ctx, func(w *writer) (err error) {
		w.addCopy(id, onceward.Duplicate, a)
		operations, err = w.operations(id)
		return err
	})
	return operations, err
}

const (
	insertEvidence = `INSERT INTO evidence (event, at, count, content, segment, slot) VALUES (?, ?, 1, ?, ?, ?)`
	countEvidence  = `UPDATE evidence SET count = count + 1 WHERE event = ? AND content = ?`
)

// RecordConflict keeps an arrival that contradicts its event as evidence, each
// content once. With hold, operations that have had no effect yet are put aside
// (T24); what runs or is done stands. It returns the event's operations afterwards.
func (s *Store) RecordConflict(ctx context.Context, id onceward.EventID, a *onceward.Admission, r *onceward.Arrival, hold bool) ([]onceward.Operation, error) {
	var operations []onceward.Operation
	err := s.write(ctx, func(w *writer) error {
		if err := w.c.q(countEvidence).int(int64(id)).blob(r.Content[:]).run(); err != nil {
			return err
		}
		if w.c.Changes() == 0 {
			at, err := w.addPayload(id, onceward.Payload{Header: a.Header, Body: r.Raw}, a.At.Add(a.Payloads))
			if err != nil {
				return err
			}
			if err := w.c.q(insertEvidence).int(int64(id)).int(a.At.UnixMicro()).blob(r.Content[:]).int(at.segment).int(at.slot).run(); err != nil {
				return err
			}
		}
		w.addCopy(id, onceward.Conflicting, a)
		var err error
		if operations, err = w.operations(id); err == nil && hold {
			err = w.hold(operations)
		}
		return err
	})
	return operations, err
}

func (w *writer) hold(operations []onceward.Operation) error {
	for i, o := range operations {
		held, transition, err := o.Hold("a delivery with other content arrived before any effect", w.now)
		if err != nil {
			continue // it runs, or is done: the first content stands
		}
		if err := w.move(o, held); err != nil {
			return err
		}
		if err := w.audit(o, held, transition, onceward.Decision{Actor: "intake", Reason: held.Reason}); err != nil {
			return err
		}
		operations[i] = held
	}
	return nil
}
