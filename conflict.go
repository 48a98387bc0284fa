package onceward

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OnConflict says what becomes of a known event that arrives with other
// content. The zero value holds it.
type OnConflict uint8

// The policies.
const (
	HoldConflict   OnConflict = 0 // both are kept, what had no effect yet waits for a person
	RejectConflict OnConflict = 1 // the second is kept as evidence and refused
	NewerConflict  OnConflict = 2 // the sender updates under one id: a newer content runs as a revision of its own
)

// Keep is what was decided about a content that contradicts its event. The
// numbers are stored.
type Keep uint8

// The decisions.
const (
	KeepOpen    Keep = 0 // nobody has decided
	KeepFirst   Keep = 1 // the event's own content counts
	KeepSecond  Keep = 2 // it counts, too: it runs as a revision of its own
	KeepNeither Keep = 3 // neither runs any more
	KeepNewer   Keep = 4 // by policy: a newer content, which runs as a revision
	KeepOlder   Keep = 5 // by policy: older than what is known, so as good as a copy
	KeepRefused Keep = 6 // by policy: the sender was told no
)

var keepNames = [...]string{"open", "first", "second", "neither", "newer", "older", "refused"}

func (k Keep) String() string {
	if int(k) < len(keepNames) {
		return keepNames[k]
	}
	return fmt.Sprintf("keep(%d)", uint8(k))
}

// ParseKeep reads what a person may decide.
func ParseKeep(name string) (Keep, error) {
	for k := KeepFirst; k <= KeepNeither; k++ {
		if keepNames[k] == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no decision; keep first, second or neither", name)
}

// runs reports whether the content runs as a revision of its event.
func (k Keep) runs() bool { return k == KeepSecond || k == KeepNewer }

// Contradicted is why an operation is held whose event was contradicted before
// any effect.
const Contradicted = "a delivery with other content arrived before any effect"

// Conflict is a content that contradicts its event, with that event.
type Conflict struct {
	Evidence
	Of    Event
	First Payload // what the event's first delivery carried
	// KeptFirst and KeptSecond say whether the bodies are still kept.
	KeptFirst, KeptSecond bool
}

// ConflictName writes a conflict's number as people see it.
func ConflictName(id int64) string { return "con_" + EventID(id).String()[4:] }

// ParseConflict reads what [ConflictName] wrote.
func ParseConflict(s string) (int64, error) {
	rest, ok := strings.CutPrefix(s, "con_")
	id, err := ParseEventID("evt_" + rest)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not the id of a conflict (con_ and %d characters)", s, idLength)
	}
	return int64(id), nil
}

// Settle says what a decision about c does to the event's operations: keep the
// first releases what was held (T22), take the second supersedes what has had
// no effect (T25) and records a revision (T0b), neither gives up what was held
// (T23). reading is what the configuration of today makes of the second.
func (c Conflict) Settle(keep Keep, reading *Arrival, d Decision, now time.Time) ([]Replayed, error) {
	switch err := d.check(false); {
	case err != nil:
		return nil, err
	case c.Decided.runs():
		return nil, fmt.Errorf("%w: it was taken already and runs as a revision", ErrNotAllowed)
	case keep == c.Decided || keep != KeepSecond && c.Decided != KeepOpen:
		return nil, fmt.Errorf("%w: it is decided already (%s)", ErrNotAllowed, c.Decided)
	case c.Of.Verdict == QuarantinedBy && keep == KeepSecond:
		return nil, fmt.Errorf("%w: event %s itself is held (%s); release or reject it first", ErrNotAllowed, c.Of.ID, c.Of.Reason)
	case keep == KeepSecond:
		return c.revise(reading, d, now)
	}
	var all []Replayed
	for _, o := range c.Of.Operations {
		if o.State != Quarantined || o.Reason != Contradicted {
			continue
		}
		step := Replayed{From: o, Did: Retried}
		var err error
		if keep == KeepFirst {
			step.To, step.By, err = o.Retry(d, now)
		} else {
			step.Did = GivenUp
			step.To, step.By, err = o.Abandon(d, now)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, step)
	}
	return all, nil
}

func (c Conflict) revise(reading *Arrival, d Decision, now time.Time) ([]Replayed, error) {
	switch {
	case reading == nil:
		return nil, fmt.Errorf("%w: its body is no longer kept, or its source is not configured, so nobody can say what it should cause", ErrNotAllowed)
	case len(reading.Operations) == 0:
		return nil, fmt.Errorf("%w: the configuration wants no operation for its type %q", ErrNotAllowed, reading.Type)
	}
	all := c.Revision(reading, now, "taken by "+d.Actor)
	if !d.Consent {
		for _, o := range c.Of.Operations {
			if o.Superseded || slices.ContainsFunc(all, func(r Replayed) bool { return r.From.ID == o.ID }) {
				continue
			}
			return nil, fmt.Errorf("%w: operation %s (%s) of the first content is %s, so the second comes on top of it", ErrConsent, o.ID, o.Name, o.State)
		}
	}
	return all, nil
}

// Revision supersedes the operations of earlier contents that have had no
// effect, and adds those of this one, under keys that derive from it.
func (c Conflict) Revision(reading *Arrival, now time.Time, why string) []Replayed {
	revision := string(c.Content[:])
	var all []Replayed
	for _, o := range c.Of.Operations {
		closed, by, err := o.Supersede(fmt.Sprintf("superseded by the later content %s", ConflictName(c.ID)), now)
		if err == nil && o.State != DeadLettered && !o.Unknown {
			all = append(all, Replayed{From: o, To: closed, Did: Superseded, By: by})
		}
	}
	for _, p := range reading.Operations {
		all = append(all, Replayed{
			To:  Operation{ID: OperationID{Event: c.Of.ID}, Name: p.Name, Revision: revision, State: Received, Effect: p.Effect, Plan: p.Plan, DueAt: now, Changed: now, Reason: "a later content of the event, " + why},
			Did: Revised, By: "T0b",
		})
	}
	return all
}

// Newer reports whether a content that occurred at is newer than another's. A
// content without a time of its own is newer because it came later.
func Newer(at, than time.Time) bool { return at.IsZero() || than.IsZero() || !at.Before(than) }

// Coalesce says what a new sighting of an unchanged level trigger does to the
// operations that it wants: nothing where one is still to run that has a key of
// which the other side knows nothing, for that one will see what this announces;
// one run behind the one that is under way, or that may be answered from memory
// when its key is sent again; else a run now, in a generation of its own.
// Nothing but the sender's new signal makes these keys.
func (e Event) Coalesce(wanted []Planned, now time.Time) []Replayed {
	var all []Replayed
	for _, p := range wanted {
		next := Operation{ID: OperationID{Event: e.ID}, Name: p.Name, State: Received, Effect: p.Effect, Plan: p.Plan, DueAt: now, Changed: now, Reason: "seen again"}
		next.Generation = e.nextGeneration(next)
		ahead, hears := Operation{}, false
		for _, o := range e.Operations {
			if o.sameWork(next) && (o.State.Open() || o.State == Quarantined) {
				ahead, hears = o, hears || o.hears()
			}
		}
		if hears {
			continue
		}
		if ahead.State != 0 {
			followed := ahead
			followed.Followed = true
			next.DueAt, next.Reason = Behind, "seen again while "+ahead.ID.String()+" was "+ahead.State.String()
			all = append(all, Replayed{From: ahead, To: followed, Did: Left, By: "T3"})
		}
		all = append(all, Replayed{To: next, Did: Reexecuted, By: "T0b"})
	}
	return all
}

// hears reports whether what is said now is heard by an operation that is still
// to run: its key was never sent, so nobody can answer it from memory.
func (o Operation) hears() bool {
	waits := o.State == Received || o.State == FailedBeforeEffect || o.State == Quarantined
	return waits && o.Attempt == 0 && o.Redelivery == 0 && !o.Unknown && o.IntentAt.IsZero()
}

// Behind is when an operation is due that waits for another of its event to
// end: the store makes it due then.
var Behind = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
