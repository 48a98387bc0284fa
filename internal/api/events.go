package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// List is one page of a listing.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"Pass it as after for the next page; empty on the last."`
}

type answer[T any] struct{ Body T }

func page[T any](items []T, next string) *answer[List[T]] {
	if items == nil {
		items = []T{}
	}
	return &answer[List[T]]{List[T]{items, next}}
}

// Credential is the part of a request that says who makes it. It is exported,
// as every embedded part must be, because huma fills only those in.
type Credential struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

// Once is the part of a request that names it, so that it is carried out once.
type Once struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"Names this request: a second one with the same name changes nothing and is answered 409, or 422 when it asks for something else. Without it each request counts."`
}

// Paging is the part of a request that says which page it wants.
type Paging struct {
	After string `query:"after" maxLength:"200" doc:"The next of the page before."`
	Limit int    `query:"limit" default:"50" minimum:"1" maximum:"500"`
}

func (p Paging) page() onceward.Page { return onceward.Page{After: p.After, Limit: p.Limit} }

type eventQuery struct {
	Paging
	Source  string    `query:"source" doc:"Stable id of the source."`
	Account string    `query:"account" doc:"The sender's sub-account."`
	Type    string    `query:"type" doc:"Event type; a * may end it."`
	Status  string    `query:"status" doc:"A state, or a verdict of an event without operations."`
	Q       string    `query:"q" maxLength:"600" doc:"Any id: ours, the sender's, a downstream key, an operation's."`
	Since   time.Time `query:"since" doc:"Received at or after."`
	Until   time.Time `query:"until" doc:"Received before."`
}

// EventPage is everything about one event.
type EventPage struct {
	Event
	Advice   string              `json:"advice" doc:"The one safe next thing to do."`
	Timeline []Entry             `json:"timeline"`
	Payload  *string             `json:"payload,omitempty" contentEncoding:"base64" doc:"The exact bytes, while they are kept; for operators."`
	Headers  map[string][]string `json:"headers,omitempty" doc:"The headers kept with them; for operators."`
}

func (s *server) events() {
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/events", "list-events", "List events, newest first", Viewer), s.listEvents)
	get := s.operation(http.MethodGet, "/v1/events/{id}", "get-event", "Show everything about an event", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.getEvent)
}

func (s *server) listEvents(ctx context.Context, in *eventQuery) (*answer[List[Event]], error) {
	if in.Status != "" && !isStatus(in.Status) {
		return nil, notAStatus()
	}
	found, next, err := s.Store.Events(ctx, onceward.EventQuery{
		Page: in.page(), Source: in.Source, Account: in.Account, Type: in.Type, Status: in.Status, Search: strings.TrimSpace(in.Q), Since: in.Since, Until: in.Until,
	})
	if err != nil {
		return nil, s.fail("list events", err)
	}
	items := make([]Event, len(found))
	for i, e := range found {
		items[i] = s.eventShape(e)
	}
	return page(items, next), nil
}

func notAStatus() error {
	return invalid("status is neither a state (" + strings.Join(stateNames(), ", ") + ") nor accepted, quarantined or ignored")
}

func isStatus(name string) bool {
	for _, v := range []onceward.Verdict{onceward.Accepted, onceward.QuarantinedBy, onceward.Ignored} {
		if v.String() == name {
			return true
		}
	}
	_, err := onceward.ParseState(name)
	return err == nil
}

func stateNames() []string {
	var names []string
	for _, s := range onceward.States() {
		names = append(names, s.String())
	}
	return names
}

// EventRequest names an event.
type EventRequest struct {
	Credential
	ID string `path:"id" maxLength:"40" doc:"evt_…"`
}

func (s *server) getEvent(ctx context.Context, in *EventRequest) (*answer[EventPage], error) {
	id, err := onceward.ParseEventID(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	h, err := s.Store.History(ctx, id)
	if err != nil {
		return nil, s.fail("show an event", err)
	}
	pauses, err := s.Store.Pauses(ctx)
	if err != nil {
		return nil, s.fail("show an event", err)
	}
	out := EventPage{Event: s.eventShape(h.Event), Timeline: timeline(h), Advice: s.advise(h, pauses, time.Now())}
	for i, o := range h.Event.Operations {
		out.Operations[i].Key = o.Downstream(h.Event.Key, o.StepName())
		out.Operations[i].Steps = stepShapes(o, h.Steps)
	}
	if s.caller(in.Authorization).role >= Operator {
		if err := s.addPayload(ctx, id, &out); err != nil {
			return nil, s.fail("show an event", err)
		}
	}
	return &answer[EventPage]{out}, nil
}

// addPayload adds what was delivered, unless it is no longer kept.
func (s *server) addPayload(ctx context.Context, id onceward.EventID, out *EventPage) error {
	p, err := s.Store.Payload(ctx, id)
	if errors.Is(err, onceward.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	body := base64.StdEncoding.EncodeToString(p.Body)
	out.Payload, out.Headers = &body, headers(p.Header)
	return nil
}

func headers(lines []byte) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(string(lines)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			name = textproto.CanonicalMIMEHeaderKey(name)
			all[name] = append(all[name], value)
		}
	}
	return all
}
