// Package dispatch carries due operations to their destinations: it takes them
// under leases, keeps the leases while the work runs, hands each call to
// forward and settles what came of it. It decides no state; the rules and the
// store do. Every destination has a lane of its own, so that a slow or dead one
// holds nobody else's work. DESIGN.md has leases and fencing.
package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
)

// Store is what dispatch asks of a store.
type Store interface {
	Claim(context.Context, onceward.ClaimRequest) ([]onceward.Leased, time.Time, error)
	Intend(context.Context, onceward.Lease, time.Duration) (onceward.Lease, error)
	Renew(context.Context, onceward.Lease, time.Duration) (onceward.Lease, error)
	HandBack(context.Context, onceward.Lease) error
	Settle(context.Context, onceward.Lease, onceward.Outcome, onceward.Limits) (onceward.Operation, error)
	Payload(context.Context, onceward.EventID) (onceward.Payload, error)
	Pause(context.Context, string, onceward.Decision) error
	Pauses(context.Context) ([]onceward.Pause, error)
}

// Destination is where operations go, and how fast.
type Destination struct {
	Client      *forward.Client
	Effect      onceward.Effect
	Timeout     time.Duration
	Backoff     forward.Backoff
	Concurrency int
	Rate        rate.Limit // calls a second; rate.Inf without a limit
	Burst       int
}

// Operation is one operation's name and what it needs.
type Operation struct {
	Name        string
	Destination string
	Lease       time.Duration
	// SignedHeaders, by source, are dropped when an item of a batch goes out.
	SignedHeaders map[string][]string
}

// Options are what a Dispatcher is made of.
type Options struct {
	Store        Store
	Owner        string // names this process in leases
	Destinations map[string]Destination
	Operations   []Operation
	Workers      int // calls at once over all destinations; each keeps a share
	Log          *slog.Logger
	Now          func() time.Time
	// Grace is how long calls under way may take when Run is told to stop.
	Grace time.Duration
	// OnAttempt, OnRecovered are told of ended attempts and of takeovers.
	OnAttempt   func(operation, outcome string, took time.Duration)
	OnRecovered func()
	// OnHandedBack is told of operations that were handed back: after a reload
	// it is another dispatcher's turn.
	OnHandedBack func(operation string)
	// OnKeyRejected is told of a keyed call that was answered 422: the other
	// side knows the key with another content.
	OnKeyRejected func()
}

// Dispatcher runs the operations of one process.
type Dispatcher struct {
	o          Options
	lanes      map[string]*lane
	operations map[string]*operation
	share      *share
	stopping   chan struct{}
	cut        chan struct{}
	cutOnce    sync.Once
}

// operation is an operation's claim loop: when to look for due work again.
type operation struct {
	Operation
	d      *Dispatcher
	lane   *lane
	limits onceward.Limits

	mu      sync.Mutex
	due     time.Time // zero: nothing known to be due
	behind  bool      // recorded work waits in the store; it goes before new work
	changed chan struct{}
}

// New checks that every operation has its destination.
func New(o Options) (*Dispatcher, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Grace <= 0 {
		o.Grace = 25 * time.Second
	}
	if o.OnAttempt == nil {
		o.OnAttempt = func(string, string, time.Duration) {}
	}
	if o.OnRecovered == nil {
		o.OnRecovered = func() {}
	}
	if o.OnHandedBack == nil {
		o.OnHandedBack = func(string) {}
	}
	if o.OnKeyRejected == nil {
		o.OnKeyRejected = func() {}
	}
	d := &Dispatcher{o: o, lanes: map[string]*lane{}, operations: map[string]*operation{}, stopping: make(chan struct{}), cut: make(chan struct{})}
	d.share = newShare(o.Workers, len(o.Destinations))
	for name, destination := range o.Destinations {
		d.lanes[name] = newLane(name, destination)
		d.lanes[name].slots = d.share.slots()
	}
	for _, op := range o.Operations {
		l := d.lanes[op.Destination]
		if l == nil {
			return nil, fmt.Errorf("operation %s: there is no destination %s", op.Name, op.Destination)
		}
		d.operations[op.Name] = &operation{
			Operation: op, d: d, lane: l, changed: make(chan struct{}, 1),
			limits: onceward.Limits{Attempts: l.Backoff.Attempts, Lease: op.Lease},
		}
		l.watchers = append(l.watchers, d.operations[op.Name].changed)
		if l.shortest == 0 || op.Lease < l.shortest {
			l.shortest = op.Lease
		}
	}
	return d, nil
}

// Limits returns each operation's limits, for the janitor.
func (d *Dispatcher) Limits() map[string]onceward.Limits {
	all := make(map[string]onceward.Limits, len(d.operations))
	for name, op := range d.operations {
		all[name] = op.limits
	}
	return all
}

// Run works until ctx ends; then it claims nothing more, hands back what has
// not begun, lets calls under way end within the grace and returns.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.firstRefresh(ctx)
	calls, cancelCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCalls()
	var claims, workers sync.WaitGroup
	for _, op := range d.operations {
		claims.Go(func() { d.claimLoop(ctx, op) })
	}
	for _, l := range d.lanes {
		if l.shortest > 0 { // it has operations
			claims.Go(func() { d.keepWaiting(ctx, l) })
		}
		for range l.Concurrency {
			workers.Go(func() { d.work(ctx, calls, l) })
		}
	}
	<-ctx.Done()
	close(d.stopping)
	grace := time.AfterFunc(d.o.Grace, d.Cut)
	defer grace.Stop()
	go func() {
		select {
		case <-d.cut:
			cancelCalls()
		case <-calls.Done():
		}
	}()
	claims.Wait()
	d.drain() // at once: a slow call must not keep what waits behind it from others
	workers.Wait()
	d.drain() // places that were started meanwhile
	for _, l := range d.lanes {
		l.settling.Wait()
		l.Client.Close()
	}
	return nil
}

// Cut ends the grace of a stop: calls that are still under way are cut, and
// what can be proved about them is recorded.
func (d *Dispatcher) Cut() { d.cutOnce.Do(func() { close(d.cut) }) }

// firstRefresh learns which destinations are paused before anything is called.
// A store that does not answer now must not leave the process without a
// dispatcher for good.
func (d *Dispatcher) firstRefresh(ctx context.Context) {
	for {
		err := d.Refresh(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.o.Log.Warn("could not read which destinations are paused; nothing is called before", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryStore):
		}
	}
}

// Refresh reads again which destinations are paused, and looks for due work.
func (d *Dispatcher) Refresh(ctx context.Context) error {
	pauses, err := d.o.Store.Pauses(ctx)
	if err != nil {
		return err
	}
	paused := map[string]bool{}
	for _, p := range pauses {
		paused[p.Destination] = true
	}
	for name, l := range d.lanes {
		l.paused.Store(paused[name])
	}
	for _, op := range d.operations {
		op.wakeAt(d.o.Now())
		notify(op.changed) // what became due in a pause is due already, so wakeAt has no news
	}
	return nil
}

// Reserve asks for a place for an operation that is about to be recorded. When
// there is one the operation is to be born leased, as planned then says, and
// Start or Release must be called on the place. Otherwise it returns nil.
func (d *Dispatcher) Reserve(name string, planned *onceward.Planned) *Place {
	op := d.operations[name]
	if op == nil || op.lane.paused.Load() || op.isBehind() || !op.lane.reserve(1) {
		return nil
	}
	planned.Owner, planned.Lease = d.o.Owner, op.limits.Lease
	// A keyed call may be repeated, so its intent costs nothing and rides on
	// the first write. For the others an intent that is opened early turns a
	// crash into a question for a person; it is written right before the call.
	planned.Intend = op.lane.Effect == onceward.Keyed
	return (*Place)(op)
}

// Place is room for one operation in a lane.
type Place operation

// Release gives back a place that was not needed.
func (p *Place) Release() { p.lane.release(1) }

// Start runs an operation that was born leased in the place. It never blocks:
// the queue has room for every reservation.
func (p *Place) Start(l onceward.Leased) {
	op := (*operation)(p)
	op.lane.queue <- op.job(l)
	select {
	case <-op.d.stopping: // the workers may be gone, and Run have looked at the queue
		op.d.drain()
	default:
	}
}

// Wake says that an operation was recorded without a lease.
func (d *Dispatcher) Wake(name string) {
	if op := d.operations[name]; op != nil {
		op.fallBehind()
		op.wakeAt(d.o.Now())
	}
}

func (o *operation) wakeAt(t time.Time) {
	o.mu.Lock()
	earlier := o.due.IsZero() || t.Before(o.due)
	if earlier {
		o.due = t
	}
	o.mu.Unlock()
	if earlier {
		notify(o.changed)
	}
}

func (o *operation) fallBehind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.behind = true
}

func (o *operation) isBehind() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.behind
}
