package sqlitestore_test

import (
	"errors"
	"fmt"
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

// SQLite rolls the whole transaction back by itself when the disk fails in the
// middle of a statement. Who comes after in the same batch must not be committed
// alone, and who came before must not be told that it is recorded.
func TestADiskThatFailsInTheMiddleOfABatchCostsNobodyAnything(t *testing.T) {
	s := fresh(t)
	const earlier = 400 // pages that the batch itself does not touch, so that they have to be read
	many := make([]onceward.Arrival, earlier)
	for i := range many {
		many[i] = s.arrival(fmt.Sprint("before", i), "x", "fulfil")
	}
	if _, err := s.admit(many...); err != nil {
		t.Fatal(err)
	}
	fail := &atomic.Bool{}
	if err := s.FailReads(ctx, fail); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	held, gate := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		if err := s.OnWriter(ctx, func(*sqlite3.Conn) error { close(held); <-gate; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	queue := func(f func()) {
		t.Helper()
		n := s.Queued()
		wg.Go(f)
		for end := time.Now().Add(10 * time.Second); s.Queued() == n; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatal("it was never queued")
			}
		}
	}
	const each = 8
	errs := make([]error, 2*each)
	neighbour := func(i int) func() {
		return func() { _, errs[i] = s.admit(s.arrival(fmt.Sprint("e", i), "x", "fulfil")) }
	}
	for i := range each {
		queue(neighbour(i))
	}
	runs, alone := 0, false
	var poison error
	queue(func() {
		poison = s.OnWriter(ctx, func(c *sqlite3.Conn) error {
			if runs++; runs > 1 {
				return nil
			}
			if err := s.Forget(c); err != nil {
				return err
			}
			fail.Store(true)
			err := c.Exec("UPDATE event SET type = type || '!'")
			fail.Store(false)
			if err == nil {
				return errors.New("the disk did not fail")
			}
			alone = c.GetAutocommit()
			return nil // as a rule's own refusal would look
		})
	})
	for i := range each {
		queue(neighbour(each + i))
	}
	close(gate)
	wg.Wait()
	if !alone {
		t.Fatal("the transaction was not rolled back, so this shows nothing")
	}
	if poison != nil || runs != 2 {
		t.Errorf("the one in the middle ran %d times: %v; want twice, the second time alone", runs, poison)
	}
	for i, err := range errs {
		if err != nil {
			t.Errorf("neighbour %d: %v", i, err)
		}
	}
	check := func(s *file, when string) {
		t.Helper()
		for name, got := range map[string]int64{
			"events": s.number("SELECT count(*) FROM event"), "operations": s.number("SELECT count(*) FROM operation"),
			"counted": s.number("SELECT sum(n) FROM counter"), "keys": int64(len(s.recent())),
		} {
			if got != 2*each+earlier {
				t.Errorf("%s: %d %s, want %d", when, got, name, 2*each+earlier)
			}
		}
		if n := s.number("SELECT count(*) FROM event WHERE type LIKE '%!'"); n != 0 {
			t.Errorf("%s: half of what failed is there: %d", when, n)
		}
	}
	check(s, "now")
	check(s.crashed(), "after a crash")
	for i := range errs {
		if m := s.verdict(s.arrival(fmt.Sprint("e", i), "x", "fulfil")); m.Verdict != onceward.Duplicate {
			t.Errorf("e%d was acknowledged, and is %s", i, m.Verdict)
		}
	}
}

// A checkpoint syncs the log, too. When that fails, the system may have dropped
// what it could not write, so nothing more is promised before a new start.
func TestAFailedSyncInACheckpointEndsAllPromises(t *testing.T) {
	s := fresh(t)
	s.verdict(s.arrival("before", "x", "fulfil"))
	fail := &atomic.Bool{}
	if err := s.FailSyncs(ctx, fail); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	if err := s.Checkpoint(ctx); !errors.Is(err, onceward.ErrUnavailable) {
		t.Fatalf("the commit whose checkpoint could not be synced: %v", err)
	}
	fail.Store(false)
	for what, err := range map[string]error{
		"ping":  s.Ping(ctx),
		"admit": func() error { _, err := s.admit(s.arrival("after", "x", "fulfil")); return err }(),
		"claim": func() error { _, _, err := s.Claim(ctx, claim(3)); return err }(),
	} {
		if !errors.Is(err, onceward.ErrUnavailable) || !strings.Contains(err.Error(), "restart") {
			t.Errorf("%s after it: %v, want unavailable with the advice to restart", what, err)
		}
	}
	_ = s.Close()
	again := open(t, s.path, sqlitestore.Options{})
	if m := again.verdict(again.arrival("before", "x", "fulfil")); m.Verdict != onceward.Duplicate {
		t.Errorf("what was acknowledged is %s after the restart", m.Verdict)
	}
	if m := again.verdict(again.arrival("after", "x", "fulfil")); m.Verdict != onceward.Accepted {
		t.Errorf("what was refused is %s after the restart", m.Verdict)
	}
	if n := again.number("SELECT count(*) FROM operation"); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
}

// A supervisor that asks an idle process is told of a full disk before a sender
// is.
func TestAPingNoticesADiskThatCannotBeWritten(t *testing.T) {
	s := fresh(t)
	fail := &atomic.Bool{}
	if err := s.FailWrites(ctx, fail); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	if err := s.Ping(ctx); err == nil {
		t.Error("a store that cannot write says that it is ready")
	}
	if _, err := s.admit(s.arrival("e1", "x", "fulfil")); err == nil {
		t.Error("an event was recorded on a disk that cannot be written")
	}
	fail.Store(false)
	if err := s.Ping(ctx); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if admitted, err := s.admit(s.arrival("e1", "x", "fulfil")); err != nil || admitted[0].Verdict != onceward.Accepted {
		t.Errorf("with space again: %v, %v", admitted, err)
	}
}
