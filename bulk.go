package onceward

import (
	"fmt"
	"strings"
	"time"
)

// Bulk is one decision about every event that a filter finds. It is carried out
// step by step, survives a restart, and can be watched and cancelled.
type Bulk struct {
	ID         int64
	At         time.Time
	Mode       Mode
	Decision   Decision
	Filter     EventQuery // without its page
	Operations []string
	Expect     int       // events that the filter found when it was confirmed
	Cursor     string    // where it goes on
	Seen       int       // events looked at
	Changed    int       // of these, changed
	Left       int       // of these, with nothing to do
	Refused    int       // of these, not allowed; Refusal has the last reason
	Refusal    string    // why the last of these was refused
	Ended      time.Time // zero while it runs
	Cancelled  bool
}

// String returns the bulk's name: "bulk_" and 13 characters.
func (b Bulk) String() string { return BulkName(b.ID) }

// BulkName writes a bulk's number as people see it.
func BulkName(id int64) string { return "bulk_" + EventID(id).String()[4:] }

// ParseBulk reads what [Bulk.String] wrote.
func ParseBulk(s string) (int64, error) {
	rest, ok := strings.CutPrefix(s, "bulk_")
	id, err := ParseEventID("evt_" + rest)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not the id of a bulk replay (bulk_ and %d characters)", s, idLength)
	}
	return int64(id), nil
}

// State is how a bulk stands: running, done or cancelled.
func (b Bulk) State() string {
	switch {
	case b.Cancelled:
		return "cancelled"
	case b.Ended.IsZero():
		return "running"
	}
	return "done"
}

// Held reports whether a bulk may touch what is held for a person: only
// when its filter asks for held events.
func (b Bulk) Held() bool { return b.Filter.Status == Quarantined.String() }

// Step is one event of a bulk's next few, and what the configuration makes of
// it where that is needed.
type Step struct {
	Event     EventID
	Reading   *Arrival
	KeyMemory map[string]time.Duration
	// Fault is why the event could not be read; then it is refused.
	Fault string
}
