package onceward

import (
	"fmt"
	"time"
)

// OnStale says what becomes of an event that is not known and that happened
// longer ago than keys are remembered: it may be a copy of one that was
// forgotten. The zero value lets a person look.
type OnStale uint8

// The policies.
const (
	ReviewStale OnStale = 0 // it is held for a person
	AcceptStale OnStale = 1 // it is new
	RejectStale OnStale = 2 // it is refused, and not recorded
)

// Age says why an arrival whose key is new may be a copy of an event that was
// forgotten: it happened before the memory of keys begins, or before the store
// was restored from a backup. refuse means that it shall not be recorded.
// Without an authentic time nobody can say so, and it is new.
func (a *Admission) Age(r *Arrival, restored time.Time) (why string, refuse bool) {
	const layout = "2006-01-02 15:04 UTC"
	happened := r.Authentic
	switch {
	case happened.IsZero():
		return "", false
	case happened.Before(restored):
		return Restored + "it happened at " + happened.UTC().Format(layout) + ", before the store was restored from a backup at " + restored.UTC().Format(layout) + "; it may have run before", false
	case a.Stale == AcceptStale || a.At.Sub(happened) <= a.Keys:
		return "", false
	}
	return Stale + "it happened at " + happened.UTC().Format(layout) + ", and keys are remembered for " + told(a.Keys) + "; it may have run before", a.Stale == RejectStale
}

func told(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// Sendable says why nothing of an event can be sent any more; nil while it can.
func (e Event) Sendable() error {
	if e.Erased.IsZero() {
		return nil
	}
	return fmt.Errorf("%w: what it carried was erased, so there is nothing to send", ErrNotAllowed)
}

// Erase says whether what an event carried may be erased: nothing that still
// has to run may lose what it carries.
func (e Event) Erase(d Decision) error {
	if err := d.check(false); err != nil {
		return err
	}
	if !e.Erased.IsZero() {
		return fmt.Errorf("%w: it was erased at %s", ErrNotAllowed, e.Erased.UTC().Format(time.RFC3339))
	}
	for _, o := range e.Operations {
		if o.State.Open() {
			return fmt.Errorf("%w: operation %s is %s and still needs it; let it end, or abandon it", ErrNotAllowed, o.ID, o.State)
		}
	}
	return nil
}
