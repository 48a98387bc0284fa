package onceward

import (
	"fmt"
	"time"
)

// Effect says what the other side makes of a repeated call. It must be stated
// for every destination; there is no default. The numbers are stored.
type Effect uint8

// The effect classes.
const (
	Local  Effect = 1 // same transaction as the record
	Keyed  Effect = 2 // the other side deduplicates our key
	Lookup Effect = 3 // the other side can be asked by our key
	Unsafe Effect = 4 // neither
)

var effectNames = [...]string{"", "local", "keyed", "lookup", "unsafe"}

func (e Effect) String() string {
	if e >= Local && int(e) < len(effectNames) {
		return effectNames[e]
	}
	return fmt.Sprintf("effect(%d)", uint8(e))
}

// ParseEffect reads an effect class's name.
func ParseEffect(name string) (Effect, error) {
	for e := Local; e <= Unsafe; e++ {
		if effectNames[e] == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%q is not an effect class; use keyed (the other side deduplicates our key), lookup (it can be asked by our key) or unsafe (neither)", name)
}

// Operation is one effect that an event must cause: the unit of state.
type Operation struct {
	ID         OperationID
	Name       string
	Generation int // 0; rises when it is to run again under a new key
	Redelivery int // 0; rises when a completed one is repeated with the same key
	// Revision is the SHA-256 of the later content that it carries; empty for
	// the event's first content.
	Revision string
	State    State
	Effect   Effect // of the step that runs, or ran last
	Plan     Plan   // its steps' names; those that have begun stay as they were
	Step     int    // the step that runs or is next, from 0; earlier ones are done and never repeated
	Fence    int64  // rises at every change of owner
	Attempt  int    // attempts begun; the first is 1
	// Budget is the attempt number at which the retry budget was last renewed
	// by a person; attempts count from it.
	Budget   int
	Intent   bool      // an outside call may have happened and is not accounted for
	IntentAt time.Time // when the first of those calls of this step may have been made; zero before, and when they provably had no effect
	Doubt    bool      // that call may be an earlier attempt's, so that no later one proves that nothing happened
	Unknown  bool      // its outcome was unknown at some time; repeating needs consent
	Disputed bool      // a late report contradicts what was decided since
	// Stream numbers the stream in which it is ordered, at Place; 0 is none.
	Stream  int64
	Place   Place
	Waved   bool // a person let it go on in its stream
	GivenUp bool // a person gave it up: its stream goes on without it
	// Superseded says that it was completed without ever having its effect,
	// because a later operation took its place.
	Superseded bool
	Followed   bool      // another of the same name waits for it to end
	Refetch    bool      // the destination is to read the current state
	Owner      string    // process that holds the lease; empty without one
	DueAt      time.Time // next run, or end of the lease; zero when nothing is due
	AskAt      time.Time // unknown outcome of a lookup step: when the other side is asked next
	SentBy     time.Time // with AskAt: the call in question cannot have been sent after this
	Result     string    // reference that the other side gave, at most [MaxResult] bytes
	Reason     string    // why it stands where it stands, for people
	Changed    time.Time
}

// MaxResult bounds a result reference, in bytes.
const MaxResult = 1024

// Lease is the right to work on an operation until a moment. Only its holder
// can settle, and only while its fence is the operation's.
type Lease struct {
	Operation OperationID
	Fence     int64
	Attempt   int
	Until     time.Time
	Owner     string
	Step      int // the step that was leased
	Effect    Effect
}

// Limits bound what automation may do with one operation.
type Limits struct {
	Attempts int           // all attempts count, the first included; 0 means no limit
	Lease    time.Duration // how long an owner may be silent
	Plan     Plan          // the steps as they are configured today
	// KeyMemory is how long the other side of a keyed step is sure to know a
	// key; 0 when nothing is said about it. A call is not repeated after that.
	KeyMemory time.Duration
}

// OwnerPause bounds how long an owner may have been paused between its last
// look at the clock and its first byte. Nothing can bound it for certain, which
// is why an absence is believed only after it, and a report that comes all the
// same is a dispute.
const OwnerPause = 30 * time.Second

// forgotten reports whether the other side may no longer know the key at the
// given moment. What may have been called at an unknown time counts as old.
func (l Limits) forgotten(o Operation, at time.Time) bool {
	return l.KeyMemory > 0 && o.Intent && at.After(o.IntentAt.Add(l.KeyMemory))
}

func (l Limits) spent(o Operation) bool { return l.Attempts > 0 && o.Attempt-o.Budget >= l.Attempts }

// Take gives a due operation to owner: T2 from received, T14 from
// failed_before_effect, T11 from a processing operation whose lease ended.
// An operation that may not be taken over moves to where a person sees it
// instead (T12, T12b) and the returned transition says so; without any
// permitted move the error is [ErrNotDue]. intend marks that the outside call
// may follow at once (T4 in the same write).
func (o Operation) Take(owner string, limits Limits, intend bool, now time.Time) (Operation, string, error) {
	if o.DueAt.IsZero() || o.DueAt.After(now) {
		return o, "", ErrNotDue
	}
	var by string
	if (o.State == Received || o.State == FailedBeforeEffect || o.State == Processing) && !o.fits(limits.Plan) {
		o, by = o.misfit(limits.Plan, now)
		return o, by, nil
	}
	switch o.State {
	case Received:
		by = "T2"
	case FailedBeforeEffect:
		if limits.spent(o) {
			return o.move(DeadLettered, "attempts spent: "+o.Reason, now), "T15", nil
		}
		by = "T14"
	case Processing:
		if next, transition, moved := o.expire(limits, now); moved {
			return next, transition, nil
		}
		by = "T11"
		o.Doubt = o.Intent
	default:
		return o, "", ErrNotDue
	}
	o.State = Processing
	o.Fence++
	o.Attempt++
	o.Owner = owner
	o.Reason = "" // what earlier attempts met is in their records
	o.Plan = limits.Plan
	if intend {
		o = o.intend(now)
	}
	o.DueAt = now.Add(limits.Lease)
	o.Changed = now
	return o, by, nil
}

// Expire is what the janitor does to an operation whose owner fell silent and
// that no worker may take over (T12, T12b), and to one that stands at a step
// that is no longer configured. Otherwise the error is [ErrNotDue].
func (o Operation) Expire(limits Limits, now time.Time) (Operation, string, error) {
	if o.DueAt.IsZero() || o.DueAt.After(now) {
		return o, "", ErrNotDue
	}
	if o.State.Open() && o.State != Dispatched && o.Step >= limits.Plan.Len() { // no worker claims such a step
		o, by := o.misfit(limits.Plan, now)
		return o, by, nil
	}
	if o.State != Processing {
		return o, "", ErrNotDue
	}
	next, transition, moved := o.expire(limits, now)
	if !moved {
		return o, "", ErrNotDue
	}
	return next, transition, nil
}

// Under is the operation under the effect class that its step is configured
// with today. A call that may be out keeps the class that it was made under,
// unless that said that it may be repeated and today's does not.
func (o Operation) Under(today Effect) Operation {
	if !o.Intent || o.Effect == Keyed {
		o.Effect = today
	}
	return o
}

func (o Operation) expire(limits Limits, now time.Time) (Operation, string, bool) {
	switch {
	case o.Intent && o.Effect != Keyed:
		return o.lost("the owner was lost while its call may have been under way", now), "T12", true
	case o.Intent && limits.spent(o):
		return o.lost("attempts spent without a clear answer: "+o.Reason, now), "T12", true
	case limits.forgotten(o, now):
		return o.lost(fmt.Sprintf(tooLate, limits.KeyMemory), now), "T12", true
	case o.contested():
		o = o.move(DeadLettered, disputed, now)
		o.Fence++
		return o, "T12b", true
	case limits.spent(o):
		o = o.move(DeadLettered, "attempts spent; the last owner was lost before its call", now)
		o.Fence++
		return o, "T12b", true
	}
	return o, "", false
}

// tooLate is why a keyed call is not repeated any more.
const tooLate = "the call may have had its effect, and the other side remembers its key for %s only: repeating it now could have a second one"

// lost moves an operation to unknown_outcome whose owner may still sit between
// its intent and its call, and cannot be asked.
func (o Operation) lost(reason string, now time.Time) Operation {
	sent := o.DueAt.Add(OwnerPause) // nothing is sent past the lease
	o = o.move(UnknownOutcome, reason, now)
	o.Fence++
	return o.ask(sent, now)
}

// ask makes the reconciler ask the other side about an unknown outcome, where
// it can be asked.
func (o Operation) ask(sent, now time.Time) Operation {
	if o.Effect == Lookup && !o.contested() {
		o.AskAt, o.SentBy = now, sent
	}
	return o
}

// intend opens the current step's intent. A repetition keeps the time of the
// first: from then on the other side may have known the key.
func (o Operation) intend(now time.Time) Operation {
	o.Intent = true
	if o.IntentAt.IsZero() {
		o.IntentAt = now
	}
	return o
}

// unsent closes an intent of whose call it is proved that it had no effect.
func (o Operation) unsent() Operation {
	o.Intent, o.IntentAt = false, time.Time{}
	return o
}

func (o Operation) move(to State, reason string, now time.Time) Operation {
	o.State, o.Reason, o.Owner, o.DueAt, o.Changed = to, reason, "", time.Time{}, now
	o.Unknown = o.Unknown || to == UnknownOutcome
	o.Doubt = false // who moves it has settled it, or made it a person's
	o.AskAt, o.SentBy = time.Time{}, time.Time{}
	return o
}

func (o Operation) owned(l Lease) error {
	if o.State != Processing || o.Fence != l.Fence {
		return ErrFenced
	}
	return nil
}

// Renew moves the lease's end: T3.
func (o Operation) Renew(l Lease, d time.Duration, now time.Time) (Operation, string, error) {
	if err := o.owned(l); err != nil {
		return o, "", err
	}
	o.DueAt, o.Changed = now.Add(d), now
	return o, "T3", nil
}

// Intend records, before the call, that it may happen: T4.
func (o Operation) Intend(l Lease, d time.Duration, now time.Time) (Operation, string, error) {
	if err := o.owned(l); err != nil {
		return o, "", err
	}
	if o.Intent && o.Effect != Keyed {
		return o, "", fmt.Errorf("%w: its intent is open already", ErrNotAllowed)
	}
	o = o.intend(now)
	o.DueAt, o.Changed = now.Add(d), now
	return o, "T4", nil
}

// HandBack returns an operation that was leased but not begun: the owner is
// stopping, or has no room. Nothing happened, so the attempt does not count.
func (o Operation) HandBack(l Lease, now time.Time) (Operation, string, error) {
	if err := o.owned(l); err != nil {
		return o, "", err
	}
	if o.Intent && o.Effect != Keyed {
		return o, "", fmt.Errorf("%w: its intent is open", ErrNotAllowed)
	}
	const reason = "handed back before its call"
	o.Attempt--
	o.Fence++
	if o.Doubt {
		// An earlier attempt's intent stays open: the next owner repeats the
		// same key.
		o.DueAt, o.Owner, o.Reason, o.Changed = now, "", reason, now
		return o, "T11", nil
	}
	o = o.move(FailedBeforeEffect, reason, now).unsent()
	o.DueAt = now
	return o, "T9", nil
}
