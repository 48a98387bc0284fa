package onceward

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// EventID numbers a recorded event. It is time-ordered: milliseconds since
// 2020-01-01 UTC above 20 bits of sequence, so lists page by it and new rows
// are appended. It is a name for people and rows, never part of a key.
type EventID int64

const (
	idEpochMilli = 1577836800000 // 2020-01-01T00:00:00Z
	idSequence   = 20
	idDigits     = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford base32
	idLength     = 13
)

// String returns "evt_" and 13 characters that sort as the numbers do.
func (id EventID) String() string {
	var b [4 + idLength]byte
	copy(b[:], "evt_")
	for i, v := len(b)-1, uint64(id); i >= 4; i-- {
		b[i] = idDigits[v&31]
		v >>= 5
	}
	return string(b[:])
}

// Time returns when the event was first seen, to the millisecond.
func (id EventID) Time() time.Time {
	return time.UnixMilli(int64(id)>>idSequence + idEpochMilli).UTC()
}

// EventIDAt returns the smallest id that an event first seen at t can have.
func EventIDAt(t time.Time) EventID {
	const last = math.MaxInt64 >> idSequence // in the year 2298; later times must not wrap around
	return EventID(min(max(t.UnixMilli()-idEpochMilli, 0), last) << idSequence)
}

// ParseEventID reads what [EventID.String] wrote.
func ParseEventID(s string) (EventID, error) {
	rest, ok := strings.CutPrefix(strings.ToLower(s), "evt_")
	var v uint64
	ok = ok && len(rest) == idLength
	for i := 0; ok && i < len(rest); i++ {
		d := strings.IndexByte(idDigits, rest[i])
		if d < 0 || v>>59 != 0 {
			ok = false
			break
		}
		v = v<<5 | uint64(d)
	}
	if !ok || v>>63 != 0 {
		return 0, fmt.Errorf("%q is not an event id (evt_ and %d characters)", s, idLength)
	}
	return EventID(v), nil
}

// EventIDs hands out event ids that rise strictly, even when the clock does
// not. The zero value is ready; it is safe for concurrent use.
type EventIDs struct {
	mu   sync.Mutex
	last EventID
}

// Next returns an id for an event first seen at t.
func (g *EventIDs) Next(t time.Time) EventID {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last+1, EventIDAt(t))
	return g.last
}

// Last returns the last id that was handed out or observed.
func (g *EventIDs) Last() EventID {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

// Observe makes later ids greater than id: what a store already holds.
func (g *EventIDs) Observe(id EventID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, id)
}

// OperationID names one operation: its event and its number among the event's
// operations, from 1.
type OperationID struct {
	Event EventID
	N     int
}

// String returns the event's characters and the number: "op_…_1".
func (id OperationID) String() string {
	return "op_" + id.Event.String()[4:] + "_" + strconv.Itoa(id.N)
}

// ParseOperationID reads what [OperationID.String] wrote.
func ParseOperationID(s string) (OperationID, error) {
	bad := fmt.Errorf("%q is not an operation id (op_, %d characters, _ and a number)", s, idLength)
	rest, ok := strings.CutPrefix(strings.ToLower(s), "op_")
	event, number, cut := strings.Cut(rest, "_")
	if !ok || !cut {
		return OperationID{}, bad
	}
	id, err := ParseEventID("evt_" + event)
	if err != nil {
		return OperationID{}, bad
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 1<<20 || strconv.Itoa(n) != number {
		return OperationID{}, bad
	}
	return OperationID{id, n}, nil
}
