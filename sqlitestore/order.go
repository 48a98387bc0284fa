package sqlitestore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Streams. An operation of an ordered source belongs to the stream of its
// ordering key, and has a due time only while its stream lets it run: claims
// find nothing else, so what waits costs them nothing. Whatever changes an
// operation of a stream touches the stream, and before the transaction commits
// advance asks the rule anew about all that wait in it.

const (
	upsertOrdering = `INSERT INTO ordering (label, source, mode, tie, on_gap, gap, skip, hold) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (label, source) DO UPDATE SET mode = excluded.mode, tie = excluded.tie, on_gap = excluded.on_gap, gap = excluded.gap,
 skip = excluded.skip, hold = excluded.hold RETURNING id`
	selectOrdering = `SELECT id, mode, tie, on_gap, gap, skip, hold FROM ordering WHERE label = ? AND source = ?`
	insertStream   = `INSERT INTO stream (label, key, ordering) VALUES (?, ?, ?) ON CONFLICT (label, key) DO UPDATE SET ordering = excluded.ordering
 WHERE ordering <> excluded.ordering`
	selectStreamOf = `SELECT id, applied FROM stream WHERE label = ? AND key = ?`
	selectStream   = `SELECT o.mode, o.tie, o.on_gap, o.gap, o.skip, o.hold, s.begun, s.first, s.applied, s.content, s.gap_since
 FROM stream s JOIN ordering o ON o.id = s.ordering WHERE s.id = ?`
	selectStreamsWaiting = `SELECT DISTINCT stream FROM operation INDEXED BY operation_waiting WHERE stream > ? AND state <> 4 ORDER BY stream LIMIT ?`
	selectOrderingOf     = `SELECT ordering FROM stream WHERE id = ?`
	updateStream         = `UPDATE stream SET begun = ?2, first = ?3, applied = ?4, content = ?5, gap_since = ?6 WHERE id = ?1`
	deleteStream         = `DELETE FROM stream WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM operation INDEXED BY operation_stream WHERE stream = ?1)`

	selectOrdered = `SELECT ` + operationColumns + `, e.content FROM operation o INDEXED BY operation_waiting JOIN event e ON e.id = o.event
 WHERE o.stream = ?1 AND o.state <> 4 `
	// What is parked at or below what was applied, or is passed over, holds
	// nobody up.
	passedOver    = `(?4 = 1 OR o.flags & 512 <> 0)`
	selectWaiting = selectOrdered + `AND (o.state < 6 OR (o.state = 6 OR o.place > ?2) AND NOT ` + passedOver + `) ORDER BY o.place, o.event LIMIT ?3`
	// Of what is passed over the rule needs the last before the first that
	// waits, and the highest whose outcome is unknown.
	selectPassed  = selectOrdered + `AND o.state > 5 AND o.place <= ?2 AND ` + passedOver + ` ORDER BY o.place DESC, o.event DESC LIMIT ?3`
	selectDoubted = selectOrdered + `AND o.state = 6 AND o.place >= ?2 AND ?4 = 1 ORDER BY o.place DESC, o.event DESC LIMIT ?3`
	selectActive  = selectOrdered + `AND o.place >= ?2 AND (o.state = 2 OR o.state = 3 OR o.state = 6 AND ?4 = 0) ORDER BY o.place, o.event LIMIT ?3`
	selectAhead   = `SELECT event, n FROM operation INDEXED BY operation_waiting WHERE stream = ?1 AND state <> 4 AND place <= ?2 AND state < 4 ORDER BY place LIMIT 1`
	countWaiting  = `SELECT count(*) FROM (SELECT 1 FROM operation INDEXED BY operation_waiting WHERE stream = ? AND state <> 4 LIMIT ?)`
	selectSeen    = `SELECT coalesce(o.revision, e.content) FROM operation o INDEXED BY operation_stream JOIN event e ON e.id = o.event
 WHERE o.stream = ? AND o.place = ? AND o.state = 4 AND o.flags & 64 = 0 LIMIT 1`
	selectContent = `SELECT content FROM event WHERE id = ?`

	insertOrdered = `INSERT INTO operation (event, n, label, generation, state, effect, fence, attempt, budget, intent, due_at, reason, changed, stream, place, flags)
 VALUES (?, ?, ?, 0, ?, ?, ?, 0, 0, 0, NULL, ?, ?, ?, ?, ?)`
)

// window is how many of a stream's operations one look reads, from the first
// on: one of them runs at a time, and the rest only waits.
const window = 64

// planOrdered writes an operation of a stream: T0, or T1 when the stream is
// full. The stream says when it is due.
func (w *writer) planOrdered(label int64, o onceward.Operation, a *onceward.Arrival, order onceward.Order) (onceward.Operation, error) {
	o, err := w.join(label, o, a, order)
	if err != nil {
		return o, err
	}
	place, _ := o.Place.AppendBinary(nil) // cannot fail
	flags := int64(0)
	if o.Refetch {
		flags = flagRefetch
	}
	w.count(label, 0, o.State)
	return o, w.c.q(insertOrdered).int(int64(o.ID.Event)).int(int64(o.ID.N)).int(label).int(int64(o.State)).int(int64(o.Effect)).int(o.Fence).
		text(o.Reason).time(o.Changed).int(o.Stream).blob(place).int(flags).run()
}

// join gives an operation its place in the stream of its arrival.
func (w *writer) join(label int64, o onceward.Operation, a *onceward.Arrival, order onceward.Order) (onceward.Operation, error) {
	source, err := w.source(a.Key)
	if err != nil {
		return o, err
	}
	ordering, _, err := w.ordering(label, source, order)
	if err != nil {
		return o, err
	}
	if err := w.c.q(insertStream).int(label).blob(a.Stream[:]).int(ordering).run(); err != nil {
		return o, err
	}
	var applied []byte
	if _, err := w.c.q(selectStreamOf).int(label).blob(a.Stream[:]).row(func(s *stmt) {
		o.Stream, applied = s.ColumnInt64(0), s.ColumnBlob(1, nil)
	}); err != nil {
		return o, err
	}
	waiting := 0
	if _, err := w.c.q(countWaiting).int(o.Stream).int(int64(order.Hold)).row(func(s *stmt) { waiting = s.ColumnInt(0) }); err != nil {
		return o, err
	}
	o.Place, o.DueAt, o.Refetch = a.Place, time.Time{}, order.Mode == onceward.RefetchOnly
	if order.Hold > 0 && waiting >= order.Hold {
		o.State = onceward.Quarantined
		o.Reason = fmt.Sprintf("order: %d operations of its stream wait or are parked already", waiting)
	}
	// Behind others that have their turn first it waits, whatever the rule
	// says of them: a long queue is not looked through for each that joins it.
	place, _ := o.Place.AppendBinary(nil) // cannot fail
	var ahead onceward.OperationID
	behind := false
	if bytes.Compare(place, applied) > 0 {
		if behind, err = w.c.q(selectAhead).int(o.Stream).blob(place).row(func(s *stmt) {
			ahead = onceward.OperationID{Event: onceward.EventID(s.ColumnInt64(0)), N: int(s.ColumnInt64(1))}
		}); err != nil {
			return o, err
		}
	}
	if behind && o.State == onceward.Received {
		o.Reason = "waits for its turn behind " + ahead.String()
	} else {
		w.touched[o.Stream] = true
	}
	return o, nil
}

type orderingKey struct{ label, source int64 }

type orderingRow struct {
	id    int64
	order onceward.Order
}

// ordering records how the operations of one name from one source are ordered,
// and reports whether that is news.
func (w *writer) ordering(label, source int64, order onceward.Order) (id int64, changed bool, err error) {
	key := orderingKey{label, source}
	known, ok := w.orderings[key]
	if !ok {
		if _, err := w.c.q(selectOrdering).int(label).int(source).row(func(s *stmt) {
			known = orderingRow{s.ColumnInt64(0), scanOrder(s, 1)}
		}); err != nil {
			return 0, false, err
		}
	}
	if known.id == 0 || known.order != order {
		changed = true
		known.order = order
		if _, err := w.c.q(upsertOrdering).int(label).int(source).int(int64(order.Mode)).int(int64(order.Tie)).int(int64(order.OnGap)).
			int(order.Gap.Microseconds()).bool(order.Skip).int(int64(order.Hold)).row(func(s *stmt) { known.id = s.ColumnInt64(0) }); err != nil {
			return 0, false, err
		}
	}
	w.orderings[key] = known
	return known.id, changed, nil
}

// scanOrder reads the six columns of an order from the first on.
func scanOrder(s *stmt, first int) onceward.Order {
	return onceward.Order{
		Mode: onceward.Ordering(s.ColumnInt64(first)), Tie: onceward.Choice(s.ColumnInt64(first + 1)), OnGap: onceward.Choice(s.ColumnInt64(first + 2)),
		Gap: time.Duration(s.ColumnInt64(first+3)) * time.Microsecond, Skip: s.ColumnBool(first + 4), Hold: s.ColumnInt(first + 5),
	}
}

// Reorder tells the streams of an operation's name and a source, which k
// names, how they are ordered from now on; what waits in them is decided anew.
func (s *Store) Reorder(ctx context.Context, name string, k onceward.Key, order onceward.Order) error {
	var id int64
	var changed bool
	if err := s.write(ctx, func(w *writer) error {
		label, err := w.label(name)
		if err != nil {
			return err
		}
		source, err := w.source(k)
		if err != nil {
			return err
		}
		id, changed, err = w.ordering(label, source, order)
		return err
	}); err != nil || !changed {
		return err
	}
	for from, more := int64(0), true; more; {
		last := from
		if err := s.write(ctx, func(w *writer) error {
			last = from
			var streams []int64
			if err := w.c.q(selectStreamsWaiting).int(from).int(streamsAtOnce).rows(func(s *stmt) error {
				streams = append(streams, s.ColumnInt64(0))
				return nil
			}); err != nil {
				return err
			}
			for _, stream := range streams {
				last = stream
				if _, err := w.c.q(selectOrderingOf).int(stream).row(func(s *stmt) {
					if s.ColumnInt64(0) == id {
						w.touched[stream] = true
					}
				}); err != nil {
					return err
				}
			}
			more = len(streams) == streamsAtOnce
			return nil
		}); err != nil {
			return err
		}
		from = last
	}
	return nil
}

// streamsAtOnce bounds how many streams one write decides anew about.
const streamsAtOnce = 64

// advanceAll lets every stream that the transaction touched decide anew.
func (w *writer) advanceAll() error {
	for len(w.touched) > 0 {
		for id := range w.touched {
			delete(w.touched, id)
			if err := w.advance(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance applies a stream's rule to all that wait in it. It changes nothing
// when nothing has changed since it did so last.
func (w *writer) advance(id int64) error {
	stream, err := w.stream(id)
	if err != nil {
		return err
	}
	rows, err := w.waiting(stream)
	if err != nil {
		return err
	}
	var fault error
	turns, after := stream.Turns(rows, func(p onceward.Place) (content [32]byte, applied bool) {
		place, _ := p.AppendBinary(nil)
		applied, err := w.c.q(selectSeen).int(id).blob(place).row(func(s *stmt) { copy(content[:], s.ColumnRawBlob(0)) })
		if err != nil {
			fault = err
		}
		return content, applied
	}, w.now)
	if fault != nil {
		return fault
	}
	if after != stream {
		if err := w.saveStream(after); err != nil {
			return err
		}
	}
	for i, turn := range turns {
		if err := w.turn(rows[i].Operation, turn); err != nil {
			return err
		}
	}
	return nil
}

// turn does to one operation what its stream said.
func (w *writer) turn(o onceward.Operation, t onceward.Turn) error {
	next, transition, err := o.Turn(t, w.now)
	if err != nil || transition == "" {
		return err
	}
	if err := w.move(o, next); err != nil {
		return err
	}
	if o.State == next.State && !t.Passed {
		return nil
	}
	return w.audit(o, next, transition, onceward.Decision{Actor: "gate", Reason: next.Reason})
}

func (w *writer) stream(id int64) (onceward.Stream, error) {
	st := onceward.Stream{ID: id}
	found, err := w.c.q(selectStream).int(id).row(func(s *stmt) {
		st.Order = scanOrder(s, 0)
		st.Begun = s.ColumnBool(6)
		_ = st.First.UnmarshalBinary(s.ColumnRawBlob(7)) // NULL before it has begun
		_ = st.Applied.UnmarshalBinary(s.ColumnRawBlob(8))
		copy(st.Content[:], s.ColumnRawBlob(9))
		st.GapSince = s.columnTime(10)
	})
	if err == nil && !found {
		err = fmt.Errorf("stream %d is not recorded", id)
	}
	return st, err
}

func (w *writer) saveStream(st onceward.Stream) error {
	first, _ := st.First.AppendBinary(nil)
	applied, _ := st.Applied.AppendBinary(nil)
	q := w.c.q(updateStream).int(st.ID).bool(st.Begun)
	if st.Begun {
		q.blob(first).blob(applied).blob(st.Content[:])
	} else {
		q.null().null().null()
	}
	return q.time(st.GapSince).run()
}

// waiting reads the first of a stream that are not completed, in order, and
// those behind them that are active.
func (w *writer) waiting(st onceward.Stream) ([]onceward.InStream, error) {
	applied := []byte{} // before every place
	if st.Begun {
		applied, _ = st.Applied.AppendBinary(nil)
	}
	rows, err := w.ordered(selectWaiting, st, applied, window)
	if err != nil || len(rows) == 0 {
		return rows, err
	}
	first, _ := rows[0].Place.AppendBinary(nil)
	passed, err := w.ordered(selectPassed, st, first, 1)
	if err != nil {
		return rows, err
	}
	doubted, err := w.ordered(selectDoubted, st, first, 1)
	if err != nil {
		return rows, err
	}
	last := rows[len(rows)-1].Operation
	full := len(rows) == window
	rows = append(append(passed, rows...), doubted...)
	if !full {
		return rows, nil
	}
	place, _ := last.Place.AppendBinary(nil)
	active, err := w.ordered(selectActive, st, place, window)
	for _, r := range active {
		if r.Place.Compare(last.Place) > 0 || r.ID.Event > last.ID.Event {
			rows = append(rows, r)
		}
	}
	return rows, err
}

func (w *writer) ordered(sql string, st onceward.Stream, from []byte, limit int64) ([]onceward.InStream, error) {
	var rows []onceward.InStream
	var labels []int64
	err := w.c.q(sql).int(st.ID).blob(from).int(limit).bool(st.Order.Skip).rows(func(s *stmt) error {
		o, label := scanOperation(s)
		r := onceward.InStream{Operation: o}
		copy(r.Content[:], s.ColumnRawBlob(operationWidth))
		if o.Revision != "" {
			copy(r.Content[:], o.Revision)
		}
		rows, labels = append(rows, r), append(labels, label)
		return nil
	})
	for i := 0; i < len(rows) && err == nil; i++ {
		rows[i].Name, err = w.name(labels[i])
	}
	return rows, err
}

// applied tells a stream that one of its operations has had its effect.
func (w *writer) applied(o onceward.Operation) error {
	st, err := w.stream(o.Stream)
	if err != nil {
		return err
	}
	var content [32]byte
	if o.Revision != "" {
		copy(content[:], o.Revision)
	} else if _, err := w.c.q(selectContent).int(int64(o.ID.Event)).row(func(s *stmt) { copy(content[:], s.ColumnRawBlob(0)) }); err != nil {
		return err
	}
	return w.saveStream(st.Apply(o, content))
}

// mayTake asks the stream of a due operation once more, in the very
// transaction that takes it, and returns the operation as it stands then.
func (w *writer) mayTake(o onceward.Operation) (onceward.Operation, bool, error) {
	if o.Stream == 0 || o.State == onceward.Processing {
		return o, true, nil
	}
	if err := w.advance(o.Stream); err != nil {
		return o, false, err
	}
	now, err := w.operation(o.ID)
	return now, err == nil && now.State.Open() && !now.DueAt.IsZero() && !now.DueAt.After(w.now), err
}
