package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/onceward/onceward"
)

const (
	insertEvidence = `INSERT INTO evidence (id, event, at, count, content, type, version, occurred_at, decided, decided_at, segment, slot)
 VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`
	countEvidence   = `UPDATE evidence SET count = count + 1 WHERE event = ? AND content = ? RETURNING decided`
	evidenceColumns = `v.id, v.event, v.at, v.count, v.content, v.type, v.version, v.occurred_at, v.decided, v.decided_at, v.segment, v.slot`
	selectEvidence  = `SELECT ` + evidenceColumns + ` FROM evidence v WHERE v.event = ? ORDER BY v.at, v.id`
	selectConflict  = `SELECT ` + evidenceColumns + ` FROM evidence v WHERE v.id = ?`
	selectConflicts = `SELECT ` + evidenceColumns + ` FROM evidence v WHERE v.id < ? ORDER BY v.id DESC LIMIT ?`
	selectOpen      = `SELECT ` + evidenceColumns + ` FROM evidence v INDEXED BY evidence_open WHERE v.decided = 0 AND v.id < ? ORDER BY v.id DESC LIMIT ?`
	selectRevision  = `SELECT ` + evidenceColumns + ` FROM evidence v WHERE v.event = ? AND v.content = ?`
	decideEvidence  = `UPDATE evidence SET decided = ?2, decided_at = ?3 WHERE id = ?1`
	decideOpen      = `UPDATE evidence SET decided = ?2, decided_at = ?3 WHERE event = ?1 AND decided = 0`
)

func scanEvidence(s *stmt) (e onceward.Evidence, at place) {
	e = onceward.Evidence{
		ID: s.ColumnInt64(0), Event: onceward.EventID(s.ColumnInt64(1)), At: s.columnTime(2), Count: s.ColumnInt(3),
		Type: s.ColumnText(5), Version: s.ColumnText(6), OccurredAt: s.columnTime(7), Decided: onceward.Keep(s.ColumnInt64(8)), DecidedAt: s.columnTime(9),
	}
	copy(e.Content[:], s.ColumnRawBlob(4))
	return e, place{s.ColumnInt64(10), s.ColumnInt64(11)}
}

// RecordConflict keeps an arrival that contradicts its event as evidence, each
// content once. HoldConflict puts aside what has had no effect yet (T24); what
// runs or is done stands. NewerConflict lets a content that is not older than
// what is known run as a revision of its own.
func (s *Store) RecordConflict(ctx context.Context, id onceward.EventID, a *onceward.Admission, r *onceward.Arrival, policy onceward.OnConflict) (onceward.Admitted, error) {
	var result onceward.Admitted
	err := s.write(ctx, func(w *writer) (err error) {
		result, err = w.contradict(id, a, r, policy)
		return err
	})
	return result, err
}

func (w *writer) contradict(id onceward.EventID, a *onceward.Admission, r *onceward.Arrival, policy onceward.OnConflict) (onceward.Admitted, error) {
	result := onceward.Admitted{Event: id, Verdict: onceward.Conflicting, FirstSeen: id.Time()}
	e, err := w.c.event(id)
	if err != nil {
		return result, err
	}
	if !e.Erased.IsZero() { // nothing of it is kept any more, so nothing contradicts it
		result.Verdict, result.Operations = onceward.Duplicate, e.Operations
		w.addCopy(id, result.Verdict, a)
		return result, nil
	}
	var decided onceward.Keep
	known, err := w.c.q(countEvidence).int(int64(id)).blob(r.Content[:]).row(func(s *stmt) { decided = onceward.Keep(s.ColumnInt64(0)) })
	switch {
	case err != nil:
		return result, err
	case known && (decided == onceward.KeepSecond || decided == onceward.KeepNewer || decided == onceward.KeepOlder):
		result.Verdict = onceward.Duplicate
	case known:
	default:
		if decided, err = w.keepEvidence(e.Event, a, r, policy); err != nil {
			return result, err
		}
		switch decided {
		case onceward.KeepNewer:
			result.Verdict, result.Again = onceward.Accepted, true
			if len(r.Operations) == 0 {
				result.Verdict = onceward.Ignored
			}
		case onceward.KeepOlder:
			result.Verdict = onceward.Duplicate
		}
	}
	w.addCopy(id, result.Verdict, a)
	if result.Operations, err = w.operations(id); err == nil && decided == onceward.KeepOpen && policy != onceward.RejectConflict {
		err = w.hold(result.Operations)
	}
	return result, err
}

// keepEvidence records a content that was not seen before.
func (w *writer) keepEvidence(e onceward.Event, a *onceward.Admission, r *onceward.Arrival, policy onceward.OnConflict) (decided onceward.Keep, err error) {
	at, err := w.addLate(e.ID, onceward.Payload{Header: a.Header, Body: r.Raw}, a.At.Add(a.Payloads))
	if err != nil {
		return 0, err
	}
	switch {
	case policy == onceward.RejectConflict:
		decided = onceward.KeepRefused
	case policy == onceward.NewerConflict && e.Verdict != onceward.QuarantinedBy && r.Verdict != onceward.QuarantinedBy:
		newest, err := w.newest(e)
		if err != nil {
			return 0, err
		}
		if decided = onceward.KeepOlder; onceward.Newer(r.OccurredAt, newest) {
			decided = onceward.KeepNewer
		}
	}
	c := onceward.Conflict{Evidence: onceward.Evidence{ID: int64(w.ids.Next(w.now)), Event: e.ID, Content: r.Content, Type: r.Type}, Of: e}
	q := w.c.q(insertEvidence).int(c.ID).int(int64(e.ID)).int(a.At.UnixMicro()).blob(r.Content[:]).text(r.Type).text(r.Version).time(r.OccurredAt).int(int64(decided))
	if decided == onceward.KeepOpen {
		q.null()
	} else {
		q.time(w.now)
	}
	if err := q.int(at.segment).int(at.slot).run(); err != nil || decided != onceward.KeepNewer || len(r.Operations) == 0 {
		return decided, err
	}
	steps := c.Revision(r, w.now, "newer by the source's policy")
	return decided, w.carryOut(steps, r, onceward.Decision{Actor: "intake", Reason: "on_conflict: newer"})
}

// newest is when the newest content of an event occurred that runs, or ran.
func (w *writer) newest(e onceward.Event) (time.Time, error) {
	newest := e.OccurredAt
	err := w.c.q(selectEvidence).int(int64(e.ID)).rows(func(s *stmt) error {
		v, _ := scanEvidence(s)
		if (v.Decided == onceward.KeepNewer || v.Decided == onceward.KeepSecond) && v.OccurredAt.After(newest) {
			newest = v.OccurredAt
		}
		return nil
	})
	return newest, err
}

func (w *writer) hold(operations []onceward.Operation) error {
	for i, o := range operations {
		held, transition, err := o.Hold(onceward.Contradicted, w.now)
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

// Rivals returns the contents that contradict an event and are still kept, the
// newest first, at most limit of them.
func (s *Store) Rivals(ctx context.Context, id onceward.EventID, limit int) (all []onceward.Evidence, err error) {
	err = s.read(ctx, func(c *conn) error {
		var places []place
		if err := c.q(selectEvidence).int(int64(id)).rows(func(s *stmt) error {
			e, at := scanEvidence(s)
			all, places = append(all, e), append(places, at)
			return nil
		}); err != nil {
			return err
		}
		if over := len(all) - limit; over > 0 {
			all, places = all[over:], places[over:]
		}
		kept := all[:0]
		for i, e := range all {
			var err error
			if e.Payload, err = s.payload(c, places[i]); err == nil {
				kept = append(kept, e)
			} else if !errors.Is(err, errNoPayload) {
				return err
			}
		}
		all = kept
		return nil
	})
	return all, err
}

// Conflicts lists contents that contradict their events, newest first; with
// open only those that nobody has decided about. Bodies are not read.
func (s *Store) Conflicts(ctx context.Context, q onceward.ConflictQuery) (items []onceward.Conflict, next string, err error) {
	before := int64(math.MaxInt64)
	if q.After != "" {
		if before, err = onceward.ParseConflict(q.After); err != nil {
			return nil, "", fmt.Errorf("cursor %q: %w", q.After, onceward.ErrBadCursor)
		}
	}
	sql, scan := selectConflicts, q.Limit
	if q.Open {
		sql = selectOpen
	}
	if q.Source != "" || q.Event != 0 {
		scan = max(scanLimit, q.Limit)
	}
	err = s.read(ctx, func(c *conn) error {
		var found []onceward.Evidence
		if err := c.q(sql).int(before).int(int64(scan)).rows(func(s *stmt) error {
			e, _ := scanEvidence(s)
			found = append(found, e)
			return nil
		}); err != nil {
			return err
		}
		for _, v := range found {
			e, err := c.event(v.Event)
			if err != nil {
				return err
			}
			if q.Source != "" && q.Source != e.Source || q.Event != 0 && q.Event != e.ID {
				continue
			}
			if items = append(items, onceward.Conflict{Evidence: v, Of: e.Event}); len(items) == q.Limit {
				next = onceward.ConflictName(v.ID)
				return nil
			}
		}
		if len(found) == scan {
			next = onceward.ConflictName(found[len(found)-1].ID)
		}
		return nil
	})
	return items, next, err
}

// Conflict returns one conflict with both bodies, as far as they are kept.
func (s *Store) Conflict(ctx context.Context, id int64) (out onceward.Conflict, err error) {
	err = s.read(ctx, func(c *conn) error {
		v, at, err := c.evidence(c.q(selectConflict).int(id), onceward.ConflictName(id))
		if err != nil {
			return err
		}
		e, err := c.event(v.Event)
		if err != nil {
			return err
		}
		out = onceward.Conflict{Evidence: v, Of: e.Event}
		for _, p := range []struct {
			at   place
			to   *onceward.Payload
			kept *bool
		}{{e.at, &out.First, &out.KeptFirst}, {at, &out.Payload, &out.KeptSecond}} {
			if *p.to, err = s.payload(c, p.at); err != nil && !errors.Is(err, errNoPayload) {
				return err
			}
			*p.kept = err == nil
		}
		return nil
	})
	return out, err
}

func (c *conn) evidence(q *stmt, name string) (v onceward.Evidence, at place, err error) {
	found, err := q.row(func(s *stmt) { v, at = scanEvidence(s) })
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", name, onceward.ErrNotFound)
	}
	return v, at, err
}

// DecideConflict carries out what a person decided about a content that
// contradicts its event; the audit log has it beside what it did to operations.
func (s *Store) DecideConflict(ctx context.Context, id int64, keep onceward.Keep, reading *onceward.Arrival, d onceward.Decision) ([]onceward.Replayed, error) {
	var all []onceward.Replayed
	err := s.write(ctx, func(w *writer) error {
		v, _, err := w.c.evidence(w.c.q(selectConflict).int(id), onceward.ConflictName(id))
		if err != nil {
			return err
		}
		e, err := w.c.event(v.Event)
		if err != nil {
			return err
		}
		if all, err = (onceward.Conflict{Evidence: v, Of: e.Event}).Settle(keep, reading, d, w.now); err != nil {
			return fmt.Errorf("%s: %w", onceward.ConflictName(id), err)
		}
		if err := w.carryOut(all, reading, d); err != nil {
			return err
		}
		if err := w.c.q(decideEvidence).int(id).int(int64(keep)).time(w.now).run(); err != nil {
			return err
		}
		if keep != onceward.KeepSecond { // then it is decided about all of them
			if err := w.c.q(decideOpen).int(int64(e.ID)).int(int64(keep)).time(w.now).run(); err != nil {
				return err
			}
		}
		return w.c.q(insertAudit).time(w.now).string(d.Actor).string("keep " + keep.String()).string(onceward.ConflictName(id)).int(int64(e.ID)).null().
			text(v.Decided.String()).text(keep.String()).null().decision(d).run()
	})
	return all, err
}

// Carried returns what an operation carries: its event's payload, or that of
// the later content that it is about.
func (s *Store) Carried(ctx context.Context, id onceward.OperationID) (p onceward.Payload, err error) {
	err = s.read(ctx, func(c *conn) error {
		e, err := c.event(id.Event)
		if err != nil {
			return err
		}
		at := e.at
		for _, o := range e.Operations {
			if o.ID == id && o.Revision != "" {
				if _, at, err = c.evidence(c.q(selectRevision).int(int64(id.Event)).blob([]byte(o.Revision)), "the content of "+id.String()); err != nil {
					return err
				}
			}
		}
		if p, err = s.payload(c, at); errors.Is(err, errNoPayload) {
			return fmt.Errorf("payload of operation %s: %w: %w", id, onceward.ErrNotFound, err)
		}
		return err
	})
	return p, err
}
