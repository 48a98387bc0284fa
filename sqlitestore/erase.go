package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Erasing takes what an event carried out of the file: its bytes, those of
// contents that contradict it, the sender's id and account, the addresses that
// it came from. The keyed digest stays, so that a copy is still a duplicate;
// so do type, times, outcomes, result references and the audit log.

const (
	updateErased = `UPDATE event SET event_id = NULL, account = NULL, content = zeroblob(32), segment = NULL, slot = NULL, secret = NULL, remote = NULL,
 reason = CASE verdict WHEN 4 THEN 'erased while it was held' ELSE reason END, verdict = CASE verdict WHEN 4 THEN 5 ELSE verdict END, erased = ?2
 WHERE id = ?1 AND erased IS NULL`
	eraseDeliveries  = `UPDATE delivery SET secret = NULL, remote = NULL WHERE event = ?`
	rewriteSegment   = `UPDATE segment SET size = ?2, data = ?3 WHERE id = ?1`
	restoredAt       = "restored_at"
	secureDelete     = "PRAGMA secure_delete = ON"
	fastSecureDelete = "PRAGMA secure_delete = FAST"
)

// Erase erases what an event carried. ErrNotAllowed means that something of it
// still has to run, or that it was erased before.
func (s *Store) Erase(ctx context.Context, id onceward.EventID, d onceward.Decision) error {
	return s.write(ctx, func(w *writer) error { return w.erase(id, d) })
}

func (w *writer) erase(id onceward.EventID, d onceward.Decision) error {
	e, err := w.c.event(id)
	if err != nil {
		return err
	}
	if err := e.Erase(d); err != nil {
		return fmt.Errorf("event %s: %w", id, err)
	}
	// What is to be erased may be of this very transaction.
	if err := errors.Join(w.flushSegments(), w.flushCopies()); err != nil {
		return err
	}
	// Freed space is overwritten with zeros: else the bytes would stay in the
	// file until something else happened to be written there.
	if err := w.c.Exec(secureDelete); err != nil {
		return err
	}
	places := map[int64][]int64{}
	if e.at.segment != 0 {
		places[e.at.segment] = append(places[e.at.segment], e.at.slot)
	}
	if err := w.c.q(selectEvidence).int(int64(id)).rows(func(s *stmt) error {
		if _, at := scanEvidence(s); at.segment != 0 {
			places[at.segment] = append(places[at.segment], at.slot)
		}
		return nil
	}); err != nil {
		return err
	}
	for segment, slots := range places {
		if err := w.blank(segment, slots); err != nil {
			return err
		}
	}
	for _, q := range [...]*stmt{
		w.c.q(deleteEvidence).int(int64(id)), w.c.q(updateErased).int(int64(id)).time(w.now), w.c.q(eraseDeliveries).int(int64(id)),
	} {
		if err := q.run(); err != nil {
			return err
		}
	}
	if err := w.unindex(id, e.EventID); err != nil {
		return err
	}
	w.unlearn(e.Key)
	w.scrub = true
	if err := w.c.q(insertAudit).time(w.now).string(d.Actor).string("erase").string(id.String()).int(int64(id)).null().null().null().null().
		decision(d).run(); err != nil {
		return err
	}
	return w.c.Exec(fastSecureDelete)
}

// blank empties some slots of a segment; the others keep their numbers. A
// segment of which nothing is left is deleted.
func (w *writer) blank(id int64, slots []int64) error {
	plain, err := w.store.segments.load(w.c, id)
	if errors.Is(err, errNoPayload) {
		return nil // dropped with its time
	}
	if err != nil {
		return err
	}
	gone := map[int64]bool{}
	for _, slot := range slots {
		gone[slot] = true
	}
	var kept []byte
	left := false
	for slot := int64(0); len(plain) > 0; slot++ {
		header, rest, ok := cutChunk(plain)
		body, rest, ok2 := cutChunk(rest)
		if !ok || !ok2 {
			return fmt.Errorf("segment %d is damaged in slot %d", id, slot)
		}
		p := onceward.Payload{Header: header, Body: body}
		if gone[slot] {
			p = onceward.Payload{}
		}
		left = left || len(p.Header)+len(p.Body) > 0
		kept = appendPayload(kept, p)
		plain = rest
	}
	// Before the commit a reader may read the old bytes once more, but no event
	// points to them any longer.
	w.store.segments.forget(id)
	if !left {
		return w.c.q(deleteSegment).int(id).run()
	}
	return w.c.q(rewriteSegment).int(id).int(int64(len(kept))).blob(w.segments.encoder.EncodeAll(kept, nil)).run()
}

// MarkRestored notes that the file was restored from a backup at a time: what
// happened before and is not known may have run all the same, and is held for a
// person. The zero time takes the mark away.
func (s *Store) MarkRestored(ctx context.Context, at time.Time, d onceward.Decision) error {
	return s.write(ctx, func(w *writer) error {
		v, action := int64(0), "restore mark taken away"
		if !at.IsZero() {
			v, action = at.UnixMicro(), "marked as restored at "+at.UTC().Format(time.RFC3339)
		}
		if err := w.c.q(upsertSetting).string(restoredAt).int(v).run(); err != nil {
			return err
		}
		w.restored = at.UTC()
		if at.IsZero() {
			w.restored = time.Time{}
		}
		return w.c.q(insertAudit).time(w.now).string(d.Actor).string(action).string("store").null().null().null().null().null().decision(d).run()
	})
}

// Restored returns when the store was marked as restored; zero if it was not.
func (s *Store) Restored(ctx context.Context) (at time.Time, err error) {
	err = s.read(ctx, func(c *conn) error {
		v, err := c.setting(restoredAt)
		if v != 0 {
			at = micro(v)
		}
		return err
	})
	return at, err
}
