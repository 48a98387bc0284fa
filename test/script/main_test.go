// Package script holds stories from the outside: each testdata/*.txtar drives
// the real binary over real ports, with the verbs of the domain, and looks at
// what reached the destinations and at what an operator is told. The harness
// knows the product only by its command line, its listeners and its files; it
// signs with its own code, so that it cannot agree with a fault of ours.
//
// README.md has the verbs, and which public fault is told by which story.
package script_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaryVariable names the binary under test. Set it to try another one, such
// as one that was built with the race detector.
const binaryVariable = "ONCEWARD_BINARY"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// Stories wait more than they compute.
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		_ = p.Value.Set("4")
	}
	if os.Getenv(binaryVariable) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "onceward-script")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "onceward")
	// The flags are those of the Makefile, so that the two share what is built.
	build := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/onceward/onceward/cmd/onceward")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the binary under test:", err)
		return 1
	}
	os.Setenv(binaryVariable, path)
	return m.Run()
}

func TestStories(t *testing.T) {
	testscript.RunT(subject{t}, testscript.Params{
		Dir:                 "testdata",
		Setup:               setup,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gateway": gatewayCommand, "dev": devCommand, "event-id": eventIDCommand, "operation-id": operationIDCommand, "conflict-id": conflictIDCommand, "onceward": oncewardCommand, "wait-log": waitLogCommand,
			"sink": sinkCommand, "peer": peerCommand, "refused": refusedCommand, "release": releaseCommand, "ledger": ledgerCommand,
			"effects": effectsCommand, "attempts": attemptsCommand, "keys": keysCommand, "overlap": overlapCommand, "no-repeats": noRepeatsCommand,
			"sender-api": senderAPICommand, "sinkbody": sinkBodyCommand, "sinksigned": sinkSignedCommand, "sinkrequest": sinkRequestCommand, "gap": gapCommand,
			"body": bodyCommand, "post": postCommand, "wait-post": waitPostCommand, "deliver": deliverCommand, "storm": stormCommand,
			"kill-rounds": killRoundsCommand, "flood": floodCommand, "slow": slowCommand, "hoard": hoardCommand,
			"wait-state": waitStateCommand, "settled": settledCommand, "rows": rowsCommand, "get": getCommand,
			"decide": decideCommand, "sizes": sizesCommand, "memory": memoryCommand, "wal-below": walBelowCommand, "reader": readerCommand,
		},
	})
}

// subject is the test as testscript wants to see it; a story's own test is in
// its T, which is what the sinks are tied to.
type subject struct{ *testing.T }

func (s subject) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(subject{t}) })
}

func (s subject) Verbose() bool { return testing.Verbose() }
