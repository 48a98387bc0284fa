package onceward

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"time"
)

// Ordering says in which order the operations of one stream run. The numbers
// are stored.
type Ordering uint8

// The orderings. Within one stream at most one operation is ever active.
const (
	Unordered   Ordering = 0
	LatestFirst Ordering = 1 // what is older than what was applied is superseded
	StrictOrder Ordering = 2 // one after the other, without gaps
	RefetchOnly Ordering = 3 // any order: the destination reads the current state itself
)

// Choice is what an [Order] does where the rule leaves a choice. The numbers
// are stored.
type Choice uint8

// The choices.
const (
	ChooseQuarantine Choice = 1 // hold it for a person
	ChooseProceed    Choice = 2 // run it, and put on record what was passed over
	ChooseRefetch    Choice = 3 // run it, and tell the destination to read the current state
)

// Order is how a source's events are ordered.
type Order struct {
	Mode  Ordering
	Tie   Choice        // an equal version with other content (latest)
	OnGap Choice        // the missing one did not come in time (strict)
	Gap   time.Duration // how long a missing one is waited for
	Skip  bool          // what is parked (unknown, dead or quarantined) holds nobody up
	Hold  int           // how many may wait in one stream
}

// Place is an event's place in its stream: the sender's epoch, and its counter
// or time within that.
type Place struct{ Epoch, Sequence int64 }

// Compare orders places.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Epoch, q.Epoch), cmp.Compare(p.Sequence, q.Sequence))
}

func (p Place) String() string {
	if p.Epoch == 0 {
		return fmt.Sprint(p.Sequence)
	}
	return fmt.Sprintf("%d/%d", p.Epoch, p.Sequence)
}

// AppendBinary appends the place as 16 bytes that sort as places do.
func (p Place) AppendBinary(b []byte) ([]byte, error) {
	const sign = 1 << 63
	b = binary.BigEndian.AppendUint64(b, uint64(p.Epoch)^sign)
	return binary.BigEndian.AppendUint64(b, uint64(p.Sequence)^sign), nil
}

// UnmarshalBinary is the inverse of [Place.AppendBinary].
func (p *Place) UnmarshalBinary(b []byte) error {
	const sign = 1 << 63
	if len(b) != 16 {
		return fmt.Errorf("a place has 16 bytes, not %d", len(b))
	}
	p.Epoch, p.Sequence = int64(binary.BigEndian.Uint64(b)^sign), int64(binary.BigEndian.Uint64(b[8:])^sign)
	return nil
}

// Stream is what is remembered of the operations of one name that share an
// ordering key.
type Stream struct {
	ID       int64
	Order    Order
	Begun    bool  // something was applied
	First    Place // applied first
	Applied  Place // applied last; never decreases, except where a person lets a stream begin anew
	Content  [32]byte
	GapSince time.Time // when the gap that is waited for was first seen; zero without one
}

// Apply remembers that o, whose event has this content, was applied.
func (s Stream) Apply(o Operation, content [32]byte) Stream {
	if o.unversioned() {
		return s // it says nothing about versions
	}
	anew := o.Waved && o.Place.Compare(s.First) < 0 // a person let it begin again there
	if !s.Begun || anew {
		s.Begun, s.First, s.Applied = true, o.Place, o.Place
	}
	if o.Place.Compare(s.Applied) >= 0 {
		s.Applied, s.Content = o.Place, content
	}
	s.GapSince = time.Time{}
	return s
}

// InStream is an operation of a stream with its event's content.
type InStream struct {
	Operation
	Content [32]byte
}

// Turn is what a stream says of one of its operations that has had no effect
// yet, as the state it is to have: Processing lets it be taken when it is due,
// Received makes it wait, Completed supersedes it, Quarantined holds it for a
// person. Of all others, which are underway or parked, it says nothing: 0.
type Turn struct {
	To      State
	DueAt   time.Time // waiting: when the answer changes by itself, zero if never
	Reason  string
	Refetch bool // tell the destination to read the current state
	Passed  bool // a gap is passed over, which is to be put on record
}

// Turns decides about every operation of the stream that is not completed;
// rows are in order of place, and of arrival within one. seen tells which
// content was applied at a place. It returns one turn for each row, and the
// stream with what it has to remember.
//
// It is the same whoever asks and whenever: after an arrival, after a change of
// any of them, before one is taken.
func (s Stream) Turns(rows []InStream, seen func(Place) (content [32]byte, applied bool), now time.Time) ([]Turn, Stream) {
	t := turns{Stream: s, seen: seen, now: now, next: s.Applied}
	all := make([]Turn, len(rows))
	for i := range rows {
		switch r := &rows[i]; r.State {
		case Processing, Dispatched:
			t.hold("waits until " + r.ID.String() + " has ended")
		case UnknownOutcome:
			if !s.Order.Skip {
				t.hold("waits: the outcome of " + r.ID.String() + " is unknown")
			} else if t.doubted == nil || r.Place.Compare(t.doubted.Place) > 0 {
				t.doubted = r
			}
		}
	}
	gap := s.GapSince
	t.GapSince = time.Time{}
	for i := range rows {
		r := &rows[i]
		switch r.State {
		case Received, FailedBeforeEffect:
			all[i] = t.decide(r, gap)
		case DeadLettered, Quarantined, UnknownOutcome:
			if s.Begun && r.Place.Compare(s.Applied) <= 0 {
				continue // nothing has to wait for what came too late
			}
			if !s.Order.Skip && !r.GivenUp {
				t.hold("waits behind " + r.ID.String() + ", which is " + r.State.String())
			} else if r.Place.Compare(t.next) > 0 {
				t.next, t.skipped = r.Place, true
			}
		}
	}
	return all, t.Stream
}

// turns is one pass over a stream.
type turns struct {
	Stream
	seen    func(Place) ([32]byte, bool)
	now     time.Time
	held    string // why nothing more may run; empty while something may
	next    Place  // applied, or passed over by policy
	skipped bool
	doubted *InStream // of those that are passed over, the highest whose outcome is unknown
}

// unversioned reports whether an operation joined its stream without a version:
// it is a hint to read the current state, whatever its stream's order is since.
func (o Operation) unversioned() bool { return o.Refetch && o.Place == Place{} }

func (t *turns) hold(why string) {
	if t.held == "" {
		t.held = why
	}
}

func (t *turns) decide(r *InStream, gap time.Time) Turn {
	if r.Underway() { // its first step was applied; the rest follows in its own time
		return t.run(r, Turn{})
	}
	if t.Order.Mode != RefetchOnly && !r.unversioned() {
		if turn, decided := t.late(r); decided {
			return turn
		}
	}
	if t.held != "" {
		return Turn{To: Received, Reason: t.held}
	}
	switch {
	case t.Order.Mode == RefetchOnly || r.unversioned():
		return t.run(r, Turn{Refetch: true})
	case t.Order.Mode == StrictOrder:
		return t.strict(r, gap)
	}
	turn := Turn{}
	if t.Begun && r.Place == t.Applied {
		turn.Refetch = t.Order.Tie == ChooseRefetch
	}
	return t.run(r, turn)
}

// late decides about what does not lie ahead.
func (t *turns) late(r *InStream) (turn Turn, decided bool) {
	ahead := r.Place.Compare(t.Applied)
	switch {
	case t.Order.Mode == LatestFirst && t.doubted != nil && r.Place.Compare(t.doubted.Place) < 0 && !r.Waved:
		return quarantined("version %v is older than %v, whose outcome is unknown (%s): it may have been applied", r.Place, t.doubted.Place, t.doubted.ID), true
	case !t.Begun || ahead > 0:
		return Turn{}, false
	case ahead == 0 && r.again() && r.Content == t.Content:
		return Turn{}, false // a person repeats what was applied last
	case ahead == 0 && r.Content == t.Content:
		return superseded("the same version with the same content was applied"), true
	case ahead == 0 && (r.Waved || r.Revision != ""): // a revision is meant to replace what its event said first
		return Turn{}, false
	case ahead == 0 && t.Order.Mode == LatestFirst && t.Order.Tie != ChooseQuarantine:
		return Turn{}, false
	case ahead == 0:
		return quarantined("version %v was applied with other content", r.Place), true
	case t.Order.Mode == LatestFirst:
		return superseded(fmt.Sprintf("version %v is older than %v, which was applied", r.Place, t.Applied)), true
	case r.Place.Epoch < t.Applied.Epoch:
		return superseded(fmt.Sprintf("version %v is of an earlier epoch than %v, which was applied", r.Place, t.Applied)), true
	}
	content, applied := t.seen(r.Place)
	switch {
	case applied && content == r.Content:
		return superseded("the same version with the same content was applied"), true
	case !applied && (r.Place.Compare(t.First) > 0 || r.Attempt > 0):
		return superseded(fmt.Sprintf("late after the gap: %v was applied without it", t.Applied)), true
	case r.Waved:
		return Turn{}, false
	case applied:
		return quarantined("version %v was applied with other content", r.Place), true
	}
	return quarantined("the sequence went back from %v to %v without a new epoch; retry it to let the stream begin anew there", t.Applied, r.Place), true
}

func superseded(why string) Turn { return Turn{To: Completed, Reason: "superseded: " + why} }

func quarantined(format string, args ...any) Turn {
	return Turn{To: Quarantined, Reason: "order: " + fmt.Sprintf(format, args...)}
}

// strict decides about the first operation that lies ahead.
func (t *turns) strict(r *InStream, gap time.Time) Turn {
	begins := !t.Begun && !t.skipped || r.Place.Epoch != t.next.Epoch
	switch {
	case r.Waved, (r.again() || r.Revision != "") && r.Place == t.Applied, begins && r.Place.Sequence <= 1, !begins && r.Place.Sequence == t.next.Sequence+1:
		return t.run(r, Turn{})
	}
	// Something is missing before it, or may be.
	if gap.IsZero() {
		gap = t.now
	}
	t.GapSince = gap
	until := gap.Add(t.Order.Gap)
	missing := fmt.Sprintf("%v has not come", Place{t.next.Epoch, t.next.Sequence + 1})
	if begins {
		missing = "nothing of this stream was seen before it"
	}
	turn := Turn{To: Received, DueAt: until, Reason: "waits: " + missing}
	switch {
	case t.now.Before(until):
	case begins:
		return t.run(r, Turn{Passed: true, Reason: fmt.Sprintf("the stream begins at %v", r.Place)})
	case t.Order.OnGap == ChooseQuarantine:
		turn = quarantined("%s within %v; retry it to go on without", missing, t.Order.Gap)
	default:
		return t.run(r, Turn{Passed: true, Refetch: t.Order.OnGap == ChooseRefetch, Reason: "gap passed over: " + missing})
	}
	t.hold("waits: " + missing)
	return turn
}

// run lets one operation go; what stands behind it waits, unless it is itself
// waiting for its next attempt and only the latest counts.
func (t *turns) run(r *InStream, turn Turn) Turn {
	turn.To, turn.DueAt = Processing, r.DueAt
	if t.held != "" {
		return Turn{To: Received, Reason: t.held}
	}
	resting := r.State == FailedBeforeEffect && r.DueAt.After(t.now)
	if !resting || t.Order.Mode == StrictOrder || r.Underway() {
		t.hold("waits until " + r.ID.String() + " has ended")
	}
	if turn.DueAt.IsZero() || r.State == Received {
		turn.DueAt = t.now
	}
	return turn
}

// Turn is what its stream's turn makes of an operation; transition is empty
// when nothing changes.
func (o Operation) Turn(t Turn, now time.Time) (next Operation, transition string, err error) {
	next = o
	switch t.To {
	case Completed:
		return o.Supersede(t.Reason, now)
	case Quarantined:
		return o.Hold(t.Reason, now)
	case Received:
		next.DueAt, next.Reason = t.DueAt, t.Reason
	case Processing:
		next.Refetch, next.Waved = t.Refetch, o.Waved || t.Passed
		if o.DueAt.IsZero() || o.State == Received && o.DueAt.After(now) {
			next.DueAt, next.Reason = t.DueAt, t.Reason
		}
	}
	if next == o {
		return o, "", nil
	}
	next.Changed = now
	return next, "order", nil
}

// Underway reports whether an earlier step of the operation had its effect.
func (o Operation) Underway() bool { return o.Step > 0 }
