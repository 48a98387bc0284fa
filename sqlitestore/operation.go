package sqlitestore

import (
	"fmt"

	"github.com/onceward/onceward"
)

const flagRefetch = 128

// flag is one bit of an operation's column flags, and the field that it holds.
type flag struct {
	bit int64
	set *bool
}

func flagsOf(o *onceward.Operation) [8]flag {
	return [...]flag{
		{1, &o.Unknown}, {2, &o.Disputed}, {4, &o.Doubt}, {32, &o.Waved}, {64, &o.Superseded}, {flagRefetch, &o.Refetch}, {256, &o.Followed}, {512, &o.GivenUp},
	}
}

const (
	operationColumns = `o.event, o.n, o.label, o.generation, o.state, o.effect, o.fence, o.attempt, o.budget, o.intent, o.flags, o.owner, o.due_at, o.result, o.reason, o.changed, o.stream, o.place, o.redelivery, o.revision,
 o.step, o.plan, o.intent_at, o.ask_at, o.sent_by`
	// operationWidth is how many columns those are: what a query adds comes next.
	operationWidth   = 25
	selectOperation  = `SELECT ` + operationColumns + ` FROM operation o WHERE o.event = ? AND o.n = ?`
	selectOperations = `SELECT ` + operationColumns + ` FROM operation o WHERE o.event = ? ORDER BY o.n`
)

// scanOperation reads operationColumns; the label is returned beside it.
func scanOperation(s *stmt) (o onceward.Operation, label int64) {
	flags := s.ColumnInt64(10)
	o = onceward.Operation{
		ID:         onceward.OperationID{Event: onceward.EventID(s.ColumnInt64(0)), N: int(s.ColumnInt64(1))},
		Generation: int(s.ColumnInt64(3)),
		State:      onceward.State(s.ColumnInt64(4)),
		Effect:     onceward.Effect(s.ColumnInt64(5)),
		Fence:      s.ColumnInt64(6),
		Attempt:    int(s.ColumnInt64(7)),
		Budget:     int(s.ColumnInt64(8)),
		Intent:     s.ColumnBool(9),
		Owner:      s.ColumnText(11),
		DueAt:      s.columnTime(12),
		Result:     s.ColumnText(13),
		Reason:     s.ColumnText(14),
		Changed:    s.columnTime(15),
		Stream:     s.ColumnInt64(16),
		Redelivery: int(s.ColumnInt64(18)),
		Revision:   string(s.ColumnRawBlob(19)),
		Step:       int(s.ColumnInt64(20)),
		Plan:       onceward.Plan(s.ColumnText(21)),
		IntentAt:   s.columnTime(22),
		AskAt:      s.columnTime(23),
		SentBy:     s.columnTime(24),
	}
	for _, f := range flagsOf(&o) {
		*f.set = flags&f.bit != 0
	}
	if o.Stream != 0 {
		_ = o.Place.UnmarshalBinary(s.ColumnRawBlob(17)) // a CHECK holds its length
	}
	return o, s.ColumnInt64(2)
}

// operation loads one operation; onceward.ErrNotFound when there is none.
func (w *writer) operation(id onceward.OperationID) (onceward.Operation, error) {
	var o onceward.Operation
	var label int64
	found, err := w.c.q(selectOperation).int(int64(id.Event)).int(int64(id.N)).row(func(s *stmt) { o, label = scanOperation(s) })
	if err != nil {
		return o, err
	}
	if !found {
		return o, fmt.Errorf("operation %s: %w", id, onceward.ErrNotFound)
	}
	o.Name, err = w.name(label)
	return o, err
}

// operations loads an event's operations, in order.
func (w *writer) operations(id onceward.EventID) ([]onceward.Operation, error) {
	var all []onceward.Operation
	var labels []int64
	err := w.c.q(selectOperations).int(int64(id)).rows(func(s *stmt) error {
		o, label := scanOperation(s)
		all, labels = append(all, o), append(labels, label)
		return nil
	})
	for i := 0; i < len(all) && err == nil; i++ {
		all[i].Name, err = w.name(labels[i])
	}
	return all, err
}

const updateOperation = `UPDATE operation SET generation = ?3, state = ?4, effect = ?5, fence = ?6, attempt = ?7, budget = ?8, intent = ?9, flags = ?10,
 owner = ?11, due_at = ?12, result = ?13, reason = ?14, changed = ?15,
 step = ?16, plan = ?17, intent_at = ?18, ask_at = ?19, sent_by = ?20
 WHERE event = ?1 AND n = ?2 AND state = ?21 AND fence = ?22`

// move writes a transition that the rules allowed. State and fence are guarded
// a second time here, and a third time by the schema.
func (w *writer) move(from, to onceward.Operation) error {
	var flags int64
	for _, f := range flagsOf(&to) {
		if *f.set {
			flags |= f.bit
		}
	}
	if err := w.c.q(updateOperation).int(int64(to.ID.Event)).int(int64(to.ID.N)).int(int64(to.Generation)).int(int64(to.State)).
		int(int64(to.Effect)).int(to.Fence).int(int64(to.Attempt)).int(int64(to.Budget)).bool(to.Intent).int(flags).
		text(to.Owner).time(to.DueAt).text(to.Result).text(to.Reason).time(to.Changed).
		int(int64(to.Step)).text(string(to.Plan)).time(to.IntentAt).time(to.AskAt).time(to.SentBy).
		int(int64(from.State)).int(from.Fence).run(); err != nil {
		return err
	}
	if w.c.Changes() != 1 {
		return fmt.Errorf("operation %s: %w", to.ID, onceward.ErrFenced)
	}
	if to.Stream != 0 {
		w.touched[to.Stream] = true
		done := to.State == onceward.Completed && from.State != onceward.Completed && !to.Superseded
		if done || from.Step == 0 && to.Step > 0 { // the first step's effect is in the world
			if err := w.applied(to); err != nil {
				return err
			}
		}
	}
	if from.State == to.State {
		return nil
	}
	label, err := w.label(to.Name)
	if err != nil {
		return err
	}
	w.count(label, from.State, to.State)
	if to.Followed && !to.State.Open() {
		return w.c.q(releaseFollower).time(w.now).int(int64(to.ID.Event)).int(label).time(onceward.Behind).run()
	}
	return nil
}

// releaseFollower makes the run due that waited for this one to end.
const releaseFollower = `UPDATE operation SET due_at = ?1 WHERE event = ?2 AND label = ?3 AND state = 1 AND due_at = ?4`

const insertAttempt = `INSERT INTO attempt (event, n, fence, number, owner, started, ended, outcome, status, state, reason)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ended = excluded.ended, outcome = excluded.outcome,
 status = excluded.status, state = excluded.state, reason = excluded.reason`

func (w *writer) attempt(a onceward.Attempt) error {
	return w.c.q(insertAttempt).int(int64(a.Operation.Event)).int(int64(a.Operation.N)).int(a.Fence).int(int64(a.Number)).string(a.Owner).
		int(a.Started.UnixMicro()).int(a.Ended.UnixMicro()).string(a.Outcome).optional(int64(a.Status)).int(int64(a.State)).text(a.Reason).run()
}

const insertAudit = `INSERT INTO audit (at, actor, action, target, event, n, before, after, fence, reason, evidence, mode, consent)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// audit records who moved an operation, and why.
func (w *writer) audit(from, to onceward.Operation, action string, d onceward.Decision) error {
	return w.c.q(insertAudit).time(w.now).string(d.Actor).string(action).string(to.ID.String()).int(int64(to.ID.Event)).int(int64(to.ID.N)).
		text(from.State.String()).text(to.State.String()).int(to.Fence).decision(d).run()
}

// decision binds what ends every audit row: why, and with what consent.
func (s *stmt) decision(d onceward.Decision) *stmt {
	s.text(d.Reason).text(d.Evidence)
	if d.Mode == 0 {
		s.null()
	} else {
		s.string(d.Mode.String())
	}
	return s.bool(d.Consent)
}

// leaseOf is the right that a taken operation gives its owner.
func leaseOf(o onceward.Operation) onceward.Lease {
	return onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner, Step: o.Step, Effect: o.Effect}
}
