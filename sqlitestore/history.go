package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

const (
	selectDeliveries = `SELECT at, verdict, count, secret, remote FROM delivery WHERE event = ? ORDER BY at`
	selectAttempts   = `SELECT n, fence, number, started, ended, outcome, status, state, reason, owner FROM attempt WHERE event = ? ORDER BY started, n`
	selectEventAudit = `SELECT ` + auditColumns + ` FROM audit WHERE event = ? ORDER BY id`
)

// History returns everything recorded about one event, as of one moment.
func (s *Store) History(ctx context.Context, id onceward.EventID) (h onceward.History, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.event(id)
		if err != nil {
			return err
		}
		h.Event = r.Event
		h.Deliveries = []onceward.Delivery{{At: id.Time(), Verdict: r.Verdict, Count: 1, Secret: r.secret, Remote: r.remote}}
		return errors.Join(
			c.q(selectDeliveries).int(int64(id)).rows(func(s *stmt) error {
				h.Deliveries = append(h.Deliveries, onceward.Delivery{At: s.columnTime(0), Verdict: onceward.Verdict(s.ColumnInt64(1)), Count: int(s.ColumnInt64(2)), Secret: s.ColumnText(3), Remote: s.ColumnText(4)})
				return nil
			}),
			c.q(selectAttempts).int(int64(id)).rows(func(s *stmt) error {
				h.Attempts = append(h.Attempts, onceward.Attempt{
					Operation: onceward.OperationID{Event: id, N: int(s.ColumnInt64(0))}, Fence: s.ColumnInt64(1), Number: int(s.ColumnInt64(2)),
					Started: s.columnTime(3), Ended: s.columnTime(4), Outcome: s.ColumnText(5), Status: int(s.ColumnInt64(6)), State: onceward.State(s.ColumnInt64(7)), Reason: s.ColumnText(8), Owner: s.ColumnText(9),
				})
				return nil
			}),
			c.q(selectSteps).int(int64(id)).rows(func(s *stmt) error {
				h.Steps = append(h.Steps, scanStep(s, id))
				return nil
			}),
			c.q(selectEvidence).int(int64(id)).rows(func(s *stmt) error {
				e, _ := scanEvidence(s)
				h.Conflicts = append(h.Conflicts, e)
				return nil
			}),
			c.q(selectEventAudit).int(int64(id)).rows(func(s *stmt) error {
				h.Audits = append(h.Audits, scanAudit(s))
				return nil
			}),
		)
	})
	return h, err
}

// Payload returns what an event's first delivery carried;
// onceward.ErrNotFound when it is not known or no longer kept.
func (s *Store) Payload(ctx context.Context, id onceward.EventID) (p onceward.Payload, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.event(id)
		if err != nil {
			return err
		}
		if p, err = s.payload(c, r.at); errors.Is(err, errNoPayload) {
			return fmt.Errorf("payload of event %s: %w: %w", id, onceward.ErrNotFound, err)
		}
		return err
	})
	return p, err
}

const selectNamedOperation = `SELECT ` + operationColumns + `, l.name FROM operation o JOIN label l ON l.id = o.label WHERE o.event = ? AND o.n = ?`

// Operation returns one operation as it stands.
func (s *Store) Operation(ctx context.Context, id onceward.OperationID) (o onceward.Operation, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.q(selectNamedOperation).int(int64(id.Event)).int(int64(id.N)).row(func(s *stmt) { o = scanNamed(s) })
		if err == nil && !found {
			err = fmt.Errorf("operation %s: %w", id, onceward.ErrNotFound)
		}
		return err
	})
	return o, err
}

const selectPauses = `SELECT destination, at, actor, reason FROM pause ORDER BY destination`

// Pauses lists the paused destinations.
func (s *Store) Pauses(ctx context.Context) (all []onceward.Pause, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.q(selectPauses).rows(func(s *stmt) error {
			all = append(all, onceward.Pause{Destination: s.ColumnText(0), At: s.columnTime(1), Actor: s.ColumnText(2), Reason: s.ColumnText(3)})
			return nil
		})
	})
	return all, err
}

const selectCounts = `SELECT l.name, c.state, c.n FROM counter c JOIN label l ON l.id = c.label ORDER BY l.name, c.state`

// Counts returns how many operations stand in which state, from counters.
func (s *Store) Counts(ctx context.Context) (all []onceward.Count, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.q(selectCounts).rows(func(s *stmt) error {
			all = append(all, onceward.Count{Operation: s.ColumnText(0), State: onceward.State(s.ColumnInt64(1)), N: s.ColumnInt64(2)})
			return nil
		})
	})
	return all, err
}

const selectOldest = `SELECT min(event) FROM (SELECT event FROM (SELECT o.event FROM operation o INDEXED BY operation_due JOIN label l ON l.id = o.label
 WHERE l.name = ?1 AND o.due_at IS NOT NULL LIMIT 200000)
 UNION ALL SELECT event FROM (SELECT o.event FROM operation o INDEXED BY operation_waiting JOIN label l ON l.id = o.label
 WHERE l.name = ?1 AND o.stream IS NOT NULL AND o.state <> 4 AND o.due_at IS NULL AND (o.state = 1 OR o.state = 5) LIMIT 200000))`

// Oldest returns when the oldest event was received that still has an open
// operation of this name; zero when there is none. It looks at no more than
// 200 000 of them, those that are due first.
func (s *Store) Oldest(ctx context.Context, operation string) (t time.Time, err error) {
	err = s.read(ctx, func(c *conn) error {
		_, err := c.q(selectOldest).string(operation).row(func(s *stmt) {
			if id := onceward.EventID(s.ColumnInt64(0)); id != 0 {
				t = id.Time()
			}
		})
		return err
	})
	return t, err
}
