package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
)

// naive is the lower bound: what one writes on an afternoon. It checks the
// signature and inserts each delivery by itself, with a unique key against
// copies, as durably as the gateway does and on the same driver.
type naive struct {
	*verifier
	db     *sql.DB
	insert *sql.Stmt
}

const (
	naiveTable = `CREATE TABLE IF NOT EXISTS delivery (
  event_id TEXT PRIMARY KEY,
  received_at INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL
)`
	naiveInsert = `INSERT INTO delivery (event_id, received_at, headers, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

func newNaive(ctx context.Context, v *verifier, dir string) (*naive, error) {
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Opaque: filepath.ToSlash(filepath.Join(dir, "naive.db")), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	if _, err := db.ExecContext(ctx, naiveTable); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	insert, err := db.PrepareContext(ctx, naiveInsert)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &naive{v, db, insert}, nil
}

func (n *naive) close() error { return errors.Join(n.insert.Close(), n.db.Close()) }

func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, ok := n.body(r)
	defer n.giveBack(b)
	if !ok {
		http.Error(w, "the signature does not hold", http.StatusUnauthorized)
		return
	}
	var event struct{ ID string }
	if err := json.Unmarshal(b.Bytes(), &event); err != nil || event.ID == "" {
		http.Error(w, "the body has no id", http.StatusBadRequest)
		return
	}
	headers, err := json.Marshal(r.Header)
	if err == nil {
		err = n.record(r.Context(), event.ID, headers, b.Bytes())
	}
	if err != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	accept(w)
}

// record inserts until it is not in another's way.
func (n *naive) record(ctx context.Context, id string, headers, body []byte) error {
	for {
		_, err := n.insert.ExecContext(ctx, id, time.Now().UnixMicro(), string(headers), body)
		if !errors.Is(err, sqlite3.BUSY) || ctx.Err() != nil {
			return err
		}
	}
}
