package sqlitestore

import (
	"bytes"
	"slices"

	"github.com/onceward/onceward"
)

// The ledger is the memory of keys. A key is random, so writing each one to its
// place would dirty one page of the big index for every event, which was most
// of what a commit wrote. Keys therefore live in two places:
//
//   - recent, in memory, takes new keys when their transaction is committed;
//     there is one writer, and it looks into both before it calls a key new.
//   - ledger, on disk and unique, takes keys from recent in order: each commit
//     moves the next few neighbours, which share pages. The hand of the clock
//     goes round and round through the key space.
//
// Durable are the events: their rows hold their keys. Events up to the setting
// ledger_upto have theirs in the ledger for certain; after a crash the keys of
// the later ones are read into recent again.
const (
	loadKeys   = `SELECT key, id FROM event WHERE id > ?`
	loadBodies = `SELECT body, id FROM event WHERE id > ? AND body IS NOT NULL`

	selectKey = `SELECT event FROM ledger WHERE key = ?`
	deleteKey = `DELETE FROM ledger WHERE key = ? AND event = ?`
	// A key may be there already, moved before a crash that recent was loaded
	// after; under another event it is a broken promise, which the check on the
	// column refuses.
	moveKey = `INSERT INTO ledger (key, event) VALUES (?, ?)
 ON CONFLICT (key) DO UPDATE SET event = -1 WHERE ledger.event <> excluded.event`

	ledgerUpto = "ledger_upto"
)

// keepRecent is how many keys wait in memory: the more, the more neighbours are
// moved together, and the longer a start after a crash takes.
const keepRecent = 64 << 10

// recentKey is a key that is not in the ledger yet.
type recentKey struct {
	digest onceward.Digest
	event  onceward.EventID
}

// recent holds keys by their first twelve bits: with [keepRecent] of them a
// bucket is as many as are moved together, and looking through one costs less
// than a tree or a map would. Transactions change it only when they commit.
type recent struct {
	buckets [1 << 12][]recentKey
	held    int
}

func bucketOf(d onceward.Digest) int { return int(d[0])<<4 | int(d[1])>>4 }

func (r *recent) find(d onceward.Digest) (onceward.EventID, bool) {
	for _, k := range r.buckets[bucketOf(d)] {
		if k.digest == d {
			return k.event, true
		}
	}
	return 0, false
}

func (r *recent) add(k recentKey) {
	b := &r.buckets[bucketOf(k.digest)]
	*b = append(*b, k)
	r.held++
}

func (r *recent) remove(k recentKey) {
	b := &r.buckets[bucketOf(k.digest)]
	if i := slices.Index(*b, k); i >= 0 {
		*b = slices.Delete(*b, i, i+1)
		r.held--
	}
}

func (r *recent) empty(bucket int) {
	r.held -= len(r.buckets[bucket])
	r.buckets[bucket] = r.buckets[bucket][:0]
}

// hand is where the clock stands. It changes with the commit.
type hand struct {
	at    int              // next bucket to be moved
	began onceward.EventID // newest event when this round began; 0 before it has
}

// openLedger loads the keys that are not in the ledger for certain.
func (w *writer) openLedger() error {
	upto, err := w.c.setting(ledgerUpto)
	if err != nil {
		return err
	}
	for _, load := range [...]string{loadKeys, loadBodies} {
		if err := w.c.q(load).int(upto).rows(func(s *stmt) error {
			k := recentKey{event: onceward.EventID(s.ColumnInt64(1))}
			copy(k.digest[:], s.ColumnRawBlob(0))
			w.recent.add(k)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// insertKey remembers a key for event id, unless it is known.
func (w *writer) insertKey(d onceward.Digest, id onceward.EventID) (fresh bool, err error) {
	if _, known, err := w.lookup(d); err != nil || known {
		return false, err
	}
	w.added[d] = id
	return true, nil
}

const insertLedger = `INSERT INTO ledger (key, event) VALUES (?, ?)`

// insertAlias remembers a second key of an event that may have been there for
// long, which nothing would read into recent again after a crash.
func (w *writer) insertAlias(d onceward.Digest, id onceward.EventID) error {
	upto, err := w.c.setting(ledgerUpto)
	if err != nil {
		return err
	}
	if int64(id) > upto {
		_, err := w.insertKey(d, id)
		return err
	}
	return w.c.q(insertLedger).blob(d[:]).int(int64(id)).run()
}

// lookup finds the event of a key.
func (w *writer) lookup(d onceward.Digest) (id onceward.EventID, found bool, err error) {
	if id, found = w.added[d]; found {
		return id, true, nil
	}
	if id, found = w.recent.find(d); found && (len(w.gone) == 0 || w.gone[d] != id) {
		return id, true, nil
	}
	id = 0
	found, err = w.c.q(selectKey).blob(d[:]).row(func(s *stmt) { id = onceward.EventID(s.ColumnInt64(0)) })
	return id, found, err
}

// deleteKey forgets a key, if it is event id's.
func (w *writer) deleteKey(d onceward.Digest, id onceward.EventID) error {
	if err := w.c.q(deleteKey).blob(d[:]).int(int64(id)).run(); err != nil {
		return err
	}
	if w.added[d] == id {
		delete(w.added, d)
	}
	if known, found := w.recent.find(d); found && known == id {
		w.gone[d] = id
	}
	return nil
}

// moveSome moves as many keys as came with this transaction, and a few more.
func (w *writer) moveSome() (movedKeys, error) {
	m := movedKeys{from: w.hand.at, hand: w.hand}
	if len(w.added) == 0 || w.recent.held+len(w.added) <= w.keep {
		return m, nil
	}
	return w.moveNext(m, len(w.added)+len(w.added)/4+1)
}

// movedKeys is what a transaction moves to the ledger: the buckets from from to
// before the hand, or to the last one when the round has ended.
type movedKeys struct {
	from int
	n    int // buckets
	hand hand
}

// moveNext moves at least n keys from recent to the ledger, or all up to the
// end of the round.
func (w *writer) moveNext(m movedKeys, n int) (movedKeys, error) {
	if m.hand.began == 0 {
		m.hand.began = w.ids.Last()
	}
	for keys := 0; keys < n && m.hand.at < len(w.recent.buckets); m.hand.at++ {
		bucket := w.recent.buckets[m.hand.at]
		slices.SortFunc(bucket, func(a, b recentKey) int { return bytes.Compare(a.digest[:], b.digest[:]) })
		for i := range bucket {
			k := &bucket[i]
			if len(w.gone) > 0 && w.gone[k.digest] == k.event {
				continue
			}
			if err := w.c.q(moveKey).blob(k.digest[:]).int(int64(k.event)).run(); err != nil {
				return m, err
			}
		}
		keys += len(bucket)
		m.n++
	}
	if m.hand.at < len(w.recent.buckets) {
		return m, nil
	}
	// Once round: what was there when the round began has been moved.
	err := w.c.q(upsertSetting).string(ledgerUpto).int(int64(m.hand.began)).run()
	m.hand = hand{}
	return m, err
}

// settleKeys applies to memory what a committed transaction did to the keys.
func (w *writer) settleKeys(m movedKeys) {
	for d, id := range w.gone {
		w.recent.remove(recentKey{d, id})
	}
	for b := m.from; b < m.from+m.n; b++ {
		w.recent.empty(b)
	}
	for d, id := range w.added {
		w.recent.add(recentKey{d, id})
	}
	w.hand = m.hand
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
		m, err := w.moveNext(movedKeys{from: w.hand.at, hand: w.hand}, moveAtOnce)
		if err == nil {
			err = w.c.q("COMMIT").run()
		}
		if err != nil {
			w.rollback()
			return err
		}
		if w.settleKeys(m); w.hand.at == 0 {
			return nil
		}
	}
}

const moveAtOnce = 2048
