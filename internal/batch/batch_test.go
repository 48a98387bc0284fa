package batch_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/internal/batch"
)

func TestConcurrentCallersShareACommit(t *testing.T) {
	gate := make(chan struct{})
	var commits, rows atomic.Int64
	g := batch.New(64, func(items []*batch.Item[int]) func() {
		<-gate
		commits.Add(1)
		rows.Add(int64(len(items)))
		return func() {
			for _, item := range items {
				item.Done(nil)
			}
		}
	})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if err := g.Do(context.Background(), i); err != nil {
				t.Error(err)
			}
		})
	}
	for range 200 {
		select {
		case gate <- struct{}{}:
		default:
		}
	}
	close(gate)
	wg.Wait()
	g.Stop()
	if rows.Load() != 200 || commits.Load() < 4 {
		t.Fatalf("%d rows in %d commits; want 200 rows in at least 4 (64 a batch)", rows.Load(), commits.Load())
	}
}

func TestStopServesWhatIsQueuedAndRefusesTheRest(t *testing.T) {
	entered, gate := make(chan struct{}, 8), make(chan struct{})
	g := batch.New(1, func(items []*batch.Item[int]) func() {
		entered <- struct{}{}
		<-gate
		return func() { items[0].Done(nil) }
	})
	first := make(chan error, 1)
	go func() { first <- g.Do(context.Background(), 1) }()
	<-entered
	stopped := make(chan struct{})
	go func() { g.Stop(); close(stopped) }()
	close(gate)
	<-stopped
	if err := <-first; err != nil {
		t.Fatalf("queued before the stop: %v", err)
	}
	if err := g.Do(context.Background(), 2); !errors.Is(err, batch.ErrStopped) {
		t.Fatalf("after the stop: %v, want ErrStopped", err)
	}
}

func TestACallerThatGivesUpIsNotWaitedFor(t *testing.T) {
	entered, gate := make(chan struct{}), make(chan struct{})
	g := batch.New(4, func(items []*batch.Item[int]) func() {
		close(entered)
		<-gate
		return func() {
			for _, item := range items {
				item.Done(nil)
			}
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- g.Do(ctx, 1) }()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	close(gate)
	g.Stop()
}

func TestNobodyIsToldBeforeHisBatchIsDurableAndOnlyOneWaitsForThat(t *testing.T) {
	applied, durable, queued := make(chan int, 8), make(chan struct{}), make(chan struct{})
	g := batch.New(1, func(items []*batch.Item[int]) func() {
		<-queued // until all of them are there, so that there is something to apply meanwhile
		applied <- items[0].Value
		return func() {
			<-durable
			items[0].Done(nil)
		}
	})
	told := make(chan int, 8)
	for i := range 3 {
		go func() {
			if err := g.Do(context.Background(), i); err != nil {
				t.Error(err)
			}
			told <- i
		}()
	}
	for g.Queued() < 2 { // the third is with the group
		runtime.Gosched()
	}
	close(queued)
	first, second := <-applied, <-applied // the second is applied while the first is made durable
	select {
	case third := <-applied:
		t.Fatalf("%d was applied while %d and %d were not durable", third, first, second)
	case early := <-told:
		t.Fatalf("%d was told before it was durable", early)
	default:
	}
	close(durable)
	for range 3 {
		<-told
	}
	g.Stop()
}
