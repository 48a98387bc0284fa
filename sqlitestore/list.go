package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// scanLimit is how many rows one page may look at. A page that found fewer
// than it may hold still has a cursor, so no listing reads a table whole.
const scanLimit = 5000

const (
	eventColumns = `e.id, e.key, e.mode, e.account, e.event_id, e.type, e.version, e.occurred_at, e.content, e.verdict, e.reason,
 e.segment, e.slot, e.item, e.items, e.secret, e.remote, e.deliveries, e.conflicts, e.last_seen, s.tenant, s.name, s.environment, e.erased`
	selectEvents = `SELECT ` + eventColumns + ` FROM event e JOIN source s ON s.id = e.source
 WHERE e.id < ? AND e.id >= ? ORDER BY e.id DESC LIMIT ?`
	selectEvent        = `SELECT ` + eventColumns + ` FROM event e JOIN source s ON s.id = e.source WHERE e.id = ?`
	selectParkedEvents = `SELECT DISTINCT event FROM operation INDEXED BY operation_parked WHERE state >= 6 AND state = ? AND event < ? AND event >= ? ORDER BY event DESC LIMIT ?`
	selectQuarantined  = `SELECT id FROM event INDEXED BY event_quarantined WHERE verdict = 4 AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`
)

// eventRow is an event with what only the store needs of it.
type eventRow struct {
	onceward.Event
	at             place
	secret, remote string
}

func scanEvent(s *stmt) eventRow {
	r := eventRow{Event: onceward.Event{
		ID: onceward.EventID(s.ColumnInt64(0)), Mode: s.ColumnText(2), Account: s.ColumnText(3), EventID: s.ColumnText(4),
		Type: s.ColumnText(5), Version: s.ColumnText(6), OccurredAt: s.columnTime(7),
		Verdict: onceward.Verdict(s.ColumnInt64(9)), Reason: s.ColumnText(10),
		Item: int(s.ColumnInt64(13)), Of: int(s.ColumnInt64(14)),
		Deliveries: int(s.ColumnInt64(17)), Conflicts: int(s.ColumnInt64(18)), LastSeen: s.columnTime(19),
		Tenant: s.ColumnText(20), Source: s.ColumnText(21), Env: s.ColumnText(22),
		Erased: s.columnTime(23),
	}}
	copy(r.Key[:], s.ColumnRawBlob(1))
	copy(r.Content[:], s.ColumnRawBlob(8))
	r.at = place{s.ColumnInt64(11), s.ColumnInt64(12)}
	r.secret, r.remote = s.ColumnText(15), s.ColumnText(16)
	return r
}

func (c *conn) event(id onceward.EventID) (r eventRow, err error) {
	found, err := c.q(selectEvent).int(int64(id)).row(func(s *stmt) { r = scanEvent(s) })
	if err == nil && !found {
		err = fmt.Errorf("event %s: %w", id, onceward.ErrNotFound)
	}
	if err != nil {
		return r, err
	}
	r.Operations, err = c.operations(id)
	return r, err
}

const selectNamedOperations = `SELECT ` + operationColumns + `, l.name FROM operation o JOIN label l ON l.id = o.label WHERE o.event = ? ORDER BY o.n`

func (c *conn) operations(id onceward.EventID) (all []onceward.Operation, err error) {
	err = c.q(selectNamedOperations).int(int64(id)).rows(func(s *stmt) error {
		all = append(all, scanNamed(s))
		return nil
	})
	return all, err
}

func scanNamed(s *stmt) onceward.Operation {
	o, _ := scanOperation(s)
	o.Name = s.ColumnText(operationWidth)
	return o
}

// Events lists events, newest first. The cursor is the last id looked at.
func (s *Store) Events(ctx context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error) {
	if q.Search != "" {
		items, err = s.search(ctx, q)
		return items, "", err
	}
	before, since, err := eventRange(q.Page, q.Since, q.Until)
	if err != nil {
		return nil, "", err
	}
	err = s.read(ctx, func(c *conn) error {
		rows, last, err := c.candidates(q, before, since)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Operations == nil {
				if r.Operations, err = c.operations(r.ID); err != nil {
					return err
				}
			}
			if !matches(q, r.Event) {
				continue
			}
			if items = append(items, r.Event); len(items) == q.Limit {
				next = r.ID.String()
				return nil
			}
		}
		if len(rows) == c.scanned(q) {
			next = last.String()
		}
		return nil
	})
	return items, next, err
}

// candidates reads what may match: a range of events, or where the status asks
// for a parked state, the events of that state's own index.
func (c *conn) candidates(q onceward.EventQuery, before, since onceward.EventID) (rows []eventRow, last onceward.EventID, err error) {
	state, err := onceward.ParseState(q.Status)
	if err != nil || !parked(state) {
		err = c.q(selectEvents).int(int64(before)).int(int64(since)).int(int64(c.scanned(q))).rows(func(s *stmt) error {
			rows = append(rows, scanEvent(s))
			last = rows[len(rows)-1].ID
			return nil
		})
		return rows, last, err
	}
	var ids []onceward.EventID
	if err := c.q(selectParkedEvents).int(int64(state)).int(int64(before)).int(int64(since)).int(int64(c.scanned(q))).rows(func(s *stmt) error {
		ids = append(ids, onceward.EventID(s.ColumnInt64(0)))
		return nil
	}); err != nil {
		return nil, 0, err
	}
	if state == onceward.Quarantined { // of these some never had an operation
		if err := c.q(selectQuarantined).int(int64(before)).int(int64(since)).int(int64(c.scanned(q))).rows(func(s *stmt) error {
			ids = append(ids, onceward.EventID(s.ColumnInt64(0)))
			return nil
		}); err != nil {
			return nil, 0, err
		}
		slices.SortFunc(ids, func(a, b onceward.EventID) int { return cmp.Compare(b, a) })
		ids = ids[:min(len(ids), c.scanned(q))]
	}
	for _, id := range ids {
		r, err := c.event(id)
		if err != nil {
			return nil, 0, err
		}
		rows, last = append(rows, r), id
	}
	return rows, last, nil
}

// scanned is how many candidates a page looks at.
func (c *conn) scanned(q onceward.EventQuery) int {
	if q.Source == "" && q.Account == "" && q.Type == "" && q.Status == "" {
		return q.Limit
	}
	return max(scanLimit, q.Limit)
}

func parked(s onceward.State) bool {
	return s == onceward.UnknownOutcome || s == onceward.DeadLettered || s == onceward.Quarantined
}

func matches(q onceward.EventQuery, e onceward.Event) bool {
	if q.Source != "" && q.Source != e.Source || q.Account != "" && q.Account != e.Account {
		return false
	}
	if prefix, ok := strings.CutSuffix(q.Type, "*"); ok && !strings.HasPrefix(e.Type, prefix) || !ok && q.Type != "" && q.Type != e.Type {
		return false
	}
	return q.Status == "" || q.Status == e.Status()
}

func eventRange(p onceward.Page, since, until time.Time) (before, from onceward.EventID, err error) {
	before = math.MaxInt64
	if !until.IsZero() {
		before = onceward.EventIDAt(until)
	}
	if !since.IsZero() {
		from = onceward.EventIDAt(since)
	}
	if p.After != "" {
		after, err := onceward.ParseEventID(p.After)
		if err != nil {
			return 0, 0, fmt.Errorf("cursor %q: %w", p.After, onceward.ErrBadCursor)
		}
		before = min(before, after)
	}
	return before, from, nil
}

const (
	selectParked = `SELECT ` + operationColumns + `, l.name FROM operation o INDEXED BY operation_parked JOIN label l ON l.id = o.label
 WHERE o.state >= 6 AND o.state = ?1 AND (o.event, o.n) < (?2, ?3) AND o.event >= ?4 ORDER BY o.event DESC, o.n DESC LIMIT ?5`
	selectAllOperations = `SELECT ` + operationColumns + `, l.name FROM operation o JOIN label l ON l.id = o.label
 WHERE (o.event, o.n) < (?2, ?3) AND o.event >= ?4 AND ?1 IS NOT NULL ORDER BY o.event DESC, o.n DESC LIMIT ?5`
)

// Operations lists operations, those of the newest events first.
func (s *Store) Operations(ctx context.Context, q onceward.OperationQuery) (items []onceward.Operation, next string, err error) {
	before, since, err := eventRange(onceward.Page{}, q.Since, q.Until)
	if err != nil {
		return nil, "", err
	}
	cursor := onceward.OperationID{Event: before}
	if q.After != "" {
		if cursor, err = onceward.ParseOperationID(q.After); err != nil {
			return nil, "", fmt.Errorf("cursor %q: %w", q.After, onceward.ErrBadCursor)
		}
	}
	if q.Event != 0 {
		since = q.Event
		cursor = onceward.OperationID{Event: min(cursor.Event, q.Event+1), N: cursor.N}
	}
	sql, scan := selectAllOperations, q.Limit
	if q.State != 0 || q.Name != "" {
		scan = max(scanLimit, q.Limit)
	}
	if parked(q.State) {
		sql = selectParked
	}
	err = s.read(ctx, func(c *conn) error {
		seen := 0
		var last onceward.OperationID
		err := c.q(sql).int(int64(q.State)).int(int64(cursor.Event)).int(int64(cursor.N)).int(int64(since)).int(int64(scan)).rows(func(s *stmt) error {
			if len(items) == q.Limit {
				return nil
			}
			o := scanNamed(s)
			seen, last = seen+1, o.ID
			if (q.State == 0 || o.State == q.State) && (q.Name == "" || o.Name == q.Name) {
				items = append(items, o)
			}
			return nil
		})
		if len(items) == q.Limit || seen == scan {
			next = last.String()
		}
		return err
	})
	return items, next, err
}

const (
	auditColumns = `id, at, actor, action, target, before, after, fence, reason, evidence, event, n, mode, consent`
	selectAudit  = `SELECT ` + auditColumns + ` FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?`
	// Of one event there are few.
	selectAuditOf = `SELECT ` + auditColumns + ` FROM audit INDEXED BY audit_event WHERE event = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2`
)

func scanAudit(s *stmt) onceward.Audit {
	return onceward.Audit{
		ID: s.ColumnInt64(0), At: s.columnTime(1), Actor: s.ColumnText(2), Action: s.ColumnText(3), Target: s.ColumnText(4),
		From: s.ColumnText(5), To: s.ColumnText(6), Fence: s.ColumnInt64(7), Reason: s.ColumnText(8), Evidence: s.ColumnText(9),
		Operation: onceward.OperationID{Event: onceward.EventID(s.ColumnInt64(10)), N: int(s.ColumnInt64(11))},
		Mode:      s.ColumnText(12), Consent: s.ColumnInt64(13) != 0,
	}
}

// Audit lists what persons, policies and the janitor changed, newest first.
func (s *Store) Audit(ctx context.Context, q onceward.AuditQuery) (items []onceward.Audit, next string, err error) {
	before := int64(math.MaxInt64)
	if q.After != "" {
		if before, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return nil, "", fmt.Errorf("cursor %q: %w", q.After, onceward.ErrBadCursor)
		}
	}
	scan := q.Limit
	if q.Actor != "" || q.Action != "" || !q.Since.IsZero() || !q.Until.IsZero() {
		scan = max(scanLimit, q.Limit)
	}
	err = s.read(ctx, func(c *conn) error {
		rows := c.q(selectAudit).int(before).int(int64(scan))
		if q.Event != 0 {
			rows = c.q(selectAuditOf).int(before).int(int64(scan)).int(int64(q.Event))
		}
		seen, last, past := 0, int64(0), false
		err := rows.rows(func(s *stmt) error {
			if len(items) == q.Limit || past {
				return nil
			}
			a := scanAudit(s)
			seen, last = seen+1, a.ID
			past = a.At.Before(q.Since) // they are in order of time
			if !past && audited(q, a) {
				items = append(items, a)
			}
			return nil
		})
		if !past && (len(items) == q.Limit || seen == scan) {
			next = strconv.FormatInt(last, 10)
		}
		return err
	})
	return items, next, err
}

func audited(q onceward.AuditQuery, a onceward.Audit) bool {
	prefix, ok := strings.CutSuffix(q.Action, "*")
	switch {
	case q.Actor != "" && q.Actor != a.Actor:
		return false
	case ok && !strings.HasPrefix(a.Action, prefix) || !ok && q.Action != "" && q.Action != a.Action:
		return false
	}
	return q.Until.IsZero() || a.At.Before(q.Until)
}
