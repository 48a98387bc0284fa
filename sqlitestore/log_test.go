package sqlitestore_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

func TestFiftyAtOnceAreNeverToldBusy(t *testing.T) {
	s := fresh(t)
	const each = 6
	var wg sync.WaitGroup
	for g := range 50 {
		wg.Go(func() {
			for n := range each {
				if _, err := s.admit(s.arrival(fmt.Sprint(g, "-", n), "x", "fulfil")); err != nil {
					t.Errorf("admit: %v", err)
				}
				leased, _, err := s.Claim(ctx, claim(3))
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				for _, l := range leased {
					if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
						t.Errorf("settle: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	for {
		leased, _, err := s.Claim(ctx, claim(100))
		if err != nil {
			t.Fatal(err)
		}
		if len(leased) == 0 {
			break
		}
		for _, l := range leased {
			if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
				t.Fatal(err)
			}
		}
	}
	counts, err := s.Counts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if want := map[onceward.State]int64{onceward.Completed: 50 * each}[c.State]; c.N != want {
			t.Errorf("%d operations %s, want %d", c.N, c.State, want)
		}
	}
	if n := s.number("SELECT count(*) FROM attempt"); n != 50*each {
		t.Errorf("%d attempts for %d operations", n, 50*each)
	}
}

func TestTheLogStaysBoundedAndShrinksAfterALongReader(t *testing.T) {
	s := fresh(t)
	write := func(n int) {
		t.Helper()
		for range n {
			id := fmt.Sprint("big-", s.seed())
			if _, err := s.admit(s.arrival(id, noise(uint64(s.seed()), 4<<20))); err != nil {
				t.Fatal(err)
			}
		}
	}
	const start, limit = sqlitestore.WALPages * 4200, 20 << 20 // a frame is a page and its header
	if n := s.number("PRAGMA journal_size_limit"); n != sqlitestore.WALLimit {
		t.Errorf("the log is cut back to %d bytes", n)
	}
	s.number(fmt.Sprintf("PRAGMA journal_size_limit = %d", limit)) // to reach it sooner
	write(6)
	if _, wal := s.Sizes(); wal > start+6<<20 {
		t.Errorf("without a reader the log has %d bytes", wal)
	}
	release := s.HoldSnapshot(ctx)
	write(8)
	if _, wal := s.Sizes(); wal <= limit {
		t.Fatalf("the log has only %d bytes; this test needs more than its limit", wal)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	write(2)
	if _, wal := s.Sizes(); wal > limit {
		t.Errorf("after the reader the log still has %d bytes", wal)
	}
}

func (s *file) seed() int64 { return s.number("SELECT count(*) FROM event") }

func TestWhatWasAcknowledgedIsInACopyTakenWhileWriting(t *testing.T) {
	s := fresh(t)
	var mu sync.Mutex
	var acknowledged []string
	enough, stop := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint(g, "-", n)
				if _, err := s.admit(s.arrival(id, id, "fulfil")); err != nil {
					t.Errorf("admit: %v", err)
					return
				}
				mu.Lock()
				if acknowledged = append(acknowledged, id); len(acknowledged) == 300 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	mu.Lock()
	before := slices.Clone(acknowledged)
	mu.Unlock()
	copied := s.crashed() // the log is far from its checkpoint, so it only grows
	close(stop)
	wg.Wait()
	for _, id := range before {
		if m := copied.verdict(copied.arrival(id, id, "fulfil")); m.Verdict != onceward.Duplicate || len(m.Operations) != 1 {
			t.Fatalf("%s was acknowledged before the copy, and is %s there", id, m.Verdict)
		}
	}
}

func TestKeysThatWereOnlyInMemoryAreKnownAfterACrash(t *testing.T) {
	s := fresh(t)
	body := func(s *file, text string) onceward.Digest {
		return s.Peppers()[0].Hasher().Body(onceward.Key{Source: "pay"}, "", sha256.Sum256([]byte(text)))
	}
	first := s.arrival("e1", "one", "fulfil")
	first.Body = body(s, "one")
	known := s.verdict(first)
	if s.number("SELECT count(*) FROM ledger") != 0 || len(s.recent()) != 2 {
		t.Fatal("this test is about keys that are in memory alone")
	}
	check := func(t *testing.T, s *file) {
		again := s.arrival("e1", "one", "fulfil")
		again.Body = body(s, "one")
		if m := s.verdict(again); m.Verdict != onceward.Duplicate || m.Event != known.Event {
			t.Errorf("the event is %s as %s", m.Verdict, m.Event)
		}
		other := s.arrival(t.Name(), "one", "fulfil")
		other.Body = body(s, "one")
		if m := s.verdict(other); m.Verdict != onceward.QuarantinedBy || len(m.Operations) != 0 {
			t.Errorf("the body under another id is %s", m.Verdict)
		}
	}
	t.Run("before", func(t *testing.T) { check(t, s) })
	crashed := s.crashed()
	t.Run("after a crash", func(t *testing.T) { check(t, crashed) })
	t.Run("after a second crash", func(t *testing.T) { check(t, crashed.crashed()) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.path, sqlitestore.Options{})
	if n := len(s.recent()); n != 0 {
		t.Errorf("after a clean stop %d keys were loaded", n)
	}
	t.Run("after a clean stop", func(t *testing.T) { check(t, s) })
}

func TestKeysMoveToTheLedgerAndAreNeverForgottenOnTheWay(t *testing.T) {
	s := fresh(t)
	const step = 150
	var ids []onceward.EventID
	grow := func(s *file) {
		t.Helper()
		all := make([]onceward.Arrival, step)
		for i := range all {
			all[i] = s.arrival(fmt.Sprint("k", len(ids)+i), "x")
		}
		admitted, err := s.admit(all...)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range admitted {
			if m.Verdict != onceward.Ignored {
				t.Fatalf("k%d is new, and is %s", len(ids), m.Verdict)
			}
			ids = append(ids, m.Event)
		}
	}
	check := func(s *file, when string) {
		t.Helper()
		all := make([]onceward.Arrival, len(ids))
		for i := range all {
			all[i] = s.arrival(fmt.Sprint("k", i), "x")
		}
		admitted, err := s.admit(all...)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range admitted {
			if m.Verdict != onceward.Duplicate || m.Event != ids[i] {
				t.Fatalf("%s: k%d is %s as %s, want the duplicate of %s", when, i, m.Verdict, m.Event, ids[i])
			}
		}
	}
	for range 3 {
		grow(s)
	}
	if n := s.number("SELECT count(*) FROM ledger"); n != 0 {
		t.Fatalf("%d keys moved although there is room in memory", n)
	}
	if err := s.Crowd(ctx); err != nil {
		t.Fatal(err)
	}
	const upto = "SELECT value FROM setting WHERE name = 'ledger_upto'"
	for n := 0; s.number(upto) <= int64(ids[len(ids)/2]); n++ { // two rounds of the hand, at least
		if n == 60 {
			t.Fatal("the hand never went round")
		}
		grow(s)
		moved, waiting := s.number("SELECT count(*) FROM ledger"), int64(len(s.recent()))
		if moved == 0 || moved+waiting != int64(len(ids)) {
			t.Fatalf("of %d keys %d were moved and %d wait", len(ids), moved, waiting)
		}
		check(s, "on the way")
		if n%4 > 0 {
			continue
		}
		crashed, before := s.crashed(), len(ids)
		if got, want := int64(len(crashed.recent())), crashed.number("SELECT count(*) FROM event WHERE id > coalesce(("+upto+"), 0)"); got != want {
			t.Errorf("after a crash %d keys were loaded, want %d", got, want)
		}
		check(crashed, "after a crash on the way")
		if err := crashed.Crowd(ctx); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			grow(crashed) // moves keys that are in both tables
		}
		check(crashed, "moving on after the crash")
		ids = ids[:before]
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.path, sqlitestore.Options{})
	if n := s.number("SELECT count(*) FROM ledger"); n != int64(len(ids)) {
		t.Errorf("a clean stop moved %d keys of %d", n, len(ids))
	}
	check(s, "after a clean stop")
}
