package sqlitestore_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

// What is erased leaves the file and the log beside it, also where it shared a
// segment with what stays; only a body that does not compress shows that.
func TestErasedBytesLeaveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "erase.db")
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	noise := func() []byte {
		b := make([]byte, 4000)
		_, _ = rand.Read(b)
		return b
	}
	personal, neighbour, contradiction := noise(), noise(), noise()
	const sender = "customer-7d1f03a9c2"
	arrival := func(id string, body []byte) onceward.Arrival {
		key := onceward.Key{Source: "pay", Account: "acct-" + id, EventID: id}
		return onceward.Arrival{
			Key: key, Digest: s.Peppers()[0].Digest(key), Content: sha256.Sum256(body), Raw: body, Verdict: onceward.Ignored,
		}
	}
	admission := func(all ...onceward.Arrival) *onceward.Admission {
		return &onceward.Admission{At: time.Now(), Payloads: 24 * time.Hour, Keys: 48 * time.Hour, Arrivals: all}
	}
	admitted, err := s.Admit(ctx, admission(arrival(sender, personal), arrival("other", neighbour)))
	if err != nil {
		t.Fatal(err)
	}
	second := arrival(sender, contradiction)
	if _, err := s.RecordConflict(ctx, admitted[0].Event, admission(second), &second, onceward.HoldConflict); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Index(ctx, 100); err != nil {
		t.Fatal(err)
	}
	holds := func(what []byte) bool {
		for _, name := range []string{path, path + "-wal"} {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, what) {
				return true
			}
		}
		return false
	}
	hash := sha256.Sum256(personal)
	// The middle of a body: a page's end may lie in any one piece of it.
	pieces := map[string][]byte{"body": personal[100:140], "later body": contradiction[100:140], "id": []byte(sender), "hash": hash[:]}
	for name, piece := range pieces {
		if !holds(piece) {
			t.Errorf("before: the %s is not in the file, so this test shows nothing", name)
		}
	}
	if err := s.Erase(ctx, admitted[0].Event, onceward.Decision{Actor: "ops", Reason: "a request under the law"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(ctx); err != nil { // a commit later the log is clean, too
		t.Fatal(err)
	}
	for name, piece := range pieces {
		if holds(piece) {
			t.Errorf("after: the %s (%s…) is still there", name, hex.EncodeToString(piece[:4]))
		}
	}
	if p, err := s.Payload(ctx, admitted[1].Event); err != nil || !bytes.Equal(p.Body, neighbour) {
		t.Errorf("the neighbour: %d bytes, %v", len(p.Body), err)
	}
	if p, err := s.Payload(ctx, admitted[0].Event); err == nil {
		t.Errorf("%d bytes can be read", len(p.Body))
	}
}
