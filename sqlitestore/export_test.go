package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/onceward/onceward"
)

// Statements are those whose plans matter, by name.
func Statements() map[string]string {
	return map[string]string{
		"selectDue": selectDue, "selectNextDue": selectNextDue, "selectSilent": selectSilent, "selectUnclaimed": selectUnclaimed, "selectNextStep": selectNextStep,
		"selectAsk": selectAsk, "selectNextAsk": selectNextAsk, "selectSteps": selectSteps, "selectKey": selectKey,
		"selectKnown": selectKnown, "selectOperation": selectOperation, "selectOperations": selectOperations,
		"updateOperation": updateOperation, "selectForWork": selectForWork, "selectSegment": selectSegment,
		"selectEvents": selectEvents, "selectEvent": selectEvent, "selectParkedEvents": selectParkedEvents, "selectQuarantined": selectQuarantined,
		"selectParked": selectParked, "selectAllOperations": selectAllOperations, "selectAudit": selectAudit, "selectEventAudit": selectEventAudit,
		"selectConflicts": selectConflicts, "selectOpen": selectOpen, "selectConflict": selectConflict, "selectRevision": selectRevision,
		"selectBulks": selectBulks, "selectLastOperation": selectLastOperation, "releaseFollower": releaseFollower,
		"selectExpired": selectExpired, "selectOld": selectOld, "needsPayload": needsPayload, "endLeases": endLeases, "loadKeys": loadKeys,
		"selectReference": selectReference, "selectTail": selectTail, "selectUnindexed": selectUnindexed, "selectWaiting": selectWaiting, "selectActive": selectActive, "selectAhead": selectAhead, "selectSeen": selectSeen, "selectOldest": selectOldest,
	}
}

const (
	WALPages = walPages
	WALLimit = walLimit
)

// OnWriter runs f on the writer's connection, inside a transaction.
func (s *Store) OnWriter(ctx context.Context, f func(*sqlite3.Conn) error) error {
	return s.write(ctx, func(w *writer) error { return f(w.c.Conn) })
}

// HoldSnapshot keeps a reader's snapshot from the moment it returns until the
// returned function is called.
func (s *Store) HoldSnapshot(ctx context.Context) (release func() error) {
	held, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.read(ctx, func(c *conn) error {
			_, err := c.q(selectLast).row(func(*stmt) {})
			close(held)
			<-end
			return err
		})
	}()
	<-held
	return func() error {
		close(end)
		return <-done
	}
}

// ScannedRows returns how many rows the writer's statements have stepped over
// in scans of whole tables since the last call, by statement.
func (s *Store) ScannedRows(ctx context.Context) (map[string]int, error) {
	scanned := map[string]int{}
	err := s.write(ctx, func(w *writer) error {
		clear(scanned)
		for sql, q := range w.c.prepared {
			if n := q.Status(sqlite3.STMTSTATUS_FULLSCAN_STEP, true); n > 0 {
				scanned[sql] = n
			}
		}
		return nil
	})
	return scanned, err
}

// FailSyncs makes every sync of the log fail while fail is set.
func (s *Store) FailSyncs(ctx context.Context, fail *atomic.Bool) error {
	return s.write(ctx, func(w *writer) error {
		w.wal.File = faultyFile{w.wal.File, fail}
		return nil
	})
}

type faultyFile struct {
	vfs.File
	fail *atomic.Bool
}

func (f faultyFile) Sync(flags vfs.SyncFlag) error {
	if f.fail.Load() {
		return errors.New("input/output error")
	}
	return f.File.Sync(flags)
}

// Crowd makes the writer believe that memory is full of keys, so that each
// commit with new ones moves some to the ledger.
func (s *Store) Crowd(ctx context.Context) error {
	return s.write(ctx, func(w *writer) error {
		w.keep = 0
		return nil
	})
}

// Recent returns the events whose keys wait in memory, once for each key.
func (s *Store) Recent(ctx context.Context) (waiting []onceward.EventID, err error) {
	err = s.write(ctx, func(w *writer) error {
		waiting = nil
		for _, bucket := range w.recent.buckets {
			for _, k := range bucket {
				waiting = append(waiting, k.event)
			}
		}
		if len(waiting) != w.recent.held {
			return fmt.Errorf("recent counts %d keys and holds %d", w.recent.held, len(waiting))
		}
		return nil
	})
	return waiting, err
}

// Queued is how many writes wait for the writer.
func (s *Store) Queued() int { return s.group.Queued() }

// FailReads makes every read of the database file and of the log fail on the
// writer's connection while fail is set.
func (s *Store) FailReads(ctx context.Context, fail *atomic.Bool) error {
	return s.write(ctx, func(w *writer) error {
		w.wal.File = unreadableFile{w.wal.File, fail}
		return nil
	})
}

// FailWrites makes every write to the log fail on the writer's connection while
// fail is set, as on a full disk.
func (s *Store) FailWrites(ctx context.Context, fail *atomic.Bool) error {
	return s.write(ctx, func(w *writer) error {
		w.wal.File = unwritableFile{w.wal.File, fail}
		return nil
	})
}

type unwritableFile struct {
	vfs.File
	fail *atomic.Bool
}

func (f unwritableFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fail.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.File.WriteAt(p, off)
}

type unreadableFile struct {
	vfs.File
	fail *atomic.Bool
}

func (f unreadableFile) ReadAt(p []byte, off int64) (int, error) {
	if f.fail.Load() {
		return 0, errors.New("input/output error")
	}
	return f.File.ReadAt(p, off)
}

// Forget makes the writer's connection read every page anew.
func (s *Store) Forget(c *sqlite3.Conn) error { return c.Exec("PRAGMA shrink_memory") }

// Checkpoint makes the next commit end with a checkpoint.
func (s *Store) Checkpoint(ctx context.Context) error {
	return s.write(ctx, func(w *writer) error {
		w.logged = walPages
		return nil
	})
}
