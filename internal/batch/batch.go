// Package batch is group commit: many callers, one transaction. While one batch
// commits the next one gathers, so batches grow with the load and there is no
// timer and no wait when there is none. It knows nothing of what is committed.
package batch

import (
	"context"
	"errors"
	"sync"
)

// ErrStopped means that the group takes no more work.
var ErrStopped = errors.New("batch: stopped")

// Item is one caller's share of a batch. Commit calls Done exactly once for
// every item that it was given.
type Item[T any] struct {
	Value T
	done  chan error
}

// Done wakes the caller with err.
func (i *Item[T]) Done(err error) { i.done <- err }

// Group gathers items and hands them to one commit function, one batch at a
// time, in the order in which they came.
type Group[T any] struct {
	queue   chan *Item[T]
	quit    chan struct{}
	stopped chan struct{}
	stop    sync.Once
	commit  func([]*Item[T])
	max     int
}

// New starts a group whose batches hold at most max items. Stop ends it.
func New[T any](max int, commit func([]*Item[T])) *Group[T] {
	g := &Group[T]{
		queue:   make(chan *Item[T], 4*max),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
		commit:  commit,
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

// Stop lets everything that is queued commit, then ends the group.
func (g *Group[T]) Stop() {
	g.stop.Do(func() { close(g.quit) })
	<-g.stopped
}

func (g *Group[T]) loop() {
	defer close(g.stopped)
	items := make([]*Item[T], 0, g.max)
	for {
		var first *Item[T]
		select {
		case first = <-g.queue:
		default:
			select {
			case first = <-g.queue:
			case <-g.quit:
				select { // what came before quit is still served
				case first = <-g.queue:
				default:
					return
				}
			}
		}
		items = g.gather(append(items[:0], first))
		g.commit(items)
		clear(items)
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
