package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

// TestWhoGivesUpIsLeftAlone cancels every kind of write at any moment; the race
// detector sees whether something still writes to what was given up.
func TestWhoGivesUpIsLeftAlone(t *testing.T) {
	s := fresh(t)
	limits := onceward.Limits{Attempts: 3, Lease: time.Minute}
	writes := map[string]func(context.Context) error{
		"admit": func(ctx context.Context) error {
			_, err := s.Admit(ctx, &onceward.Admission{At: time.Now(), Payloads: time.Hour, Keys: time.Hour, Arrivals: []onceward.Arrival{s.arrival(fmt.Sprint(time.Now().UnixNano()), "x", "fulfil")}})
			return err
		},
		"claim": func(ctx context.Context) error {
			leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: limits, Limit: 3})
			if err != nil && len(leased) > 0 {
				t.Error("a claim that failed gave something")
			}
			return err
		},
		"recover": func(ctx context.Context) error {
			_, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10)
			return err
		},
		"prune payloads": func(ctx context.Context) error {
			_, err := s.PrunePayloads(ctx, 10)
			return err
		},
		"prune keys": func(ctx context.Context) error {
			_, _, err := s.PruneKeys(ctx, 0, time.Hour, 10)
			return err
		},
		"index": func(ctx context.Context) error {
			_, err := s.Index(ctx, 10)
			return err
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for i := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
				if err := write(ctx); err != nil && !errors.Is(err, onceward.ErrUnavailable) {
					t.Errorf("got %v, want ErrUnavailable", err)
				}
				cancel()
			}
			if err := write(t.Context()); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestADamagedPayloadKeepsNobodyElseFromBeingTaken(t *testing.T) {
	s := fresh(t)
	at := func(keep time.Duration) *onceward.Admission {
		return &onceward.Admission{At: time.Now(), Payloads: keep, Keys: 1000 * time.Hour}
	}
	damaged, sound := at(time.Hour), at(100*time.Hour) // another lifetime is another segment
	damaged.Arrivals = []onceward.Arrival{s.arrival("a", "damaged", "fulfil")}
	sound.Arrivals = []onceward.Arrival{s.arrival("b", "sound", "fulfil")}
	for _, a := range []*onceward.Admission{damaged, sound} {
		if _, err := s.Admit(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
		return c.Exec("UPDATE segment SET data = x'00' WHERE id = (SELECT segment FROM event WHERE event_id = 'a')")
	}); err != nil {
		t.Fatal(err)
	}
	leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: onceward.Limits{Lease: time.Minute}, Limit: 9})
	if err != nil || len(leased) != 2 {
		t.Fatalf("%d leased, %v", len(leased), err)
	}
	for _, l := range leased {
		faulty := l.Fault != ""
		if l.Event.Key.IsZero() || faulty != (l.Event.EventID == "a") || (string(l.Payload.Body) == "sound") == faulty {
			t.Errorf("leased %+v", l)
		}
	}
}

func TestADoubtOutlivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "onceward.db")
	s := open(t, path, sqlitestore.Options{})
	if _, err := s.Admit(ctx, &onceward.Admission{At: time.Now(), Payloads: time.Hour, Keys: time.Hour, Arrivals: []onceward.Arrival{s.arrival("a", "x", "fulfil")}}); err != nil {
		t.Fatal(err)
	}
	limits := onceward.Limits{Attempts: 2, Lease: time.Minute}
	take := func() onceward.Leased {
		t.Helper()
		leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: limits, Intend: true, Limit: 9})
		if err != nil || len(leased) != 1 {
			t.Fatalf("%d leased, %v", len(leased), err)
		}
		return leased[0]
	}
	if _, err := s.Settle(ctx, take().Lease, onceward.Ambiguous("timeout", time.Now()), limits); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, sqlitestore.Options{})
	again := take()
	if !again.Operation.Doubt || !again.Operation.Intent || again.Recovered {
		t.Errorf("taken as %+v, recovered %v", again.Operation, again.Recovered)
	}
	if o, err := s.Settle(ctx, again.Lease, onceward.NotApplied("answered 503", time.Now()), limits); err != nil || o.State != onceward.UnknownOutcome {
		t.Errorf("left as %+v, %v", o, err)
	}
}

func TestWhatWasHandedBackIsDueAtOnceAndNobodyWasLost(t *testing.T) {
	s := fresh(t)
	if _, err := s.Admit(ctx, &onceward.Admission{At: time.Now(), Payloads: time.Hour, Keys: time.Hour, Arrivals: []onceward.Arrival{s.arrival("a", "x", "fulfil")}}); err != nil {
		t.Fatal(err)
	}
	request := onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: onceward.Limits{Attempts: 1, Lease: time.Minute}, Intend: true, Limit: 9}
	for n := range 3 {
		leased, _, err := s.Claim(ctx, request)
		if err != nil || len(leased) != 1 || leased[0].Lease.Attempt != 1 || leased[0].Recovered {
			t.Fatalf("round %d: %+v, %v; want the first attempt each time", n, leased, err)
		}
		if err := s.HandBack(ctx, leased[0].Lease); err != nil {
			t.Fatal(err)
		}
	}
}
