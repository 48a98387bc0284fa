package api

import (
	"encoding/hex"
	"time"

	"github.com/onceward/onceward"
)

// Event is an event as the API shows it.
type Event struct {
	ID          string      `json:"id"`
	Source      string      `json:"source"`
	Tenant      string      `json:"tenant"`
	Environment string      `json:"environment"`
	Mode        string      `json:"mode" doc:"The sender's own live or test marker."`
	Account     string      `json:"account" doc:"The sender's sub-account."`
	EventID     string      `json:"event_id" doc:"The sender's id; empty when the source hides ids."`
	Type        string      `json:"type"`
	Version     string      `json:"version"`
	Status      string      `json:"status" doc:"The worst state of its operations; its verdict when it has none."`
	Reason      string      `json:"reason" doc:"Why it was quarantined."`
	ReceivedAt  time.Time   `json:"received_at"`
	OccurredAt  *time.Time  `json:"occurred_at" doc:"When the sender says that it happened."`
	LastSeenAt  *time.Time  `json:"last_seen_at"`
	ErasedAt    *time.Time  `json:"erased_at" doc:"When what it carried was erased."`
	Deliveries  int         `json:"deliveries" doc:"All of them, the first included."`
	Conflicts   int         `json:"conflicts" doc:"Deliveries with other content."`
	Item        int         `json:"item,omitempty" doc:"Its place in a batch."`
	Of          int         `json:"of,omitempty" doc:"Items of that batch."`
	Operations  []Operation `json:"operations"`
}

// Operation is an operation as the API shows it.
type Operation struct {
	ID          string     `json:"id"`
	Event       string     `json:"event" doc:"The event that causes it."`
	Name        string     `json:"name"`
	Destination string     `json:"destination" doc:"Where its effect happens, as configured now."`
	State       string     `json:"state"`
	Step        string     `json:"step,omitempty" doc:"The step that runs or is next, of an operation of several."`
	Steps       []Step     `json:"steps,omitempty" doc:"The steps that are done, with their results; shown with a single operation and with the whole event."`
	Effect      string     `json:"effect" doc:"What the other side makes of a repeated call."`
	Attempt     int        `json:"attempt" doc:"Attempts begun."`
	Result      string     `json:"result" doc:"The reference that the other side gave."`
	Reason      string     `json:"reason" doc:"Why it stands where it stands."`
	NextAt      *time.Time `json:"next_at" doc:"When it is tried next; of an unknown outcome, when the other side is asked next."`
	LeaseUntil  *time.Time `json:"lease_until" doc:"Until when its owner may be silent."`
	Fence       int64      `json:"fence"`
	Generation  int        `json:"generation" doc:"Rises when it is to run again under a new key."`
	Redelivery  int        `json:"redelivery" doc:"Rises when a completed one is repeated with the same key."`
	Revision    string     `json:"revision,omitempty" doc:"SHA-256 of the later content that it carries; empty for the event's first."`
	Superseded  bool       `json:"superseded" doc:"Completed without its effect, because a later operation took its place."`
	WasUnknown  bool       `json:"was_unknown" doc:"Its outcome was unknown at some time; repeating needs consent."`
	Disputed    bool       `json:"disputed" doc:"A late report contradicts what was decided since."`
	Key         string     `json:"key,omitempty" doc:"The Idempotency-Key that the other side is sent; shown with the whole event."`
	ChangedAt   *time.Time `json:"changed_at"`
}

// Step is a recovery point: a step that is done and is not repeated.
type Step struct {
	Name    string     `json:"name"`
	Result  string     `json:"result" doc:"The reference that the other side gave."`
	Attempt int        `json:"attempt" doc:"The attempt that did it."`
	DoneAt  *time.Time `json:"done_at"`
}

// stepShapes are the finished steps of an operation's present generation.
func stepShapes(o onceward.Operation, all []onceward.RecoveryPoint) (out []Step) {
	for _, s := range all {
		if s.Operation == o.ID && s.Generation == o.Generation {
			out = append(out, Step{Name: s.Name, Result: s.Result, Attempt: s.Attempt, DoneAt: moment(s.At)})
		}
	}
	return out
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (s *server) eventShape(e onceward.Event) Event {
	out := Event{
		ID: e.ID.String(), Source: e.Source, Tenant: e.Tenant, Environment: e.Env, Mode: e.Mode, Account: e.Account,
		EventID: e.EventID, Type: e.Type, Version: e.Version, Status: e.Status(), Reason: e.Reason,
		ReceivedAt: e.Received(), OccurredAt: moment(e.OccurredAt), LastSeenAt: moment(e.LastSeen), ErasedAt: moment(e.Erased),
		Deliveries: e.Deliveries, Conflicts: e.Conflicts, Item: e.Item, Of: e.Of, Operations: s.operationShapes(e.Operations),
	}
	return out
}

func (s *server) operationShapes(all []onceward.Operation) []Operation {
	out := make([]Operation, len(all))
	for i, o := range all {
		out[i] = s.operationShape(o)
	}
	return out
}

func (s *server) operationShape(o onceward.Operation) Operation {
	out := Operation{
		ID: o.ID.String(), Event: o.ID.Event.String(), Name: o.Name, Destination: s.destination(o), State: o.State.String(), Effect: o.Effect.String(),
		Attempt: o.Attempt, Result: o.Result, Reason: o.Reason, Fence: o.Fence, Generation: o.Generation,
		Redelivery: o.Redelivery, Revision: hex.EncodeToString([]byte(o.Revision)), Superseded: o.Superseded,
		WasUnknown: o.Unknown, Disputed: o.Disputed, ChangedAt: moment(o.Changed),
	}
	if o.State != onceward.Completed {
		out.Step = o.StepName()
	}
	switch {
	case underWay(o):
		out.LeaseUntil = moment(o.DueAt)
	case o.DueAt.Equal(onceward.Behind):
	case o.AskAt.IsZero():
		out.NextAt = moment(o.DueAt)
	default:
		out.NextAt = moment(o.AskAt)
	}
	return out
}

// underWay tells an operation that somebody works on from one that waits for
// its repetition with an open intent: only the first has an owner.
func underWay(o onceward.Operation) bool { return o.State == onceward.Processing && o.Owner != "" }

// Entry is one thing that happened to an event.
type Entry struct {
	At        time.Time `json:"at"`
	Kind      string    `json:"kind" enum:"delivery,operation,attempt,step,conflict,audit"`
	Text      string    `json:"text" doc:"What happened, in one sentence."`
	Count     int       `json:"count,omitempty" doc:"How many deliveries, or contradicting ones, this stands for."`
	Verdict   string    `json:"verdict,omitempty"`
	Remote    string    `json:"remote,omitempty" doc:"Address that a delivery came from."`
	Secret    string    `json:"secret,omitempty" doc:"Label of the secret that verified a delivery."`
	Operation string    `json:"operation,omitempty"`
	Name      string    `json:"name,omitempty" doc:"The operation's name."`
	Attempt   int       `json:"attempt,omitempty"`
	Fence     int64     `json:"fence,omitempty"`
	Outcome   string    `json:"outcome,omitempty"`
	Answered  int       `json:"answered,omitempty" doc:"HTTP status that the other side answered."`
	State     string    `json:"state,omitempty" doc:"Where it left the operation."`
	Actor     string    `json:"actor,omitempty"`
	Action    string    `json:"action,omitempty"`
	From      string    `json:"from,omitempty"`
	To        string    `json:"to,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Evidence  string    `json:"evidence,omitempty"`
	Mode      string    `json:"mode,omitempty" doc:"Of the replay that it was part of."`
	Consent   bool      `json:"consent,omitempty" doc:"The risk of a second effect was accepted."`
}
