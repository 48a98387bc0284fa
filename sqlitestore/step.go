package sqlitestore

import (
	"context"

	"github.com/onceward/onceward"
)

const (
	insertStep  = `INSERT INTO step (event, n, generation, step, name, result, attempt, fence, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectSteps = `SELECT n, generation, step, name, result, attempt, fence, at FROM step WHERE event = ? ORDER BY n, generation, step`
	// Which attempt's success a finished step has on record.
	selectRecorded = `SELECT attempt FROM step WHERE event = ? AND n = ? AND generation = ? AND step = ?`
	// Results that a later step's call may use.
	selectResults = `SELECT name, result FROM step WHERE event = ? AND n = ? AND generation = ?`
)

// stepDone writes the recovery point when a move took an operation past a step
// that has a name. It is in the same commit as the move.
func (w *writer) stepDone(from, to onceward.Operation, result string) error {
	last := to.State == onceward.Completed && from.State != onceward.Completed
	if to.Plan == "" || to.Step == from.Step && !last {
		return nil
	}
	return w.c.q(insertStep).int(int64(from.ID.Event)).int(int64(from.ID.N)).int(int64(from.Generation)).int(int64(from.Step)).
		string(from.StepName()).text(onceward.CutResult(result)).int(int64(from.Attempt)).int(from.Fence).time(w.now).run()
}

// recorded is the attempt by which a step is on record as done; 0 when it is not.
func (w *writer) recorded(o onceward.Operation, step int) (attempt int, err error) {
	_, err = w.c.q(selectRecorded).int(int64(o.ID.Event)).int(int64(o.ID.N)).int(int64(o.Generation)).int(int64(step)).
		row(func(s *stmt) { attempt = int(s.ColumnInt64(0)) })
	return attempt, err
}

func scanStep(s *stmt, event onceward.EventID) onceward.RecoveryPoint {
	return onceward.RecoveryPoint{
		Operation: onceward.OperationID{Event: event, N: int(s.ColumnInt64(0))}, Generation: int(s.ColumnInt64(1)), N: int(s.ColumnInt64(2)),
		Name: s.ColumnText(3), Result: s.ColumnText(4), Attempt: int(s.ColumnInt64(5)), Fence: s.ColumnInt64(6), At: s.columnTime(7),
	}
}

// results are what the finished steps of an operation gave, by their names.
func (c *conn) results(o onceward.Operation) (map[string]string, error) {
	all := map[string]string{}
	err := c.q(selectResults).int(int64(o.ID.Event)).int(int64(o.ID.N)).int(int64(o.Generation)).rows(func(s *stmt) error {
		all[s.ColumnText(0)] = s.ColumnText(1)
		return nil
	})
	return all, err
}

// Steps returns the recovery points of one operation's present generation.
func (s *Store) Steps(ctx context.Context, id onceward.OperationID) (all []onceward.RecoveryPoint, err error) {
	err = s.read(ctx, func(c *conn) error {
		all = nil
		return c.q(selectSteps).int(int64(id.Event)).rows(func(s *stmt) error {
			if step := scanStep(s, id.Event); step.Operation == id {
				all = append(all, step)
			}
			return nil
		})
	})
	return all, err
}
