package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gatewayProcess is the real binary as a process that can be killed.
type gatewayProcess struct {
	dir, intake, admin string
	cmd                *exec.Cmd
}

func (p *gatewayProcess) config() string { return filepath.Join(p.dir, "onceward.yaml") }

func (p *gatewayProcess) log() string { return filepath.Join(p.dir, "gateway.log") }

// start runs the gateway and returns when it is ready.
func (p *gatewayProcess) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(self, "serve", "-c", p.config())
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("demo: the gateway did not start: %w", err)
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if resp, err := http.Get("http://" + p.admin + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				tick.Stop()
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return errors.New("demo: the gateway did not become ready")
		}
	}
}

// kill ends the process at once, as a power cut would.
func (p *gatewayProcess) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // it was killed, which is its error
	return nil
}

func (p *gatewayProcess) stop() {
	if p.cmd == nil || p.cmd.Process == nil || p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	ended := make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // its own exit status says nothing here
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-ended
	}
}

// lastWords is the end of the gateway's log.
func (p *gatewayProcess) lastWords() string {
	content, err := os.ReadFile(p.log())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return "the gateway's last words:\n" + printableLines(strings.Join(lines[max(len(lines)-12, 0):], "\n"))
}

// outcome is what the gateway says happened.
type outcome struct{ events, completed, recovered, unknown int }

// outcome waits until so many operations have come to an end, then asks the
// admin API, as an operator would.
func (m *demo) outcome(ctx context.Context, operations int) (o outcome, err error) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if o, err = m.ask(ctx); err != nil || o.completed+o.unknown >= operations {
			tick.Stop()
			return o, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return o, nil // the table shows what is off
		}
	}
}

func (m *demo) ask(ctx context.Context) (o outcome, err error) {
	states := map[string]*int{"completed": &o.completed, "unknown_outcome": &o.unknown}
	for state, n := range states {
		if *n, err = m.countListing(ctx, "/v1/operations", url.Values{"state": {state}}, func(item listedItem) {
			if state == "completed" && item.Attempt > 1 && strings.HasPrefix(item.EventID, "evt_stuck_") {
				o.recovered++
			}
		}); err != nil {
			return o, err
		}
	}
	o.events, err = m.countListing(ctx, "/v1/events", url.Values{}, func(item listedItem) {
		for _, op := range item.Operations {
			if strings.HasPrefix(item.EventID, "evt_stuck_") && op.State == "completed" && op.Attempt > 1 {
				o.recovered++
			}
		}
	})
	return o, err
}

type listedItem struct {
	EventID    string `json:"event_id"`
	Attempt    int    `json:"attempt"`
	Operations []struct {
		State   string `json:"state"`
		Attempt int    `json:"attempt"`
	} `json:"operations"`
}

func (m *demo) countListing(ctx context.Context, path string, query url.Values, each func(listedItem)) (n int, err error) {
	query.Set("limit", "500")
	for {
		var page struct {
			Items []listedItem `json:"items"`
			Next  string       `json:"next"`
		}
		if err := m.api.get(ctx, path, query, &page); err != nil {
			return n, err
		}
		for _, item := range page.Items {
			each(item)
		}
		n += len(page.Items)
		if page.Next == "" {
			return n, nil
		}
		query.Set("after", page.Next)
	}
}

// acknowledged counts the answers that said yes.
func (m *demo) acknowledged() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for status, count := range m.answered {
		if status != "" {
			n += count
		}
	}
	return n
}

func (f *farSide) setHold(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hold && !on {
		close(f.free)
		f.free = make(chan struct{})
		f.held = 0
	}
	f.hold = on
}

func (f *farSide) waitHeld(ctx context.Context, n int) error {
	if err := f.wait(ctx, func() bool { return f.held >= n }); err != nil {
		return fmt.Errorf("demo: not all calls are under way: %w", err)
	}
	return nil
}

// wait returns when done holds, which is asked after every call, or ctx ends.
func (f *farSide) wait(ctx context.Context, done func() bool) error {
	stop := context.AfterFunc(ctx, f.changed.Broadcast)
	defer stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !done() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.changed.Wait()
	}
	return nil
}

func (f *farSide) effects() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.applied)
}

func (f *farSide) allCalls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
