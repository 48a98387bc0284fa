package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward"
)

const selectDue = `SELECT ` + operationColumns + ` FROM operation o INDEXED BY operation_due
 WHERE o.label = ? AND o.step = ? AND o.due_at <= ? ORDER BY o.due_at LIMIT ?`

const selectNextDue = `SELECT min(due_at) FROM operation INDEXED BY operation_due WHERE label = ? AND step = ? AND due_at IS NOT NULL`

// Claim gives up to r.Limit due operations of one name and step to r.Owner:
// T2, T11, T14. Those that it finds past every limit, or whose steps are no
// longer the configured ones, move to where a person sees them (T12, T12b, T15,
// T24) instead. next is when more will be due, zero if never.
func (s *Store) Claim(ctx context.Context, r onceward.ClaimRequest) (leased []onceward.Leased, next time.Time, err error) {
	err = s.write(ctx, func(w *writer) error {
		leased, next = nil, time.Time{}
		label, err := w.label(r.Name)
		if err != nil {
			return err
		}
		var due []onceward.Operation
		if err := w.c.q(selectDue).int(label).int(int64(r.Step)).time(w.now).int(int64(r.Limit)).rows(func(s *stmt) error {
			o, _ := scanOperation(s)
			o.Name = r.Name
			due = append(due, o)
			return nil
		}); err != nil {
			return err
		}
		for _, o := range due {
			o, may, err := w.mayTake(o)
			if err != nil {
				return err
			}
			if !may {
				continue
			}
			taken, err := w.take(o, r)
			if err != nil {
				return err
			}
			if taken.State == onceward.Processing {
				leased = append(leased, onceward.Leased{Operation: taken, Lease: leaseOf(taken), Recovered: lost(o)})
			}
		}
		_, err = w.c.q(selectNextDue).int(label).int(int64(r.Step)).row(func(s *stmt) { next = s.columnTime(0) })
		return err
	})
	if err != nil || len(leased) == 0 {
		return nil, next, err
	}
	// They are leased now, whatever reading gives. What cannot be read is that
	// operation's own fault, which its worker is told: half of an operation must
	// not go out, and its neighbours must not wait for it.
	if err := s.read(ctx, func(c *conn) error {
		for i := range leased {
			s.fill(c, &leased[i])
		}
		return nil
	}); err != nil {
		for i := range leased {
			leased[i].Fault = err.Error()
		}
	}
	return leased, next, nil
}

func (w *writer) take(o onceward.Operation, r onceward.ClaimRequest) (onceward.Operation, error) {
	taken, transition, err := o.Under(r.Effect).Take(r.Owner, r.Limits, r.Intend, w.now)
	if err != nil {
		return o, err
	}
	return taken, w.recordTake(o, taken, transition)
}

// recordTake writes what Take or Expire decided, and the end of a lost attempt.
func (w *writer) recordTake(o, taken onceward.Operation, transition string) error {
	if err := w.move(o, taken); err != nil {
		return err
	}
	if lost(o) && o.Attempt > 0 {
		if err := w.attempt(onceward.Attempt{
			Operation: o.ID, Number: o.Attempt, Owner: cmp.Or(o.Owner, "a process that ended"), Fence: o.Fence, Started: o.Changed, Ended: w.now,
			Outcome: "lost", State: taken.State, Reason: "its owner fell silent",
		}); err != nil {
			return err
		}
	}
	if taken.State == onceward.Processing {
		return nil // its attempt will be on record, whatever becomes of it
	}
	return w.audit(o, taken, transition, onceward.Decision{Actor: "janitor", Reason: taken.Reason})
}

// lost reports whether an operation was under way when its owner fell silent.
// One that waits to repeat an ambiguous call has a reason and no owner; its
// attempt is on record.
func lost(o onceward.Operation) bool {
	return o.State == onceward.Processing && (o.Owner != "" || o.Reason == "")
}

const selectForWork = `SELECT e.key, e.mode, e.account, e.event_id, e.type, e.version, e.occurred_at, e.segment, e.slot, e.item, e.items, s.tenant, s.name, s.environment
 FROM event e JOIN source s ON s.id = e.source WHERE e.id = ?`

// fill adds to a leased operation what its worker needs: event and payload.
func (s *Store) fill(c *conn, l *onceward.Leased) {
	var at place
	found, err := c.q(selectForWork).int(int64(l.Operation.ID.Event)).row(func(s *stmt) {
		e := &l.Event
		e.ID = l.Operation.ID.Event
		copy(e.Key[:], s.ColumnRawBlob(0))
		e.Mode, e.Account, e.EventID, e.Type, e.Version = s.ColumnText(1), s.ColumnText(2), s.ColumnText(3), s.ColumnText(4), s.ColumnText(5)
		e.OccurredAt = s.columnTime(6)
		at = place{s.ColumnInt64(7), s.ColumnInt64(8)}
		e.Item, e.Of = int(s.ColumnInt64(9)), int(s.ColumnInt64(10))
		e.Tenant, e.Source, e.Env = s.ColumnText(11), s.ColumnText(12), s.ColumnText(13)
	})
	if err == nil && !found {
		err = errors.New("its event is not recorded")
	}
	if err == nil && l.Operation.Step > 0 {
		l.Results, err = c.results(l.Operation)
	}
	if err == nil && l.Operation.Revision != "" {
		var later onceward.Evidence
		later, at, err = c.evidence(c.q(selectRevision).int(int64(l.Operation.ID.Event)).blob([]byte(l.Operation.Revision)), "the content that it carries")
		l.Event.Type, l.Event.Version, l.Event.OccurredAt = later.Type, later.Version, later.OccurredAt
		if errors.Is(err, onceward.ErrNotFound) { // erased
			err = errNoPayload
		}
	}
	if err == nil {
		l.Payload, err = s.payload(c, at)
	}
	switch {
	case errors.Is(err, errNoPayload):
		l.Missing = true
	case err != nil:
		l.Fault = err.Error()
	case len(l.Payload.Body) > onceward.MaxCarried:
		l.Payload, l.Large = onceward.Payload{}, true
	}
}

// Recover settles what no worker may take over: operations whose owner fell
// silent with a call that may not be repeated, or with every attempt spent
// (T12, T12b), and those that stand at a step that is no longer configured.
// limits tells each operation's, step by step; names it does not know are left
// alone. It looks at up to limit operations of each step and reports how many
// it moved.
func (s *Store) Recover(ctx context.Context, limits map[string][]onceward.Limits, limit int) (moved int, err error) {
	err = s.write(ctx, func(w *writer) error {
		moved = 0
		for name, l := range limits {
			n, err := w.recover(name, l, limit)
			if err != nil {
				return err
			}
			moved += n
		}
		return nil
	})
	return moved, err
}

const (
	selectSilent = `SELECT ` + operationColumns + ` FROM operation o INDEXED BY operation_due
 WHERE o.label = ? AND o.step = ? AND o.due_at <= ? AND o.state = 2 ORDER BY o.due_at LIMIT ?`
	// Due at a step that nobody claims, because it is not configured.
	selectUnclaimed = `SELECT ` + operationColumns + ` FROM operation o INDEXED BY operation_due
 WHERE o.label = ? AND o.step = ? AND o.due_at <= ? ORDER BY o.due_at LIMIT ?`
	selectNextStep = `SELECT step FROM operation INDEXED BY operation_due WHERE label = ? AND step > ? AND due_at IS NOT NULL ORDER BY step LIMIT 1`
)

func (w *writer) recover(name string, limits []onceward.Limits, limit int) (moved int, err error) {
	label, err := w.label(name)
	if err != nil || len(limits) == 0 {
		return 0, err
	}
	for step := int64(-1); ; {
		found, err := w.c.q(selectNextStep).int(label).int(step).row(func(s *stmt) { step = s.ColumnInt64(0) })
		if err != nil || !found {
			return moved, err
		}
		sql, l := selectSilent, limits[min(step, int64(len(limits)-1))]
		if step >= int64(len(limits)) {
			sql = selectUnclaimed
		}
		var silent []onceward.Operation
		if err := w.c.q(sql).int(label).int(step).time(w.now).int(int64(limit)).rows(func(s *stmt) error {
			o, _ := scanOperation(s)
			o.Name = name
			silent = append(silent, o)
			return nil
		}); err != nil {
			return moved, err
		}
		for _, o := range silent {
			expired, transition, err := o.Expire(l, w.now)
			if err != nil {
				continue // a worker will take it over
			}
			if err := w.recordTake(o, expired, transition); err != nil {
				return moved, err
			}
			moved++
		}
	}
}
