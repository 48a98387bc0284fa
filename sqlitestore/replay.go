package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// Replay does, or with DryRun only tells, what a person asked of one event, in
// one transaction: everything, or nothing when one of its operations needs
// consent that was not given. What is completed stays as it is; a repetition is
// an operation of its own.
func (s *Store) Replay(ctx context.Context, id onceward.EventID, r onceward.Replay) ([]onceward.Replayed, error) {
	if r.DryRun {
		return s.tellReplay(ctx, id, r)
	}
	var all []onceward.Replayed
	err := s.write(ctx, func(w *writer) (err error) {
		all, err = w.replay(id, r)
		return err
	})
	return all, err
}

func (s *Store) tellReplay(ctx context.Context, id onceward.EventID, r onceward.Replay) (all []onceward.Replayed, err error) {
	err = s.read(ctx, func(c *conn) error {
		e, err := c.event(id)
		if err != nil {
			return err
		}
		all, err = c.replayed(e, r, s.now().UTC())
		return err
	})
	return all, err
}

const selectKept = `SELECT 1 FROM segment WHERE id = ?`

// replayed asks the rules, unless there is nothing left to send: payloads are
// kept for as long as something is not completed, and after that for their time.
func (c *conn) replayed(e eventRow, r onceward.Replay, now time.Time) ([]onceward.Replayed, error) {
	if r.Mode != onceward.Resume && e.Erased.IsZero() {
		kept, err := c.q(selectKept).int(e.at.segment).row(func(*stmt) {})
		if err != nil {
			return nil, err
		}
		if !kept {
			return nil, fmt.Errorf("event %s: %w: its payload is no longer kept (retention.payloads), so there is nothing to send", e.ID, onceward.ErrNotAllowed)
		}
	}
	all, err := e.Replay(r, now)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return all, nil
}

// replay carries a replay out. When it returns an error of the vocabulary,
// nothing was changed: all that can be refused is asked before the first write.
func (w *writer) replay(id onceward.EventID, r onceward.Replay) ([]onceward.Replayed, error) {
	asked := asking("replay", id, r.Mode, r.Operations, r.Consent)
	if err := w.unasked(r.Decision, asked); err != nil {
		return nil, err
	}
	e, err := w.c.event(id)
	if err != nil {
		return nil, err
	}
	all, err := w.c.replayed(e, r, w.now)
	if err != nil {
		return nil, err
	}
	if err := onceward.Refusal(all); err != nil {
		return all, fmt.Errorf("event %s: %w", id, err)
	}
	if err := w.once(r.Decision, asked); err != nil {
		return nil, err
	}
	r.Decision.Mode = r.Mode // so that the audit log tells a redelivery from a second effect
	if e.Verdict == onceward.QuarantinedBy {
		if err := w.releaseEvent(e.Event, r); err != nil {
			return nil, err
		}
	}
	return all, w.carryOut(all, r.Reading, r.Decision)
}

// carryOut writes what the rules said, and who wanted it. reading places what
// begins in its stream, if it has one.
func (w *writer) carryOut(all []onceward.Replayed, reading *onceward.Arrival, d onceward.Decision) error {
	for i := range all {
		step := &all[i]
		var err error
		switch {
		case step.Did == onceward.Left:
			if step.From.Followed != step.To.Followed {
				err = w.move(step.From, step.To)
			}
			if err != nil {
				return err
			}
			continue
		case step.From.State == 0:
			if step.Did != onceward.Redelivered && step.Did != onceward.Reexecuted && reading != nil {
				step.To, err = w.inOrder(step.To, reading)
			}
			if err == nil {
				step.To, err = w.insertAgain(step.To)
			}
		default:
			err = w.move(step.From, step.To)
		}
		if err != nil {
			return err
		}
		if err := w.audit(step.From, step.To, step.By, d); err != nil {
			return err
		}
		if err := w.firstCounts(step.From, step.To); err != nil {
			return err
		}
	}
	return nil
}

// firstCounts closes the conflicts of an event when a person runs what was held
// because of them: that says that the first content counts.
func (w *writer) firstCounts(from, to onceward.Operation) error {
	if from.State != onceward.Quarantined || from.Reason != onceward.Contradicted || to.State != onceward.Received {
		return nil
	}
	return w.c.q(decideOpen).int(int64(from.ID.Event)).int(int64(onceward.KeepFirst)).time(w.now).run()
}

const (
	selectLastOperation  = `SELECT max(n) FROM operation WHERE event = ?`
	insertOperationAgain = `INSERT INTO operation (event, n, label, generation, redelivery, revision, state, effect, fence, attempt, budget, intent, due_at, reason, changed, plan, intent_at, stream, place)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`
)

// insertAgain records an operation that a person or a later delivery asks for,
// behind those that its event has: T0b.
func (w *writer) insertAgain(o onceward.Operation) (onceward.Operation, error) {
	label, err := w.label(o.Name)
	if err != nil {
		return o, err
	}
	if _, err := w.c.q(selectLastOperation).int(int64(o.ID.Event)).row(func(s *stmt) { o.ID.N = s.ColumnInt(0) + 1 }); err != nil {
		return o, err
	}
	w.count(label, 0, o.State)
	q := w.c.q(insertOperationAgain).int(int64(o.ID.Event)).int(int64(o.ID.N)).int(label).int(int64(o.Generation)).int(int64(o.Redelivery))
	if o.Revision == "" {
		q.null()
	} else {
		q.blob([]byte(o.Revision))
	}
	q.int(int64(o.State)).int(int64(o.Effect)).int(o.Fence).int(int64(o.Attempt)).int(int64(o.Budget)).time(o.DueAt).text(o.Reason).time(o.Changed).
		text(string(o.Plan)).time(o.IntentAt)
	if o.Stream == 0 {
		return o, q.null().null().run()
	}
	place, _ := o.Place.AppendBinary(nil) // cannot fail
	w.touched[o.Stream] = true
	return o, q.int(o.Stream).blob(place).run()
}

// inOrder gives an operation that begins now its place in its stream, if its
// source is ordered.
func (w *writer) inOrder(o onceward.Operation, a *onceward.Arrival) (onceward.Operation, error) {
	i := slices.IndexFunc(a.Operations, func(p onceward.Planned) bool { return p.Name == o.Name })
	if i < 0 || a.Operations[i].Order.Mode == onceward.Unordered {
		return o, nil
	}
	label, err := w.label(o.Name)
	if err != nil {
		return o, err
	}
	return w.join(label, o, a, a.Operations[i].Order)
}

const (
	// Its reason stays: it tells why somebody had to look.
	updateReleased = `UPDATE event SET verdict = 1, type = ?2, version = ?3, occurred_at = ?4, event_id = ifnull(?5, event_id), body = ifnull(?6, body) WHERE id = ?1 AND verdict = 4`
)

// releaseEvent lets an event go that was held since it arrived: T22. What the
// configuration of today reads in it counts from now on, its identity included:
// when that can only be read now, later copies are duplicates of this event.
func (w *writer) releaseEvent(e onceward.Event, r onceward.Replay) error {
	reading := r.Reading
	eventID, body := "", []byte(nil)
	if !reading.Digest.IsZero() && reading.Digest != e.Key {
		known, found, err := w.lookup(reading.Digest)
		switch {
		case err != nil:
			return err
		case found && known != e.ID:
			return fmt.Errorf("event %s: %w: with the configuration of today it is a copy of %s; reject it instead", e.ID, onceward.ErrNotAllowed, known)
		case !found:
			if err := w.insertAlias(reading.Digest, e.ID); err != nil {
				return err
			}
			body = reading.Digest[:]
		}
		if !reading.HideID {
			eventID = reading.Shown
		}
	}
	u := w.c.q(updateReleased).int(int64(e.ID)).text(reading.Type).text(reading.Version).time(reading.OccurredAt).text(eventID)
	if body == nil {
		u.null()
	} else {
		u.blob(body)
	}
	if err := u.run(); err != nil {
		return err
	}
	if w.c.Changes() != 1 {
		return errors.New("a held event changed inside its own transaction")
	}
	if err := w.renamed(e.ID, e.EventID, eventID); err != nil {
		return err
	}
	w.unlearn(e.Key)
	return w.auditEvent(e, "T22", onceward.Quarantined, onceward.Received, r.Decision)
}

// renamed keeps the index of the senders' ids true when an event's changes; what
// is not indexed yet is indexed with its new one.
func (w *writer) renamed(id onceward.EventID, from, to string) error {
	upto, err := w.c.setting(referenceUpto)
	if err != nil || to == "" || int64(id) > upto {
		return err
	}
	if err := w.unindex(id, from); err != nil {
		return err
	}
	for _, text := range references(to) {
		if err := w.c.q(insertReference).int(referenceHash(text)).int(int64(id)).run(); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) unindex(id onceward.EventID, eventID string) error {
	for _, text := range references(eventID) {
		if err := w.c.q(deleteReference).int(referenceHash(text)).int(int64(id)).run(); err != nil {
			return err
		}
	}
	return nil
}

// unlearn forgets what is remembered in memory about an event that changes.
func (w *writer) unlearn(key onceward.Digest) {
	w.lately.forget(key)
	delete(w.fresh, key)
}

func (w *writer) auditEvent(e onceward.Event, action string, from, to onceward.State, d onceward.Decision) error {
	return w.c.q(insertAudit).time(w.now).string(d.Actor).string(action).string(e.ID.String()).int(int64(e.ID)).null().
		text(from.String()).text(to.String()).null().decision(d).run()
}

const updateRejected = `UPDATE event SET verdict = 5 WHERE id = ? AND verdict = 4`

// Reject closes a held event that shall cause nothing: T23.
func (s *Store) Reject(ctx context.Context, id onceward.EventID, d onceward.Decision) error {
	return s.write(ctx, func(w *writer) error {
		e, err := w.c.event(id)
		if err != nil {
			return err
		}
		if err := e.Reject(d); err != nil {
			return fmt.Errorf("event %s: %w", id, err)
		}
		if err := w.c.q(updateRejected).int(int64(id)).run(); err != nil {
			return err
		}
		w.unlearn(e.Key)
		return w.auditEvent(e.Event, "T23", onceward.Quarantined, onceward.DeadLettered, d)
	})
}
