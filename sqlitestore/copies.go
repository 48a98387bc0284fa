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
	clear(w.copies)
	return nil
}

// RecordCopy records an arrival whose bytes differ from its event's but whose
// content was found to be the same: a sender that wrote it anew.
func (s *Store) RecordCopy(ctx context.Context, id onceward.EventID, a *onceward.Admission, r *onceward.Arrival) (onceward.Admitted, error) {
	var result onceward.Admitted
	err := s.write(ctx, func(w *writer) (err error) {
		result = onceward.Admitted{Event: id, Verdict: onceward.Duplicate, FirstSeen: id.Time()}
		if result.Operations, err = w.operations(id); err != nil {
			return err
		}
		return w.sighted(a, r, &result)
	})
	return result, err
}

// sighted counts a copy and, for a level trigger, lets it run again.
func (w *writer) sighted(a *onceward.Admission, r *onceward.Arrival, result *onceward.Admitted) error {
	if a.Coalesce && len(r.Operations) > 0 {
		if err := w.coalesce(a, r, result); err != nil {
			return err
		}
	}
	w.addCopy(result.Event, result.Verdict, a)
	return nil
}

const (
	updatePlace = `UPDATE event SET segment = ?2, slot = ?3 WHERE id = ?1`
	// What is delivered after an erasure can be erased in its turn.
	updateAnew = `UPDATE event SET content = ?2, account = ?3, event_id = ?4, erased = NULL WHERE id = ?1 AND erased IS NOT NULL`
)

// coalesce runs a level trigger again, once for however many sightings there are
// before it runs. The payload is recorded anew, because the first one's time
// may be over when the run needs it, or it may have been erased: that took what
// was delivered until then, and this is a new delivery.
func (w *writer) coalesce(a *onceward.Admission, r *onceward.Arrival, result *onceward.Admitted) error {
	e, err := w.c.event(result.Event)
	if err != nil {
		return err
	}
	if e.Verdict == onceward.QuarantinedBy {
		return nil
	}
	steps := e.Coalesce(r.Operations, w.now)
	if len(steps) == 0 && e.Erased.IsZero() {
		return nil
	}
	at, err := w.addLate(e.ID, onceward.Payload{Header: a.Header, Body: r.Raw}, a.At.Add(a.Payloads))
	if err != nil {
		return err
	}
	if err := w.c.q(updatePlace).int(int64(e.ID)).int(at.segment).int(at.slot).run(); err != nil {
		return err
	}
	if !e.Erased.IsZero() {
		if err := w.anew(e.ID, r); err != nil {
			return err
		}
	}
	if len(steps) == 0 { // what is held takes this delivery along
		return nil
	}
	if err := w.carryOut(steps, nil, onceward.Decision{Actor: "intake", Reason: "the level trigger was seen again"}); err != nil {
		return err
	}
	result.Verdict, result.Again = onceward.Accepted, true
	result.Operations, err = w.operations(e.ID)
	return err
}

// anew makes an event that was erased one of what is delivered now.
func (w *writer) anew(id onceward.EventID, r *onceward.Arrival) error {
	eventID := shownID(r)
	if err := w.c.q(updateAnew).int(int64(id)).blob(r.Content[:]).text(r.Key.Account).text(eventID).run(); err != nil {
		return err
	}
	return w.renamed(id, "", eventID)
}
