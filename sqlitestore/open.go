// Package sqlitestore keeps events and operations in one SQLite file: WAL,
// synchronous=FULL, so what was acknowledged survives a power cut. One writer
// goroutine commits in groups; a few readers stand apart. It owns the schema
// and no rule: what may follow what is decided by package onceward, and the
// writes check state and fence again. See DESIGN.md for what not to break.
package sqlitestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/batch"
)

const (
	maxBatch         = 512
	writerCachePages = 8192 // 32 MiB; the ledger's upper levels and the recent leaves
	readerCachePages = 512
	readers          = 3
	walPages         = 4096 // checkpoint from 16 MiB of WAL on
	walLimit         = 64 << 20
)

// Options are what a store needs beside its file.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// OnCommit, if set, is told each commit's size and duration.
	OnCommit func(items int, took time.Duration)
	// OnViolation, if set, is told when the schema refused to change a completed
	// operation, or to lower a fence: the last judge had to step in.
	OnViolation func()
	// Pepper, if set, is used for new digests instead of the store's own;
	// peppers used before are still looked up.
	Pepper onceward.Pepper
}

// Store is an open SQLite file. One process at a time may have it open.
type Store struct {
	path     string
	now      func() time.Time
	onCommit func(int, time.Duration)
	onBroken func()
	lock     *flock.Flock
	group    *batch.Group[func(*writer) error]
	writer   *writer
	readers  chan *conn
	segments *segmentCache
	flights  flights
	peppers  []onceward.Pepper // newest first
	broken   atomic.Bool       // a sync failed: nothing more is promised
	close    sync.Once
}

// Open opens or creates the file, brings its schema up to date and takes over
// what a dead owner left behind. The error says so when another process has it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	lock := flock.New(lockPath(path), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("open store %s: %w", path, err)
	case !held:
		return nil, fmt.Errorf("open store %s: another onceward process has it open; stop that one, or give this one its own file", path)
	}
	s, err := open(ctx, path, o, lock)
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

// lockPath is what is locked while the store is open: the database file itself,
// so that no other name of it and no missing lock file lets a second process
// in. SQLite's own locks are of another kind and do not meet this one, except on
// Windows, where a file beside it must do.
func lockPath(path string) string {
	if runtime.GOOS == "windows" {
		return path + ".lock"
	}
	return path
}

func open(ctx context.Context, path string, o Options, lock *flock.Flock) (*Store, error) {
	// Bodies and the pepper are in it: nobody else is to read them.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	if err := Migrate(ctx, path); err != nil {
		return nil, translate(err)
	}
	s := &Store{path: path, now: o.Now, onCommit: o.OnCommit, onBroken: o.OnViolation, lock: lock, readers: make(chan *conn, readers), segments: newSegmentCache()}
	if s.now == nil {
		s.now = time.Now
	}
	c, err := openConn(path, false, writerCachePages)
	if err != nil {
		return nil, err
	}
	s.writer = newWriter(c, s)
	if err := s.writer.start(o.Pepper); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for range readers {
		r, err := openConn(path, true, readerCachePages)
		if err != nil {
			return nil, errors.Join(err, s.closeConns())
		}
		s.readers <- r
	}
	// The driver makes this one for everybody, though it holds page numbers only.
	if err := os.Chmod(path+"-shm", 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, s.closeConns())
	}
	s.group = batch.New(maxBatch, s.writer.commit)
	return s, nil
}

// Close commits what is queued and closes the file. It is safe to call twice.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		s.flights.landed.Wait()
		s.group.Stop()
		if s.broken.Load() {
			// Nobody can vouch for what is in the log: it is left as it is, and
			// not written into the database. The next start reads the file.
			_, err = s.writer.c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		} else {
			err = translate(s.writer.closeLedger())
		}
		err = errors.Join(err, s.closeConns(), s.lock.Unlock())
	})
	return err
}

func (s *Store) closeConns() error {
	var errs []error
	for range cap(s.readers) {
		select {
		case r := <-s.readers:
			errs = append(errs, r.close())
		default:
		}
	}
	return errors.Join(append(errs, s.writer.c.close())...)
}

// Peppers returns the installation's secrets for digests, newest first.
func (s *Store) Peppers() []onceward.Pepper { return s.peppers }

// pingedAt is the setting that a ping writes.
const pingedAt = "pinged_at"

// Ping reports whether the store answers and can write. It writes, because a
// disk that is full or read-only is noticed by nothing less.
func (s *Store) Ping(ctx context.Context) error {
	return s.write(ctx, func(w *writer) error {
		return w.c.q(upsertSetting).string(pingedAt).int(s.now().UnixMicro()).run()
	})
}

// Sizes returns the bytes of the database file and of its WAL.
func (s *Store) Sizes() (database, wal int64) {
	for name, n := range map[string]*int64{s.path: &database, s.path + "-wal": &wal} {
		if info, err := os.Stat(name); err == nil {
			*n = info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) {
			*n = -1
		}
	}
	return database, wal
}

// write runs apply inside the next commit and returns when that is durable.
// apply may run more than once; it must set its results anew each time, and
// must change nothing when it returns an error of the vocabulary. It does not
// run any more once write has returned: who gave up reads its results in peace.
func (s *Store) write(ctx context.Context, apply func(*writer) error) error {
	var mu sync.Mutex
	gone := false
	err := s.group.Do(ctx, func(w *writer) error {
		mu.Lock()
		defer mu.Unlock()
		if gone {
			return context.Canceled
		}
		return apply(w)
	})
	mu.Lock()
	defer mu.Unlock()
	gone = true
	return translate(err)
}

// read runs query on a reader's own snapshot.
func (s *Store) read(ctx context.Context, query func(*conn) error) error {
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return translate(ctx.Err())
	}
	defer func() { s.readers <- c }()
	c.SetInterrupt(ctx)
	if err := c.q("BEGIN").run(); err != nil {
		c.SetInterrupt(context.Background())
		return translate(err)
	}
	err := query(c)
	c.SetInterrupt(context.Background()) // the snapshot must end, whoever gave up
	return translate(errors.Join(err, c.q("ROLLBACK").run()))
}

const (
	selectPeppers = `SELECT name, secret FROM pepper ORDER BY created DESC, name DESC`
	insertPepper  = `INSERT INTO pepper (name, secret, created) VALUES (?, ?, ?)`
	selectLast    = `SELECT max(id) FROM event`
	selectLabel   = `SELECT id, name FROM label`
	// The file's lock proves that every earlier owner is dead, so their leases
	// end now; what they had under way is for Take and Expire to judge. Leases
	// that have run out need no help, which keeps this to the index's far end.
	// They end as if they had ended by OwnerPause ago: nobody who is dead can
	// sit between his intent and his call.
	endLeases = `UPDATE operation SET due_at = ?3, owner = NULL WHERE label = ?1 AND step = ?2 AND due_at > ?3 AND owner IS NOT NULL`
)

// start loads what the writer keeps in memory and makes the pepper on first use.
func (w *writer) start(given onceward.Pepper) error {
	now := w.store.now().UnixMicro()
	if err := w.c.Exec("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = " + itoa(walLimit)); err != nil {
		return err
	}
	log, err := w.c.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return err
	}
	var ok bool
	if w.wal, ok = log.(*walFile); !ok {
		return fmt.Errorf("the write-ahead log is a %T; is journal_mode not WAL?", log)
	}
	w.c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.logged = pages
		return nil
	})
	if err := w.loadPeppers(given, now); err != nil {
		return err
	}
	if err := w.c.q(selectLabel).rows(func(s *stmt) error {
		w.remember(s.ColumnInt64(0), s.ColumnText(1))
		return nil
	}); err != nil {
		return err
	}
	dead := w.store.now().Add(-onceward.OwnerPause)
	for label := range w.names {
		for step := int64(-1); ; {
			found, err := w.c.q(selectNextStep).int(label).int(step).row(func(s *stmt) { step = s.ColumnInt64(0) })
			if err != nil {
				return err
			}
			if !found {
				break
			}
			if err := w.c.q(endLeases).int(label).int(step).time(dead).run(); err != nil {
				return err
			}
		}
	}
	if _, err := w.c.q(selectLast).row(func(s *stmt) { w.ids.Observe(onceward.EventID(s.ColumnInt64(0))) }); err != nil {
		return err
	}
	restored, err := w.c.setting(restoredAt)
	if err != nil {
		return err
	}
	if restored != 0 {
		w.restored = micro(restored)
	}
	return w.openLedger()
}

func (w *writer) loadPeppers(given onceward.Pepper, now int64) error {
	var known []onceward.Pepper
	if err := w.c.q(selectPeppers).rows(func(s *stmt) error {
		known = append(known, onceward.Pepper{Name: s.ColumnText(0), Secret: s.ColumnBlob(1, nil)})
		return nil
	}); err != nil {
		return err
	}
	if given.Name == "" && len(known) == 0 {
		given = onceward.Pepper{Name: "p1", Secret: make([]byte, 32)}
		if _, err := rand.Read(given.Secret); err != nil {
			return err
		}
	}
	if given.Name != "" && !slices.ContainsFunc(known, func(p onceward.Pepper) bool { return p.Name == given.Name }) {
		if err := w.c.q(insertPepper).string(given.Name).blob(given.Secret).int(now).run(); err != nil {
			return err
		}
		known = slices.Insert(known, 0, given)
	}
	w.store.peppers = known
	return nil
}
