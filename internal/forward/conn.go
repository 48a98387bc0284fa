package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errSealed = errors.New("the call is over; nothing more is written for it")
	errLate   = errors.New("too late to send")
	errResend = errors.New("the call may not be sent a second time")
)

// ticket is one call's permission to write, and the account of what was
// written. Every connection asks it before each write, so "no byte written" is
// a fact about what the network was given, not a guess from an error's text,
// and stays true: a sealed ticket lets nothing through any more.
type ticket struct {
	now    func() time.Time
	before time.Time
	resend bool

	mu      sync.Mutex
	sealed  bool
	writing int   // writes handed over that have not come back
	writer  *conn // connection that was last allowed to write
	on      *conn // connection that took the latest bytes
	known   account
}

// account is what is known about the writing of one call.
type account struct {
	connected bool  // a connection was there
	reused    bool  // it had carried earlier calls
	late      bool  // the moment to send had passed; the write was held back
	pending   bool  // a write was still under way when the call ended
	whole     bool  // the whole request was written
	answering bool  // the first byte of an answer arrived
	broke     error // what reading from the connection ended with
	bytes     int64
	sends     int // connections that took bytes of this request
}

func (a account) sent() bool { return a.bytes > 0 || a.pending }

func (t *ticket) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			c, ok := info.Conn.(*conn)
			if !ok {
				return
			}
			c.ticket.Store(t)
			t.note(func(a *account) { a.connected, a.reused = true, info.Reused })
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			t.note(func(a *account) { a.whole = info.Err == nil })
		},
		GotFirstResponseByte: func() { t.note(func(a *account) { a.answering = true }) },
	})
}

func (t *ticket) note(f func(*account)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.known)
}

// begin is asked before each write.
func (t *ticket) begin(c *conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.sealed:
		return errSealed
	case c == t.on: // goes on with what has begun
	case (t.known.bytes > 0 || t.writing > 0) && !t.resend:
		return errResend
	case !t.before.IsZero() && t.now().After(t.before):
		t.known.late = true
		return errLate
	}
	t.writing++
	t.writer = c
	return nil
}

func (t *ticket) end(c *conn, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing--
	if n <= 0 {
		return
	}
	t.known.bytes += n
	if t.on != c {
		t.on = c
		t.known.sends++
	}
}

// seal ends the permission and returns the account.
func (t *ticket) seal() account {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	t.known.pending = t.writing > 0
	return t.known
}

// sends counts the requests that the peer may have seen so far. An answer can
// arrive before the write that it answers has come back.
func (t *ticket) sends() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writing > 0 && t.writer != t.on {
		return t.known.sends + 1
	}
	return t.known.sends
}

// conn is a connection that asks the ticket of the call it carries.
type conn struct {
	net.Conn
	wire   *counter // below TLS; nil on a plain connection
	ticket atomic.Pointer[ticket]
}

func (c *conn) Write(p []byte) (int, error) {
	t := c.ticket.Load()
	if t == nil {
		return c.Conn.Write(p)
	}
	if err := t.begin(c); err != nil {
		return 0, err
	}
	if c.wire == nil {
		n, err := c.Conn.Write(p)
		t.end(c, int64(n))
		return n, err
	}
	// TLS may report nothing written although part of a record has left, so
	// what counts is what the wire took.
	start := c.wire.n.Load()
	n, err := c.Conn.Write(p)
	t.end(c, c.wire.n.Load()-start)
	return n, err
}

// Read keeps what the connection ended with: net/http reports a connection
// that broke inside a header line as if the line had been malformed.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		if t := c.ticket.Load(); t != nil {
			t.note(func(a *account) { a.broke = err })
		}
	}
	return n, err
}

// counter counts the bytes that the operating system accepted.
type counter struct {
	net.Conn
	n atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// dialer opens connections that can be accounted for.
type dialer struct {
	net *net.Dialer
	tls *tls.Config
}

func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, &connectError{err: err}
	}
	return &conn{Conn: raw}, nil
}

func (d dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, &connectError{err: err}
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = raw.Close()
		return nil, &connectError{err: err}
	}
	config := d.tls.Clone()
	config.ServerName = host
	wire := &counter{Conn: raw}
	secured := tls.Client(wire, config)
	ctx, cancel := context.WithTimeout(ctx, d.net.Timeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, &connectError{err: err, handshake: true}
	}
	return &conn{Conn: secured, wire: wire}, nil
}

// connectError is a failure before there was a connection to write on.
type connectError struct {
	err       error
	handshake bool
}

func (e *connectError) Error() string { return "connect: " + e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }
