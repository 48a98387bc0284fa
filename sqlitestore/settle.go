package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Settle records how an attempt ended: T5, T7, T9, T10, T15, T19, or the wait
// of a keyed call for its repetition. onceward.ErrFenced means that the lease
// was lost; then nothing was changed, except when it is
// onceward.ErrDisputed: then the contradiction is on record. It returns the
// operation as it stands now.
func (s *Store) Settle(ctx context.Context, l onceward.Lease, out onceward.Outcome, limits onceward.Limits) (onceward.Operation, error) {
	var settled onceward.Operation
	var disputed bool
	err := s.write(ctx, func(w *writer) error {
		disputed = false
		o, err := w.operation(l.Operation)
		if err != nil {
			return err
		}
		var transition string
		settled, transition, err = o.Settle(l, out, limits, w.now)
		if errors.Is(err, onceward.ErrFenced) && out.Success() {
			recorded, fault := w.recorded(o, l.Step)
			if fault != nil {
				return fault
			}
			settled, transition, err = o.Dispute(l, recorded, w.now)
			disputed = err == nil
		}
		if err != nil {
			return err
		}
		if err := w.move(o, settled); err != nil {
			return err
		}
		if err := w.attempt(onceward.Attempt{
			Operation: o.ID, Number: l.Attempt, Owner: l.Owner, Fence: l.Fence, Started: started(out, w.now), Ended: w.now,
			Outcome: out.String(), Status: out.Status, State: settled.State, Reason: out.Reason,
		}); err != nil {
			return err
		}
		if err := w.stepDone(o, settled, out.Result); err != nil {
			return err
		}
		switch {
		case disputed, transition == "T19":
			return w.audit(o, settled, transition, onceward.Decision{Actor: "late owner", Reason: settled.Reason, Evidence: lateEvidence(l, out)})
		case settled.State == onceward.DeadLettered, settled.State == onceward.UnknownOutcome:
			return w.audit(o, settled, transition, onceward.Decision{Actor: "worker", Reason: settled.Reason})
		}
		return nil
	})
	if err == nil && disputed {
		err = fmt.Errorf("operation %s: %w", l.Operation, onceward.ErrDisputed)
	}
	return settled, err
}

func lateEvidence(l onceward.Lease, out onceward.Outcome) string {
	text := fmt.Sprintf("attempt %d under fence %d reported success", l.Attempt, l.Fence)
	if out.Status != 0 {
		text += fmt.Sprintf(", answered %d", out.Status)
	}
	if out.Result != "" {
		text += ", result " + out.Result
	}
	return text
}

func started(out onceward.Outcome, now time.Time) time.Time {
	if out.Started.IsZero() {
		return now
	}
	return out.Started
}

// Renew moves the end of a lease: T3.
func (s *Store) Renew(ctx context.Context, l onceward.Lease, d time.Duration) (onceward.Lease, error) {
	return s.owned(ctx, l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Renew(l, d, now)
	})
}

// Intend records, before the call, that it may happen, and moves the end of
// the lease: T4.
func (s *Store) Intend(ctx context.Context, l onceward.Lease, d time.Duration) (onceward.Lease, error) {
	return s.owned(ctx, l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Intend(l, d, now)
	})
}

// HandBack returns what was leased and not begun, due at once.
func (s *Store) HandBack(ctx context.Context, l onceward.Lease) error {
	_, err := s.owned(ctx, l, func(o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.HandBack(l, now)
	})
	return err
}

func (s *Store) owned(ctx context.Context, l onceward.Lease, change func(onceward.Operation, time.Time) (onceward.Operation, string, error)) (onceward.Lease, error) {
	err := s.write(ctx, func(w *writer) error {
		o, err := w.operation(l.Operation)
		if err != nil {
			return err
		}
		held, _, err := change(o, w.now)
		if err != nil {
			return err
		}
		l.Until = held.DueAt
		return w.move(o, held)
	})
	return l, err
}
