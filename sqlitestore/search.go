package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

const (
	selectReference = `SELECT event FROM reference WHERE hash = ? ORDER BY event DESC LIMIT 200`
	selectTail      = `SELECT id FROM event WHERE id > ? AND instr('|' || event_id || '|', '|' || ? || '|') > 0 ORDER BY id DESC LIMIT 200`
	selectSetting   = `SELECT value FROM setting WHERE name = ?`
	upsertSetting   = `INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`
	referenceUpto   = "reference_upto"
)

// search finds events by any id: ours, an operation's, a downstream key, or
// the sender's own.
func (s *Store) search(ctx context.Context, q onceward.EventQuery) (items []onceward.Event, err error) {
	err = s.read(ctx, func(c *conn) error {
		ids, err := c.find(q.Search)
		if err != nil {
			return err
		}
		q.Search = ""
		for _, id := range ids {
			r, err := c.event(id)
			if errors.Is(err, onceward.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if matches(q, r.Event) && len(items) < q.Limit {
				items = append(items, r.Event)
			}
		}
		return nil
	})
	return items, err
}

func (c *conn) find(text string) (ids []onceward.EventID, err error) {
	collect := func(s *stmt) error {
		ids = append(ids, onceward.EventID(s.ColumnInt64(0)))
		return nil
	}
	if key, err := onceward.ParseDownstream(text); err == nil {
		return c.findKey(key)
	}
	if id, err := onceward.ParseOperationID(text); err == nil {
		return []onceward.EventID{id.Event}, nil
	}
	if id, err := onceward.ParseEventID(text); err == nil {
		ids = append(ids, id) // a sender's id may look like ours, so go on
	}
	upto, err := c.setting(referenceUpto)
	if err != nil {
		return nil, err
	}
	if err := c.q(selectTail).int(upto).string(text).rows(collect); err != nil {
		return nil, err
	}
	var maybe []onceward.EventID
	if err := c.q(selectReference).int(referenceHash(text)).rows(func(s *stmt) error {
		maybe = append(maybe, onceward.EventID(s.ColumnInt64(0)))
		return nil
	}); err != nil {
		return nil, err
	}
	for _, id := range maybe { // the hash may lie, the row does not
		if _, err := c.q(selectEvent).int(int64(id)).row(func(s *stmt) {
			if slices.Contains(references(scanEvent(s).EventID), text) {
				ids = append(ids, id)
			}
		}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

const selectTailKey = `SELECT id FROM event WHERE id > ? AND key = ?`

// findKey finds the event of a key for a reader, which does not see the keys
// that the writer holds in memory.
func (c *conn) findKey(d onceward.Digest) (ids []onceward.EventID, err error) {
	collect := func(s *stmt) error {
		ids = append(ids, onceward.EventID(s.ColumnInt64(0)))
		return nil
	}
	if err := c.q(selectKey).blob(d[:]).rows(collect); err != nil || len(ids) > 0 {
		return ids, err
	}
	upto, err := c.setting(ledgerUpto)
	if err != nil {
		return nil, err
	}
	err = c.q(selectTailKey).int(upto).blob(d[:]).rows(collect)
	return ids, err
}

func (c *conn) setting(name string) (v int64, err error) {
	_, err = c.q(selectSetting).string(name).row(func(s *stmt) { v = s.ColumnInt64(0) })
	return v, err
}

// references are the texts under which a sender's id is found: itself, and the
// parts of one that was joined.
func references(eventID string) []string {
	if eventID == "" {
		return nil
	}
	all := []string{eventID}
	if strings.Contains(eventID, "|") {
		all = append(all, strings.Split(eventID, "|")...)
	}
	return all
}

func referenceHash(text string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return int64(h.Sum64())
}

const (
	selectUnindexed = `SELECT id, event_id FROM event WHERE id > ? ORDER BY id LIMIT ?`
	insertReference = `INSERT INTO reference (hash, event) VALUES (?, ?) ON CONFLICT DO NOTHING`
)

// Index adds up to limit events to the index of the senders' ids. It stands
// behind the intake, so that a random index page is not the price of every
// event; sorted, many of them share a page. It reports how many it added.
func (s *Store) Index(ctx context.Context, limit int) (added int, err error) {
	type reference struct{ hash, event int64 }
	err = s.write(ctx, func(w *writer) error {
		added = 0
		upto, err := w.c.setting(referenceUpto)
		if err != nil {
			return err
		}
		var all []reference
		if err := w.c.q(selectUnindexed).int(upto).int(int64(limit)).rows(func(s *stmt) error {
			upto = s.ColumnInt64(0)
			for _, text := range references(s.ColumnText(1)) {
				all = append(all, reference{referenceHash(text), upto})
			}
			added++
			return nil
		}); err != nil || added == 0 {
			return err
		}
		slices.SortFunc(all, func(a, b reference) int { return cmp.Compare(a.hash, b.hash) })
		for _, r := range all {
			if err := w.c.q(insertReference).int(r.hash).int(r.event).run(); err != nil {
				return err
			}
		}
		return w.c.q(upsertSetting).string(referenceUpto).int(upto).run()
	})
	return added, err
}
