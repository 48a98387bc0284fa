package sqlitestore

import (
	"context"
	"sync"

	"github.com/onceward/onceward"
)

// flights lets copies that arrive while their event is on its way to the disk
// wait for it, instead of taking the same way behind it. It decides nothing:
// the first of them asks the store, and all get that answer when it is durable.
type flights struct {
	shards [16]struct {
		sync.Mutex
		flying map[onceward.Digest]*flight
	}
	landed sync.WaitGroup // writes about copies that came too late for the first's own
}

// flight is an event on its way. After done is closed it does not change.
type flight struct {
	done    chan struct{}
	content [32]byte
	copies  int64 // that wait; guarded by the shard
	first   onceward.Admitted
	err     error
}

// board returns the flight of an arrival, and whether it is the first on it.
// A delivery with other content does not wait: it contradicts.
func (f *flights) board(r *onceward.Arrival) (fl *flight, first bool) {
	shard := &f.shards[r.Digest[0]%16]
	shard.Lock()
	defer shard.Unlock()
	if fl = shard.flying[r.Digest]; fl != nil {
		if fl.content != r.Content {
			return nil, false
		}
		fl.copies++
		return fl, false
	}
	if shard.flying == nil {
		shard.flying = map[onceward.Digest]*flight{}
	}
	fl = &flight{done: make(chan struct{}), content: r.Content}
	shard.flying[r.Digest] = fl
	return fl, true
}

// land ends a flight and returns how many waited for it.
func (f *flights) land(d onceward.Digest, fl *flight, first onceward.Admitted, err error) (copies int64) {
	shard := &f.shards[d[0]%16]
	shard.Lock()
	delete(shard.flying, d)
	copies = fl.copies
	shard.Unlock()
	fl.first, fl.err = first, err
	close(fl.done)
	return copies
}

// wait returns what a copy is told.
func (fl *flight) wait(ctx context.Context) (onceward.Admitted, error) {
	select {
	case <-fl.done:
	case <-ctx.Done():
		return onceward.Admitted{}, translate(ctx.Err())
	}
	copied := fl.first
	if !copied.Differs && !copied.Refused {
		copied.Verdict = onceward.Duplicate
	}
	return copied, fl.err
}

// Admit records one delivery: its events, their payloads and all their
// operations in one transaction, or nothing. It returns when that is durable.
// The results stand in the order of the arrivals.
func (s *Store) Admit(ctx context.Context, a *onceward.Admission) ([]onceward.Admitted, error) {
	if len(a.Arrivals) != 1 {
		return s.admitAll(ctx, a)
	}
	r := &a.Arrivals[0]
	fl, first := s.flights.board(r)
	if fl == nil {
		return s.admitAll(ctx, a)
	}
	if !first {
		copied, err := fl.wait(ctx)
		if err != nil || copied.Differs || copied.Again {
			// The first failed, or contradicts: this one stands for itself.
			return s.admitAll(ctx, a)
		}
		return []onceward.Admitted{copied}, nil
	}
	results, err := s.admitAll(ctx, a)
	var own onceward.Admitted
	if err == nil {
		own = results[0]
	}
	if copies := s.flights.land(r.Digest, fl, own, err); copies > 0 && err == nil && !own.Differs && !own.Refused {
		s.countLate(own.Event, a, copies)
	}
	return results, err
}

// countLate records copies that were answered with their event. Their count is
// all that is written, and nobody waits for it.
func (s *Store) countLate(id onceward.EventID, a *onceward.Admission, copies int64) {
	s.flights.landed.Go(func() {
		// When the store is closing or away, a number is lost and no event.
		_ = s.write(context.Background(), func(w *writer) error {
			w.addCopies(id, onceward.Duplicate, a, copies)
			return nil
		})
	})
}
