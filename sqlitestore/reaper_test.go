package sqlitestore_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/storetest"
	"github.com/onceward/onceward/sqlitestore"
)

// A copy and the reaper in one commit: the copy is a sighting, whichever of the
// two comes first, so what a sender was told is a duplicate stays known.
func TestACopyInTheReapersOwnCommitIsASighting(t *testing.T) {
	clock := storetest.NewClock()
	s, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "reaper.db"), sqlitestore.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const keys = 24 * time.Hour
	admit := func(id string) onceward.Admitted {
		key := onceward.Key{Source: "pay", EventID: id}
		got, err := s.Admit(ctx, &onceward.Admission{
			At: clock.Now(), Payloads: keys, Keys: keys,
			Arrivals: []onceward.Arrival{{Key: key, Digest: s.Peppers()[0].Digest(key), Content: sha256.Sum256([]byte(id)), Raw: []byte(id), Verdict: onceward.Ignored}},
		})
		if err != nil {
			t.Error(err)
			return onceward.Admitted{}
		}
		return got[0]
	}
	for round := range 20 {
		id := fmt.Sprint("e", round)
		admit(id)
		clock.Advance(keys + time.Minute)
		held, release := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { // keeps the writer, so that the next two are gathered into one commit
			if err := s.OnWriter(ctx, func(*sqlite3.Conn) error {
				close(held)
				<-release
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-held
		var copied onceward.Admitted
		all.Go(func() { copied = admit(id) })
		all.Go(func() {
			if _, _, err := s.PruneKeys(ctx, 0, keys, 100); err != nil {
				t.Error(err)
			}
		})
		close(release)
		all.Wait()
		if again := admit(id); again.Verdict != onceward.Duplicate || again.Event != copied.Event {
			t.Fatalf("round %d: told %s of %s, then %s of %s", round, copied.Verdict, copied.Event, again.Verdict, again.Event)
		}
	}
}
