package onceward

import (
	"fmt"
	"strings"
	"time"
)

// Decision is what a person decides about an operation. Actor and Reason are
// always required and land in the audit log.
type Decision struct {
	Actor    string
	Reason   string
	Evidence string // what was seen at the other side; required by Resolve
	Consent  bool   // accepts that the effect may happen a second time
	Mode     Mode   // of the replay that it is part of, for the record; 0 otherwise
	// Once names this very request. A second one of the same actor and name is
	// [ErrRepeated] and changes nothing: one click is one, however often a queue
	// or a proxy sends it. Empty for requests that each count.
	Once string
}

func (d Decision) check(evidence bool) error {
	switch {
	case strings.TrimSpace(d.Actor) == "":
		return fmt.Errorf("%w: an actor is required", ErrNotAllowed)
	case strings.TrimSpace(d.Reason) == "":
		return fmt.Errorf("%w: a reason is required", ErrNotAllowed)
	case evidence && strings.TrimSpace(d.Evidence) == "":
		return fmt.Errorf("%w: evidence is required: what was seen at the other side, and where", ErrNotAllowed)
	}
	return nil
}

// Retry makes an operation due at once with the same key and a fresh retry
// budget: T20 from dead_lettered, T22 from quarantined, T14b (sooner) from
// failed_before_effect, T18 and T20 from unknown_outcome. When its outcome was
// ever unknown, the decision must carry consent, whatever the effect class.
func (o Operation) Retry(d Decision, now time.Time) (Operation, string, error) {
	if err := d.check(false); err != nil {
		return o, "", err
	}
	if o.Unknown && !d.Consent {
		return o, "", fmt.Errorf("%w: its outcome was unknown; look at the other side first (operations resolve), or repeat with consent", ErrConsent)
	}
	var by string
	switch o.State {
	case DeadLettered:
		by = "T20"
	case UnknownOutcome:
		by = "T18+T20"
	case Quarantined:
		by = "T22"
		o.Waved = o.Stream != 0
	case FailedBeforeEffect:
		o.DueAt, o.Budget, o.Changed = now, o.Attempt, now
		return o, "T14b", nil
	case Received:
		return o, "", fmt.Errorf("%w: received; %s", ErrNotAllowed, o.waits())
	default:
		return o, "", fmt.Errorf("%w: %s; only dead_lettered, unknown_outcome, quarantined and failed_before_effect can be retried", ErrNotAllowed, o.State)
	}
	o = o.move(Received, "retried by "+d.Actor, now).unsent()
	o.GivenUp = false
	o.Fence++
	o.Disputed = false // who decides knows of it
	o.Budget = o.Attempt
	o.DueAt = now
	return o, by, nil
}

// waits says what an operation waits for that is received and not begun.
func (o Operation) waits() string {
	switch {
	case strings.HasPrefix(o.Reason, "waits"): // its stream says for what
		return "it runs in order, and " + o.Reason + "; what holds it up is where to look"
	case o.Stream != 0 && o.DueAt.IsZero():
		return "it runs in order, and waits for its turn"
	case o.DueAt.Equal(Behind):
		return "it runs when the one that is under way has ended"
	}
	return "it is due already and runs as soon as a worker is free"
}

// Resolve records what a person found out about an operation: completed (T16
// from unknown_outcome, T21 from dead_lettered), or not applied (T17 from
// unknown_outcome), which makes it due again with the same key.
func (o Operation) Resolve(completed bool, result string, d Decision, now time.Time) (Operation, string, error) {
	if err := d.check(true); err != nil {
		return o, "", err
	}
	switch {
	case completed && (o.State == UnknownOutcome || o.State == DeadLettered):
		by := "T16"
		if o.State == DeadLettered {
			by = "T21"
		}
		o.Disputed = false // who decides knows of it
		o = o.finish(result, "resolved by "+d.Actor, now)
		o.Fence++
		return o, by, nil
	case !completed && o.State == UnknownOutcome:
		o = o.absent("found not applied by "+d.Actor, now)
		o.Disputed = false
		o.Budget = o.Attempt
		o.DueAt = now
		return o, "T17", nil
	}
	return o, "", fmt.Errorf("%w: %s; unknown_outcome can be resolved either way, dead_lettered as completed", ErrNotAllowed, o.State)
}

// Abandon gives an operation up: T18 from unknown_outcome, T15 from
// failed_before_effect, T23 from quarantined, T24 and T23 from received. What
// waits behind it in its stream goes on without it, and so it does when a dead
// letter is given up (T21b).
func (o Operation) Abandon(d Decision, now time.Time) (Operation, string, error) {
	if err := d.check(false); err != nil {
		return o, "", err
	}
	var by string
	switch o.State {
	case DeadLettered:
		if o.Stream == 0 || o.GivenUp {
			return o, "", fmt.Errorf("%w: it is dead_lettered already, and nothing waits for it", ErrNotAllowed)
		}
		by = "T21b"
	case UnknownOutcome:
		by = "T18"
	case FailedBeforeEffect:
		by = "T15"
	case Quarantined:
		by = "T23"
	case Received:
		by = "T24+T23"
	default:
		return o, "", fmt.Errorf("%w: %s; received, failed_before_effect, unknown_outcome and quarantined can be abandoned", ErrNotAllowed, o.State)
	}
	o = o.move(DeadLettered, "abandoned by "+d.Actor+": "+d.Reason, now)
	o.GivenUp = o.Stream != 0
	o.Fence++
	return o, by, nil
}

// Hold puts an operation that has had no effect yet aside, because its event
// was contradicted: T24. Others are left alone (ErrNotAllowed).
func (o Operation) Hold(reason string, now time.Time) (Operation, string, error) {
	if o.State != Received && o.State != FailedBeforeEffect || o.Step > 0 {
		return o, "", ErrNotAllowed
	}
	o = o.move(Quarantined, reason, now)
	o.Fence++
	return o, "T24", nil
}
