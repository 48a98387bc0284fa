package api

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Conflict is a content that contradicts its event.
type Conflict struct {
	ID         string     `json:"id"`
	Event      string     `json:"event"`
	Source     string     `json:"source"`
	EventID    string     `json:"event_id" doc:"The sender's id; empty when the source hides ids."`
	Status     string     `json:"status" doc:"Of the event."`
	Type       string     `json:"type" doc:"Of the second content."`
	At         time.Time  `json:"at" doc:"When the second content came first."`
	OccurredAt *time.Time `json:"occurred_at" doc:"When the sender says that the second occurred."`
	Count      int        `json:"count" doc:"How often it came."`
	Decided    string     `json:"decided" enum:"open,first,second,neither,newer,older,refused" doc:"newer, older and refused are decisions of the source's on_conflict."`
	DecidedAt  *time.Time `json:"decided_at"`
}

// Body is one of a conflict's two contents.
type Body struct {
	Kept    bool    `json:"kept" doc:"Whether its bytes are still kept."`
	SHA256  string  `json:"sha256"`
	Bytes   int     `json:"bytes" doc:"0 when it is no longer kept."`
	Payload *string `json:"payload,omitempty" contentEncoding:"base64" doc:"The exact bytes; for operators."`
}

// ConflictPage is everything about one conflict.
type ConflictPage struct {
	Conflict
	First  Body         `json:"first"`
	Second Body         `json:"second"`
	JSON   bool         `json:"json" doc:"Whether both can be compared field by field."`
	Diff   []Difference `json:"diff" doc:"Where they differ; for operators, and only when both are JSON and kept."`
	Advice string       `json:"advice" doc:"The one safe next thing to do."`
}

// Resolution is what a person decides about a conflict.
type Resolution struct {
	Keep                string `json:"keep" enum:"first,second,neither" doc:"first: the event's own content counts, and what was held runs; second: it runs as a revision under its own key, and what had no effect yet of the first does not; neither: what was held is given up."`
	Reason              string `json:"reason" minLength:"1" maxLength:"2000"`
	AcceptDuplicateRisk bool   `json:"accept_duplicate_risk,omitempty" doc:"Needed for second when the first had, or may have had, its effect: the second comes on top of it."`
}

func (s *server) conflicts() {
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/conflicts", "list-conflicts", "List contents that contradict their events, newest first", Viewer), s.listConflicts)
	get := s.operation(http.MethodGet, "/v1/conflicts/{id}", "get-conflict", "Show both contents and where they differ", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.getConflict)
	huma.Register(s.api, s.decides("/v1/conflicts/{id}/resolve", "resolve-conflict", "Decide which content counts", Operator), s.resolveConflict)
}

func conflictShape(c onceward.Conflict) Conflict {
	return Conflict{
		ID: onceward.ConflictName(c.ID), Event: c.Of.ID.String(), Source: c.Of.Source, EventID: c.Of.EventID, Status: c.Of.Status(), Type: c.Type,
		At: c.At.UTC(), OccurredAt: moment(c.OccurredAt), Count: c.Count, Decided: c.Decided.String(), DecidedAt: moment(c.DecidedAt),
	}
}

type conflictQuery struct {
	Paging
	Source string `query:"source" doc:"Stable id of the source."`
	Event  string `query:"event" doc:"evt_…"`
	All    bool   `query:"all" doc:"Those that are decided as well."`
}

func (s *server) listConflicts(ctx context.Context, in *conflictQuery) (*answer[List[Conflict]], error) {
	q := onceward.ConflictQuery{Page: in.page(), Source: in.Source, Open: !in.All}
	var err error
	if in.Event != "" {
		if q.Event, err = onceward.ParseEventID(in.Event); err != nil {
			return nil, invalid(err.Error())
		}
	}
	found, next, err := s.Store.Conflicts(ctx, q)
	if err != nil {
		return nil, s.fail("list conflicts", err)
	}
	items := make([]Conflict, len(found))
	for i, c := range found {
		items[i] = conflictShape(c)
	}
	return page(items, next), nil
}

// ConflictRequest names a conflict.
type ConflictRequest struct {
	Credential
	ID string `path:"id" maxLength:"40" doc:"con_…"`
}

func (s *server) getConflict(ctx context.Context, in *ConflictRequest) (*answer[ConflictPage], error) {
	id, err := onceward.ParseConflict(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	out, err := s.conflictPage(ctx, id, s.caller(in.Authorization).role)
	if err != nil {
		return nil, err
	}
	return &answer[ConflictPage]{out}, nil
}

func (s *server) conflictPage(ctx context.Context, id int64, role Role) (ConflictPage, error) {
	c, err := s.Store.Conflict(ctx, id)
	if err != nil {
		return ConflictPage{}, s.fail("show a conflict", err)
	}
	out := ConflictPage{
		Conflict: conflictShape(c), Advice: adviseConflict(c), Diff: []Difference{},
		First:  Body{Kept: c.KeptFirst, SHA256: hex.EncodeToString(c.Of.Content[:]), Bytes: len(c.First.Body)},
		Second: Body{Kept: c.KeptSecond, SHA256: hex.EncodeToString(c.Content[:]), Bytes: len(c.Payload.Body)},
	}
	if !c.KeptFirst || !c.KeptSecond {
		return out, nil
	}
	var diff []Difference
	diff, out.JSON = differences(c.First.Body, c.Payload.Body)
	if role >= Operator {
		first, second := base64.StdEncoding.EncodeToString(c.First.Body), base64.StdEncoding.EncodeToString(c.Payload.Body)
		out.First.Payload, out.Second.Payload = &first, &second
		if out.JSON {
			out.Diff = append(out.Diff, diff...)
		}
	}
	return out, nil
}

func adviseConflict(c onceward.Conflict) string {
	id := onceward.ConflictName(c.ID)
	if c.Decided != onceward.KeepOpen {
		return "Nothing to do: it is decided (" + c.Decided.String() + ")."
	}
	for _, o := range c.Of.Operations {
		if o.State == onceward.Quarantined && o.Reason == onceward.Contradicted {
			return "Nothing of it runs before you decide. Ask the sender which content counts, then: onceward conflicts resolve " + id + " --keep first|second|neither --reason …"
		}
	}
	return "The first content had its effect, or is on its way. If that is right: onceward conflicts resolve " + id + " --keep first --reason …; if the second must happen as well: --keep second --accept-duplicate-risk."
}

type resolutionRequest struct {
	ConflictRequest
	Body Resolution
}

func (s *server) resolveConflict(ctx context.Context, in *resolutionRequest) (*answer[ReplayAnswer], error) {
	id, err := onceward.ParseConflict(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	keep, err := onceward.ParseKeep(in.Body.Keep)
	if err != nil {
		return nil, invalid(err.Error())
	}
	d, err := s.decision(in.Credential, in.Body.Reason, "", in.Body.AcceptDuplicateRisk)
	if err != nil {
		return nil, err
	}
	const doing = "resolve a conflict"
	c, err := s.Store.Conflict(ctx, id)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	var reading *onceward.Arrival
	if keep == onceward.KeepSecond && c.KeptSecond {
		e := c.Of
		e.Type, e.Version, e.OccurredAt = c.Type, c.Version, c.OccurredAt
		reading = s.RereadBody(e, c.Payload)
	}
	all, err := s.Store.DecideConflict(ctx, id, keep, reading, d)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	s.Wake()
	return &answer[ReplayAnswer]{ReplayAnswer{Event: c.Of.ID.String(), Mode: "keep " + keep.String(), Items: s.replayedShapes(c.Of, all)}}, nil
}
