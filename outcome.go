package onceward

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

type outcomeKind uint8

const (
	outcomeCompleted outcomeKind = iota + 1
	outcomeNotApplied
	outcomeRefused
	outcomeAmbiguous
)

// Outcome is what an attempt ended with. Its four constructors are the only
// ways to make one, so that a bare "error" cannot be recorded.
type Outcome struct {
	kind    outcomeKind
	Result  string    // completed: the other side's reference
	Reason  string    // otherwise: why, for people; never a body or a secret
	RetryAt time.Time // not applied, ambiguous: the earliest next attempt
	Status  int       // HTTP status that was answered; 0 without an answer
	Started time.Time // when the attempt began, for its record
}

// Succeeded says that the effect happened.
func Succeeded(result string) Outcome {
	return Outcome{kind: outcomeCompleted, Result: CutResult(result)}
}

// cutMark ends a result of which a part is missing. A result that ends so by
// itself is taken for one: not using it is the safe mistake.
const cutMark = "…[cut]"

// CutResult keeps a result within [MaxResult], without half a character, and
// marks what it cuts: half of a reference names something else.
func CutResult(result string) string {
	if len(result) <= MaxResult {
		return result
	}
	end := MaxResult - len(cutMark)
	for floor := end - utf8.UTFMax; end > floor && !utf8.RuneStart(result[end]); {
		end--
	}
	return result[:end] + cutMark
}

// ResultCut reports whether a part of a result is missing, so that nothing may
// be made of it.
func ResultCut(result string) bool { return strings.HasSuffix(result, cutMark) }

// NotApplied says, with proof, that nothing happened and that it may be tried
// again at retryAt.
func NotApplied(reason string, retryAt time.Time) Outcome {
	return Outcome{kind: outcomeNotApplied, Reason: reason, RetryAt: retryAt}
}

// Refused says that the other side gave its verdict: nothing happened, and the
// same call would be refused again.
func Refused(reason string) Outcome { return Outcome{kind: outcomeRefused, Reason: reason} }

// Ambiguous says that the effect may or may not have happened. A keyed call is
// repeated with the same key at retryAt; any other stops as unknown_outcome.
func Ambiguous(reason string, retryAt time.Time) Outcome {
	return Outcome{kind: outcomeAmbiguous, Reason: reason, RetryAt: retryAt}
}

// String is the outcome's name in attempts and metrics.
func (o Outcome) String() string {
	return [...]string{"none", "completed", "not_applied", "refused", "ambiguous"}[o.kind]
}

// Success reports whether the effect happened.
func (o Outcome) Success() bool { return o.kind == outcomeCompleted }

// Settle records an attempt's outcome: T7, T9 (with T15 when attempts are spent
// or the call was refused), T10, or for a keyed ambiguous call the wait for the
// repetition with its intent open. Success of a step that another one follows
// is a recovery point (T5): the next step is due at once, for whoever takes it.
// Once a call was ambiguous only success settles it: that a later attempt was
// turned away is no proof about the earlier one, so without success the
// operation ends as unknown_outcome. A report whose lease was lost is
// [ErrFenced], except that success reported by the very attempt that went
// unknown is T19; what success contradicts is for [Operation.Dispute].
func (o Operation) Settle(l Lease, out Outcome, limits Limits, now time.Time) (Operation, string, error) {
	if o.State == UnknownOutcome && out.kind == outcomeCompleted && o.Attempt == l.Attempt && o.Fence == l.Fence+1 {
		return o.finish(out.Result, "the attempt that went unknown reported late", now), "T19", nil
	}
	if err := o.owned(l); err != nil {
		return o, "", err
	}
	switch out.kind {
	case outcomeCompleted:
		if next, ok := o.advance(); ok {
			next.Fence++ // the next step is anybody's; this owner must not settle it
			next.Owner, next.DueAt, next.Changed = "", now, now
			next.Reason = "step " + o.StepName() + " is done, " + next.StepName() + " is next"
			return next, "T5", nil
		}
		return o.finish(out.Result, "", now), "T7", nil
	case outcomeRefused:
		if o.Doubt {
			return o.unknown(inDoubt+out.Reason, now)
		}
		return o.move(DeadLettered, out.Reason, now).unsent(), "T9+T15", nil
	case outcomeNotApplied:
		if o.Doubt {
			return o.repeat(inDoubt, out, limits, now)
		}
		o = o.unsent()
		switch {
		case o.contested():
			return o.move(DeadLettered, disputed+"; not tried again by itself after: "+out.Reason, now), "T9+T15", nil
		case limits.spent(o):
			return o.move(DeadLettered, "attempts spent: "+out.Reason, now), "T9+T15", nil
		}
		o = o.move(FailedBeforeEffect, out.Reason, now)
		o.DueAt = out.RetryAt
		return o, "T9", nil
	case outcomeAmbiguous:
		return o.repeat("", out, limits, now)
	}
	return o, "", fmt.Errorf("%w: an outcome must come from one of its constructors", ErrNotAllowed)
}

// finish records that the current step had its effect, outside of a lease. When
// another step follows, that one is due.
func (o Operation) finish(result, reason string, now time.Time) Operation {
	if next, ok := o.advance(); ok {
		next = next.move(FailedBeforeEffect, "step "+o.StepName()+" is done ("+reason+"), "+next.StepName()+" is next", now)
		next.DueAt = now
		return next
	}
	o = o.move(Completed, reason, now)
	o.Intent, o.Result = false, CutResult(result)
	return o
}

// inDoubt stands before the reason of an attempt that did not answer for an
// earlier one: being turned away now says nothing about that call.
const inDoubt = "an earlier attempt may have had its effect; this one: "

// repeat waits with the intent open until the same key is sent again, where
// that is safe and there are attempts left.
func (o Operation) repeat(prefix string, out Outcome, limits Limits, now time.Time) (Operation, string, error) {
	if o.Effect != Keyed || limits.spent(o) {
		return o.unknown(prefix+out.Reason, now)
	}
	o = o.intend(now)
	if limits.forgotten(o, out.RetryAt) {
		return o.unknown(prefix+out.Reason+"; "+fmt.Sprintf(tooLate, limits.KeyMemory), now)
	}
	o.Doubt = true
	o.Owner, o.DueAt, o.Reason, o.Changed = "", out.RetryAt, out.Reason, now
	return o, "T3", nil
}

func (o Operation) unknown(reason string, now time.Time) (Operation, string, error) {
	o = o.move(UnknownOutcome, reason, now).intend(now) // whoever reports this has made a call
	o.Fence++
	return o.ask(now, now), "T10", nil // its call is over, and nothing more is written for it
}
