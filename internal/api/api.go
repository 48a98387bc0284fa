// Package api is the admin API over HTTP: what operators, their scripts and the
// commands read and decide. It owns the JSON shapes, who may see and do what,
// and the one table from errors to statuses; it owns no state and decides
// nothing about operations itself. Every change carries an actor, which comes
// from the token and never from the request's body, and a reason.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onceward/onceward"
)

// Options is what the API works with. Store is required.
type Options struct {
	Store Store
	// Tokens that may call; without any, every request has full rights under
	// the name "local", so the listener must be on loopback.
	Tokens []Token
	// Listen is the address that the API is served on. Without tokens a
	// request must name it, or loopback, as its Host.
	Listen string
	// Sources are the configured sources' stable ids.
	Sources []string
	// Destinations are the configured destinations' names.
	Destinations []string
	// Routes tells each operation's destinations, step by step, by the
	// operation's name.
	Routes map[string][]string
	// Reread says what the configuration of today makes of a recorded event; nil
	// when its payload is no longer kept or its source is not configured.
	Reread func(context.Context, onceward.Event) (*onceward.Arrival, error)
	// KeyMemory tells, by operation, how long its destination remembers a key.
	KeyMemory map[string]time.Duration
	// RereadBody says so of another body of the event.
	RereadBody func(onceward.Event, onceward.Payload) *onceward.Arrival
	// Begun is called when a bulk was recorded.
	Begun func()
	// Wake is called after every change that made work due, and when a
	// destination was paused or resumed.
	Wake    func()
	Version string
	// Log gets what a caller is not told: why a request could not be answered.
	Log *slog.Logger
	// Metrics, when set, answers GET /metrics for whoever may read.
	Metrics http.Handler
}

// maxRequest bounds a request's body: a decision is a few sentences.
const maxRequest = 64 << 10

type server struct {
	Options
	api huma.API
}

// New returns the API's handler.
func New(o Options) http.Handler {
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Begun == nil {
		o.Begun = func() {}
	}
	if o.Reread == nil {
		o.Reread = func(context.Context, onceward.Event) (*onceward.Arrival, error) { return nil, nil }
	}
	if o.RereadBody == nil {
		o.RereadBody = func(onceward.Event, onceward.Payload) *onceward.Arrival { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	config := huma.DefaultConfig("Onceward admin API", o.Version)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.RejectUnknownQueryParameters = true
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	s := &server{Options: o, api: humago.New(mux, config)}
	s.events()
	s.explanations()
	s.replays()
	s.conflicts()
	s.operations()
	s.destinations()
	s.reports()
	s.health()
	if o.Metrics != nil {
		mux.Handle("GET /metrics", s.readers(o.Metrics))
	}
	return s.guard(problemsFor(mux))
}

// operation describes one call of the API. Requests are small and quick to
// read; whoever sends one slowly is cut off.
func (s *server) operation(method, path, id, summary string, least Role) huma.Operation {
	o := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary,
		MaxBodyBytes: maxRequest, BodyReadTimeout: 5 * time.Second,
		Errors: []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}
	if least > nobody {
		o.Security = []map[string][]string{{"token": {}}}
		o.Errors = append(o.Errors, http.StatusUnauthorized, http.StatusForbidden)
		o.Middlewares = huma.Middlewares{s.require(least)}
	}
	return o
}

// decides describes a call by which a person changes what is recorded.
func (s *server) decides(path, id, summary string, least Role) huma.Operation {
	o := s.operation(http.MethodPost, path, id, summary, least)
	o.Errors = append(o.Errors, http.StatusNotFound, http.StatusConflict)
	return o
}
