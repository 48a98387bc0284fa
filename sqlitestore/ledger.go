package sqlitestore

import (
	"github.com/onceward/onceward"
)

// The ledger is the memory of keys. A key is random, so writing each one to its
// place would dirty one page of the big index for every event, which was most
// of what a commit wrote. Keys therefore live in two tables, both unique:
//
//   - recent, a temporary table in memory, takes new keys, after a look into
//     the ledger in the same transaction; there is one writer.
//   - ledger, on disk, takes keys from recent in order: each commit moves the
//     next few neighbours, which share pages. The hand of the clock goes round
//     and round through the key space.
//
// Durable are the events: their rows hold their keys. Events up to the setting
// ledger_upto have theirs in the ledger for certain; after a crash the keys of
// the later ones are read into recent again.
const (
	createRecent = `CREATE TEMP TABLE recent (key BLOB PRIMARY KEY, event INTEGER NOT NULL) WITHOUT ROWID`
	loadKeys     = `INSERT INTO recent SELECT key, id FROM event WHERE id > ?`
	loadBodies   = `INSERT INTO recent SELECT body, id FROM event WHERE id > ? AND body IS NOT NULL`
	countRecent  = `SELECT count(*) FROM recent`

	insertKey    = `INSERT INTO recent (key, event) VALUES (?, ?) ON CONFLICT DO NOTHING`
	selectRecent = `SELECT event FROM recent WHERE key = ?`
	selectKey    = `SELECT event FROM ledger WHERE key = ?`
	deleteKey    = `DELETE FROM ledger WHERE key = ? AND event = ?`
	deleteRecent = `DELETE FROM recent WHERE key = ? AND event = ?`

	selectBound = `SELECT key FROM recent WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?`
	// A key may be there already, moved before a crash that recent was loaded
	// after; under another event it is a broken promise, which the check on the
	// column refuses.
	moveKeys = `INSERT INTO ledger SELECT key, event FROM recent WHERE key > ?1 AND key <= ?2 ORDER BY key
 ON CONFLICT (key) DO UPDATE SET event = -1 WHERE ledger.event <> excluded.event`
	dropMoved = `DELETE FROM recent WHERE key > ?1 AND key <= ?2`

	ledgerUpto = "ledger_upto"
)

const (
	// keepRecent is how many keys wait in memory: the more, the more neighbours
	// are moved together, and the longer a start after a crash takes.
	keepRecent = 64 << 10
	moveAtOnce = 2048
)

// hand is where the clock stands. It changes with the commit.
type hand struct {
	at    []byte           // keys up to here were moved in this round; nil at its beginning
	began onceward.EventID // newest event when this round began
	held  int              // keys in recent
}

var lastKey = [17]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// openLedger loads the keys that are not in the ledger for certain.
func (w *writer) openLedger() error {
	upto, err := w.c.setting(ledgerUpto)
	if err != nil {
		return err
	}
	if err := w.c.Exec(createRecent); err != nil {
		return err
	}
	for _, load := range [...]string{loadKeys, loadBodies} {
		if err := w.c.q(load).int(upto).run(); err != nil {
			return err
		}
	}
	_, err = w.c.q(countRecent).row(func(s *stmt) { w.hand.held = s.ColumnInt(0) })
	return err
}

// insertKey remembers a key for event id, unless it is known.
func (w *writer) insertKey(d onceward.Digest, id onceward.EventID) (fresh bool, err error) {
	if known, err := w.c.q(selectKey).blob(d[:]).row(func(*stmt) {}); err != nil || known {
		return false, err
	}
	err = w.c.q(insertKey).blob(d[:]).int(int64(id)).run()
	if fresh = w.c.Changes() == 1; fresh && err == nil {
		w.added++
	}
	return fresh, err
}

// lookup finds the event of a key.
func (w *writer) lookup(d onceward.Digest) (id onceward.EventID, found bool, err error) {
	for _, sql := range [...]string{selectRecent, selectKey} {
		found, err = w.c.q(sql).blob(d[:]).row(func(s *stmt) { id = onceward.EventID(s.ColumnInt64(0)) })
		if err != nil || found {
			break
		}
	}
	return id, found, err
}

func (w *writer) deleteKey(key []byte, id onceward.EventID) error {
	if err := w.c.q(deleteKey).blob(key).int(int64(id)).run(); err != nil {
		return err
	}
	err := w.c.q(deleteRecent).blob(key).int(int64(id)).run()
	w.added -= int(w.c.Changes())
	return err
}

// moveSome moves as many keys as came with this transaction, and a few more.
func (w *writer) moveSome() (hand, error) {
	next := w.hand
	next.held += w.added
	if next.held <= keepRecent || w.added <= 0 {
		return next, nil
	}
	return w.moveNext(next, w.added+w.added/4+1)
}

// moveNext moves the next n keys from recent to the ledger.
func (w *writer) moveNext(h hand, n int) (hand, error) {
	if len(h.at) == 0 && h.began == 0 {
		h.began = w.ids.Last()
	}
	from, bound := h.at, lastKey[:]
	if from == nil {
		from = []byte{0} // every key is longer, so greater
	}
	found, err := w.c.q(selectBound).blob(from).int(int64(n - 1)).row(func(s *stmt) { bound = s.ColumnBlob(0, nil) })
	if err != nil {
		return h, err
	}
	if err := w.c.q(moveKeys).blob(from).blob(bound).run(); err != nil {
		return h, err
	}
	if err := w.c.q(dropMoved).blob(from).blob(bound).run(); err != nil {
		return h, err
	}
	h.held -= int(w.c.Changes())
	h.at = bound
	if !found { // once round: what was there when the round began has been moved
		err = w.c.q(upsertSetting).string(ledgerUpto).int(int64(h.began)).run()
		h.at, h.began = nil, 0
	}
	return h, err
}

// closeLedger moves all keys in one round, so that the next start has nothing
// to load.
func (w *writer) closeLedger() error {
	w.hand = hand{}
	for {
		if err := w.c.q("BEGIN IMMEDIATE").run(); err != nil {
			return err
		}
		w.begin()
		next, err := w.moveNext(w.hand, moveAtOnce)
		if err == nil {
			err = w.c.q("COMMIT").run()
		}
		if err != nil {
			w.rollback()
			return err
		}
		if w.hand = next; next.at == nil {
			return nil
		}
	}
}
