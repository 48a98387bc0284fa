package sqlitestore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Retry makes an operation due again with the same key, on a person's word.
func (s *Store) Retry(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, id, d, asking("retry", id, d.Consent), "", func(e onceward.Event, o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		if err := e.Sendable(); err != nil {
			return o, "", err
		}
		return o.Retry(d, now)
	})
}

// Resolve records what a person found out about an operation's outcome.
func (s *Store) Resolve(ctx context.Context, id onceward.OperationID, completed bool, result string, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, id, d, asking("resolve", id, completed, result), result, func(_ onceward.Event, o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Resolve(completed, result, d, now)
	})
}

// Abandon gives an operation up, on a person's word.
func (s *Store) Abandon(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error) {
	return s.decide(ctx, id, d, asking("abandon", id), "", func(_ onceward.Event, o onceward.Operation, now time.Time) (onceward.Operation, string, error) {
		return o.Abandon(d, now)
	})
}

func (s *Store) decide(ctx context.Context, id onceward.OperationID, d onceward.Decision, asked [32]byte, result string, change func(onceward.Event, onceward.Operation, time.Time) (onceward.Operation, string, error)) (onceward.Operation, error) {
	var decided onceward.Operation
	err := s.write(ctx, func(w *writer) error {
		if err := w.unasked(d, asked); err != nil {
			return err
		}
		o, err := w.operation(id)
		if err != nil {
			return err
		}
		e, err := w.c.event(id.Event)
		if err != nil {
			return err
		}
		var transition string
		if decided, transition, err = change(e.Event, o, w.now); err != nil {
			return fmt.Errorf("operation %s: %w", id, err)
		}
		if err := w.once(d, asked); err != nil {
			return err
		}
		if err := w.move(o, decided); err != nil {
			return err
		}
		if err := w.stepDone(o, decided, result); err != nil {
			return err
		}
		if err := w.firstCounts(o, decided); err != nil {
			return err
		}
		return w.audit(o, decided, transition, d)
	})
	return decided, err
}

const (
	insertRequest = `INSERT INTO request (actor, name, asked, at) VALUES (?, ?, ?, ?)`
	selectRequest = `SELECT asked FROM request WHERE actor = ? AND name = ?`
	// There are few: people make them.
	forgetRequests = `DELETE FROM request WHERE at < ?`
)

// requestMemory is how long a request's name is known.
const requestMemory = 30 * 24 * time.Hour

// asking is the print of what a request asks for. Why somebody asks is not in
// it: that is said anew each time.
func asking(what string, of ...any) [32]byte {
	text, _ := json.Marshal(append([]any{what}, of...)) // of names, numbers and truth values: cannot fail
	return sha256.Sum256(text)
}

// unasked refuses a request that was carried out before, whatever has become of
// its event since, and one that only has the name of another.
func (w *writer) unasked(d onceward.Decision, asked [32]byte) error {
	if d.Once == "" {
		return nil
	}
	var known [32]byte
	found, err := w.c.q(selectRequest).string(d.Actor).string(d.Once).row(func(s *stmt) { copy(known[:], s.ColumnRawBlob(0)) })
	switch {
	case err != nil || !found:
		return err
	case known != asked:
		return fmt.Errorf("request %q: %w", d.Once, onceward.ErrMismatch)
	}
	return fmt.Errorf("request %q: %w", d.Once, onceward.ErrRepeated)
}

// once remembers a request by its name. It is called when nothing can refuse it
// any more and nothing is written yet: what was refused leaves its name free.
func (w *writer) once(d onceward.Decision, asked [32]byte) error {
	if d.Once == "" {
		return nil
	}
	if err := w.c.q(insertRequest).string(d.Actor).string(d.Once).blob(asked[:]).time(w.now).run(); err != nil {
		return err
	}
	return w.c.q(forgetRequests).time(w.now.Add(-requestMemory)).run()
}

const (
	insertPause = `INSERT INTO pause (destination, at, actor, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	deletePause = `DELETE FROM pause WHERE destination = ?`
)

// Pause stops calls to a destination until Unpause; pausing twice is once.
func (s *Store) Pause(ctx context.Context, destination string, d onceward.Decision) error {
	return s.write(ctx, func(w *writer) error {
		if err := w.c.q(insertPause).string(destination).time(w.now).string(d.Actor).string(d.Reason).run(); err != nil || w.c.Changes() == 0 {
			return err
		}
		return w.auditDestination(destination, "pause", d)
	})
}

// Unpause lets calls to a destination go on.
func (s *Store) Unpause(ctx context.Context, destination string, d onceward.Decision) error {
	return s.write(ctx, func(w *writer) error {
		if err := w.c.q(deletePause).string(destination).run(); err != nil || w.c.Changes() == 0 {
			return err
		}
		return w.auditDestination(destination, "resume", d)
	})
}

func (w *writer) auditDestination(destination, action string, d onceward.Decision) error {
	return w.c.q(insertAudit).time(w.now).string(d.Actor).string(action).string(destination).null().null().null().null().null().
		decision(d).run()
}
