// Package gateway wires a configuration into a running process: store, intake,
// dispatch, sweeper, admin API, listeners. It is the only package that names
// concrete stores, and it holds no rule of its own.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
	"github.com/onceward/onceward/internal/bulk"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/internal/keys"
	"github.com/onceward/onceward/internal/poll"
	"github.com/onceward/onceward/internal/reconcile"
	"github.com/onceward/onceward/internal/sweep"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/sqlitestore"
)

// Gateway is one running process.
type Gateway struct {
	log     *slog.Logger
	version string
	metrics *telemetry.Metrics
	owner   string

	mu      sync.Mutex // guards config and work against concurrent reloads
	config  *config.Config
	work    *work
	current atomic.Pointer[work]
	retired sync.WaitGroup // earlier plans, whose calls may end
	cut     context.CancelFunc
	cutting context.Context

	keys    *keys.Fetcher
	store   *sqlitestore.Store
	intake  *intake.Handler
	servers []*server
	admin   atomic.Pointer[http.Handler]
	sweeper context.CancelFunc
	swept   chan struct{}
	bulk    *bulk.Runner
	bulked  sync.WaitGroup
}

// work is what a reload replaces: a plan and the dispatcher that runs it.
type work struct {
	plan       *plan
	dispatcher *dispatch.Dispatcher
	reconciler *reconcile.Reconciler
	cancel     context.CancelFunc
	ended      chan struct{} // all of them have
}

// New prepares a gateway; nothing is opened yet, so that an invalid
// configuration has no effect.
func New(c *config.Config, log *slog.Logger, version string) (*Gateway, error) {
	published := keys.New(keys.Options{})
	p, err := newPlan(c, published)
	if err != nil {
		return nil, err
	}
	g := &Gateway{keys: published, log: log, version: version, config: c, metrics: telemetry.New(), owner: "node-" + rand.Text()[:8]}
	g.work = &work{plan: p}
	g.cutting, g.cut = context.WithCancel(context.Background())
	for _, w := range p.warnings {
		log.Warn(w.String())
	}
	return g, nil
}

// Start opens the store and the listeners and returns when deliveries are
// taken. After an error nothing is left open.
func (g *Gateway) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if g.store, err = sqlitestore.Open(ctx, g.config.SQLitePath(), sqlitestore.Options{OnCommit: g.metrics.Commit, OnViolation: g.metrics.Reexecuted}); err != nil {
		return err
	}
	if at, err := g.store.Restored(ctx); err != nil {
		return err
	} else if !at.IsZero() {
		g.log.Warn("the store is marked as restored from a backup: events that happened before, and are not known, are held; onceward restored --clear takes the mark away", "restored_at", at)
	}
	g.metrics.Observe(g.snapshot)
	g.intake = intake.New(intake.Options{
		Store: g.store, Handoff: handoff{g}, Peppers: g.store.Peppers(), PublicURL: g.config.Intake.PublicURL,
		TrustedProxies: g.config.Intake.TrustedProxies, Log: g.log, OnDelivery: g.metrics.Delivery, OnTook: g.metrics.Intake,
		Visit: g.keys.Visit,
	})
	if err := g.begin(g.work); err != nil {
		return err
	}
	g.intake.SetSources(g.work.plan.sources)
	g.sweep()
	g.bulks()
	in, err := g.serve("intake", g.config.Intake.Listen, g.intake)
	if err != nil {
		return err
	}
	// The admin listener comes last: when /readyz answers, deliveries are taken.
	g.setAdmin()
	admin, err := g.serve("admin", g.config.Admin.Listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*g.admin.Load()).ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	g.log.Info("ready", "intake", in.url(), "admin", admin.url(), "store", g.config.Store, "version", g.version)
	return nil
}

// begin runs a plan's operations and makes it the current one.
func (g *Gateway) begin(w *work) error {
	c := g.config
	var err error
	w.dispatcher, err = dispatch.New(dispatch.Options{
		Store: g.store, Owner: g.owner, Destinations: w.plan.destinations, Operations: w.plan.operations, Workers: c.Workers,
		Log: g.log, OnAttempt: g.metrics.Attempt, OnRecovered: g.metrics.LeaseRecovered, OnKeyRejected: g.metrics.DownstreamKeyRejected,
		OnHandedBack: func(operation string) { g.current.Load().dispatcher.Wake(operation) },
		OnUnknown:    func() { g.current.Load().reconciler.Wake() }, OnDisputed: g.metrics.Disputed,
	})
	if err != nil {
		return err
	}
	w.reconciler = reconcile.New(reconcile.Options{
		Store: g.store, Targets: w.plan.targets, Paused: w.dispatcher.Paused, Throttle: w.dispatcher.Throttle, Log: g.log,
		Decided: func(o onceward.Operation) { g.current.Load().dispatcher.WakeAt(o) },
	})
	for _, o := range w.plan.orders {
		if err := g.store.Reorder(context.Background(), o.operation, o.source, o.order); err != nil {
			return err
		}
	}
	g.metrics.Declare(slices.Collect(maps.Keys(w.plan.sources)), slices.Collect(maps.Keys(w.plan.routes)))
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.ended = make(chan struct{})
	g.current.Store(w)
	go func() {
		defer close(w.ended)
		var asking sync.WaitGroup
		asking.Go(func() { _ = w.reconciler.Run(ctx) }) // it ends without an error when ctx does
		asking.Go(func() { poll.Run(ctx, poll.Options{Streams: w.plan.streams, Deliver: g.deliver, Log: g.log}) })
		defer asking.Wait()
		if err := w.dispatcher.Run(ctx); err != nil {
			g.log.Error("the dispatcher stopped", telemetry.KeyError, err)
		}
	}()
	return nil
}

// end stops a plan's operations: what has not begun is handed back, what runs
// may end, until ctx does.
func (w *work) end(ctx context.Context) {
	if w.cancel == nil {
		return
	}
	w.cancel()
	select {
	case <-w.ended:
	case <-ctx.Done():
		w.dispatcher.Cut()
		<-w.ended
	}
}

// retire lets the calls of an earlier plan end, beside the plan that took its
// place; a stop may cut them. What it handed back is due for the current one.
func (g *Gateway) retire(w *work) {
	w.cancel()
	g.retired.Go(func() {
		w.end(g.cutting)
		g.refresh()
	})
}

// handoff passes deliveries' operations to the current dispatcher.
type handoff struct{ g *Gateway }

func (h handoff) Reserve(name string, planned *onceward.Planned) intake.Place {
	if place := h.g.current.Load().dispatcher.Reserve(name, planned); place != nil {
		return place
	}
	return nil
}

func (h handoff) Wake(name string) { h.g.current.Load().dispatcher.Wake(name) }

func (g *Gateway) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	g.sweeper, g.swept = cancel, make(chan struct{})
	s := &sweep.Sweeper{
		Store: g.store, Every: g.config.Sweep.Every, Log: g.log,
		Limits:   func() map[string][]onceward.Limits { return g.current.Load().dispatcher.Limits() },
		Shortest: func() time.Duration { return g.current.Load().plan.shortest },
		Moved:    func() { g.current.Load().reconciler.Wake() },
	}
	go func() {
		defer close(g.swept)
		_ = s.Run(ctx) // it ends without an error when ctx does
	}()
}

// bulks carries out what people decided about many events, in the sweeper's time.
func (g *Gateway) bulks() {
	g.bulk = bulk.New(bulk.Runner{Store: g.store, Reread: g.reread, KeyMemory: func() map[string]time.Duration { return g.current.Load().plan.keyMemory() }, Wake: g.refresh, Log: g.log})
	ctx, cancel := context.WithCancel(context.Background())
	sweeper := g.sweeper
	g.sweeper = func() {
		cancel()
		sweeper()
	}
	g.bulked.Go(func() { _ = g.bulk.Run(ctx) }) // it ends without an error when ctx does
}

// keyMemory tells how long the destinations of keyed operations of one step
// remember a key.
func (p *plan) keyMemory() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, o := range p.operations {
		if memory := p.destinations[o.Steps[0].Destination].KeyMemory; len(o.Steps) == 1 && memory > 0 {
			all[o.Name] = memory
		}
	}
	return all
}

// reread says what the configuration of today makes of a recorded event.
func (g *Gateway) reread(ctx context.Context, e onceward.Event) (*onceward.Arrival, error) {
	p, err := g.store.Payload(ctx, e.ID)
	if errors.Is(err, onceward.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return g.intake.Reread(e, p), nil
}

// refresh looks for work that a person's decision made due.
func (g *Gateway) refresh() {
	if err := g.current.Load().dispatcher.Refresh(context.Background()); err != nil {
		g.log.Warn("could not look for due operations after a change", telemetry.KeyError, err)
	}
}

// setAdmin makes the API anew from the current configuration.
func (g *Gateway) setAdmin() {
	handler := api.New(api.Options{
		Store: g.store, Tokens: tokens(g.config), Listen: g.config.Admin.Listen, Sources: sources(g.config), Destinations: names(g.config), Routes: g.work.plan.routes,
		Version: g.version, Log: g.log, Metrics: g.metrics.Handler(),
		Wake: g.refresh, Reread: g.reread, RereadBody: g.intake.Reread, KeyMemory: g.work.plan.keyMemory(), Begun: g.bulk.Begun,
	})
	g.admin.Store(&handler)
}

func tokens(c *config.Config) []api.Token {
	var all []api.Token
	for _, t := range c.Admin.Tokens {
		role, err := api.ParseRole(t.Role)
		if err != nil {
			continue // config lets no other role pass
		}
		all = append(all, api.Token{Name: t.Name, Role: role, Secret: t.Token.Reveal()})
	}
	return all
}

func names(c *config.Config) []string {
	var all []string
	for i := range c.Destinations {
		all = append(all, c.Destinations[i].Name)
	}
	return all
}

// Stop takes no more deliveries, lets what is under way end and closes the
// store. When ctx ends, what is still under way is cut and accounted for.
func (g *Gateway) Stop(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, s := range g.servers {
		if s.name == "intake" {
			errs = append(errs, s.stop(ctx))
		}
	}
	defer context.AfterFunc(ctx, g.cut)()
	g.work.end(ctx)
	g.retired.Wait()
	g.cut()
	if g.sweeper != nil {
		g.sweeper()
		<-g.swept
		g.bulked.Wait()
	}
	for _, s := range g.servers {
		if s.name != "intake" {
			errs = append(errs, s.stop(ctx))
		}
	}
	if g.store != nil {
		errs = append(errs, g.store.Close())
	}
	return errors.Join(errs...)
}

// IntakeURL is where senders post: add the source's name.
func (g *Gateway) IntakeURL() string { return g.url("intake") + "/in/" }

// AdminURL is the admin API's address.
func (g *Gateway) AdminURL() string { return g.url("admin") }

func (g *Gateway) url(name string) string {
	for _, s := range g.servers {
		if s.name == name {
			return s.url()
		}
	}
	return ""
}

// server is one listener.
type server struct {
	name     string
	listener net.Listener
	http     *http.Server
	ended    chan struct{}
}

// Every phase of a request has a limit: Go's server has none by default.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 120 * time.Second
	maxHeader     = 64 << 10
)

func (g *Gateway) serve(name, address string, handler http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s.listen: %w; is another process on that address?", name, err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // a proxy in front may speak it
	s := &server{
		name: name, listener: listener, ended: make(chan struct{}),
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, Protocols: protocols,
			ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		},
	}
	g.servers = append(g.servers, s)
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			g.log.Error("a listener stopped", "listener", name, telemetry.KeyError, err)
		}
	}()
	return s, nil
}

func (s *server) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (s *server) stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.ended
	return err
}
