package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Replay asks for an event's operations to be run again.
type Replay struct {
	Mode                string   `json:"mode" enum:"resume,redeliver,reexecute" doc:"resume: what is unfinished or dead, with the same key; redeliver: what is completed as well, with the same key; reexecute: anew, under a new key."`
	Reason              string   `json:"reason" minLength:"1" maxLength:"2000"`
	AcceptDuplicateRisk bool     `json:"accept_duplicate_risk,omitempty" doc:"Accept that an effect may happen a second time."`
	Operations          []string `json:"operations,omitempty" maxItems:"100" doc:"Only those of these names; one that the event never had begins, if the configuration wants it."`
	DryRun              bool     `json:"dry_run,omitempty" doc:"Tell what would happen, and change nothing."`
}

// Replayed is what a replay did to one operation, or would do.
type Replayed struct {
	Operation
	Did          string `json:"did" enum:"retried,redelivered,reexecuted,released,revised,superseded,given_up,left" doc:"retried: the same operation, the same key; redelivered: a new operation with the same key; reexecuted: a new one with a new key; released: begun, of an event that was held; revised: begun, for a later content of the event; superseded: closed, because a later one takes its place; given_up: closed without an effect; left: nothing."`
	Why          string `json:"why,omitempty" doc:"Why it is left."`
	NeedsConsent bool   `json:"needs_consent,omitempty" doc:"It is done only with accept_duplicate_risk."`
}

// ReplayAnswer tells what a replay did, operation by operation.
type ReplayAnswer struct {
	Event  string     `json:"event"`
	Mode   string     `json:"mode"`
	DryRun bool       `json:"dry_run"`
	Items  []Replayed `json:"items"`
}

// Rejection closes an event that is held.
type Rejection struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
}

func (s *server) replays() {
	huma.Register(s.api, s.decides("/v1/events/{id}/replay", "replay-event", "Run an event's operations again", Operator), s.replayEvent)
	huma.Register(s.api, s.decides("/v1/events/{id}/reject", "reject-event", "Close an event that is held, without an effect", Operator), s.rejectEvent)
	huma.Register(s.api, s.decides("/v1/events/{id}/erase", "erase-event", "Erase what an event carried; it stays known", Admin), s.eraseEvent)
	huma.Register(s.api, s.decides("/v1/erasures", "begin-erasure", "Erase what every event carried that a filter finds", Admin), s.beginErasure)
	huma.Register(s.api, s.decides("/v1/replays", "begin-replay", "Replay every event that a filter finds", Operator), s.beginReplay)
	huma.Register(s.api, s.decides("/v1/replays/{id}/cancel", "cancel-replay", "End a bulk replay where it stands", Operator), s.cancelBulk)
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/replays", "list-replays", "List bulk replays and erasures, newest first", Viewer), s.listBulks)
	get := s.operation(http.MethodGet, "/v1/replays/{id}", "get-replay", "Show how far a bulk replay is", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.getBulk)
}

type replayRequest struct {
	EventRequest
	Once
	Body Replay
}

func (s *server) replayEvent(ctx context.Context, in *replayRequest) (*answer[ReplayAnswer], error) {
	id, err := onceward.ParseEventID(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	mode, err := onceward.ParseMode(in.Body.Mode)
	if err != nil {
		return nil, invalid(err.Error())
	}
	d, err := s.decision(in.Credential, in.Body.Reason, "", in.Body.AcceptDuplicateRisk)
	if err != nil {
		return nil, err
	}
	d.Once = in.IdempotencyKey
	const doing = "replay an event"
	h, err := s.Store.History(ctx, id)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	r := onceward.Replay{Decision: d, Mode: mode, Operations: in.Body.Operations, Held: true, KeyMemory: s.KeyMemory, DryRun: in.Body.DryRun}
	if h.Event.Verdict == onceward.QuarantinedBy || len(r.Operations) > 0 {
		if r.Reading, err = s.Reread(ctx, h.Event); err != nil {
			return nil, s.fail(doing, err)
		}
	}
	all, err := s.Store.Replay(ctx, id, r)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	if !r.DryRun {
		s.Wake()
	}
	return &answer[ReplayAnswer]{ReplayAnswer{Event: id.String(), Mode: in.Body.Mode, DryRun: r.DryRun, Items: s.replayedShapes(h.Event, all)}}, nil
}

func (s *server) replayedShapes(e onceward.Event, all []onceward.Replayed) []Replayed {
	items := make([]Replayed, len(all))
	for i, r := range all {
		items[i] = Replayed{Operation: s.operationShape(r.To), Did: r.Did, Why: r.Why, NeedsConsent: errors.Is(r.Err, onceward.ErrConsent)}
		items[i].Key = r.To.Downstream(e.Key, r.To.StepName())
		if r.To.ID.N == 0 { // it has no number before it is recorded
			items[i].ID = ""
		}
	}
	return items
}

type rejectRequest struct {
	EventRequest
	Body Rejection
}

func (s *server) rejectEvent(ctx context.Context, in *rejectRequest) (*answer[Event], error) {
	return s.closeEvent(ctx, in, "reject an event", s.Store.Reject)
}

func (s *server) eraseEvent(ctx context.Context, in *rejectRequest) (*answer[Event], error) {
	return s.closeEvent(ctx, in, "erase an event", s.Store.Erase)
}

func (s *server) closeEvent(ctx context.Context, in *rejectRequest, doing string, do func(context.Context, onceward.EventID, onceward.Decision) error) (*answer[Event], error) {
	id, err := onceward.ParseEventID(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	d, err := s.decision(in.Credential, in.Body.Reason, "", false)
	if err != nil {
		return nil, err
	}
	if err := do(ctx, id, d); err != nil {
		return nil, s.fail(doing, err)
	}
	h, err := s.Store.History(ctx, id)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	return &answer[Event]{s.eventShape(h.Event)}, nil
}
