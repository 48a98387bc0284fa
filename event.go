package onceward

import "time"

// Verdict is what intake found about one delivered event.
type Verdict uint8

// The verdicts. The numbers are stored.
const (
	Accepted      Verdict = 1 // new, recorded, its operations will run
	Duplicate     Verdict = 2 // known, same content
	Conflicting   Verdict = 3 // known, other content
	QuarantinedBy Verdict = 4 // authentic, but held for a person
	Ignored       Verdict = 5 // authentic, recorded, no operation wants it
)

var verdictNames = [...]string{"", "accepted", "duplicate", "conflict", "quarantined", "ignored"}

func (v Verdict) String() string { return verdictNames[v] }

// Event is the logical signal that deliveries are copies of.
type Event struct {
	ID         EventID
	Key        Digest
	Tenant     string
	Source     string // stable id of the source
	Env        string
	Mode       string
	Account    string
	EventID    string // the sender's id; empty when the source hides ids
	Type       string
	Version    string
	Verdict    Verdict // Accepted, QuarantinedBy or Ignored
	Reason     string  // why it was quarantined
	Content    [32]byte
	OccurredAt time.Time // zero when the sender does not say
	LastSeen   time.Time
	Erased     time.Time // when what it carried was erased; zero otherwise
	Deliveries int       // all of them, the first included
	Conflicts  int
	Item, Of   int // place in a batch body, from 1; 0 of 0 otherwise
	Operations []Operation
}

// Received is when the first delivery was recorded.
func (e Event) Received() time.Time { return e.ID.Time() }

// Status is what an event shows: the worst state of its operations, or its
// verdict when it has none.
func (e Event) Status() string {
	var worst State
	for _, o := range e.Operations {
		if o.State.Rank() > worst.Rank() {
			worst = o.State
		}
	}
	if worst == noState {
		return e.Verdict.String()
	}
	return worst.String()
}

// Delivery is one or more arrivals of an event with one verdict. Copies that
// were committed together are one record with a count.
type Delivery struct {
	At      time.Time
	Verdict Verdict
	Count   int
	Secret  string // label of the secret that verified it
	Remote  string // address it came from
}

// Attempt is one leased run of an operation that has ended.
type Attempt struct {
	Operation OperationID
	Number    int
	Owner     string // who made it
	Fence     int64
	Started   time.Time
	Ended     time.Time
	Outcome   string // completed, not_applied, refused, ambiguous, lost
	Status    int    // answered HTTP status; 0 without an answer
	State     State  // where it left the operation
	Reason    string
}

// RecoveryPoint is a step of an operation that is done and is not repeated,
// whatever happens to the steps after it.
type RecoveryPoint struct {
	Operation  OperationID
	Generation int
	N          int // from 0
	Name       string
	Result     string // the other side's reference
	Attempt    int    // that did it
	Fence      int64
	At         time.Time
}

// Payload is what a delivery carried, byte for byte, and the headers kept of it.
type Payload struct {
	Header []byte // header lines "Name: value\n", names canonical, in order of name
	Body   []byte
}

// Evidence is a delivery that contradicts its event.
type Evidence struct {
	ID            int64
	Event         EventID
	At            time.Time
	Count         int
	Content       [32]byte
	Type, Version string
	OccurredAt    time.Time
	Decided       Keep
	DecidedAt     time.Time
	Payload       Payload
}

// Audit is one change that a person, or the janitor, made.
type Audit struct {
	ID        int64
	At        time.Time
	Actor     string
	Action    string
	Target    string // id of the event or operation, or name of the destination
	From, To  string
	Fence     int64
	Reason    string
	Evidence  string
	Mode      string // of the replay that it was part of: resume, redeliver or reexecute
	Consent   bool   // the risk of a second effect was accepted
	Operation OperationID
}

// Planned is an operation that an event will cause.
type Planned struct {
	Name   string
	Effect Effect
	// Owner and Lease are set when a local worker is waiting for it: the
	// operation is then born leased, in the same write. Intend also opens its
	// intent.
	Owner  string
	Lease  time.Duration
	Intend bool
	Order  Order // Unordered unless its source's events are ordered
	Plan   Plan  // its steps
}

// Arrival is one event inside a delivery.
type Arrival struct {
	Key     Key
	Shown   string // the sender's id as people know it, parts joined with |
	Digest  Digest
	Aliases []Digest // digests under older peppers
	// Body is the digest of the signed body, for senders whose event id is not
	// signed; zero otherwise. A body known under another id is quarantined.
	Body       Digest
	Type       string
	Version    string
	OccurredAt time.Time
	Authentic  time.Time // when it happened, as far as the signature vouches for it; zero when nobody does
	Content    [32]byte  // SHA-256 of Raw
	StreamKey  string    // the sender's ordering key; empty without an order
	Stream     Digest    // of the ordering key
	Place      Place     // in the stream
	Raw        []byte    // the event's exact bytes: the body, or the item in it
	Item, Of   int
	HideID     bool
	Verdict    Verdict // Accepted, Ignored or QuarantinedBy
	Reason     string
	Operations []Planned
}

// Admission is one delivery on its way in. All of it is recorded, or nothing.
type Admission struct {
	At       time.Time
	Header   []byte // kept headers, as in [Payload]
	Secret   string
	Remote   string
	Payloads time.Duration // how long payloads are kept
	Keys     time.Duration // how long the key is remembered
	Longest  time.Duration // and no longer than this after its first sighting; 0 is no bound
	Stale    OnStale       // what becomes of a new key that is older than the memory
	Coalesce bool          // a level trigger: an unchanged copy runs again, bursts merge
	Arrivals []Arrival
}

// Admitted is what became of one arrival.
type Admitted struct {
	Event   EventID
	Verdict Verdict
	Reason  string // why the event is quarantined, also when this is a copy of it
	// Differs means that the event is known with another content hash, and
	// that nothing was recorded: the caller must compare the two bodies and
	// record a copy or a conflict.
	Differs bool
	// Again means that a known event has new operations: of a later content, or
	// of a level trigger. They were recorded without a worker's place.
	Again bool
	// Refused means that nothing was recorded, because the key is new and its
	// event older than the memory, and its source wants such events refused.
	Refused    bool
	FirstSeen  time.Time
	Operations []Operation
}

// MaxCarried is the largest body, in bytes, that waits in memory for its call;
// a larger one is read from the store when that begins.
const MaxCarried = 64 << 10

// Leased is an operation that a worker was given, with all it needs to run it.
type Leased struct {
	Operation Operation
	Lease     Lease
	Event     Event  // without Operations
	Missing   bool   // the payload is no longer kept
	Large     bool   // the payload is to be read when the call begins
	Fault     string // why event or payload could not be read; nothing may be sent
	Recovered bool   // taken over from an owner that fell silent
	Payload   Payload
	Results   map[string]string // of the steps that are done, by name
}
