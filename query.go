package onceward

import "time"

// Page bounds a listing: at most Limit rows after the cursor After.
type Page struct {
	After string
	Limit int
}

// EventQuery selects events; zero fields do not filter.
type EventQuery struct {
	Page
	Source, Type string // Type may end in *
	Account      string // the sender's sub-account
	Status       string // a verdict's or a state's name: the worst state of its operations
	Search       string // any id: ours, the sender's, a downstream key, an operation
	Since, Until time.Time
}

// OperationQuery selects operations; zero fields do not filter.
type OperationQuery struct {
	Page
	State        State
	Name         string
	Event        EventID
	Since, Until time.Time
}

// ConflictQuery selects contents that contradict their events; zero fields do
// not filter.
type ConflictQuery struct {
	Page
	Source string
	Event  EventID
	Open   bool // only what nobody has decided about
}

// AuditQuery selects rows of the audit log; zero fields do not filter.
type AuditQuery struct {
	Page
	Actor, Action string // Action may end in *
	Event         EventID
	Since, Until  time.Time
}

// History is everything recorded about one event.
type History struct {
	Event      Event
	Deliveries []Delivery
	Attempts   []Attempt
	Steps      []RecoveryPoint
	Conflicts  []Evidence // without payloads
	Audits     []Audit
}

// Count is how many operations of one name stand in one state.
type Count struct {
	Operation string
	State     State
	N         int64
}

// Pause says that a destination gets no calls, by whom and why.
type Pause struct {
	Destination string
	At          time.Time
	Actor       string
	Reason      string
}

// ClaimRequest asks for due operations of one name that stand at one step, or
// for those of which the other side is to be asked; then Name, Step and Limit count.
type ClaimRequest struct {
	Name   string
	Step   int // from 0
	Owner  string
	Effect Effect
	Limits Limits
	Intend bool
	Limit  int
}
