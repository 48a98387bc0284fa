package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// devCommand starts `onceward dev` on free ports, as a stranger would on the
// usual ones, and reads its URLs from what it prints.
func devCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1 && args[0] == "start", "dev start")
	w := of(ts)
	cmd := exec.Command(os.Getenv(binaryVariable), "dev", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	cmd.Dir = w.dir
	log, err := openLog(filepath.Join(w.dir, "gateway.log"))
	ts.Check(err)
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	w.gateway = &process{cmd: cmd, log: log, ended: make(chan struct{})}
	go w.gateway.wait()
	urls := regexp.MustCompile(`intake +(http://[^/]+)/in/(?s:.*)admin API +(\S+)`)
	within(ts, "the URLs", func() (bool, string) {
		found := urls.FindStringSubmatch(log.since())
		if found == nil {
			return false, log.since()
		}
		w.gateway.intake, w.gateway.admin = found[1], found[2]
		return true, ""
	})
	ts.Setenv("INTAKE", w.gateway.intake)
	ts.Setenv("ONCEWARD_ADMIN", w.gateway.admin)
}

// eventIDCommand sets $EVENT to the newest event.
func eventIDCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 0, "event-id")
	var page struct{ Items []struct{ ID string } }
	of(ts).ask(ts, "/v1/events?limit=1", &page)
	if len(page.Items) != 1 {
		ts.Fatalf("no event is recorded")
	}
	ts.Setenv("EVENT", page.Items[0].ID)
}

// operationIDCommand sets $OPERATION to the newest operation of a name.
func operationIDCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "operation-id name")
	var page struct{ Items []struct{ ID string } }
	of(ts).ask(ts, "/v1/operations?limit=1&name="+args[0], &page)
	if len(page.Items) != 1 {
		ts.Fatalf("no operation %s is recorded", args[0])
	}
	ts.Setenv("OPERATION", page.Items[0].ID)
}

// conflictIDCommand puts the newest open conflict into $CONFLICT.
func conflictIDCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 0, "conflict-id")
	var page struct{ Items []struct{ ID string } }
	of(ts).ask(ts, "/v1/conflicts?limit=1", &page)
	if len(page.Items) != 1 {
		ts.Fatalf("no conflict is open")
	}
	ts.Setenv("CONFLICT", page.Items[0].ID)
}
