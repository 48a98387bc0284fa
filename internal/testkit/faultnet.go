package testkit

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Fault is what a [Peer] does to one request.
type Fault int

// The faults.
const (
	// AnswerOK answers 200 with an empty body and keeps the connection.
	AnswerOK Fault = iota
	// ResetUnread resets the connection as soon as it is accepted, before a
	// byte is read.
	ResetUnread
	// ResetAfterRequest reads the whole request, then resets.
	ResetAfterRequest
	// CloseAfterRequest reads the whole request, then closes in good order.
	CloseAfterRequest
	// ResetInHead resets in the middle of the answer's header.
	ResetInHead
	// CloseInBody answers 200 and closes in the middle of the body.
	CloseInBody
	// ResetInBody answers 200 and resets in the middle of the body.
	ResetInBody
	// NeverAnswer reads the request and says nothing until the peer ends.
	NeverAnswer
	// NeverRead accepts and reads nothing.
	NeverRead
	// Malformed answers with bytes that are not HTTP.
	Malformed
	// OnlyInformational answers 102 and then closes.
	OnlyInformational
	// Drip answers 200 and then one byte of body each time Step is called.
	Drip
	// CloseIdle answers 200, and closes the connection without saying so.
	CloseIdle
)

// Peer is a server that speaks just enough HTTP to break it in a chosen place.
type Peer struct {
	URL string

	listener net.Listener
	tls      *tls.Config
	script   func(n int) Fault
	mu       sync.Mutex
	requests int
	conns    int
	open     map[net.Conn]bool
	ending   chan struct{}
	step     chan struct{}
	running  sync.WaitGroup
}

// NewPeer starts a peer that treats its nth request (from 1) as script says.
// script may be asked more than once about the same request.
// For ResetUnread and NeverRead the connection is what counts as the request.
func NewPeer(t testing.TB, script func(n int) Fault) *Peer {
	t.Helper()
	return newPeer(t, script, nil)
}

// NewTLSPeer is [NewPeer] behind TLS.
func NewTLSPeer(t testing.TB, config *tls.Config, script func(n int) Fault) *Peer {
	t.Helper()
	return newPeer(t, script, config)
}

func newPeer(t testing.TB, script func(n int) Fault, config *tls.Config) *Peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Peer{
		URL: "http://" + l.Addr().String(), listener: l, tls: config, script: script,
		open: map[net.Conn]bool{}, ending: make(chan struct{}), step: make(chan struct{}),
	}
	if config != nil {
		p.URL = "https://" + l.Addr().String()
	}
	p.running.Add(1)
	go p.accept()
	t.Cleanup(p.close)
	return p
}

// RefusedURL returns an address on which nobody listens.
func RefusedURL(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// Requests is how many whole requests the peer has read.
func (p *Peer) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Conns is how many connections the peer has accepted.
func (p *Peer) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// Step lets a dripping answer give its next byte. It blocks until that is done.
func (p *Peer) Step() { p.step <- struct{}{} }

func (p *Peer) close() {
	close(p.ending)
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Peer) accept() {
	defer p.running.Done()
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns++
		p.open[c] = true
		p.running.Add(1)
		p.mu.Unlock()
		go p.serve(c)
	}
}

func (p *Peer) serve(raw net.Conn) {
	defer p.running.Done()
	defer func() {
		p.mu.Lock()
		delete(p.open, raw)
		p.mu.Unlock()
		_ = raw.Close()
	}()
	c := raw
	if p.tls != nil {
		c = tls.Server(raw, p.tls)
	}
	r := bufio.NewReader(c)
	for {
		switch p.script(p.Requests() + 1) {
		case ResetUnread:
			p.count()
			reset(raw)
			return
		case NeverRead:
			<-p.ending
			return
		}
		if err := readRequest(r); err != nil {
			return
		}
		if !p.answer(raw, c, p.script(p.count())) {
			return
		}
	}
}

func (p *Peer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	return p.requests
}

// answer reports whether the connection goes on.
func (p *Peer) answer(raw, c net.Conn, f Fault) bool {
	switch f {
	case ResetAfterRequest:
		reset(raw)
	case ResetInHead:
		say(c, "HTTP/1.1 200 OK\r\nContent-Le")
		reset(raw)
	case CloseInBody, ResetInBody:
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"re")
		if f == ResetInBody {
			reset(raw)
		}
	case NeverAnswer:
		<-p.ending
	case Malformed:
		say(c, "SECRET-IN-ANSWER this is not HTTP\r\n\r\n")
	case OnlyInformational:
		say(c, "HTTP/1.1 102 Processing\r\n\r\n")
	case Drip:
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
		for p.next() {
			say(c, "x")
		}
	case CloseIdle:
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	case AnswerOK:
		_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nDate: %s\r\n\r\n", time.Now().UTC().Format(http.TimeFormat))
		return err == nil
	}
	return false
}

func (p *Peer) next() bool {
	select {
	case <-p.step:
		return true
	case <-p.ending:
		return false
	}
}

// say writes; a caller that has left is no concern of a peer that breaks.
func say(c io.Writer, text string) { _, _ = io.WriteString(c, text) }

func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

// reset makes the kernel send RST instead of FIN. What was written before has
// left by then: it is small, and nothing on the loopback holds it back.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
