package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

var ctx = context.Background()

// file is a store and where it is.
type file struct {
	*testing.T
	*sqlitestore.Store
	path string
}

func open(t *testing.T, path string, o sqlitestore.Options) *file {
	t.Helper()
	s, err := sqlitestore.Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &file{t, s, path}
}

func fresh(t *testing.T) *file {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "onceward.db"), sqlitestore.Options{})
}

// arrival is one event of source "pay"; with operations it is wanted by them.
func (s *file) arrival(id, body string, operations ...string) onceward.Arrival {
	key := onceward.Key{Tenant: "acme", Source: "pay", EventID: id}
	a := onceward.Arrival{
		Key: key, Digest: s.Peppers()[0].Digest(key), Type: "order.paid", Content: sha256.Sum256([]byte(body)), Raw: []byte(body), Verdict: onceward.Ignored,
	}
	for _, o := range operations {
		a.Verdict = onceward.Accepted
		a.Operations = append(a.Operations, onceward.Planned{Name: o, Effect: onceward.Keyed})
	}
	return a
}

// admit records arrivals in one delivery.
func (s *file) admit(arrivals ...onceward.Arrival) ([]onceward.Admitted, error) {
	return s.Admit(ctx, &onceward.Admission{At: time.Now(), Payloads: 24 * time.Hour, Keys: 90 * 24 * time.Hour, Arrivals: arrivals})
}

// verdict admits one arrival and returns what became of it.
func (s *file) verdict(a onceward.Arrival) onceward.Admitted {
	s.Helper()
	m, err := s.admit(a)
	if err != nil {
		s.Fatalf("admit %s: %v", a.Key.EventID, err)
	}
	return m[0]
}

// recent returns the events whose keys wait in memory.
func (s *file) recent() []onceward.EventID {
	s.Helper()
	waiting, err := s.Recent(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return waiting
}

// deadKeys counts the keys in memory whose event is not recorded.
func (s *file) deadKeys() (n int64) {
	for _, id := range s.recent() {
		n += 1 - s.number(fmt.Sprint("SELECT count(*) FROM event WHERE id = ", int64(id)))
	}
	return n
}

// number runs a query that returns one number, on the writer.
func (s *file) number(sql string) (n int64) {
	s.Helper()
	if err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
		q, _, err := c.Prepare(sql)
		if err != nil {
			return err
		}
		defer func() { _ = q.Close() }()
		q.Step()
		n = q.ColumnInt64(0)
		return q.Err()
	}); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return n
}

// crashed copies the files as they are, as a power cut would leave them, and
// opens the copy.
func (s *file) crashed() *file {
	s.Helper()
	path := filepath.Join(s.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(s.path + end)
		if err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path+end, data, 0o600); err != nil {
			s.Fatal(err)
		}
	}
	return open(s.T, path, sqlitestore.Options{})
}

// noise is a body that does not compress.
func noise(seed uint64, size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b) // it never fails
	return string(b)
}

func TestAPoisonousRequestFailsAlone(t *testing.T) {
	s := fresh(t)
	const neighbours = 16
	var wg sync.WaitGroup
	// The writer is held until everybody waits, so that all share a transaction.
	held, gate := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		if err := s.OnWriter(ctx, func(*sqlite3.Conn) error { close(held); <-gate; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	errs := make([]error, neighbours)
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.admit(s.arrival(fmt.Sprint("e", i), "x", "fulfil")) })
	}
	runs := 0
	wg.Go(func() {
		err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
			runs++
			return c.Exec(`INSERT INTO ledger VALUES (x'00', 1)`) // breaks a CHECK
		})
		if !errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("the poison: %v", err)
		}
	})
	for end := time.Now().Add(10 * time.Second); s.Queued() < neighbours+1 && time.Now().Before(end); {
		runtime.Gosched()
	}
	close(gate)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("neighbour %d: %v", i, err)
		}
	}
	if runs < 2 {
		t.Errorf("the poison ran %d times; it shared no transaction", runs)
	}
	if got := s.number("SELECT count(*) FROM event"); got != neighbours {
		t.Errorf("%d events, want %d", got, neighbours)
	}
	if got := s.number("SELECT sum(n) FROM counter"); got != neighbours {
		t.Errorf("the counters say %d, want %d", got, neighbours)
	}
}

func TestAFullDisk(t *testing.T) {
	s := fresh(t)
	s.verdict(s.arrival("before", "x", "fulfil"))
	pages := s.number("PRAGMA page_count")
	s.number(fmt.Sprintf("PRAGMA max_page_count = %d", pages+40))
	acknowledged, refused := []string{"before"}, ""
	for i := 0; refused == ""; i++ {
		id := fmt.Sprint("e", i)
		_, err := s.admit(s.arrival(id, "x"), s.arrival(id+"b", noise(uint64(i), 20_000), "fulfil"))
		switch {
		case err == nil && i < 100:
			acknowledged = append(acknowledged, id)
		case errors.Is(err, onceward.ErrUnavailable) && strings.Contains(err.Error(), "disk is full"):
			refused = id
		default:
			t.Fatalf("delivery %d: %v", i, err)
		}
	}
	for name, n := range map[string]int64{
		"events": s.number("SELECT count(*) FROM event") - 2*int64(len(acknowledged)) + 1, "orphans": s.number("SELECT count(*) FROM operation WHERE event NOT IN (SELECT id FROM event)"),
		"counted": s.number("SELECT sum(n) FROM counter") - int64(len(acknowledged)), "dead keys": s.deadKeys(),
	} {
		if n != 0 {
			t.Errorf("%s: %d too many", name, n)
		}
	}
	s.number("PRAGMA max_page_count = 1000000")
	if m := s.verdict(s.arrival(refused, "x")); m.Verdict != onceward.Accepted && m.Verdict != onceward.Ignored {
		t.Errorf("what was refused is %s when there is room again", m.Verdict)
	}
	for _, id := range acknowledged {
		if m := s.verdict(s.arrival(id, "x")); m.Verdict != onceward.Duplicate {
			t.Errorf("%s was acknowledged, and is %s", id, m.Verdict)
		}
	}
}

func TestAFailedSyncEndsAllPromises(t *testing.T) {
	s := fresh(t)
	s.verdict(s.arrival("before", "x"))
	fail := &atomic.Bool{}
	if err := s.FailSyncs(ctx, fail); err != nil {
		t.Fatal(err)
	}
	s.verdict(s.arrival("still fine", "x"))
	fail.Store(true)
	if _, err := s.admit(s.arrival("lost", "x")); !errors.Is(err, onceward.ErrUnavailable) {
		t.Fatalf("while the sync failed: %v", err)
	}
	fail.Store(false)
	// A second sync may succeed without having written anything.
	if _, err := s.admit(s.arrival("later", "x")); !errors.Is(err, onceward.ErrUnavailable) || !strings.Contains(err.Error(), "restart") {
		t.Errorf("after a failed sync: %v", err)
	}
	if err := s.Ping(ctx); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("it says that it is ready: %v", err)
	}
	if events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 10}}); err != nil || len(events) == 0 {
		t.Errorf("people cannot look any more: %d, %v", len(events), err)
	}
	_ = s.Close()
	again := open(t, s.path, sqlitestore.Options{})
	for _, id := range []string{"before", "still fine"} {
		if m := again.verdict(again.arrival(id, "x")); m.Verdict != onceward.Duplicate {
			t.Errorf("%s is %s after the restart", id, m.Verdict)
		}
	}
	if m := again.verdict(again.arrival("later", "x")); m.Verdict != onceward.Ignored {
		t.Errorf("what was refused is %s after the restart", m.Verdict)
	}
}
