package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

const (
	fillers   = 8  // at once
	fillBatch = 32 // events in one delivery
	filled    = "filled"
	keepKeys  = 90 * 24 * time.Hour // as by default
)

// fill writes events that were received, carried and completed long ago: the
// first million so long ago that it may be forgotten, the rest ten days ago. It
// goes through the store as the gateway does, under a clock of its own.
func (l *lab) fill(ctx context.Context, dir string) error {
	store := filepath.Join(dir, "store")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return err
	}
	now := time.Now()
	for n, began := 0, now; n < l.million; n++ {
		at := now.Add(-10 * 24 * time.Hour)
		if n == 0 {
			at = now.Add(-keepKeys - 10*24*time.Hour)
		}
		if err := fillMillion(ctx, filepath.Join(store, "onceward.db"), n, at); err != nil {
			return err
		}
		l.say("       filled %d of %d million in %v", n+1, l.million, time.Since(began).Round(time.Second))
	}
	return nil
}

func fillMillion(ctx context.Context, path string, n int, at time.Time) (err error) {
	began := time.Now()
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Now: func() time.Time { return at.Add(time.Since(began)) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	const deliveries = 1_000_000 / fillBatch
	var next atomic.Int64
	var wg sync.WaitGroup
	faults := make(chan error, fillers)
	for range fillers {
		wg.Go(func() {
			hasher := s.Peppers()[0].Hasher()
			for {
				i := next.Add(1)
				if i > deliveries {
					return
				}
				if err := fillDelivery(ctx, s, hasher, fmt.Sprintf("%d-%d", n, i), at); err != nil {
					faults <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(faults)
	return <-faults
}

func fillDelivery(ctx context.Context, s *sqlitestore.Store, hasher *onceward.Hasher, name string, at time.Time) error {
	a := &onceward.Admission{
		At: at, Header: []byte("Content-Type: application/json\n"), Secret: "secret 1", Remote: "127.0.0.1", Payloads: time.Hour, Keys: keepKeys,
		Arrivals: make([]onceward.Arrival, fillBatch),
	}
	for i := range a.Arrivals {
		id := fmt.Sprintf("evt_%s-%d", name, i)
		key := onceward.Key{Source: filled, Environment: "production", EventID: id}
		body := []byte(`{"id":"` + id + `"}`)
		a.Arrivals[i] = onceward.Arrival{
			Key: key, Digest: hasher.Digest(key), Type: "charge.succeeded", Content: sha256.Sum256(body), Raw: body, Verdict: onceward.Accepted,
			Operations: []onceward.Planned{{Name: filled, Effect: onceward.Keyed, Owner: "bench", Lease: time.Hour, Intend: true}},
		}
	}
	admitted, err := s.Admit(ctx, a)
	if err != nil {
		return err
	}
	faults := make([]error, len(admitted))
	var wg sync.WaitGroup
	for i := range admitted {
		wg.Go(func() { // together, so that they share commits
			o := admitted[i].Operations[0]
			lease := onceward.Lease{Operation: o.ID, Fence: o.Fence, Attempt: o.Attempt, Until: o.DueAt, Owner: o.Owner}
			_, faults[i] = s.Settle(ctx, lease, onceward.Succeeded("ok"), onceward.Limits{Attempts: 9, Lease: time.Hour})
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}
