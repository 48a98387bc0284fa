package onceward

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mode says what a person wants done to events that are recorded already. The
// numbers are stored.
type Mode uint8

// The modes.
const (
	Resume    Mode = 1 // take up what is unfinished or dead, with the same key
	Redeliver Mode = 2 // also repeat what is completed, with the same key
	Reexecute Mode = 3 // run anew under a new key: a second effect on purpose
	Erase     Mode = 4 // forget what was delivered, remember that it was
)

var modeNames = [...]string{"", "resume", "redeliver", "reexecute", "erase"}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	if i := slices.Index(modeNames[1:], name); i >= 0 {
		return Mode(i + 1), nil
	}
	return 0, fmt.Errorf("%q is not a mode; use resume, redeliver or reexecute", name)
}

// Replay is what a person asks of one event.
type Replay struct {
	Decision
	Mode Mode
	// Operations are the names that it is about; empty means all of them.
	Operations []string
	// Held says that what is held for a person may go, too. A person who names
	// the event means it; one who names a filter must have asked for held ones.
	Held bool
	// Reading is what the configuration of today makes of the recorded payload:
	// identity, type and the operations that it wants; nil when its source is
	// not configured or the payload is no longer kept.
	Reading *Arrival
	// KeyMemory tells, by operation, how long its destination remembers a key.
	KeyMemory map[string]time.Duration
	DryRun    bool
}

// What a replay did to an operation, or would do.
const (
	Retried     = "retried"     // the same operation, the same key
	Redelivered = "redelivered" // a new operation with the same key
	Reexecuted  = "reexecuted"  // a new operation with a new key
	Released    = "released"    // recorded now, from an event that was held
	Revised     = "revised"     // a new operation for a later content of the event
	GivenUp     = "given_up"    // closed without an effect, on a person's word
	Superseded  = "superseded"  // closed, because a later one takes its place
	Left        = "left"        // nothing; Why says why
)

// Replayed is what a replay does to one operation.
type Replayed struct {
	From Operation // as it stood; without a state when it is new
	To   Operation // as it stands then; a new one has no number before it is recorded
	Did  string
	By   string // name of the transition
	Why  string // why it is left, or what is to be known about it
	Err  error  // [ErrConsent] or [ErrNotAllowed] when it is left because it may not be
}

// Redeliver returns a new operation that repeats a completed one with the same
// key: T0b. The completed one stays as it is. What the destination sees goes
// on: the same key, and the attempt number rising. Only a destination that
// deduplicates the key makes that harmless, and only while it remembers it
// (memory; 0 when nothing is said about that); all else needs consent.
func (o Operation) Redeliver(d Decision, memory time.Duration, now time.Time) (Operation, string, error) {
	if err := d.check(false); err != nil {
		return o, "", err
	}
	switch {
	case o.State != Completed:
		return o, "", fmt.Errorf("%w: %s; only what is completed is redelivered", ErrNotAllowed, o.State)
	case o.Superseded:
		return o, "", fmt.Errorf("%w: it never ran (%s)", ErrNotAllowed, o.Reason)
	case d.Consent:
	case o.Plan.Len() > 1:
		return o, "", fmt.Errorf("%w: all of its steps are repeated, at destinations of which not each may deduplicate our keys", ErrConsent)
	case o.Effect != Keyed:
		return o, "", fmt.Errorf("%w: its destination is %s and does not deduplicate our key", ErrConsent, o.Effect)
	case memory > 0 && now.After(o.IntentAt.Add(memory)):
		return o, "", fmt.Errorf("%w: its destination remembers a key for %s only, and was first sent this one at %s", ErrConsent, memory, o.IntentAt.UTC().Format(time.RFC3339))
	}
	again := o.repeated(now, "redelivered by "+d.Actor)
	again.Generation, again.Redelivery = o.Generation, o.Redelivery+1
	again.Attempt, again.Budget = o.Attempt, o.Attempt
	if o.Plan.Len() == 1 {
		again.IntentAt = o.IntentAt // since then the other side may have known the key
	}
	return again, "T0b", nil
}

// Reexecute returns a new operation under a new key: T0b. That is a second
// effect on purpose, so it always needs consent.
func (o Operation) Reexecute(d Decision, now time.Time) (Operation, string, error) {
	if err := d.check(false); err != nil {
		return o, "", err
	}
	switch {
	case o.Superseded:
		return o, "", fmt.Errorf("%w: it never ran (%s)", ErrNotAllowed, o.Reason)
	case o.State == UnknownOutcome:
		return o, "", fmt.Errorf("%w: its outcome is unknown; resolve it first, so that nobody has to guess how many effects there are", ErrNotAllowed)
	case o.State != Completed && o.State != DeadLettered:
		return o, "", fmt.Errorf("%w: %s; let it end under its own key first", ErrNotAllowed, o.State)
	case !d.Consent:
		return o, "", fmt.Errorf("%w: a new key is a second effect on purpose", ErrConsent)
	}
	again := o.repeated(now, "re-executed under a new key by "+d.Actor)
	again.Generation = o.Generation + 1
	return again, "T0b", nil
}

// repeated is a new operation that does what o did. In a stream it obeys the
// stream's guard: an old version is not applied over a newer one.
func (o Operation) repeated(now time.Time, reason string) Operation {
	n := Operation{
		ID: OperationID{Event: o.ID.Event}, Name: o.Name, Revision: o.Revision, State: Received, Effect: o.Effect, Plan: o.Plan,
		Stream: o.Stream, Place: o.Place, DueAt: now, Changed: now, Reason: reason,
	}
	if n.Stream != 0 {
		n.DueAt = time.Time{} // its stream says when
	}
	return n
}

// again reports whether a person had it repeated.
func (o Operation) again() bool { return o.Redelivery > 0 || o.Generation > 0 }

// Supersede closes an operation whose effect did not happen and is no longer
// wanted, because a later one takes its place: T25.
func (o Operation) Supersede(reason string, now time.Time) (Operation, string, error) {
	var by string
	if o.Underway() && o.State != DeadLettered {
		return o, "", fmt.Errorf("%w: an earlier step had its effect", ErrNotAllowed)
	}
	switch o.State {
	case Received, FailedBeforeEffect:
		by = "T25"
	case Quarantined:
		by = "T22+T25"
	case DeadLettered:
		by = "T20+T25"
	default:
		return o, "", fmt.Errorf("%w: %s; what runs, or may have had its effect, is not superseded", ErrNotAllowed, o.State)
	}
	o = o.move(Completed, reason, now)
	o.Fence++
	o.Intent, o.Superseded = false, true
	return o, by, nil
}

// Replay says what r does to each of the event's operations. Nothing is changed
// by it; the store does that, in one transaction. An entry whose Err is
// [ErrConsent] refuses the whole replay.
func (e Event) Replay(r Replay, now time.Time) ([]Replayed, error) {
	if err := r.check(false); err != nil {
		return nil, err
	}
	if err := e.Sendable(); err != nil {
		return nil, err
	}
	var all []Replayed
	known := map[string]bool{}
	for i, o := range e.Operations {
		known[o.Name] = true
		last := !slices.ContainsFunc(e.Operations[i+1:], o.sameWork)
		switch {
		case len(r.Operations) > 0 && !slices.Contains(r.Operations, o.Name):
		case r.Mode == Reexecute:
			all = append(all, e.reexecute(i, r, now)...)
		case last || o.State != Completed:
			all = append(all, o.replay(r, now)...)
		}
	}
	added, err := e.release(r, known, now)
	if err != nil {
		return nil, err
	}
	return append(all, added...), nil
}

// sameWork reports whether two operations of one event do the same: then they
// differ only in how often it was asked for.
func (o Operation) sameWork(other Operation) bool {
	return o.Name == other.Name && o.Revision == other.Revision
}

// nextGeneration is the first that no operation of the event with o's work has.
// Those before the last may have any: what was given up stays in the list.
func (e Event) nextGeneration(o Operation) int {
	next := 0
	for _, other := range e.Operations {
		if other.sameWork(o) {
			next = max(next, other.Generation+1)
		}
	}
	return next
}

// reexecute runs the work of operation i anew, once for however many operations
// have it: the last that ran begins the new generation, which takes the place of
// every dead letter. Nothing begins while one of them may still have its effect,
// or may have had it and nobody knows.
func (e Event) reexecute(i int, r Replay, now time.Time) []Replayed {
	o := e.Operations[i]
	ran := func(other Operation) bool { return other.sameWork(o) && !other.Superseded }
	last := !slices.ContainsFunc(e.Operations[i+1:], ran)
	if o.Superseded && slices.ContainsFunc(e.Operations, ran) || !last && o.State == Completed {
		return nil // another of them says what there is to run
	}
	left := func(err error, why string) []Replayed {
		return []Replayed{{From: o, To: o, Did: Left, Why: why, Err: err}}
	}
	if o.State == Quarantined && !r.Held {
		return left(nil, heldBack(o))
	}
	again, by, err := o.Reexecute(r.Decision, now)
	if err != nil {
		return left(err, err.Error())
	}
	for _, other := range e.Operations {
		if other.sameWork(o) && other.State != Completed && other.State != DeadLettered {
			err := fmt.Errorf("%w: operation %s does the same and is %s; let it end, or decide about it first", ErrNotAllowed, other.ID, other.State)
			return left(err, err.Error())
		}
	}
	again.Generation = e.nextGeneration(o)
	var all []Replayed
	if o.State == DeadLettered {
		closed, by, err := o.Supersede(fmt.Sprintf("superseded by generation %d, which %s asked for", again.Generation, r.Actor), now)
		if err != nil {
			return left(err, err.Error())
		}
		all = append(all, Replayed{From: o, To: closed, Did: Superseded, By: by})
	}
	if last {
		all = append(all, Replayed{To: again, Did: Reexecuted, By: by})
	}
	return all
}

func heldBack(o Operation) string {
	return "it is held for a person (" + o.Reason + "); ask for status quarantined to let it go"
}

func (o Operation) replay(r Replay, now time.Time) []Replayed {
	left := func(err error, why string) []Replayed {
		return []Replayed{{From: o, To: o, Did: Left, Why: why, Err: err}}
	}
	refused := func(err error) []Replayed { return left(err, err.Error()) }
	switch {
	case o.State == Quarantined && !r.Held:
		return left(nil, heldBack(o))
	case o.State == Completed && r.Mode == Redeliver:
		again, by, err := o.Redeliver(r.Decision, r.KeyMemory[o.Name], now)
		if err != nil {
			return refused(err)
		}
		return []Replayed{{To: again, Did: Redelivered, By: by}}
	case o.State == Completed && o.Superseded:
		return left(nil, "it never ran: "+o.Reason)
	case o.State == Completed:
		return left(nil, "it is completed; mode redeliver repeats it with the same key")
	case o.State == Received:
		return left(nil, o.waits())
	case o.State == Processing && o.Owner == "":
		return left(nil, "it waits to be repeated with the same key")
	case o.State == Processing || o.State == Dispatched:
		return left(nil, "an attempt is under way")
	}
	retried, by, err := o.Retry(r.Decision, now)
	if err != nil {
		return refused(err)
	}
	return []Replayed{{From: o, To: retried, Did: Retried, By: by}}
}

// release adds the operations that the event does not have: of an event that is
// held, all that the configuration wants today; of any other, those that the
// replay names, so that nothing begins because a configuration grew.
func (e Event) release(r Replay, known map[string]bool, now time.Time) (added []Replayed, err error) {
	held := e.Verdict == QuarantinedBy
	for _, name := range r.Operations {
		if !known[name] && (r.Reading == nil || !slices.ContainsFunc(r.Reading.Operations, func(p Planned) bool { return p.Name == name })) {
			return nil, fmt.Errorf("%w: the event has no operation %s, and the configuration wants none of that name for its type %q", ErrNotAllowed, name, e.Type)
		}
	}
	switch {
	case held && !r.Held:
		return nil, fmt.Errorf("%w: it is held for a person (%s); ask for status quarantined to let it go", ErrNotAllowed, e.Reason)
	case held && r.Reading == nil:
		return nil, fmt.Errorf("%w: its source is not configured, or its payload is no longer kept, so nobody can say what it should cause", ErrNotAllowed)
	case held && len(r.Reading.Operations) == 0:
		return nil, fmt.Errorf("%w: the configuration wants no operation for its type %q; add one, or reject the event", ErrNotAllowed, r.Reading.Type)
	case held && e.mayHaveRun() && !r.Consent:
		return nil, fmt.Errorf("%w: it is held because its effects may have happened already (%s); look at the other side first, or reject it", ErrConsent, e.Reason)
	case !held && len(r.Operations) == 0 && len(e.Operations) == 0:
		return nil, fmt.Errorf("%w: it has no operations to take up; name one that the configuration wants for its type %q", ErrNotAllowed, e.Type)
	case r.Reading == nil:
		return nil, nil
	}
	for _, p := range r.Reading.Operations {
		if known[p.Name] || !held && !slices.Contains(r.Operations, p.Name) || len(r.Operations) > 0 && !slices.Contains(r.Operations, p.Name) {
			continue
		}
		o := Operation{ID: OperationID{Event: e.ID}, Name: p.Name, State: Received, Effect: p.Effect, Plan: p.Plan, DueAt: now, Changed: now, Reason: "released by " + r.Actor}
		added = append(added, Replayed{To: o, Did: Released, By: "T0b"})
	}
	return added, nil
}

// Reasons of held events whose effects may have happened already, under another
// id or before the memory begins.
const (
	SameBody = "same_body_other_id: "
	Stale    = "stale: "
	Restored = "restored: "
)

func (e Event) mayHaveRun() bool {
	return slices.ContainsFunc([]string{SameBody, Stale, Restored}, func(why string) bool { return strings.HasPrefix(e.Reason, why) })
}

// Reject says whether a held event may be closed without an effect.
func (e Event) Reject(d Decision) error {
	if err := d.check(false); err != nil {
		return err
	}
	if e.Verdict != QuarantinedBy {
		return fmt.Errorf("%w: only an event that is held since it arrived is rejected; what it causes is abandoned operation by operation", ErrNotAllowed)
	}
	return nil
}

// Refusal returns why a replay may not happen as a whole, nil when it may: one
// of its operations needs consent that was not given, or what was asked for is
// not allowed for any of them.
func Refusal(all []Replayed) error {
	var names []string
	var consent, other error
	done := false
	for _, r := range all {
		done = done || r.Did != Left
		switch {
		case errors.Is(r.Err, ErrConsent):
			names = append(names, r.From.Name)
			consent = r.Err
		case r.Err != nil:
			other = fmt.Errorf("operation %s: %w", r.From.Name, r.Err)
		}
	}
	switch {
	case consent != nil:
		return fmt.Errorf("operation %s: %w", strings.Join(names, ", "), consent)
	case !done:
		return other
	}
	return nil
}
