package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Retry asks for an operation to be run again with the same key.
type Retry struct {
	Reason              string `json:"reason" minLength:"1" maxLength:"2000"`
	AcceptDuplicateRisk bool   `json:"accept_duplicate_risk,omitempty" doc:"Accept that the effect may happen a second time."`
}

// Resolve says what a person found at the other side.
type Resolve struct {
	Outcome  string `json:"outcome" enum:"completed,not_applied"`
	Evidence string `json:"evidence" minLength:"1" maxLength:"4000" doc:"What was seen at the other side, and where."`
	Reason   string `json:"reason" minLength:"1" maxLength:"2000"`
	Result   string `json:"result,omitempty" maxLength:"1024" doc:"The other side's reference, for completed."`
}

// Abandon gives an operation up.
type Abandon struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
}

func (s *server) operations() {
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/operations", "list-operations", "List operations, newest first", Viewer), s.listOperations)
	get := s.operation(http.MethodGet, "/v1/operations/{id}", "get-operation", "Show an operation", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.getOperation)
	decide := func(name, summary string) huma.Operation {
		return s.decides("/v1/operations/{id}/"+name, name+"-operation", summary, Operator)
	}
	huma.Register(s.api, decide("retry", "Run an operation again, with the same key"), s.retryOperation)
	huma.Register(s.api, decide("resolve", "Record what was found at the other side"), s.resolveOperation)
	huma.Register(s.api, decide("abandon", "Give an operation up"), s.abandonOperation)
}

type operationQuery struct {
	Paging
	State string    `query:"state"`
	Name  string    `query:"name"`
	Event string    `query:"event" doc:"evt_…"`
	Since time.Time `query:"since"`
	Until time.Time `query:"until"`
}

func (s *server) listOperations(ctx context.Context, in *operationQuery) (*answer[List[Operation]], error) {
	q := onceward.OperationQuery{Page: in.page(), Name: in.Name, Since: in.Since, Until: in.Until}
	var err error
	if in.State != "" {
		if q.State, err = onceward.ParseState(in.State); err != nil {
			return nil, invalid(err.Error())
		}
	}
	if in.Event != "" {
		if q.Event, err = onceward.ParseEventID(in.Event); err != nil {
			return nil, invalid(err.Error())
		}
	}
	found, next, err := s.Store.Operations(ctx, q)
	if err != nil {
		return nil, s.fail("list operations", err)
	}
	return page(s.operationShapes(found), next), nil
}

// OperationRequest names an operation.
type OperationRequest struct {
	Credential
	ID string `path:"id" maxLength:"60" doc:"op_…"`
}

func (s *server) getOperation(ctx context.Context, in *OperationRequest) (*answer[Operation], error) {
	var steps []onceward.RecoveryPoint
	var shown onceward.Operation
	out, err := s.decide("show an operation", in.ID, func(id onceward.OperationID) (o onceward.Operation, err error) {
		if o, err = s.Store.Operation(ctx, id); err == nil && o.Plan != "" {
			steps, err = s.Store.Steps(ctx, id)
		}
		shown = o
		return o, err
	})
	if err == nil {
		out.Body.Steps = stepShapes(shown, steps)
	}
	return out, err
}

// decide answers with the operation that do returns.
func (s *server) decide(doing, id string, do func(onceward.OperationID) (onceward.Operation, error)) (*answer[Operation], error) {
	parsed, err := onceward.ParseOperationID(id)
	if err != nil {
		return nil, invalid(err.Error())
	}
	o, err := do(parsed)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	return &answer[Operation]{s.operationShape(o)}, nil
}

// decision names who decides; the actor is never what a request claims.
func (s *server) decision(from Credential, reason, evidence string, consent bool) (onceward.Decision, error) {
	d := onceward.Decision{
		Actor: s.caller(from.Authorization).name, Reason: strings.TrimSpace(reason), Evidence: strings.TrimSpace(evidence), Consent: consent,
	}
	if d.Reason == "" {
		return d, invalid("a reason is required; it lands in the audit log")
	}
	return d, nil
}

type retryRequest struct {
	OperationRequest
	Once
	Body Retry
}

func (s *server) retryOperation(ctx context.Context, in *retryRequest) (*answer[Operation], error) {
	d, err := s.decision(in.Credential, in.Body.Reason, "", in.Body.AcceptDuplicateRisk)
	if err != nil {
		return nil, err
	}
	d.Once = in.IdempotencyKey
	return s.waking(s.decide("retry an operation", in.ID, func(id onceward.OperationID) (onceward.Operation, error) {
		return s.Store.Retry(ctx, id, d)
	}))
}

type resolveRequest struct {
	OperationRequest
	Body Resolve
}

func (s *server) resolveOperation(ctx context.Context, in *resolveRequest) (*answer[Operation], error) {
	d, err := s.decision(in.Credential, in.Body.Reason, in.Body.Evidence, false)
	if err != nil {
		return nil, err
	}
	completed := in.Body.Outcome == "completed"
	if d.Evidence == "" {
		return nil, invalid("evidence is required: what was seen at the other side, and where")
	}
	if !completed && in.Body.Result != "" {
		return nil, invalid("a result belongs to outcome completed; what was not applied has none")
	}
	return s.waking(s.decide("resolve an operation", in.ID, func(id onceward.OperationID) (onceward.Operation, error) {
		return s.Store.Resolve(ctx, id, completed, in.Body.Result, d)
	}))
}

type abandonRequest struct {
	OperationRequest
	Body Abandon
}

func (s *server) abandonOperation(ctx context.Context, in *abandonRequest) (*answer[Operation], error) {
	d, err := s.decision(in.Credential, in.Body.Reason, "", false)
	if err != nil {
		return nil, err
	}
	return s.decide("abandon an operation", in.ID, func(id onceward.OperationID) (onceward.Operation, error) {
		return s.Store.Abandon(ctx, id, d)
	})
}

// waking tells the workers when a decision left work due.
func (s *server) waking(out *answer[Operation], err error) (*answer[Operation], error) {
	if err == nil && out.Body.NextAt != nil {
		s.Wake()
	}
	return out, err
}
