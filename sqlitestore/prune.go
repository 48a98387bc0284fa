package sqlitestore

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

const (
	selectExpired = `SELECT id, first, last FROM segment INDEXED BY segment_expires WHERE expires <= ? ORDER BY expires LIMIT ?`
	// Only what is completed or ignored lets its payload go: the rest may
	// still have to run, or waits for a person who must see it.
	needsPayload = `SELECT EXISTS (SELECT 1 FROM operation WHERE event BETWEEN ?1 AND ?2 AND state <> 4)
 OR EXISTS (SELECT 1 FROM event WHERE id BETWEEN ?1 AND ?2 AND verdict = 4)
 OR EXISTS (SELECT 1 FROM evidence WHERE event BETWEEN ?1 AND ?2 AND decided = 0)`
	deleteSegment   = `DELETE FROM segment WHERE id = ?`
	postponeSegment = `UPDATE segment SET expires = ? WHERE id = ?`
)

// postponed is how long a segment that is still needed is left alone.
const postponed = 24 * time.Hour

// PrunePayloads drops up to limit segments of payloads whose time is over and
// that nothing needs. It reports how many it looked at.
func (s *Store) PrunePayloads(ctx context.Context, limit int) (seen int, err error) {
	var dropped []int64
	err = s.write(ctx, func(w *writer) error {
		seen, dropped = 0, nil
		var expired [][3]int64
		if err := w.c.q(selectExpired).time(w.now).int(int64(limit)).rows(func(s *stmt) error {
			expired = append(expired, [3]int64{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)})
			return nil
		}); err != nil {
			return err
		}
		for _, seg := range expired {
			var needed bool
			if _, err := w.c.q(needsPayload).int(seg[1]).int(seg[2]).row(func(s *stmt) { needed = s.ColumnBool(0) }); err != nil {
				return err
			}
			var err error
			if needed {
				err = w.c.q(postponeSegment).time(w.now.Add(postponed)).int(seg[0]).run()
			} else {
				err = w.c.q(deleteSegment).int(seg[0]).run()
				dropped = append(dropped, seg[0])
			}
			if err != nil {
				return err
			}
			seen++
		}
		return nil
	})
	for _, id := range dropped {
		s.segments.forget(id)
	}
	return seen, err
}

const (
	selectOld = `SELECT id, key, body, event_id, min(last_seen + keep, ifnull(forget_at, last_seen + keep)), verdict,
 EXISTS (SELECT 1 FROM operation o WHERE o.event = event.id AND o.state <> 4) FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT ?`
	deleteReference  = `DELETE FROM reference WHERE hash = ? AND event = ?`
	deleteEvent      = `DELETE FROM event WHERE id = ?`
	deleteOperations = `DELETE FROM operation WHERE event = ?`
	deleteAttempts   = `DELETE FROM attempt WHERE event = ?`
	deleteSteps      = `DELETE FROM step WHERE event = ?`
	deleteDeliveries = `DELETE FROM delivery WHERE event = ?`
	deleteEvidence   = `DELETE FROM evidence WHERE event = ?`
)

// PruneKeys forgets events that were not seen for as long as they had to be
// remembered and all of whose operations are completed. It looks at up to limit
// events after the given one that are older than shortest, the shortest memory
// configured, and returns where to go on; zero when it came to the end.
func (s *Store) PruneKeys(ctx context.Context, after onceward.EventID, shortest time.Duration, limit int) (next onceward.EventID, forgotten int, err error) {
	err = s.write(ctx, func(w *writer) error {
		next, forgotten = 0, 0
		// Copies that came in this very transaction are sightings, too.
		if err := w.flushCopies(); err != nil {
			return err
		}
		type old struct {
			id        onceward.EventID
			key, body []byte
			eventID   string
		}
		var gone []old
		seen := 0
		if err := w.c.q(selectOld).int(int64(after)).int(int64(onceward.EventIDAt(w.now.Add(-shortest)))).int(int64(limit)).rows(func(s *stmt) error {
			seen++
			next = onceward.EventID(s.ColumnInt64(0))
			if s.ColumnInt64(4) < w.now.UnixMicro() && onceward.Verdict(s.ColumnInt64(5)) != onceward.QuarantinedBy && !s.ColumnBool(6) {
				gone = append(gone, old{next, s.ColumnBlob(1, nil), s.ColumnBlob(2, nil), s.ColumnText(3)})
			}
			return nil
		}); err != nil {
			return err
		}
		if seen < limit {
			next = 0
		}
		for _, e := range gone {
			if err := w.forget(e.id, e.key, e.body, e.eventID); err != nil {
				return err
			}
			forgotten++
		}
		return nil
	})
	return next, forgotten, err
}

func (w *writer) forget(id onceward.EventID, key, body []byte, eventID string) error {
	operations, err := w.operations(id)
	if err != nil {
		return err
	}
	for _, o := range operations {
		label, err := w.label(o.Name)
		if err != nil {
			return err
		}
		w.count(label, o.State, 0)
	}
	w.lately.forget(onceward.Digest(key))
	if err := w.deleteKey(onceward.Digest(key), id); err != nil {
		return err
	}
	for _, d := range [...]*stmt{
		w.c.q(deleteEvent).int(int64(id)), w.c.q(deleteOperations).int(int64(id)), w.c.q(deleteAttempts).int(int64(id)),
		w.c.q(deleteSteps).int(int64(id)),
		w.c.q(deleteDeliveries).int(int64(id)), w.c.q(deleteEvidence).int(int64(id)),
	} {
		if err := d.run(); err != nil {
			return err
		}
	}
	for _, o := range operations {
		if o.Stream == 0 {
			continue
		}
		if err := w.c.q(deleteStream).int(o.Stream).run(); err != nil {
			return err
		}
	}
	if err := w.unindex(id, eventID); err != nil {
		return err
	}
	if len(body) > 0 {
		return w.deleteKey(onceward.Digest(body), id)
	}
	return nil
}

// Shrink gives up to pages free pages back to the file system, and lets the
// WAL begin anew when it has outgrown its limit.
func (s *Store) Shrink(ctx context.Context, pages int) error {
	return s.write(ctx, func(w *writer) error {
		// Inside the transaction only the vacuum is allowed; the checkpoint
		// follows by itself, once no reader holds an old snapshot.
		q := w.c.q("PRAGMA incremental_vacuum(" + itoa(pages) + ")")
		return q.rows(func(*stmt) error { return nil })
	})
}
