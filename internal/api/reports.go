package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Audit is one change that a person, or the janitor, made.
type Audit struct {
	ID        int64     `json:"id"`
	At        time.Time `json:"at"`
	Actor     string    `json:"actor"`
	Action    string    `json:"action" doc:"A transition, as docs/reference/states.md has them, or what was done."`
	Target    string    `json:"target" doc:"Id of the event, operation, conflict or bulk, or name of the destination."`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Fence     int64     `json:"fence"`
	Reason    string    `json:"reason"`
	Evidence  string    `json:"evidence"`
	Mode      string    `json:"mode" doc:"Of the replay that it was part of: resume, redeliver or reexecute."`
	Consent   bool      `json:"consent" doc:"The risk of a second effect was accepted."`
	Operation string    `json:"operation"`
}

// Stats is how everything stands, from counters kept as things happen.
type Stats struct {
	Version    string  `json:"version"`
	Operations []Count `json:"operations"`
}

// Count is how many operations of one name stand in one state.
type Count struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Count int64  `json:"count"`
}

func (s *server) reports() {
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/audit", "list-audit", "List the changes that people made, newest first", Viewer), s.listAudit)
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/stats", "get-stats", "Count operations by name and state", Viewer), s.getStats)
}

type auditQuery struct {
	Paging
	Actor  string    `query:"actor" doc:"A token's name, local, intake, worker, gate, janitor, reconciler or late owner."`
	Action string    `query:"action" doc:"A transition, or what was done; a * may end it."`
	Event  string    `query:"event" doc:"evt_…"`
	Since  time.Time `query:"since"`
	Until  time.Time `query:"until"`
}

func (s *server) listAudit(ctx context.Context, in *auditQuery) (*answer[List[Audit]], error) {
	q := onceward.AuditQuery{Page: in.page(), Actor: in.Actor, Action: in.Action, Since: in.Since, Until: in.Until}
	if in.Event != "" {
		var err error
		if q.Event, err = onceward.ParseEventID(in.Event); err != nil {
			return nil, invalid(err.Error())
		}
	}
	found, next, err := s.Store.Audit(ctx, q)
	if err != nil {
		return nil, s.fail("list the audit log", err)
	}
	items := make([]Audit, len(found))
	for i, a := range found {
		items[i] = Audit{
			ID: a.ID, At: a.At.UTC(), Actor: a.Actor, Action: a.Action, Target: a.Target, From: a.From, To: a.To,
			Fence: a.Fence, Reason: a.Reason, Evidence: a.Evidence, Mode: a.Mode, Consent: a.Consent,
		}
		if a.Operation.N > 0 {
			items[i].Operation = a.Operation.String()
		}
	}
	return page(items, next), nil
}

func (s *server) getStats(ctx context.Context, _ *struct{}) (*answer[Stats], error) {
	counts, err := s.Store.Counts(ctx)
	if err != nil {
		return nil, s.fail("count operations", err)
	}
	out := Stats{Version: s.Version, Operations: make([]Count, len(counts))}
	for i, c := range counts {
		out.Operations[i] = Count{c.Operation, c.State.String(), c.N}
	}
	return &answer[Stats]{out}, nil
}
