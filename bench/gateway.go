package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onceward/onceward/bench/event"
)

// route is one way through a gateway: a source, a destination and the operation
// between them, all of one name.
type route struct {
	name  string
	style event.Style
	url   string // of the destination
}

// gateway is the binary under test, running with a store of its own.
type gateway struct {
	*process
	intake  string // HOST:PORT
	admin   string
	dir     string
	sweep   string
	toReady time.Duration
}

const (
	readyWithin = 30 * time.Second
	readyEvery  = 2 * time.Millisecond
	secret      = "whsec_bench_a1b2c3d4e5f60718293a4b5c"
	mainRoute   = "bench"
)

func intakePath(name string) string { return "/in/" + name }

// startGateway runs the gateway in dir until it says that it is ready.
func (l *lab) startGateway(ctx context.Context, dir string, routes ...route) (*gateway, error) {
	g := &gateway{dir: dir, sweep: l.sweep}
	var err error
	if g.intake, err = freeAddress(); err != nil {
		return nil, err
	}
	if g.admin, err = freeAddress(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(g.store(), 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "onceward.yaml")
	if err := os.WriteFile(file, g.config(routes), 0o600); err != nil {
		return nil, err
	}
	began := time.Now()
	p, out, err := start(ctx, "the gateway", l.gateway, "serve", "-c", file)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	g.process = p
	if err := g.awaitReady(ctx); err != nil {
		p.kill()
		return nil, err
	}
	g.toReady = time.Since(began)
	return g, nil
}

func (g *gateway) store() string { return filepath.Join(g.dir, "store") }

// config writes what differs from the defaults and nothing else: what users
// get is what is measured.
func (g *gateway) config(routes []route) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "store: %q\nintake: {listen: %q}\nadmin: {listen: %q}\nlog: {level: warn, format: json}\n",
		"sqlite:"+filepath.Join(g.store(), "onceward.db"), g.intake, g.admin)
	if g.sweep != "" {
		fmt.Fprintf(&b, "sweep: {every: %s}\n", g.sweep)
	}
	section := func(name string, line func(r route)) {
		b.WriteString(name + ":\n")
		for _, r := range routes {
			fmt.Fprintf(&b, "  %s: ", r.name)
			line(r)
		}
	}
	section("sources", func(r route) { fmt.Fprintf(&b, "{provider: %s, secrets: [%q]}\n", r.style, secret) })
	section("destinations", func(r route) {
		fmt.Fprintf(&b, "{url: %q, effect: keyed, allow_private: true, concurrency: 64}\n", r.url)
	})
	section("operations", func(r route) { fmt.Fprintf(&b, "{source: %s, destination: %s}\n", r.name, r.name) })
	return b.Bytes()
}

func (g *gateway) awaitReady(ctx context.Context) error {
	limit := time.After(readyWithin)
	for {
		err := g.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-g.ended:
			return g.explain("ended before it was ready")
		case <-limit:
			return g.explain(fmt.Sprintf("was not ready within %v: %v", readyWithin, err))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readyEvery):
		}
	}
}

// ready asks the gateway, and whether senders reach it: the two have listeners
// of their own.
func (g *gateway) ready(ctx context.Context) error {
	if err := call(ctx, http.MethodGet, "http://"+g.admin+"/readyz", nil, nil); err != nil {
		return err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", g.intake)
	if err != nil {
		return err
	}
	return c.Close()
}

func (g *gateway) pause(ctx context.Context, name string) error {
	return g.change(ctx, name, "pause")
}

func (g *gateway) resume(ctx context.Context, name string) error {
	return g.change(ctx, name, "resume")
}

func (g *gateway) change(ctx context.Context, name, what string) error {
	return call(ctx, http.MethodPost, "http://"+g.admin+"/v1/destinations/"+name+"/"+what, map[string]string{"reason": "bench"}, nil)
}

// states counts one operation's instances by their state.
func (g *gateway) states(ctx context.Context, name string) (map[string]int64, error) {
	var stats struct {
		Operations []struct {
			Name, State string
			Count       int64
		}
	}
	if err := call(ctx, http.MethodGet, "http://"+g.admin+"/v1/stats", nil, &stats); err != nil {
		return nil, err
	}
	all := map[string]int64{}
	for _, o := range stats.Operations {
		if o.Name == name {
			all[o.State] += o.Count
		}
	}
	return all, nil
}

// settleEvery is how often progress is asked for; it bounds the error of when
// everything was settled.
const settleEvery = 50 * time.Millisecond

// settled waits until so many operations are completed and none is open, and
// returns when that was seen.
func (g *gateway) settled(ctx context.Context, name string, want int64, within time.Duration) (time.Time, error) {
	limit := time.After(within)
	for {
		states, err := g.states(ctx, name)
		if err != nil {
			return time.Time{}, err
		}
		now, others := time.Now(), int64(0)
		for state, n := range states {
			if state != "completed" {
				others += n
			}
		}
		if states["completed"] >= want && others == 0 {
			return now, nil
		}
		select {
		case <-limit:
			return time.Time{}, fmt.Errorf("%d events were not settled within %v: %v", want, within, states)
		case <-g.ended:
			return time.Time{}, g.explain("ended while its events were being settled")
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-time.After(settleEvery):
		}
	}
}

// call makes one request to the admin API, or to a sink.
func call(ctx context.Context, method, url string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s: %s", method, r.URL.Path, answer.Status, strings.TrimSpace(string(text)))
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

// freeAddress finds a port that nobody uses at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), errors.Join(l.Close())
}
