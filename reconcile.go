package onceward

import (
	"fmt"
	"time"
)

// Presence is what asking the other side by our key found.
type Presence uint8

// What can be found. Anything that is neither is no finding.
const (
	Unclear Presence = iota // no answer, or one that says neither
	Present                 // it knows the key: the effect happened
	Absent                  // it does not know the key, as of now
)

func (p Presence) String() string { return [...]string{"unclear", "present", "absent"}[p] }

// Finding is what the other side said about one unknown outcome.
type Finding struct {
	Presence Presence
	Result   string    // present: the other side's reference
	Asked    time.Time // before the question went out, by the store's clock
	Evidence string    // what was answered, in our own words
	// Early says that the asker has not known of it for as long as an absence
	// takes, whatever the wall clock says: that may have been set.
	Early bool
}

// Inquired is an operation about which the other side is to be asked.
type Inquired struct {
	Operation Operation
	Key       Digest    // of its event
	Now       time.Time // the store's, before the question
}

// Inquiry is how the other side of a lookup step is asked.
type Inquiry struct {
	Settle time.Duration // how long a call that was sent may take to show there
	First  time.Duration // shortest wait between two questions; it doubles
	Max    time.Duration // longest wait between two questions
	GiveUp time.Duration // after this a person decides
}

// Reconcile decides about an unknown outcome by what the other side said: T16
// when it knows the key; T17 when it does not, and was asked so late that no
// call can be on its way any more; T18 when the time for asking is spent, or
// the steps are no longer the configured ones. Otherwise it is asked again.
// fence is that of the operation that was asked about.
func (o Operation) Reconcile(fence int64, f Finding, by Inquiry, today Plan, now time.Time) (Operation, string, error) {
	if o.State != UnknownOutcome || o.Fence != fence || o.AskAt.IsZero() {
		return o, "", fmt.Errorf("%w: its outcome was decided meanwhile", ErrFenced)
	}
	final := o.SentBy.Add(by.Settle)
	switch {
	case f.Presence == Present:
		o = o.finish(f.Result, "found by asking", now)
		o.Fence++
		return o, "T16", nil
	case f.Presence == Absent && !f.Early && !f.Asked.Before(final):
		return o.absent("found absent by asking", now), "T17", nil
	case !o.fits(today):
		o = o.move(DeadLettered, "asked without a clear answer, and its steps are no longer the configured ones: "+o.Reason, now)
		o.Fence++
		return o, "T18", nil
	case !now.Before(o.SentBy.Add(by.GiveUp)):
		o = o.move(DeadLettered, fmt.Sprintf("asked for %s without a clear answer; the last: %s", by.GiveUp, f.Evidence), now)
		o.Fence++
		return o, "T18", nil
	}
	// The wait doubles with the age of the question, and an absence is looked
	// at again when it can first be believed.
	wait := min(max(now.Sub(o.SentBy), by.First, time.Millisecond), max(by.Max, by.First))
	o.AskAt = now.Add(wait)
	switch {
	case f.Presence == Absent && now.Before(final) && o.AskAt.After(final):
		o.AskAt = final
	case f.Presence == Absent && f.Early && wait > by.Settle:
		o.AskAt = now.Add(max(by.Settle, by.First))
	}
	o.Reason = "its outcome is unknown; the other side was asked: " + f.Evidence
	o.Changed = now
	return o, "", nil
}

// absent records that an unknown call provably had no effect: T17.
func (o Operation) absent(reason string, now time.Time) Operation {
	o = o.move(FailedBeforeEffect, reason, now).unsent()
	o.Unknown = false
	o.Fence++
	o.DueAt = now
	return o
}

const disputed = "disputed: an earlier call, of which it was decided otherwise, reported success late"

// contested reports whether the current step is known to have had its effect
// by a report that came too late: nothing repeats it but a person.
func (o Operation) contested() bool { return o.Disputed && o.Unknown }

// Dispute records that success was reported about a call of which something
// else was decided meanwhile: that it had no effect, or that it is repeated at
// somebody's risk. Nothing is undone, and nothing is repeated by itself any
// more: what waits for a run waits for a person instead (T15, T24+T23). A report
// that contradicts nothing, such as that of a keyed call whose key was taken
// over, is [ErrFenced]. recorded is the attempt by which the lease's step is on
// record as done when it is an earlier one: a report that is repeated because
// its answer was lost contradicts nothing, however far the operation has come.
func (o Operation) Dispute(l Lease, recorded int, now time.Time) (Operation, string, error) {
	decided := o.Attempt // the attempt whose effect is on record, if any is
	if l.Step < o.Step {
		decided = recorded
	}
	done := o.State == Completed || l.Step < o.Step
	if l.Effect != Lookup && l.Effect != Unsafe || l.Fence >= o.Fence || o.Disputed || done && l.Attempt >= decided {
		return o, "", ErrFenced
	}
	o.Disputed, o.Changed = true, now
	by := "disputed"
	switch {
	case done, o.State == Processing, o.State == Dispatched:
	case o.State == FailedBeforeEffect, o.State == Received:
		by = map[State]string{FailedBeforeEffect: "T15", Received: "T24+T23"}[o.State]
		o = o.move(DeadLettered, disputed, now) // where evidence can resolve it
		o.Fence++
	default: // parked already; it is a person's
		o.Reason, o.AskAt, o.SentBy = disputed+" ("+o.Reason+")", time.Time{}, time.Time{}
	}
	o.Unknown = o.Unknown || !done // repeating needs consent
	return o, by, nil
}
