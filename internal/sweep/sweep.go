// Package sweep is the janitor: it settles operations whose owner fell silent
// and that no worker may take over, forgets what has been remembered long
// enough, and keeps the index of the senders' ids up to date. It works in small
// bounded steps, so that intake never waits long behind it. It decides nothing:
// what may be moved or forgotten is the rules' and the store's.
package sweep

import (
	"context"
	"log/slog"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
)

// Store is what the janitor asks of a store.
type Store interface {
	Recover(ctx context.Context, limits map[string][]onceward.Limits, limit int) (moved int, err error)
	PrunePayloads(ctx context.Context, limit int) (seen int, err error)
	PruneKeys(ctx context.Context, after onceward.EventID, shortest time.Duration, limit int) (next onceward.EventID, forgotten int, err error)
	Index(ctx context.Context, limit int) (added int, err error)
	Shrink(ctx context.Context, pages int) error
}

// Sweeper sweeps a store every now and then.
type Sweeper struct {
	Store Store
	Every time.Duration
	// Limits tells each operation's limits; names that it lacks are left alone.
	Limits func() map[string][]onceward.Limits
	// Shortest is the shortest memory of keys that is configured; 0 forgets
	// nothing.
	Shortest func() time.Duration
	// Moved is told that operations of lost owners were moved: about some of
	// them the other side can be asked.
	Moved func()
	Log   *slog.Logger

	after onceward.EventID // where the last look at old keys ended
}

const (
	stepRows   = 256 // a few milliseconds of the writer
	stepBudget = 250 * time.Millisecond
	shrinkStep = 256
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("a sweep did not end; the next one goes on", telemetry.KeyError, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Sweep looks once at everything, as far as its budget of time goes.
func (s *Sweeper) Sweep(ctx context.Context) error {
	if err := s.steps(ctx, func() (bool, error) {
		moved, err := s.Store.Recover(ctx, s.Limits(), stepRows)
		if moved > 0 && err == nil {
			s.Log.Error("operations whose owner was lost may need a person; onceward operations list --state unknown_outcome", "count", moved)
			if s.Moved != nil {
				s.Moved()
			}
		}
		return moved > 0, err
	}); err != nil {
		return err
	}
	if err := s.steps(ctx, func() (bool, error) {
		seen, err := s.Store.PrunePayloads(ctx, stepRows/16)
		return seen > 0, err
	}); err != nil {
		return err
	}
	if err := s.forget(ctx); err != nil {
		return err
	}
	if err := s.steps(ctx, func() (bool, error) {
		added, err := s.Store.Index(ctx, stepRows)
		return added == stepRows, err
	}); err != nil {
		return err
	}
	return s.Store.Shrink(ctx, shrinkStep)
}

func (s *Sweeper) forget(ctx context.Context) error {
	shortest := s.Shortest()
	if shortest <= 0 {
		return nil
	}
	return s.steps(ctx, func() (bool, error) {
		next, _, err := s.Store.PruneKeys(ctx, s.after, shortest, stepRows)
		if err != nil {
			return false, err
		}
		s.after = next
		return next != 0, nil
	})
}

// steps repeats step while there is more and time.
func (s *Sweeper) steps(ctx context.Context, step func() (more bool, err error)) error {
	for end := time.Now().Add(stepBudget); ; {
		more, err := step()
		if err != nil || !more || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}
