package script_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// process is a running gateway. Its listeners choose their ports; the harness
// reads them from the line that says it is ready.
type process struct {
	cmd           *exec.Cmd
	log           *logFile
	ended         chan struct{}
	intake, admin string
}

const gatewayUsage = "gateway start [config] | kill | stop | stopping | stopped | reload"

// gatewayCommand starts and ends the gateway. `! gateway start` expects it to
// refuse; what it said is then in stderr.
func gatewayCommand(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, gatewayUsage)
	w := of(ts)
	switch args[0] {
	case "start":
		file := "onceward.yaml"
		if len(args) > 1 {
			file = args[1]
		}
		err := w.start(ts, file)
		if neg && err == nil {
			ts.Fatalf("the gateway started")
		} else if !neg {
			ts.Check(err)
		}
	case "kill":
		positive(ts, neg)
		w.running(ts).kill()
	case "stop":
		positive(ts, neg)
		ts.Check(w.running(ts).cmd.Process.Signal(syscall.SIGTERM))
		w.gateway.stopped(ts)
	case "stopping": // and what happens meanwhile; stopped waits for the end
		positive(ts, neg)
		p := w.running(ts)
		ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
		within(ts, "the begin of the stop", func() (bool, string) { return p.log.count(`"msg":"stopping"`) > 0, p.log.tail(3) })
	case "stopped":
		positive(ts, neg)
		w.gateway.stopped(ts)
	case "reload":
		// `! gateway reload` expects the new configuration to be refused.
		if w.running(ts).reload(ts) == neg {
			ts.Fatalf("the reload ended otherwise: %s", w.gateway.log.tail(1))
		}
	default:
		usage(ts, false, gatewayUsage)
	}
}

func (w *world) running(ts *testscript.TestScript) *process {
	if w.gateway == nil || !w.gateway.alive() {
		ts.Fatalf("no gateway runs")
	}
	return w.gateway
}

var reference = regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`)

// start runs the gateway and returns when it is ready. Variables that the
// configuration names are passed on, and TZ.
func (w *world) start(ts *testscript.TestScript, file string) error {
	if w.gateway != nil && w.gateway.alive() {
		ts.Fatalf("a gateway runs already")
	}
	p, err := w.launch(ts, file)
	if err != nil {
		return err
	}
	w.gateway = p
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case ready := <-p.log.ready:
		p.intake, p.admin = ready[0], ready[1]
	case <-p.ended:
		fmt.Fprint(ts.Stderr(), p.log.since())
		return fmt.Errorf("the gateway did not start: %s", p.log.tail(3))
	case <-deadline.C:
		return fmt.Errorf("the gateway was not ready within %s: %s", patience, p.log.tail(3))
	}
	ts.Setenv("ONCEWARD_ADMIN", p.admin)
	ts.Setenv("INTAKE", p.intake)
	resp, err := http.Get(p.admin + "/readyz")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answered %d", resp.StatusCode)
	}
	return nil
}

func (w *world) launch(ts *testscript.TestScript, file string) (*process, error) {
	content := ts.ReadFile(file)
	cmd := exec.Command(os.Getenv(binaryVariable), "serve", "-c", file)
	cmd.Dir = w.dir
	for _, found := range reference.FindAllStringSubmatch(content, -1) {
		if value := ts.Getenv(found[1]); value != "" {
			cmd.Env = append(cmd.Env, found[1]+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "TZ="+ts.Getenv("TZ"), "HOME="+w.dir)
	log, err := openLog(filepath.Join(w.dir, "gateway.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	p := &process{cmd: cmd, log: log, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	defer close(p.ended)
	_ = p.cmd.Wait() // its status is looked at where it matters
	p.log.close()
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// reload reports whether the new configuration was taken.
func (p *process) reload(ts *testscript.TestScript) bool {
	const yes, no = `"msg":"the configuration was reloaded"`, `"msg":"the configuration was not reloaded`
	reloaded, refused := p.log.count(yes), p.log.count(no)
	ts.Check(p.cmd.Process.Signal(syscall.SIGHUP))
	within(ts, "the reload", func() (bool, string) {
		return p.log.count(yes) > reloaded || p.log.count(no) > refused, "no word of it in the log"
	})
	return p.log.count(yes) > reloaded
}

// stopped waits for the end that was asked for.
func (p *process) stopped(ts *testscript.TestScript) {
	within(ts, "the stop", func() (bool, string) { return !p.alive(), "a running process" })
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("the gateway stopped with status %d", code)
	}
}

// kill ends the process at once, as the kernel would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// rss is the process's resident memory in KiB.
func (p *process) rss() (int, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

// logFile keeps what all gateways of a story wrote, and notices readiness.
type logFile struct {
	mu    sync.Mutex
	file  *os.File
	all   bytes.Buffer // of this process
	seen  int          // bytes looked at for the ready line
	ready chan [2]string
}

func openLog(path string) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &logFile{file: f, ready: make(chan [2]string, 1)}, err
}

func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(b)
	for {
		line, _, whole := bytes.Cut(l.all.Bytes()[l.seen:], []byte{'\n'})
		if !whole {
			break
		}
		l.seen += len(line) + 1
		var said struct{ Msg, Intake, Admin string }
		if json.Unmarshal(line, &said) == nil && said.Msg == "ready" {
			select {
			case l.ready <- [2]string{said.Intake, said.Admin}:
			default: // once is enough
			}
		}
	}
	return l.file.Write(b)
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Close()
}

func (l *logFile) since() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *logFile) count(text string) int { return strings.Count(l.since(), text) }

func (l *logFile) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(l.since()), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// waitLogCommand waits for a line of the running gateway's log.
func waitLogCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "wait-log pattern")
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	log := of(ts).gateway.log
	within(ts, "a log line with "+args[0], func() (bool, string) { return pattern.MatchString(log.since()), log.tail(3) })
}

// oncewardCommand runs the binary as an operator would.
func oncewardCommand(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(os.Getenv(binaryVariable), args...)
	if neg && err == nil {
		ts.Fatalf("onceward %s succeeded", strings.Join(args, " "))
	} else if !neg && err != nil {
		ts.Fatalf("onceward %s: %v", strings.Join(args, " "), err)
	}
}

// getCommand asks the admin API, with a token if need be, and prints status and
// body: get [-token T] path.
func getCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	token := ""
	if len(args) == 3 && args[0] == "-token" {
		token, args = args[1], args[2:]
	}
	usage(ts, len(args) == 1, "get [-token T] path")
	req, err := http.NewRequest(http.MethodGet, of(ts).running(ts).admin+args[0], nil)
	ts.Check(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", resp.StatusCode, body)
}
