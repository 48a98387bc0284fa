package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child that this program started, and the only kind of process
// that it ever signals.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer // its end tells a role to stop
	out   *tail
	ended chan struct{}
	err   error // good once ended is closed
}

// stopWithin bounds how long a child may take to stop before it is killed.
const stopWithin = 60 * time.Second

// start runs a command. It is killed when ctx ends, and with this program: to
// the kernel that is the end of the thread that started it, so the caller's
// goroutine must be locked to a thread that lasts.
func start(ctx context.Context, name, command string, args ...string) (*process, io.Reader, error) {
	p := &process{name: name, cmd: exec.CommandContext(ctx, command, args...), out: &tail{}, ended: make(chan struct{})}
	p.cmd.SysProcAttr = attributes()
	p.cmd.Stderr = p.out
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	p.stdin = stdin
	reader, writer := io.Pipe()
	p.cmd.Stdout = writer
	if err := p.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		_ = writer.Close() // a pipe in memory never fails
		close(p.ended)
	}()
	return p, reader, nil
}

// startRole runs this binary in a role and returns its address.
func (l *lab) startRole(ctx context.Context, role string, args ...string) (*process, string, error) {
	p, out, err := start(ctx, role, l.self, append([]string{role}, args...)...)
	if err != nil {
		return nil, "", err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, "", p.explain("did not say its address")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // a full pipe would block it
	return p, strings.TrimSpace(address), nil
}

// stop asks the child to end and waits for it.
func (p *process) stop() error {
	p.stdin.Close()
	if !isRole(p.name) {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop %s: %w", p.name, err)
		}
	}
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		p.kill()
		return p.explain(fmt.Sprintf("did not stop within %v and was killed", stopWithin))
	}
	if p.err != nil {
		return p.explain("did not end well: " + p.err.Error())
	}
	return nil
}

// kill ends the child at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// blame adds to an error that the child is gone, if it is.
func (p *process) blame(err error) error {
	select {
	case <-p.ended:
		return errors.Join(err, p.explain("ended before its time"))
	default:
		return err
	}
}

func (p *process) explain(what string) error {
	if said := p.out.String(); said != "" {
		return fmt.Errorf("%s %s; its last words:\n%s", p.name, what, said)
	}
	return fmt.Errorf("%s %s", p.name, what)
}

// tail keeps the end of what a child writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > 2*tailLength {
		t.text = append(t.text[:0], t.text[len(t.text)-tailLength:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text[max(len(t.text)-tailLength, 0):]))
}
