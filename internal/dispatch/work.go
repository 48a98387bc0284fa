package dispatch

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/telemetry"
)

// margin is what must be left of a lease beyond the call's own timeout: time to
// settle, and for clocks that do not quite agree.
const margin = 5 * time.Second

// work is one of a lane's workers: it begins jobs until ctx ends, and lets the
// one under way end on calls.
func (d *Dispatcher) work(ctx, calls context.Context, l *lane) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-l.queue:
			d.begin(ctx, calls, l, j)
		}
	}
}

// begin runs a job, or hands it back when it may not start.
func (d *Dispatcher) begin(ctx, calls context.Context, l *lane, j job) {
	if l.paused.Load() || l.limiter.Wait(ctx) != nil {
		d.handBack(calls, j)
		return
	}
	release, ok := d.share.acquire(ctx, l.slots)
	if !ok {
		d.handBack(calls, j)
		return
	}
	defer release()
	j.leased.Lease = j.waiter.done()
	lease, err := d.prepare(calls, j)
	if err != nil {
		// Fenced: another owner has it. Unavailable: the lease runs out and it
		// is taken again. Either way nothing was sent.
		d.log(j).Warn("not begun: its lease could not be kept", telemetry.KeyError, err)
		l.release(1)
		return
	}
	j.leased.Lease = lease
	began := d.o.Now()
	stop := d.keep(calls, &j)
	outcome, pause := d.call(calls, j)
	stop()
	outcome.Started = began
	if pause {
		d.pause(calls, l)
	}
	// The worker goes on while the outcome waits for its commit; the place in
	// the lane is held until then, which bounds how many wait.
	l.settling.Go(func() { d.settle(calls, l, j, outcome) })
}

// prepare makes sure that the lease outlasts the call and that the intent is on
// record before it.
func (d *Dispatcher) prepare(ctx context.Context, j job) (onceward.Lease, error) {
	lease := j.leased.Lease
	if !j.leased.Operation.Intent && !j.leased.Missing && j.leased.Fault == "" {
		return d.o.Store.Intend(ctx, lease, d.leaseFor(j.op))
	}
	if lease.Until.Sub(d.o.Now()) < j.op.lane.Timeout+margin {
		return d.o.Store.Renew(ctx, lease, d.leaseFor(j.op))
	}
	return lease, nil
}

func (d *Dispatcher) leaseFor(op *operation) time.Duration {
	return max(op.limits.Lease, op.lane.Timeout+2*margin)
}

// keep renews the lease while a long call runs. The returned function ends it
// and leaves in j the lease as last renewed.
func (d *Dispatcher) keep(ctx context.Context, j *job) (stop func()) {
	every := d.leaseFor(j.op) / 2
	if j.op.lane.Timeout < every {
		return func() {} // the call ends long before the lease
	}
	ctx, cancel := context.WithCancel(ctx)
	renewed := make(chan onceward.Lease, 1)
	lease := j.leased.Lease
	go func() {
		defer func() { renewed <- lease }()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				next, err := d.o.Store.Renew(ctx, lease, d.leaseFor(j.op))
				if err == nil {
					lease = next
				} else if errors.Is(err, onceward.ErrFenced) {
					return // settling will find out, too
				}
			}
		}
	}()
	return func() {
		cancel()
		j.leased.Lease = <-renewed
	}
}

func (d *Dispatcher) call(ctx context.Context, j job) (out onceward.Outcome, pause bool) {
	l := &j.leased
	if l.Fault != "" || l.Event.Key.IsZero() {
		return d.notReadable(j, l.Fault), false
	}
	if l.Large {
		var err error
		if l.Payload, err = d.o.Store.Carried(ctx, l.Operation.ID); err != nil {
			return d.notReadable(j, err.Error()), false
		}
	}
	if l.Missing {
		return onceward.Refused("its payload is no longer kept, so there is nothing to send"), false
	}
	step := l.Operation.StepName()
	rendered, err := j.op.call.Template.Render(forward.Values{Event: l.Event.ID.String(), Type: l.Event.Type, Results: l.Results})
	if err != nil {
		return onceward.Refused("nothing was sent: " + err.Error()), false
	}
	answer := j.op.lane.Client.Do(ctx, forward.Call{
		Key:  l.Operation.Downstream(l.Event.Key, step),
		Step: step, Rendered: rendered,
		Event: l.Event.ID, Operation: l.Operation.Name, Source: l.Event.Source, Type: l.Event.Type,
		Attempt: l.Lease.Attempt, Item: l.Event.Item, Of: l.Event.Of, Refetch: l.Operation.Refetch, Payload: l.Payload,
		TraceParent:   traceParent(l),
		SignedHeaders: j.op.SignedHeaders[l.Event.Source],
		SendBefore:    time.Now().Add(d.sendWithin(j)),
	})
	wait := j.op.lane.Backoff.Wait(l.Lease.Attempt-l.Operation.Budget, answer.RetryAfter, nil)
	return answer.Outcome(d.o.Now().Add(wait)), answer.Pause
}

// sendWithin is how long the call may still be sent: the lease, less a margin,
// and for a repetition no longer than the other side is sure to know the key.
func (d *Dispatcher) sendWithin(j job) time.Duration {
	l, now := &j.leased, d.o.Now()
	within := l.Lease.Until.Sub(now) - margin/2
	if memory := j.op.limits.KeyMemory; memory > 0 && l.Operation.Doubt {
		within = min(within, l.Operation.IntentAt.Add(memory).Sub(now))
	}
	return within
}

// notReadable is the outcome of a call that was not made because what is to be
// sent could not be read. It may be readable the next time.
func (d *Dispatcher) notReadable(j job, fault string) onceward.Outcome {
	wait := j.op.lane.Backoff.Wait(j.leased.Lease.Attempt-j.leased.Operation.Budget, 0, nil)
	return onceward.NotApplied("nothing was sent, because its event or payload could not be read: "+fault, d.o.Now().Add(wait))
}

// traceParent continues the sender's trace, or begins the event's own: its key
// digest is the trace id, so every attempt is in one trace.
func traceParent(l *onceward.Leased) string {
	if bytes.Contains(l.Payload.Header, []byte("Traceparent: ")) {
		return ""
	}
	var span [8]byte
	_, _ = rand.Read(span[:])
	return "00-" + l.Event.Key.String() + "-" + hex.EncodeToString(span[:]) + "-01"
}

// settle records the outcome, trying again while the store is away: the effect
// may have happened and this is the only memory of it.
func (d *Dispatcher) settle(ctx context.Context, l *lane, j job, out onceward.Outcome) {
	defer l.release(1)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		settled, err := d.o.Store.Settle(context.WithoutCancel(ctx), j.leased.Lease, out, j.op.limits)
		switch {
		case err == nil:
			d.settled(j, out, settled)
			return
		case errors.Is(err, onceward.ErrDisputed):
			d.o.OnDisputed()
			d.log(j).Error("an operation is disputed: its call reported success after it was decided otherwise, so the effect may have happened twice; compare with the destination",
				telemetry.KeyState, settled.State.String(), telemetry.KeyStatus, out.Status)
			return
		case !errors.Is(err, onceward.ErrUnavailable):
			d.log(j).Warn("the outcome came too late and was not recorded", telemetry.KeyOutcome, out.String(), telemetry.KeyStatus, out.Status, telemetry.KeyReason, out.Reason, telemetry.KeyError, err)
			return
		}
		d.log(j).Warn("the outcome could not be recorded yet", telemetry.KeyOutcome, out.String(), telemetry.KeyError, err)
		select {
		case <-time.After(wait):
		case <-d.stopping:
			// The lease runs out, and what the intent says decides.
			return
		}
	}
}

func (d *Dispatcher) settled(j job, out onceward.Outcome, o onceward.Operation) {
	d.o.OnAttempt(o.Name, out.String(), d.o.Now().Sub(out.Started))
	if out.Status == http.StatusUnprocessableEntity && o.Effect == onceward.Keyed {
		d.o.OnKeyRejected()
	}
	d.WakeAt(o)
	if !o.AskAt.IsZero() {
		d.o.OnUnknown()
	}
	level := slog.LevelDebug
	switch o.State {
	case onceward.Completed:
	case onceward.Processing:
		if level = slog.LevelInfo; o.Step > j.op.step { // a step is done
			level = slog.LevelDebug
		}
	case onceward.DeadLettered, onceward.UnknownOutcome:
		if level = slog.LevelError; !o.AskAt.IsZero() {
			level = slog.LevelWarn // the other side is asked before a person is
		}
	default:
		level = slog.LevelInfo
	}
	log := d.log(j)
	if !log.Enabled(context.Background(), level) {
		return
	}
	attributes := []any{telemetry.KeyState, o.State.String(), telemetry.KeyOutcome, out.String(), telemetry.KeyStatus, out.Status, telemetry.KeyReason, o.Reason}
	if !o.DueAt.IsZero() {
		attributes = append(attributes, telemetry.KeyNextAt, o.DueAt)
	}
	log.Log(context.Background(), level, "attempt ended", attributes...)
}

// handBack returns what has not begun to the store, due at once.
func (d *Dispatcher) handBack(ctx context.Context, j job) {
	defer j.op.lane.release(1)
	if err := d.o.Store.HandBack(context.WithoutCancel(ctx), j.waiter.done()); err != nil {
		d.log(j).Warn("could not be handed back; it is taken again when its lease ends", telemetry.KeyError, err)
		return
	}
	j.op.fallBehind()
	j.op.wakeAt(d.o.Now())
	d.o.OnHandedBack(j.op.Name)
}

// drain hands back everything that waits in the lanes, together, so that it
// shares commits.
func (d *Dispatcher) drain() {
	var all sync.WaitGroup
	defer all.Wait()
	for _, l := range d.lanes {
		for waiting := true; waiting; {
			select {
			case j := <-l.queue:
				all.Go(func() { d.handBack(context.Background(), j) })
			default:
				waiting = false
			}
		}
	}
}

// pause stops a lane whose destination wants no more calls.
func (d *Dispatcher) pause(ctx context.Context, l *lane) {
	l.paused.Store(true)
	decision := onceward.Decision{Actor: "onceward", Reason: "it answered 410 Gone: it wants no more calls"}
	if err := d.o.Store.Pause(ctx, l.name, decision); err != nil {
		d.o.Log.Warn("destination paused, but the pause could not be recorded", telemetry.KeyDestination, l.name, telemetry.KeyError, err)
		return
	}
	d.o.Log.Error("destination paused: it answered 410 Gone; resume it when it is back", telemetry.KeyDestination, l.name)
}

func (d *Dispatcher) log(j job) *slog.Logger {
	l := &j.leased
	log := d.o.Log
	if step := l.Operation.StepName(); step != "" {
		log = log.With(telemetry.KeyStep, step)
	}
	return log.With(telemetry.KeyEvent, l.Event.ID.String(), telemetry.KeyOperation, l.Operation.Name, telemetry.KeyDigest, l.Event.Key.String(),
		telemetry.KeyAttempt, l.Lease.Attempt, telemetry.KeyFence, l.Lease.Fence)
}
