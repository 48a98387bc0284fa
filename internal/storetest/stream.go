package storetest

import (
	"crypto/sha256"
	"fmt"

	"github.com/onceward/onceward"
)

// stream is one stream of operation "fulfil" under test.
type stream struct {
	*suite
	order onceward.Order
	key   onceward.Digest
	last  onceward.Arrival
}

var streams, arrivals int

func (s *suite) stream(order onceward.Order) *stream {
	s.ordered.Lock()
	defer s.ordered.Unlock()
	streams++
	return &stream{suite: s, order: order, key: s.Peppers()[0].Hasher().Stream(onceward.Key{Source: "pay"}, fmt.Sprint("object ", streams))}
}

// arrive admits an event of its own at a place.
func (st *stream) arrive(sequence int64) onceward.OperationID {
	return st.arriveWith(sequence, "")
}

func (st *stream) arriveWith(sequence int64, body string) onceward.OperationID {
	return st.arriveAt(onceward.Place{Sequence: sequence}, body)
}

func (st *stream) arriveAt(p onceward.Place, body string) onceward.OperationID {
	st.Helper()
	st.ordered.Lock()
	arrivals++
	id := fmt.Sprint("ordered ", arrivals)
	st.ordered.Unlock()
	if body == "" {
		body = "body " + p.String()
		if st.last.Place == p {
			body += " once more"
		}
	}
	a := st.arrival(id, id)
	a.Content = sha256.Sum256([]byte(body))
	a.Stream, a.Place = st.key, p
	a.Operations[0].Order = st.order
	st.last = a
	return onceward.OperationID{Event: st.admit(a)[0].Event, N: 1}
}

// take claims, and fails unless that gives exactly this operation.
func (st *stream) take(id onceward.OperationID) onceward.Leased {
	st.Helper()
	return st.only(id, onceward.Keyed)
}

func (st *stream) takeUnsafe(id onceward.OperationID) onceward.Leased {
	st.Helper()
	return st.only(id, onceward.Unsafe)
}

func (st *stream) only(id onceward.OperationID, effect onceward.Effect) onceward.Leased {
	st.Helper()
	leased := st.claim("w1", effect, 10)
	if len(leased) != 1 || leased[0].Operation.ID != id {
		o, err := st.Operation(ctx, id)
		st.Fatalf("claimed %d, want %s alone, which is %s due %v (%s), %v", len(leased), id, o.State, o.DueAt, o.Reason, err)
	}
	return leased[0]
}

// idle fails unless nothing may be taken now.
func (st *stream) idle() {
	st.Helper()
	if leased := st.claim("w1", onceward.Keyed, 10); len(leased) != 0 {
		st.Fatalf("%s was taken although its stream holds it", leased[0].Operation.ID)
	}
}

func (st *stream) settle(l onceward.Leased, out onceward.Outcome) {
	st.Helper()
	if _, err := st.Settle(ctx, l.Lease, out, limits); err != nil {
		st.Fatal(err)
	}
}

func (st *stream) succeed(l onceward.Leased) {
	st.Helper()
	st.settle(l, onceward.Succeeded("r"))
}

// runs takes n operations in turn, the last of which is id, and lets them succeed.
func (st *stream) runs(n int, id onceward.OperationID) {
	st.Helper()
	for i := range n {
		leased := st.claim("w1", onceward.Keyed, 10)
		if len(leased) != 1 {
			st.Fatalf("claimed %d at once", len(leased))
		}
		if i == n-1 && leased[0].Operation.ID != id {
			st.Fatalf("took %s, want %s", leased[0].Operation.ID, id)
		}
		st.succeed(leased[0])
	}
}

func (st *stream) release(id onceward.OperationID) {
	st.Helper()
	if _, err := st.Retry(ctx, id, onceward.Decision{Actor: "ops", Reason: "looked at it", Consent: true}); err != nil {
		st.Fatal(err)
	}
}

// audited fails unless the operation's move stands in the audit log.
func (st *stream) audited(id onceward.OperationID, action, actor string) {
	st.Helper()
	h, err := st.History(ctx, id.Event)
	if err != nil {
		st.Fatal(err)
	}
	for _, a := range h.Audits {
		if a.Action == action && a.Actor == actor && a.Reason != "" {
			return
		}
	}
	st.Fatalf("no %s by the %s in %+v", action, actor, h.Audits)
}
