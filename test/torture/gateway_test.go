// Package torture runs the real binary under load, kills it and counts effects
// at the far side. It asserts numbers, never times.
package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "onceward-torture-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "onceward")
	build := exec.Command("go", "build", "-o", binary, "github.com/onceward/onceward/cmd/onceward")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// gateway is the binary as a process that can be killed and started again on
// the same addresses and data.
type gateway struct {
	t             *testing.T
	dir           string
	intake, admin string

	mu    sync.Mutex
	cmd   *exec.Cmd
	kills int // processes that died of SIGKILL, not by themselves
}

// newGateway writes the configuration, whose first lines it makes, and starts.
func newGateway(t *testing.T, config string) *gateway {
	t.Helper()
	g := &gateway{t: t, dir: t.TempDir(), intake: freeAddress(t), admin: freeAddress(t)}
	head := fmt.Sprintf("store: %q\nintake: {listen: %q}\nadmin: {listen: %q}\n", "sqlite:"+g.path("onceward.db"), g.intake, g.admin)
	if err := os.WriteFile(g.path("onceward.yaml"), []byte(head+config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	t.Cleanup(func() {
		g.kill()
		if t.Failed() {
			log, _ := os.ReadFile(g.path("log"))
			lines := strings.Split(string(log), "\n")
			t.Logf("the gateway's last words:\n%s", strings.Join(lines[max(len(lines)-20, 0):], "\n"))
		}
	})
	return g
}

func (g *gateway) path(name string) string { return filepath.Join(g.dir, name) }

func (g *gateway) start() {
	g.t.Helper()
	g.launch()
	g.until(30*time.Second, "ready", func() bool {
		resp, err := http.Get("http://" + g.admin + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// launch starts the process and waits for nothing.
func (g *gateway) launch() {
	g.t.Helper()
	log, err := os.OpenFile(g.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		g.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(binary, "serve", "-c", g.path("onceward.yaml"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.cmd = cmd
	g.mu.Unlock()
}

// signal tells the process something, if it runs.
func (g *gateway) signal(s os.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_ = g.cmd.Process.Signal(s)
	}
}

// kill ends the process at once, as a power cut would end it.
func (g *gateway) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		if status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			g.kills++
		}
		g.cmd = nil
	}
}

// until polls a condition with a deadline.
func (g *gateway) until(deadline time.Duration, what string, done func() bool) {
	g.t.Helper()
	end := time.Now().Add(deadline)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(end) {
			g.t.Fatalf("%s did not come true within %s; counters: %v", what, deadline, g.statsText())
		}
		<-tick.C
	}
}

// get reads JSON from the admin API.
func (g *gateway) get(path string, into any) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+g.admin+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", path, resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// states counts an operation's rows by state, from the listing, not from the
// counters.
func (g *gateway) states(operation string) map[string]int {
	g.t.Helper()
	count := map[string]int{}
	for state, events := range g.rows(operation) {
		count[state] = len(events)
	}
	return count
}

// rows lists the events of an operation's rows, by state.
func (g *gateway) rows(operation string) map[string][]string {
	g.t.Helper()
	all := map[string][]string{}
	for after := ""; ; {
		var page struct {
			Items []struct{ Event, State string }
			Next  string
		}
		if err := g.get("/v1/operations?limit=500&name="+operation+"&after="+after, &page); err != nil {
			g.t.Fatal(err)
		}
		for _, item := range page.Items {
			all[item.State] = append(all[item.State], item.Event)
		}
		if page.Next == "" {
			return all
		}
		after = page.Next
	}
}

// counters reads /v1/stats: operations by name and state.
func (g *gateway) counters(operation string) map[string]int {
	g.t.Helper()
	var stats struct {
		Operations []struct {
			Name, State string
			Count       int
		}
	}
	if err := g.get("/v1/stats", &stats); err != nil {
		g.t.Fatal(err)
	}
	count := map[string]int{}
	for _, o := range stats.Operations {
		if o.Name == operation && o.Count > 0 {
			count[o.State] = o.Count
		}
	}
	return count
}

// statsText is /v1/stats as it is, for a failing test.
func (g *gateway) statsText() string {
	var stats json.RawMessage
	if err := g.get("/v1/stats", &stats); err != nil {
		return err.Error()
	}
	return string(stats)
}

// events sums the listing: how many events, and how many deliveries of them.
func (g *gateway) events() (events, deliveries int) {
	g.t.Helper()
	for after := ""; ; {
		var page struct {
			Items []struct{ Deliveries int }
			Next  string
		}
		if err := g.get("/v1/events?limit=500&after="+after, &page); err != nil {
			g.t.Fatal(err)
		}
		for _, item := range page.Items {
			events++
			deliveries += item.Deliveries
		}
		if page.Next == "" {
			return events, deliveries
		}
		after = page.Next
	}
}

// report shows a table, and keeps it for the page that quotes it.
func report(t *testing.T, name, table string) {
	t.Helper()
	t.Log("\n" + table)
	if dir := os.Getenv("ONCEWARD_REPORT"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
