package main // nothing can import a program, so its parts are tested from inside

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/internal/config"
)

// TestMain lets the test's own binary play the roles, as the program's does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		if err := playRole(context.Background(), os.Args[1], os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// newTestLab is for the goroutine that calls it alone: see start.
func newTestLab(t *testing.T, gateway string) *lab {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &lab{settings: settings{gateway: gateway}, self: self, rounds: 1, duration: 50 * time.Millisecond, warmup: 10 * time.Millisecond, work: t.TempDir()}
}

// send delivers events of a corpus to a handler and returns the statuses.
func send(t *testing.T, h http.Handler, style event.Style, key string, events ...int64) []int {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	address := s.Listener.Addr().String()
	w := event.New(event.Options{Style: style, Host: address, Path: "/in/x", Secret: key, Bodies: 8}).Writer()
	var statuses []int
	for _, n := range events {
		r, err := load.Run(t.Context(), load.Options{Address: address, Requests: func() load.Requests { return w }, First: n, Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		status := http.StatusOK
		for other := range r.Refused {
			status = other
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func TestNull(t *testing.T) {
	for _, style := range []event.Style{event.Stripe, event.GitHub} {
		t.Run(style.String()+" is accepted with the right secret alone", func(t *testing.T) {
			h := newNull(newVerifier(style.String(), secret))
			if got := send(t, h, style, secret, 1, 2); !slices.Equal(got, []int{200, 200}) {
				t.Errorf("right secret: %v", got)
			}
			if got := send(t, h, style, secret+"x", 1); !slices.Equal(got, []int{401}) {
				t.Errorf("wrong secret: %v", got)
			}
		})
	}

	stripe, github := newVerifier("stripe", secret), newVerifier("github", secret)
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		v      *verifier
		header string
		want   error
	}{
		"no header":           {stripe, "", errNoSignature},
		"no time":             {stripe, "v1=" + strings.Repeat("0", 64), errNoSignature},
		"a time of words":     {stripe, "t=now,v1=" + strings.Repeat("0", 64), errNoSignature},
		"an old time":         {stripe, "t=1799999000,v1=" + strings.Repeat("0", 64), errStale},
		"a time to come":      {stripe, "t=1800000900,v1=" + strings.Repeat("0", 64), errStale},
		"a short signature":   {stripe, "t=1800000000,v1=00", errNoSignature},
		"no hexadecimals":     {stripe, "t=1800000000,v1=" + strings.Repeat("x", 64), errNoSignature},
		"a wrong signature":   {stripe, "t=1800000000,v1=" + strings.Repeat("0", 64), errSignature},
		"github, no header":   {github, "", errNoSignature},
		"github, a wrong one": {github, "sha256=" + strings.Repeat("0", 64), errSignature},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			h := http.Header{"Stripe-Signature": {c.header}, "X-Hub-Signature-256": {c.header}}
			if got := c.v.verify(h, []byte("{}"), now); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestNaive(t *testing.T) {
	n, err := newNaive(t.Context(), newVerifier("stripe", secret), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if got := send(t, n, event.Stripe, secret, 1, 2, 2, 3); !slices.Equal(got, []int{200, 200, 200, 200}) {
		t.Errorf("statuses %v", got)
	}
	if got := send(t, n, event.Stripe, "another", 4); !slices.Equal(got, []int{401}) {
		t.Errorf("wrong secret: %v", got)
	}
	var rows, size int
	if err := n.db.QueryRowContext(t.Context(), "SELECT count(*), sum(length(body)) FROM delivery").Scan(&rows, &size); err != nil {
		t.Fatal(err)
	}
	if rows != 3 || size != 3*event.Size {
		t.Errorf("%d rows with %d bytes of bodies, want 3 with %d", rows, size, 3*event.Size)
	}
	var synchronous int
	if err := n.db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous); err != nil || synchronous != 2 {
		t.Errorf("synchronous is %d, want 2 (FULL): a baseline that does not wait for the disk flatters nobody; %v", synchronous, err)
	}
}

func TestSink(t *testing.T) {
	h := newSink(0, true)
	send(t, h, event.Stripe, secret, 1, 2, 2)
	s := httptest.NewServer(h)
	defer s.Close()
	got, err := (&sinkProcess{address: s.Listener.Addr().String()}).counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := event.New(event.Options{Bodies: 1})
	want := sinkCounts{Calls: 3, Events: map[string]int{c.ID(1): 1, c.ID(2): 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUsage(t *testing.T) {
	const stat = "4711 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 9 0 123 456 789"
	if got := parseProcessorTime(stat); got != 3*time.Second {
		t.Errorf("processor time %v, want 3s", got)
	}
	if got := parseProcessorTime("4711 (short) S 1"); got != 0 {
		t.Errorf("processor time of a short line %v", got)
	}
	if got, err := parsePeakMemory("Name:\tx\nVmHWM:\t   65536 kB\nVmRSS:\t  1 kB\n"); err != nil || got != 64 {
		t.Errorf("peak %v, %v; want 64", got, err)
	}
	for _, status := range []string{"", "VmHWM:\tmuch kB\n"} {
		if _, err := parsePeakMemory(status); err == nil {
			t.Errorf("%q has no error", status)
		}
	}
	if got := kernel("6.18.44-vendor-v1\n"); got != "6.18.44" {
		t.Errorf("kernel %q", got)
	}
	if got := parseMemory("MemFree: 1 kB\nMemTotal:  8388608 kB\n"); got != 8 {
		t.Errorf("memory %v", got)
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want settings
	}{
		"everything is measured for the page":   {nil, settings{gateway: "./bin/onceward", dir: ".", out: page}},
		"a quick look leaves the page alone":    {[]string{"-quick"}, settings{gateway: "./bin/onceward", dir: ".", quick: true}},
		"some rows leave the page alone":        {[]string{"-only", "P1"}, settings{gateway: "./bin/onceward", dir: ".", only: "P1"}},
		"a page that is asked for is rewritten": {[]string{"-quick", "-out", "x.md"}, settings{gateway: "./bin/onceward", dir: ".", quick: true, out: "x.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parse(c.args); err != nil || got != c.want {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	if _, err := parse([]string{"P1"}); err == nil {
		t.Error("an argument without a flag is understood")
	}
	if w, err := parseWanted(" p1,P13 "); err != nil || !w.any("P1") || !w.any("P4", "P13") || w.any("P3", "P4") {
		t.Errorf("%v, %v", w, err)
	}
	if _, err := parseWanted("P1,P99"); err == nil || !strings.Contains(err.Error(), "P99") {
		t.Errorf("an unknown row: %v", err)
	}
	if w, err := parseWanted(""); err != nil || !w.any("P1") {
		t.Errorf("nothing said means everything: %v, %v", w, err)
	}
}

func TestConfig(t *testing.T) {
	g := &gateway{dir: t.TempDir(), intake: "127.0.0.1:18080", admin: "127.0.0.1:18081"}
	file := filepath.Join(g.dir, "onceward.yaml")
	if err := os.WriteFile(file, g.config([]route{{mainRoute, event.Stripe, "http://127.0.0.1:9/"}, {deadRoute, event.GitHub, nowhere}}), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Sources) != 2 || len(c.Destinations) != 2 || len(c.Operations) != 2 || c.Intake.Listen != g.intake {
		t.Errorf("%d sources, %d destinations, %d operations", len(c.Sources), len(c.Destinations), len(c.Operations))
	}
}

func TestAppends(t *testing.T) {
	dir := t.TempDir()
	took, err := appends(dir, 3)
	if err != nil || len(took) != 3 {
		t.Errorf("%v, %v", took, err)
	}
	if left, err := bytesIn(dir); err != nil || left != 0 {
		t.Errorf("%d bytes left behind, %v", left, err)
	}
}

func TestBounds(t *testing.T) {
	for _, role := range []string{roleNull, roleNaive} {
		t.Run(role+" accepts everything as a process of its own", func(t *testing.T) {
			f, err := newTestLab(t, "").boundRun(t.Context(), role, event.Stripe, 4)
			if err != nil || f.rate <= 0 || f.notAccepted != 0 {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}

	t.Run("a role that cannot begin says why", func(t *testing.T) {
		l := newTestLab(t, "")
		_, _, err := l.startRole(t.Context(), roleNaive, "-dir", filepath.Join(l.work, "missing"))
		if err == nil || !strings.Contains(err.Error(), "its last words") {
			t.Errorf("%v", err)
		}
	})
}

// TestEverything runs every measurement against the real gateway, too short to
// mean anything but long enough to see what is right or wrong at any speed.
func TestEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the gateway")
	}
	gateway := filepath.Join(t.TempDir(), "onceward")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", gateway, "../cmd/onceward")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the gateway: %v\n%s", err, out)
	}
	l := newTestLab(t, gateway)
	for _, f := range families() {
		rows, err := f.run(t.Context(), l)
		if err != nil {
			t.Fatalf("%v: %v", f.ids, err)
		}
		for _, r := range rows {
			if !slices.Contains(f.ids, r.ID) {
				t.Errorf("%s is not among %v", r.ID, f.ids)
			}
			if len(r.Own) < l.rounds || r.Baseline != nil && len(r.Baseline) != len(r.Own) {
				t.Errorf("%s, %s: %d runs and %d of the baseline", r.ID, r.What, len(r.Own), len(r.Baseline))
			}
			if r.Worst && r.ID == "P6" && r.Figure() != 0 {
				t.Errorf("%s, %s: %v", r.ID, r.What, r.Figure())
			}
		}
	}
}
