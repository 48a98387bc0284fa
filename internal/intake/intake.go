// Package intake is where a webhook comes in: bounded body, signature over the
// exact bytes, freshness, identity from authenticated material, one transaction,
// reply. That order is the correctness: before the signature holds nothing is
// read from or written to the store. Intake owns the HTTP side of a delivery;
// what a sender signs is package provider's, what is recorded the store's.
package intake

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/provider"
)

// Store is what intake asks of a store.
type Store interface {
	Admit(context.Context, *onceward.Admission) ([]onceward.Admitted, error)
	Payload(context.Context, onceward.EventID) (onceward.Payload, error)
	Rivals(ctx context.Context, id onceward.EventID, limit int) ([]onceward.Evidence, error)
	RecordCopy(context.Context, onceward.EventID, *onceward.Admission, *onceward.Arrival) (onceward.Admitted, error)
	RecordConflict(ctx context.Context, id onceward.EventID, a *onceward.Admission, r *onceward.Arrival, policy onceward.OnConflict) (onceward.Admitted, error)
}

// Handoff is where recorded operations go on: straight to a local worker that
// is free, or by way of the store.
type Handoff interface {
	// Reserve returns a place for an operation that is about to be recorded,
	// and says in planned how it is to be born leased; nil when there is none.
	Reserve(operation string, planned *onceward.Planned) Place
	// Wake says that an operation was recorded without a place.
	Wake(operation string)
}

// Place is room for one operation with a worker. It is either started or
// released, once.
type Place interface {
	Start(onceward.Leased)
	Release()
}

// Operation is an effect that a source's events may cause.
type Operation struct {
	Name   string
	Types  []string        // exact, or a prefix and *; none means all
	Effect onceward.Effect // of its first step
	Plan   onceward.Plan   // its steps
}

// Source is one configured sender.
type Source struct {
	Name string
	// StableID, Tenant and Environment are what its events are recorded under.
	StableID, Tenant, Environment string

	Provider   *provider.Source
	Operations []Operation
	Payloads   time.Duration
	Keys       time.Duration
	Longest    time.Duration    // bound on the memory of keys, from the first sighting; 0 is none
	OnStale    onceward.OnStale // what becomes of events older than the memory
	MaxBody    int64
	// Level, if set, says of a delivery that it is a level trigger's: unchanged
	// copies run again.
	Level      func(*provider.Request) bool
	Strict     bool                // what cannot be processed is answered 422
	OnConflict onceward.OnConflict // RejectConflict is answered 422, too
	Order      onceward.Order

	refusals   throttle
	unrecorded throttle
	deadlines  deadlines
}

// Options are what a Handler is made of.
type Options struct {
	Store          Store
	Handoff        Handoff
	Peppers        []onceward.Pepper // newest first
	PublicURL      string
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Now            func() time.Time
	// MaxRequests and MaxBytes bound what is in memory at once; more is 429.
	MaxRequests int64
	MaxBytes    int64
	// Commit is how long a delivery waits for the store before it is told to
	// come back; three quarters of the sender's own deadline when that is less.
	Commit time.Duration
	// OnDelivery and OnTook are told of each delivery's end.
	OnDelivery func(source, status string)
	OnTook     func(time.Duration)
	// Visit asks for an address that confirms a subscription; nil confirms none.
	Visit func(url string) error
}

// Handler takes deliveries at /in/{source}.
type Handler struct {
	o       Options
	sources atomic.Pointer[map[string]*Source]
	hashers sync.Pool
	streams streamHasher
	older   []onceward.Pepper

	requests, bytes atomic.Int64
}

// Commit is how long a delivery waits for the store, unless its sender waits
// less.
const Commit = 4 * time.Second

// Defaults of Options.
const (
	defaultMaxRequests = 4096
	defaultMaxBytes    = 256 << 20
)

// New returns a handler without sources; SetSources gives it some.
func New(o Options) *Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = defaultMaxRequests
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Commit == 0 {
		o.Commit = Commit
	}
	if o.OnDelivery == nil {
		o.OnDelivery = func(string, string) {}
	}
	if o.OnTook == nil {
		o.OnTook = func(time.Duration) {}
	}
	h := &Handler{o: o, older: o.Peppers[1:]}
	h.streams.pepper = o.Peppers[len(o.Peppers)-1]
	h.hashers.New = func() any { return o.Peppers[0].Hasher() }
	h.SetSources(nil)
	return h
}

// SetSources replaces the sources; deliveries under way end with the old ones.
func (h *Handler) SetSources(sources map[string]*Source) { h.sources.Store(&sources) }

// ServeHTTP answers one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	name, ok := strings.CutPrefix(r.URL.Path, "/in/")
	name = strings.TrimSuffix(name, "/")
	source := (*h.sources.Load())[name]
	if !ok || source == nil {
		refuse(w, http.StatusNotFound, "unknown-source", "no source has this address; the address is /in/ and a source's name", 0)
		return
	}
	if r.Method != http.MethodPost {
		// Some senders ask with GET, HEAD or OPTIONS before they send events.
		if reply, ok := source.Provider.Greet(h.request(r, nil, h.o.Now())); ok {
			h.o.OnDelivery(source.Name, "ignored")
			writeReply(w, reply)
			return
		}
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "method-not-allowed", "deliveries are posted", 0)
		return
	}
	defer h.requests.Add(-1)
	if h.requests.Add(1) > h.o.MaxRequests {
		h.overloaded(w, source)
		return
	}
	body, release, fault := h.readBody(w, r, source)
	defer release()
	if fault != nil {
		h.o.OnDelivery(source.Name, fault.metric)
		fault.answer(w, source)
		return
	}
	h.deliver(w, r, source, body)
	h.o.OnTook(time.Since(began))
}

func (h *Handler) request(r *http.Request, body []byte, now time.Time) *provider.Request {
	return &provider.Request{Method: r.Method, URL: h.publicURL(r), Header: r.Header, Body: body, Now: now}
}

func (h *Handler) overloaded(w http.ResponseWriter, source *Source) {
	h.o.OnDelivery(source.Name, "overloaded")
	refuse(w, source.transient(http.StatusTooManyRequests), "overloaded", "too many deliveries at once; send it again", time.Second)
}

// deliver takes an arrived body through verification to the reply.
func (h *Handler) deliver(w http.ResponseWriter, r *http.Request, source *Source, body []byte) {
	now := h.o.Now()
	request := h.request(r, body, now)
	if reply, ok := source.Provider.Greet(request); ok {
		h.o.OnDelivery(source.Name, "ignored")
		writeReply(w, reply)
		return
	}
	secret, err := source.Provider.Verify(request)
	if err != nil {
		h.refuse(w, r, source, err)
		return
	}
	if reply, ok := source.Provider.Handshake(request); ok {
		h.o.OnDelivery(source.Name, "ignored")
		writeReply(w, reply)
		return
	}
	if !h.confirm(w, source, request) {
		return
	}
	contract, arrivals := source.Provider.Contract(), source.Provider.Arrivals(request)
	header := r.Header
	if contract.ItemType != "" && arrivals[0].Of > 0 { // an item is not of the media type of its batch
		header = header.Clone()
		header.Set("Content-Type", contract.ItemType)
	}
	a := &onceward.Admission{
		At: now, Header: keptHeader(header, contract.Credentials), Secret: secret, Remote: h.remote(r),
		Payloads: source.Payloads, Keys: source.Keys, Longest: source.Longest, Stale: source.OnStale, Coalesce: source.Level != nil && source.Level(request), Arrivals: arrivals,
	}
	reserved := h.plan(source, a)
	ctx := source.deadlines.next(min(h.o.Commit, cmp.Or(contract.Deadline*3/4, h.o.Commit)))
	admitted, err := h.o.Store.Admit(ctx, a)
	h.handOver(a, admitted, reserved)
	if err == nil {
		err = h.settleDiffering(ctx, source, a, admitted)
	}
	if err != nil {
		h.o.OnDelivery(source.Name, "unavailable")
		if more, ok := source.unrecorded.next(now); ok {
			h.o.Log.Error("a delivery could not be recorded; the sender was told to come back", telemetry.KeySource, source.Name, telemetry.KeyError, err, "more_since_last_line", more)
		}
		refuse(w, http.StatusServiceUnavailable, "store-unavailable", "the delivery could not be recorded; send it again", 2*time.Second)
		return
	}
	h.reply(w, source, a, admitted)
}

// confirm visits the address that confirms a subscription, if the delivery is
// about one. When that fails the sender is told to come back: it asks again.
func (h *Handler) confirm(w http.ResponseWriter, source *Source, request *provider.Request) bool {
	url, ok := source.Provider.Confirm(request)
	if !ok || h.o.Visit == nil {
		return true
	}
	if err := h.o.Visit(url); err != nil {
		h.o.OnDelivery(source.Name, "unavailable")
		h.o.Log.Error("a subscription could not be confirmed; the sender was told to come back", telemetry.KeySource, source.Name, telemetry.KeyError, err)
		refuse(w, http.StatusServiceUnavailable, "not-confirmed", "the subscription could not be confirmed; send it again", 5*time.Second)
		return false
	}
	h.o.Log.Info("a subscription was confirmed", telemetry.KeySource, source.Name)
	return true
}

// plan gives each arrival its digests and operations. It returns the places
// that were reserved for these, in order; nil where there was none.
func (h *Handler) plan(source *Source, a *onceward.Admission) (reserved []Place) {
	hasher := h.hashers.Get().(*onceward.Hasher)
	defer h.hashers.Put(hasher)
	for i := range a.Arrivals {
		r := &a.Arrivals[i]
		r.Digest = hasher.Digest(r.Key)
		for _, p := range h.older {
			r.Aliases = append(r.Aliases, p.Digest(r.Key))
		}
		if part, remember := source.Provider.BodyPart(*r); remember {
			r.Body = hasher.Body(r.Key, part, r.Content)
		}
		if r.Verdict != onceward.Accepted {
			continue
		}
		r.Authentic = source.Provider.Authentic(*r)
		if source.Order.Mode != onceward.Unordered {
			r.Stream = h.streams.stream(r)
		}
		for _, op := range source.Operations {
			if !op.wants(r.Type) {
				continue
			}
			planned := onceward.Planned{Name: op.Name, Effect: op.Effect, Plan: op.Plan, Order: source.Order}
			var place Place
			if planned.Order.Mode == onceward.Unordered { // otherwise its stream says when it runs
				place = h.o.Handoff.Reserve(op.Name, &planned)
			}
			reserved = append(reserved, place)
			r.Operations = append(r.Operations, planned)
		}
		if len(r.Operations) == 0 {
			r.Verdict = onceward.Ignored
		}
	}
	return reserved
}

func (o *Operation) wants(kind string) bool {
	if len(o.Types) == 0 {
		return true
	}
	for _, t := range o.Types {
		if prefix, ok := strings.CutSuffix(t, "*"); ok && strings.HasPrefix(kind, prefix) || t == kind {
			return true
		}
	}
	return false
}

// handOver starts what was born leased and wakes the claim loops for the rest.
// Places that turned out not to be needed, because the event was known or the
// store did not answer, are given back.
func (h *Handler) handOver(a *onceward.Admission, admitted []onceward.Admitted, reserved []Place) {
	next := 0
	for i := range a.Arrivals {
		r := &a.Arrivals[i]
		for n, planned := range r.Operations {
			place := reserved[next]
			next++
			fresh := admitted != nil && admitted[i].Verdict == onceward.Accepted
			if fresh && admitted[i].Again && place != nil { // recorded without a place
				place.Release()
				place = nil
			}
			switch {
			case fresh && place != nil:
				place.Start(leased(a, r, &admitted[i], n))
			case place != nil:
				place.Release()
			case fresh:
				h.o.Handoff.Wake(planned.Name)
			}
		}
	}
}

func leased(a *onceward.Admission, r *onceward.Arrival, admitted *onceward.Admitted, n int) onceward.Leased {
	o := admitted.Operations[n]
	l := onceward.Leased{
		Operation: o,
		Lease:     onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner},
		Event: onceward.Event{
			ID: admitted.Event, Key: r.Digest, Tenant: r.Key.Tenant, Source: r.Key.Source, Env: r.Key.Environment,
			Mode: r.Key.Mode, Account: r.Key.Account, EventID: r.Key.EventID, Type: r.Type, Version: r.Version,
			OccurredAt: r.OccurredAt, Item: r.Item, Of: r.Of,
		},
		Payload: onceward.Payload{Header: a.Header, Body: r.Raw},
	}
	if len(r.Raw) > onceward.MaxCarried {
		l.Payload, l.Large = onceward.Payload{}, true
	}
	return l
}

// settleDiffering decides about arrivals whose bytes differ from those of their
// event: written anew by the sender, or a contradiction.
func (h *Handler) settleDiffering(ctx context.Context, source *Source, a *onceward.Admission, admitted []onceward.Admitted) error {
	for i := range admitted {
		known := &admitted[i]
		if !known.Differs {
			continue
		}
		settled, err := h.settleOne(ctx, source, known, a, a.Arrivals[i])
		if err != nil {
			return err
		}
		settled.Reason, settled.FirstSeen = known.Reason, known.FirstSeen
		*known = settled
		if settled.Again {
			for _, op := range a.Arrivals[i].Operations {
				h.o.Handoff.Wake(op.Name)
			}
		}
	}
	return nil
}
