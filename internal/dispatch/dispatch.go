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
	Carried(context.Context, onceward.OperationID) (onceward.Payload, error)
	Pause(context.Context, string, onceward.Decision) error
	Pauses(context.Context) ([]onceward.Pause, error)
}

// Destination is where operations go, and how fast.
type Destination struct {
	Client      *forward.Client
	Effect      onceward.Effect
	Timeout     time.Duration
	Backoff     forward.Backoff
	Inquiry     onceward.Inquiry // how one of class lookup is asked
	KeyMemory   time.Duration    // how long a keyed one is sure to know a key; 0 when it does not say
	Concurrency int
	Rate        rate.Limit // calls a second; rate.Inf without a limit
	Burst       int
}

// Step is one of an operation's calls: where it goes, and how it differs from
// the event as it came.
type Step struct {
	Name        string // empty for the only step of an operation
	Destination string
	Lease       time.Duration
	Template    *forward.Template // nil passes the event on as it came
}

// Operation is one operation's name and what it needs.
type Operation struct {
	Name  string
	Steps []Step // in their order, at least one
	// SignedHeaders, by source, are dropped when an item of a batch goes out.
	SignedHeaders map[string][]string
}

// Plan is the operation's steps by their names.
func (o Operation) Plan() onceward.Plan {
	names := make([]string, len(o.Steps))
	for i, s := range o.Steps {
		names[i] = s.Name
	}
	return onceward.NewPlan(names...)
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
	// OnUnknown is told that the other side is to be asked about an operation.
	OnUnknown func()
	// OnDisputed is told of a success that came too late and contradicts what
	// was decided.
	OnDisputed func()
}

// Dispatcher runs the operations of one process.
type Dispatcher struct {
	o          Options
	lanes      map[string]*lane
	operations map[string][]*operation // by name, step by step
	share      *share
	stopping   chan struct{}
	cut        chan struct{}
	cutOnce    sync.Once
}

// operation is the claim loop of one step of an operation: when to look for due
// work again.
type operation struct {
	Operation
	step   int
	call   Step
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
	if o.OnUnknown == nil {
		o.OnUnknown = func() {}
	}
	if o.OnDisputed == nil {
		o.OnDisputed = func() {}
	}
	d := &Dispatcher{o: o, lanes: map[string]*lane{}, operations: map[string][]*operation{}, stopping: make(chan struct{}), cut: make(chan struct{})}
	d.share = newShare(o.Workers, len(o.Destinations))
	for name, destination := range o.Destinations {
		d.lanes[name] = newLane(name, destination)
		d.lanes[name].slots = d.share.slots()
	}
	for _, op := range o.Operations {
		if err := d.add(op); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// add makes the claim loops of an operation's steps.
func (d *Dispatcher) add(op Operation) error {
	for i, step := range op.Steps {
		l := d.lanes[step.Destination]
		if l == nil {
			return fmt.Errorf("operation %s: there is no destination %s", op.Name, step.Destination)
		}
		loop := &operation{
			Operation: op, step: i, call: step, d: d, lane: l, changed: make(chan struct{}, 1),
			limits: onceward.Limits{Attempts: l.Backoff.Attempts, Lease: step.Lease, Plan: op.Plan()},
		}
		if l.Effect == onceward.Keyed {
			loop.limits.KeyMemory = l.KeyMemory
		}
		d.operations[op.Name] = append(d.operations[op.Name], loop)
		l.watchers = append(l.watchers, loop.changed)
		if l.shortest == 0 || step.Lease < l.shortest {
			l.shortest = step.Lease
		}
	}
	return nil
}

// loops are the claim loops of all steps of all operations.
func (d *Dispatcher) loops() (all []*operation) {
	for _, steps := range d.operations {
		all = append(all, steps...)
	}
	return all
}

// at is the claim loop of one step; nil when it is not configured.
func (d *Dispatcher) at(name string, step int) *operation {
	if steps := d.operations[name]; step < len(steps) {
		return steps[step]
	}
	return nil
}

// Limits returns each operation's limits, step by step, for the janitor.
func (d *Dispatcher) Limits() map[string][]onceward.Limits {
	all := make(map[string][]onceward.Limits, len(d.operations))
	for name, steps := range d.operations {
		for _, op := range steps {
			all[name] = append(all[name], op.limits)
		}
	}
	return all
}

// Throttle waits until a destination's rate allows one more request, for those
// that are not calls. It reports false when ctx ended first.
func (d *Dispatcher) Throttle(ctx context.Context, destination string) bool {
	l := d.lanes[destination]
	return l != nil && l.limiter.Wait(ctx) == nil
}

// Paused reports whether a destination gets no calls.
func (d *Dispatcher) Paused(destination string) bool {
	l := d.lanes[destination]
	return l == nil || l.paused.Load()
}

// Run works until ctx ends; then it claims nothing more, hands back what has
// not begun, lets calls under way end within the grace and returns.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.firstRefresh(ctx)
	calls, cancelCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCalls()
	var claims, workers sync.WaitGroup
	for _, op := range d.loops() {
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
	for _, op := range d.loops() {
		op.wakeAt(d.o.Now())
		notify(op.changed) // what became due in a pause is due already, so wakeAt has no news
	}
	return nil
}

// Reserve asks for a place for an operation that is about to be recorded. When
// there is one the operation is to be born leased, as planned then says, and
// Start or Release must be called on the place. Otherwise it returns nil.
func (d *Dispatcher) Reserve(name string, planned *onceward.Planned) *Place {
	op := d.at(name, 0)
	if op == nil || op.lane.paused.Load() || op.isBehind() || !op.lane.reserve(1) {
		return nil
	}
	planned.Owner, planned.Lease, planned.Plan = d.o.Owner, op.limits.Lease, op.limits.Plan // the plan may be newer than intake's
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

// Wake says that an operation was recorded without a lease, at its first step.
func (d *Dispatcher) Wake(name string) {
	if op := d.at(name, 0); op != nil {
		op.fallBehind()
		op.wakeAt(d.o.Now())
	}
}

// WakeAt says how an operation stands now: it may be due where it stands, and
// its successor may be, too.
func (d *Dispatcher) WakeAt(o onceward.Operation) {
	if op := d.at(o.Name, o.Step); op != nil && !o.DueAt.IsZero() {
		op.wakeAt(o.DueAt)
	}
	if op := d.at(o.Name, 0); op != nil && (o.Stream != 0 || o.Followed) {
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
