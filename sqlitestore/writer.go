package sqlitestore

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/batch"
)

// writer owns the only connection that writes. Its methods run on the batch's
// goroutine, inside a transaction.
type writer struct {
	store     *Store
	c         *conn
	ids       onceward.EventIDs
	labels    map[string]int64
	names     map[int64]string
	sources   map[sourceKey]int64
	orderings map[orderingKey]orderingRow
	segments  *segmentWriter
	recent    recent
	keep      int // keys that wait in recent
	hand      hand
	lately    lately
	wal       *walFile
	logged    int       // pages in the log after the last commit
	restored  time.Time // when the store was restored from a backup; zero if never
	scrub     bool      // erased bytes are still in the log

	// Of the running transaction:
	now     time.Time
	fresh   map[onceward.Digest]freshEvent // events that it made
	copies  map[copyKey]*copies
	moved   map[stateKey]int64                   // counter changes
	added   map[onceward.Digest]onceward.EventID // new keys
	gone    map[onceward.Digest]onceward.EventID // keys in recent that it forgot
	touched map[int64]bool                       // streams whose operations it changed
}

type sourceKey struct{ tenant, name, environment string }

type stateKey struct {
	label int64
	state onceward.State
}

func newWriter(c *conn, s *Store) *writer {
	return &writer{
		store: s, c: c, segments: newSegmentWriter(),
		labels: map[string]int64{}, names: map[int64]string{}, sources: map[sourceKey]int64{}, orderings: map[orderingKey]orderingRow{},
		fresh: map[onceward.Digest]freshEvent{}, copies: map[copyKey]*copies{}, moved: map[stateKey]int64{},
		added: map[onceward.Digest]onceward.EventID{}, gone: map[onceward.Digest]onceward.EventID{}, touched: map[int64]bool{}, keep: keepRecent,
	}
}

// commit runs a batch in one transaction and returns what makes it durable and
// tells the callers. When SQLite refuses the transaction, each request is tried
// apart, so that one poisonous row cannot fail its neighbours.
func (w *writer) commit(items []*batch.Item[func(*writer) error]) (finish func()) {
	began := time.Now()
	results := make([]error, len(items))
	if err := w.transaction(items, results); err != nil && len(items) > 1 {
		for i := range items {
			if err := w.transaction(items[i:i+1], results[i:i+1]); err != nil {
				results[i] = err
			}
		}
	} else if err != nil {
		results[0] = err
	}
	owed := w.wal.owed
	w.wal.owed = false
	w.checkpoint()
	return func() {
		var fault error
		if owed {
			fault = w.wal.settle()
		}
		if w.wal.failed.Load() {
			// What the log holds now, nobody can know: the system reports a
			// failed write once, and the next sync may succeed without having
			// written anything. Only a new start, which reads the file, tells.
			w.store.broken.Store(true)
			fault = cmp.Or(fault, errBroken)
		}
		if w.store.onCommit != nil {
			w.store.onCommit(len(items), time.Since(began))
		}
		for i, item := range items {
			if fault != nil && results[i] == nil {
				results[i] = fmt.Errorf("%w: the log could not be synced: %w", onceward.ErrUnavailable, fault)
			}
			item.Done(results[i])
		}
	}
}

func (w *writer) transaction(items []*batch.Item[func(*writer) error], results []error) (err error) {
	if w.store.broken.Load() {
		return errBroken
	}
	if err := w.c.q("BEGIN IMMEDIATE").run(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.rollback()
		}
	}()
	w.begin()
	for i, item := range items {
		results[i] = item.Value(w)
		if isStoreFault(results[i]) {
			if w.store.onBroken != nil && errors.Is(results[i], sqlite3.CONSTRAINT_TRIGGER) {
				w.store.onBroken()
			}
			return results[i]
		}
		// After some errors SQLite rolls back by itself. Going on would commit
		// every later statement alone.
		if w.c.GetAutocommit() {
			results[i] = errNoTransaction
			return errNoTransaction
		}
	}
	keys, err := w.flush()
	if err != nil {
		return err
	}
	if w.c.GetAutocommit() {
		return errNoTransaction
	}
	w.wal.owing = true
	err = w.c.q("COMMIT").run()
	w.wal.owing = false
	if err != nil {
		return err
	}
	w.settleKeys(keys)
	w.lately.add(w.fresh)
	return nil
}

// checkpoint moves the log into the database once it is long enough. It is the
// writer's, between two commits: a checkpoint of another connection would not
// let the log begin anew.
func (w *writer) checkpoint() {
	if w.scrub && !w.store.broken.Load() {
		// What was erased must leave the log, too; a reader may keep it there
		// until the next commit.
		if w.c.Exec("PRAGMA busy_timeout = 0") != nil {
			return
		}
		if _, _, err := w.c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err == nil {
			w.scrub = false
		}
		_ = w.c.Exec("PRAGMA busy_timeout = 10000") // it is the only writer, so nothing rests on this
		return
	}
	if w.logged < walPages || w.store.broken.Load() {
		return
	}
	// Readers may keep it from ending; the next commit tries again.
	_, _, _ = w.c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
}

func (w *writer) begin() {
	w.now = w.store.now().UTC()
	clear(w.fresh)
	clear(w.copies)
	clear(w.moved)
	clear(w.added)
	clear(w.gone)
	clear(w.touched)
	w.dropSegments()
}

func (w *writer) rollback() {
	_ = w.c.q("ROLLBACK").run() // SQLite may have rolled back by itself
	w.begin()
	// What the transaction had added to these may be gone.
	clear(w.labels)
	clear(w.names)
	clear(w.sources)
	clear(w.orderings)
}

// flush writes what the transaction gathered in memory.
func (w *writer) flush() (movedKeys, error) {
	if err := w.advanceAll(); err != nil {
		return movedKeys{}, err
	}
	if err := w.flushCopies(); err != nil {
		return movedKeys{}, err
	}
	if err := w.flushSegments(); err != nil {
		return movedKeys{}, err
	}
	if err := w.flushCounters(); err != nil {
		return movedKeys{}, err
	}
	return w.moveSome()
}

const addCounter = `INSERT INTO counter (label, state, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n`

func (w *writer) flushCounters() error {
	for key, n := range w.moved {
		if n == 0 {
			continue
		}
		if err := w.c.q(addCounter).int(key.label).int(int64(key.state)).int(n).run(); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) count(label int64, from, to onceward.State) {
	if from != 0 {
		w.moved[stateKey{label, from}]--
	}
	if to != 0 {
		w.moved[stateKey{label, to}]++
	}
}

const (
	insertLabel   = `INSERT INTO label (name) VALUES (?) ON CONFLICT DO NOTHING`
	selectLabelID = `SELECT id FROM label WHERE name = ?`
)

// label returns the number of an operation's name.
func (w *writer) label(name string) (int64, error) {
	if id, ok := w.labels[name]; ok {
		return id, nil
	}
	if err := w.c.q(insertLabel).string(name).run(); err != nil {
		return 0, err
	}
	var id int64
	_, err := w.c.q(selectLabelID).string(name).row(func(s *stmt) { id = s.ColumnInt64(0) })
	if err == nil {
		w.remember(id, name)
	}
	return id, err
}

func (w *writer) remember(id int64, name string) { w.labels[name], w.names[id] = id, name }

const selectLabelName = `SELECT name FROM label WHERE id = ?`

// name returns the operation's name that label numbers.
func (w *writer) name(label int64) (string, error) {
	if name, ok := w.names[label]; ok {
		return name, nil
	}
	var name string
	_, err := w.c.q(selectLabelName).int(label).row(func(s *stmt) { name = s.ColumnText(0) })
	if err == nil {
		w.remember(label, name)
	}
	return name, err
}

const (
	insertSource   = `INSERT INTO source (tenant, name, environment) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	selectSourceID = `SELECT id FROM source WHERE tenant = ? AND name = ? AND environment = ?`
)

// source returns the number of a source.
func (w *writer) source(k onceward.Key) (int64, error) {
	key := sourceKey{k.Tenant, k.Source, k.Environment}
	if id, ok := w.sources[key]; ok {
		return id, nil
	}
	if err := w.c.q(insertSource).string(key.tenant).string(key.name).string(key.environment).run(); err != nil {
		return 0, err
	}
	var id int64
	_, err := w.c.q(selectSourceID).string(key.tenant).string(key.name).string(key.environment).row(func(s *stmt) { id = s.ColumnInt64(0) })
	if err == nil {
		w.sources[key] = id
	}
	return id, err
}
