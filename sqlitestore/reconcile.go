package sqlitestore

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

const (
	selectAsk = `SELECT ` + operationColumns + ` FROM operation o INDEXED BY operation_ask
 WHERE o.label = ? AND o.step = ? AND o.ask_at <= ? ORDER BY o.ask_at LIMIT ?`
	selectNextAsk = `SELECT min(ask_at) FROM operation INDEXED BY operation_ask WHERE label = ? AND step = ? AND ask_at IS NOT NULL`
	selectLabelOf = `SELECT id FROM label WHERE name = ?`
	selectKeyOf   = `SELECT key FROM event WHERE id = ?`
)

// Inquiries lists the operations about which the other side is to be asked now,
// with the store's time, and when there will be more; zero if never. Nothing is
// leased: a question may be asked twice, and what follows from it is guarded.
func (s *Store) Inquiries(ctx context.Context, r onceward.ClaimRequest) (due []onceward.Inquired, next time.Time, err error) {
	err = s.read(ctx, func(c *conn) error {
		due, next = nil, time.Time{}
		now := s.now()
		var label int64
		if found, err := c.q(selectLabelOf).string(r.Name).row(func(s *stmt) { label = s.ColumnInt64(0) }); err != nil || !found {
			return err
		}
		if err := c.q(selectAsk).int(label).int(int64(r.Step)).time(now).int(int64(r.Limit)).rows(func(s *stmt) error {
			o, _ := scanOperation(s)
			o.Name = r.Name
			due = append(due, onceward.Inquired{Operation: o, Now: now})
			return nil
		}); err != nil {
			return err
		}
		for i := range due {
			if _, err := c.q(selectKeyOf).int(int64(due[i].Operation.ID.Event)).row(func(s *stmt) { copy(due[i].Key[:], s.ColumnRawBlob(0)) }); err != nil {
				return err
			}
		}
		_, err := c.q(selectNextAsk).int(label).int(int64(r.Step)).row(func(s *stmt) { next = s.columnTime(0) })
		return err
	})
	return due, next, err
}

// Reconcile records what asking the other side about an unknown outcome found:
// T16, T17, T18, or when it is asked next. fence is the one of the operation
// that was asked about; onceward.ErrFenced means that it was decided meanwhile.
func (s *Store) Reconcile(ctx context.Context, id onceward.OperationID, fence int64, f onceward.Finding, by onceward.Inquiry, today onceward.Plan) (onceward.Operation, error) {
	var reconciled onceward.Operation
	err := s.write(ctx, func(w *writer) error {
		o, err := w.operation(id)
		if err != nil {
			return err
		}
		var transition string
		if reconciled, transition, err = o.Reconcile(fence, f, by, today, w.now); err != nil {
			return err
		}
		if err := w.move(o, reconciled); err != nil {
			return err
		}
		if transition == "" { // asked again later; nothing was decided
			return nil
		}
		if err := w.stepDone(o, reconciled, f.Result); err != nil {
			return err
		}
		return w.audit(o, reconciled, transition, onceward.Decision{Actor: "reconciler", Reason: reconciled.Reason, Evidence: f.Evidence})
	})
	return reconciled, err
}
