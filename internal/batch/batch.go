// Package batch is group commit: many callers, one transaction. While one batch
// is made durable the next one is applied, and while that happens the one after
// it gathers, so batches grow with the load and there is no timer and no wait
// when there is none. It knows nothing of what is committed.
package batch

import (
	"context"
	"errors"
	"sync"
)

// ErrStopped means that the group takes no more work.
var ErrStopped = errors.New("batch: stopped")

// Item is one caller's share of a batch. Done is called exactly once for every
// item that apply was given.
type Item[T any] struct {
	Value T
	done  chan error
}

// Done wakes the caller with err.
func (i *Item[T]) Done(err error) { i.done <- err }

// Group gathers items and applies them, one batch at a time, in the order in
// which they came.
type Group[T any] struct {
	queue   chan *Item[T]
	durable chan func()
	quit    chan struct{}
	stopped chan struct{}
	stop    sync.Once
	apply   func([]*Item[T]) (finish func())
	max     int
}

// New starts a group whose batches hold at most max items. apply applies a
// batch and returns what makes it durable and calls Done; that runs beside the
// application of the next batch, and before its own finish. Stop ends the group.
func New[T any](max int, apply func([]*Item[T]) (finish func())) *Group[T] {
	g := &Group[T]{
		queue:   make(chan *Item[T], 4*max),
		durable: make(chan func()),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
		apply:   apply,
		max:     max,
	}
	go g.loop()
	return g
}

// Do waits until v has been committed and returns what Done was told. When ctx
// ends first its error comes back and v may or may not be committed later.
func (g *Group[T]) Do(ctx context.Context, v T) error {
	item := &Item[T]{Value: v, done: make(chan error, 1)}
	select {
	case g.queue <- item:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.quit:
		return ErrStopped
	}
	select {
	case err := <-item.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.stopped:
	}
	// The loop has ended: either it answered just before, or it never saw us.
	select {
	case err := <-item.done:
		return err
	default:
		return ErrStopped
	}
}

// Queued is how many items wait to be gathered.
func (g *Group[T]) Queued() int { return len(g.queue) }

// Stop lets everything that is queued commit, then ends the group.
func (g *Group[T]) Stop() {
	g.stop.Do(func() { close(g.quit) })
	<-g.stopped
}

func (g *Group[T]) loop() {
	finished, finishing := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(finished)
		for finish := range g.durable {
			finish()
			<-finishing
		}
	}()
	defer close(g.stopped)
	defer func() { <-finished }()
	defer close(g.durable)
	// One batch is finished while the next is applied, so two are enough.
	var buffers [2][]*Item[T]
	for n := 0; ; n ^= 1 {
		first, more := g.first()
		if !more {
			return
		}
		clear(buffers[n])
		buffers[n] = g.gather(append(buffers[n][:0], first))
		finish := g.apply(buffers[n])
		// This waits for the batch before, so that there is never more than one
		// that is applied and not durable: batches stay large.
		finishing <- struct{}{}
		if len(g.queue) > 0 {
			g.durable <- finish
			continue
		}
		// Nothing is there to be applied meanwhile, so nobody is woken for it.
		finish()
		<-finishing
	}
}

// first waits for the first item of a batch; none follows after Stop.
func (g *Group[T]) first() (item *Item[T], more bool) {
	select {
	case item = <-g.queue:
		return item, true
	default:
	}
	select {
	case item = <-g.queue:
		return item, true
	case <-g.quit:
	}
	select { // what came before quit is still served
	case item = <-g.queue:
		return item, true
	default:
		return nil, false
	}
}

func (g *Group[T]) gather(items []*Item[T]) []*Item[T] {
	for len(items) < g.max {
		select {
		case item := <-g.queue:
			items = append(items, item)
		default:
			return items
		}
	}
	return items
}
