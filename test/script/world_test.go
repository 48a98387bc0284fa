package script_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onceward/onceward/internal/testkit"
)

// patience is how long a story waits for what it wants to see. It is long
// because machines are busy; nothing waits it out when things are right.
const patience = 60 * time.Second

// world is what one story is about: a gateway, the destinations around it and
// what the harness remembers of both.
type world struct {
	t       *testing.T
	dir     string
	gateway *process // nil, or ended, when none runs
	sinks   map[string]*sink
	peers   map[string]*testkit.Peer
	rounds  int // deliveries of kill-rounds so far
	reader  *sqlite3.Conn
}

type worldKey struct{}

func of(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setup prepares a story. One that brings no onceward.yaml of its own gets the
// bench that the public faults are told on.
func setup(env *testscript.Env) error {
	w := &world{t: env.T().(subject).T, dir: env.WorkDir, sinks: map[string]*sink{}, peers: map[string]*testkit.Peer{}}
	env.Values[worldKey{}] = w
	env.Setenv("NL", "\n") // a line of a story cannot hold one
	own := filepath.Join(w.dir, "onceward.yaml")
	if _, err := os.Stat(own); errors.Is(err, os.ErrNotExist) {
		bench, err := os.ReadFile("testdata/bench.yaml")
		if err != nil {
			return err
		}
		if err := os.WriteFile(own, bench, 0o600); err != nil {
			return err
		}
	}
	env.Defer(func() {
		if w.gateway != nil {
			w.gateway.kill()
			for _, alarm := range []string{"DATA RACE", "panic: ", "fatal error: "} {
				if text, err := os.ReadFile(filepath.Join(w.dir, "gateway.log")); err == nil && strings.Contains(string(text), alarm) {
					w.t.Errorf("the gateway's log has %q:\n%s", alarm, text)
				}
			}
			if w.t.Failed() {
				w.t.Log("the gateway's last words:\n" + w.gateway.log.tail(12))
			}
		}
	})
	return nil
}

// variable is the environment variable that has a destination's URL.
func variable(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// within waits until done, and fails the story with what it saw last when that
// takes too long.
func within(ts *testscript.TestScript, what string, done func() (ok bool, saw string)) {
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, saw := done()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s did not happen within %s; saw %s", what, patience, saw)
		}
	}
}

// positive refuses a leading ! for commands that have no opposite.
func positive(ts *testscript.TestScript, neg bool) {
	if neg {
		ts.Fatalf("this command has no opposite")
	}
}

func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}
