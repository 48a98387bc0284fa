package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

const (
	bulkColumns = `id, at, mode, actor, reason, consent, source, account, type, status, search, since, until, operations, expect, cursor,
 seen, changed, left_alone, refused, refusal, ended, cancelled`
	insertBulk = `INSERT INTO bulk (id, at, mode, actor, reason, consent, source, account, type, status, search, since, until, operations, expect)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectBulk        = `SELECT ` + bulkColumns + ` FROM bulk WHERE id = ?`
	selectBulks       = `SELECT ` + bulkColumns + ` FROM bulk WHERE id < ? ORDER BY id DESC LIMIT ?`
	selectBulkRunning = `SELECT ` + bulkColumns + ` FROM bulk INDEXED BY bulk_running WHERE ended IS NULL ORDER BY id LIMIT 1`
	updateBulk        = `UPDATE bulk SET cursor = ?2, seen = ?3, changed = ?4, left_alone = ?5, refused = ?6, refusal = ?7, ended = ?8, cancelled = ?9
 WHERE id = ?1 AND ended IS NULL AND cursor = ?10`
)

func scanBulk(s *stmt) onceward.Bulk {
	b := onceward.Bulk{
		ID: s.ColumnInt64(0), At: s.columnTime(1), Mode: onceward.Mode(s.ColumnInt64(2)),
		Decision: onceward.Decision{Actor: s.ColumnText(3), Reason: s.ColumnText(4), Consent: s.ColumnBool(5)},
		Filter: onceward.EventQuery{
			Source: s.ColumnText(6), Account: s.ColumnText(7), Type: s.ColumnText(8), Status: s.ColumnText(9), Search: s.ColumnText(10),
			Since: s.columnTime(11), Until: s.columnTime(12),
		},
		Expect: s.ColumnInt(14), Cursor: s.ColumnText(15), Seen: s.ColumnInt(16), Changed: s.ColumnInt(17), Left: s.ColumnInt(18),
		Refused: s.ColumnInt(19), Refusal: s.ColumnText(20), Ended: s.columnTime(21), Cancelled: s.ColumnBool(22),
	}
	if names := s.ColumnText(13); names != "" {
		b.Operations = strings.Split(names, ",")
	}
	return b
}

// BeginBulk records a decision about every event that a filter finds. It is
// carried out by [Store.StepBulk].
func (s *Store) BeginBulk(ctx context.Context, b onceward.Bulk) (onceward.Bulk, error) {
	err := s.write(ctx, func(w *writer) error {
		f := b.Filter
		asked := asking("bulk", b.Mode, f.Source, f.Account, f.Type, f.Status, f.Search, f.Since.UnixMicro(), f.Until.UnixMicro(), b.Operations, b.Decision.Consent)
		if err := w.unasked(b.Decision, asked); err != nil {
			return err
		}
		if err := w.once(b.Decision, asked); err != nil {
			return err
		}
		b.ID, b.At = int64(w.ids.Next(w.now)), w.now
		if b.Filter.Until.IsZero() || b.Filter.Until.After(w.now) {
			b.Filter.Until = w.now // what arrives later was not confirmed
		}
		f = b.Filter
		if err := w.c.q(insertBulk).int(b.ID).time(b.At).int(int64(b.Mode)).string(b.Decision.Actor).string(b.Decision.Reason).bool(b.Decision.Consent).
			string(f.Source).string(f.Account).string(f.Type).string(f.Status).string(f.Search).time(f.Since).time(f.Until).
			string(strings.Join(b.Operations, ",")).int(int64(b.Expect)).run(); err != nil {
			return err
		}
		return w.auditBulk(b, b.Mode.String()+" of "+count(b.Expect)+" begun", b.Decision)
	})
	return b, err
}

func count(events int) string {
	if events == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", events)
}

func (w *writer) auditBulk(b onceward.Bulk, action string, d onceward.Decision) error {
	return w.c.q(insertAudit).time(w.now).string(d.Actor).string(action).string(b.String()).null().null().null().null().null().
		decision(d).run()
}

// Bulk returns one bulk as it stands.
func (s *Store) Bulk(ctx context.Context, id int64) (b onceward.Bulk, err error) {
	err = s.read(ctx, func(c *conn) error {
		b, err = c.bulk(id)
		return err
	})
	return b, err
}

func (c *conn) bulk(id int64) (b onceward.Bulk, err error) {
	found, err := c.q(selectBulk).int(id).row(func(s *stmt) { b = scanBulk(s) })
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", onceward.BulkName(id), onceward.ErrNotFound)
	}
	return b, err
}

// Bulks lists bulks, newest first.
func (s *Store) Bulks(ctx context.Context, p onceward.Page) (items []onceward.Bulk, next string, err error) {
	before := int64(math.MaxInt64)
	if p.After != "" {
		if before, err = onceward.ParseBulk(p.After); err != nil {
			return nil, "", fmt.Errorf("cursor %q: %w", p.After, onceward.ErrBadCursor)
		}
	}
	err = s.read(ctx, func(c *conn) error {
		return c.q(selectBulks).int(before).int(int64(p.Limit)).rows(func(s *stmt) error {
			items = append(items, scanBulk(s))
			return nil
		})
	})
	if len(items) == p.Limit {
		next = items[len(items)-1].String()
	}
	return items, next, err
}

// RunningBulk returns the oldest bulk that is not ended; false when there is none.
func (s *Store) RunningBulk(ctx context.Context) (b onceward.Bulk, found bool, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err = c.q(selectBulkRunning).row(func(s *stmt) { b = scanBulk(s) })
		return err
	})
	return b, found, err
}

// CancelBulk ends a bulk where it stands; what it did stays done.
func (s *Store) CancelBulk(ctx context.Context, id int64, d onceward.Decision) (onceward.Bulk, error) {
	var b onceward.Bulk
	err := s.write(ctx, func(w *writer) (err error) {
		if b, err = w.c.bulk(id); err != nil {
			return err
		}
		if !b.Ended.IsZero() {
			return fmt.Errorf("%s: %w: it is %s", b, onceward.ErrNotAllowed, b.State())
		}
		cursor := b.Cursor
		b.Ended, b.Cancelled = w.now, true
		if err := w.saveBulk(b, cursor); err != nil {
			return err
		}
		return w.auditBulk(b, fmt.Sprintf("%s cancelled after %s", b.Mode, count(b.Seen)), d)
	})
	return b, err
}

// StepBulk does what a bulk asks to its next events and moves its cursor in
// the same transaction, so that a crash neither skips nor repeats one. next is
// where it goes on; with last it is done. ErrFenced means that the bulk is not
// where the caller thinks it is: cancelled, or stepped by another.
//
// An event at which the store fails is counted as refused, and the step is done
// again without it: one event never stops a bulk, nor those behind it. Only a
// store that is away altogether does.
func (s *Store) StepBulk(ctx context.Context, known onceward.Bulk, steps []onceward.Step, next string, last bool) (onceward.Bulk, error) {
	faults := map[int]error{}
	for {
		var b onceward.Bulk
		at, fault := -1, error(nil)
		err := s.write(ctx, func(w *writer) (err error) {
			b, at, fault, err = w.stepBulkOnce(known, steps, faults, next, last)
			return err
		})
		if err == nil || at < 0 || away(fault) {
			return b, err
		}
		faults[at] = fault
	}
}

// stepBulkOnce does a step but for the events of which a fault is known. at is
// the event at which it failed; -1 when it was none of them.
func (w *writer) stepBulkOnce(known onceward.Bulk, steps []onceward.Step, faults map[int]error, next string, last bool) (b onceward.Bulk, at int, fault, err error) {
	if b, err = w.c.bulk(known.ID); err != nil {
		return b, -1, nil, err
	}
	if !b.Ended.IsZero() || b.Cursor != known.Cursor || b.Seen != known.Seen {
		return b, -1, nil, fmt.Errorf("%s: %w", b, onceward.ErrFenced)
	}
	cursor := b.Cursor
	for i, step := range steps {
		changed, err := false, faults[i]
		if err == nil {
			if changed, err = w.stepBulk(b, step); err != nil && !isRefusal(err) {
				if inVocabulary(err) { // what it had written must not be committed
					err = fmt.Errorf("unexpected: %v", err)
				}
				return b, i, err, err
			}
		}
		b.Seen++
		switch {
		case err != nil:
			b.Refused, b.Refusal = b.Refused+1, refusal(step.Event, err)
		case changed:
			b.Changed++
		default:
			b.Left++
		}
	}
	b.Cursor = next
	if last {
		b.Ended = w.now
	}
	if err := w.saveBulk(b, cursor); err != nil || !last {
		return b, -1, nil, err
	}
	return b, -1, nil, w.auditBulk(b, fmt.Sprintf("%s ended: %d changed, %d left, %d refused", b.Mode, b.Changed, b.Left, b.Refused), b.Decision)
}

// refusal is what a bulk tells of an event that it could not change.
func refusal(id onceward.EventID, err error) string {
	if isRefusal(err) {
		return err.Error()
	}
	return fmt.Sprintf("event %s: the store failed at it, and nothing of it was changed: %v", id, err)
}

// isRefusal tells what the rules refuse from what the store cannot do.
func isRefusal(err error) bool {
	return errors.Is(err, onceward.ErrConsent) || errors.Is(err, onceward.ErrNotAllowed) || errors.Is(err, onceward.ErrNotFound)
}

func (w *writer) stepBulk(b onceward.Bulk, step onceward.Step) (changed bool, err error) {
	d := b.Decision
	d.Evidence = b.String() // whose work a row in the audit log was
	if step.Fault != "" {
		return false, fmt.Errorf("event %s: %w: %s", step.Event, onceward.ErrNotAllowed, step.Fault)
	}
	if b.Mode == onceward.Erase {
		return true, w.erase(step.Event, d)
	}
	all, err := w.replay(step.Event, onceward.Replay{
		Decision: d, Mode: b.Mode, Operations: b.Operations, Held: b.Held(), Reading: step.Reading, KeyMemory: step.KeyMemory,
	})
	if err == nil {
		err = w.advanceAll() // a stream that cannot go on is this event's fault, not the step's
	}
	return slices.ContainsFunc(all, func(r onceward.Replayed) bool { return r.Did != onceward.Left }), err
}

func (w *writer) saveBulk(b onceward.Bulk, cursor string) error {
	if err := w.c.q(updateBulk).int(b.ID).string(b.Cursor).int(int64(b.Seen)).int(int64(b.Changed)).int(int64(b.Left)).int(int64(b.Refused)).
		text(b.Refusal).time(b.Ended).bool(b.Cancelled).string(cursor).run(); err != nil {
		return err
	}
	if w.c.Changes() != 1 {
		return fmt.Errorf("%s changed inside its own transaction", b)
	}
	return nil
}
