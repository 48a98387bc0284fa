package sqlitestore_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/storetest"
	"github.com/onceward/onceward/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		path := filepath.Join(t.TempDir(), "onceward.db")
		return func(t *testing.T, clock *storetest.Clock) storetest.Store {
			s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}

func TestASecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "onceward.db")
	s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{}); err == nil || !strings.Contains(err.Error(), "another onceward process") {
		t.Fatalf("got %v", err)
	}
}

func TestAGivenPepperIsUsedAndTheOldOneLookedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "onceward.db")
	s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = sqlitestore.Open(context.Background(), path, sqlitestore.Options{Pepper: onceward.Pepper{Name: "p2", Secret: []byte("0123456789abcdef0123456789abcdef")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Peppers(); len(p) != 2 || p[0].Name != "p2" {
		t.Fatalf("peppers %d, first %s", len(p), p[0].Name)
	}
}
