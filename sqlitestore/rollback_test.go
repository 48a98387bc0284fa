package sqlitestore_test

import (
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

// Case 89: somebody goes back to an older binary. What the newer one added stays
// as it is, and what is completed stays completed.
func TestAnOlderBinaryLeavesWhatItDoesNotKnow(t *testing.T) {
	s := fresh(t)
	s.verdict(s.arrival("done", "x", "fulfil"))
	leased, _, err := s.Claim(ctx, claim(3))
	if err != nil || len(leased) != 1 {
		t.Fatal(leased, err)
	}
	if _, err := s.Settle(ctx, leased[0].Lease, onceward.Succeeded("r"), limits); err != nil {
		t.Fatal(err)
	}
	s.verdict(s.arrival("open", "x", "fulfil"))
	if err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
		return c.Exec(`ALTER TABLE operation ADD COLUMN later TEXT DEFAULT 'theirs';
 INSERT INTO goose_db_version (version_id, is_applied, tstamp) VALUES (9000, 1, '2030-01-01 00:00:00')`)
	}); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	older := open(t, s.path, sqlitestore.Options{})
	if m := older.verdict(older.arrival("done", "x", "fulfil")); m.Verdict != onceward.Duplicate || m.Operations[0].State != onceward.Completed || m.Operations[0].Result != "r" {
		t.Errorf("what is done is %s, %+v", m.Verdict, m.Operations)
	}
	leased, _, err = older.Claim(ctx, claim(3))
	if err != nil || len(leased) != 1 {
		t.Fatalf("claimed %d, %v; want what is open and nothing else", len(leased), err)
	}
	if _, err := older.Settle(ctx, leased[0].Lease, onceward.Succeeded("r"), limits); err != nil {
		t.Fatal(err)
	}
	if n := older.number("SELECT count(*) FROM operation WHERE later = 'theirs' AND state = 4"); n != 2 {
		t.Errorf("%d completed operations keep what the newer binary wrote, want 2", n)
	}
}
