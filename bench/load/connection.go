package load

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// connection is one kept-alive connection. A fault drops it, and the next
// request opens another. One goroutine at a time uses it; any may close it.
type connection struct {
	address string
	until   time.Time // when its reads and writes end
	in      *bufio.Reader

	mu     sync.Mutex // held to change what follows, and to read it elsewhere
	raw    net.Conn
	closed bool
}

const (
	// pauseAfterFault keeps a sender from spinning on a server that is away.
	pauseAfterFault = 10 * time.Millisecond
	dialWithin      = 5 * time.Second
	readBuffer      = 4096
)

func dial(ctx context.Context, address string) (*connection, error) {
	c := &connection{address: address, in: bufio.NewReaderSize(nil, readBuffer)}
	d := net.Dialer{Timeout: dialWithin}
	raw, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return c, c.use(raw)
}

// send writes a request. After an error, here or in receive, it is unknown
// whether the server took it.
func (c *connection) send(request []byte) error {
	if c.raw == nil {
		if err := c.redial(); err != nil {
			time.Sleep(pauseAfterFault)
			return err
		}
	}
	_, err := c.raw.Write(request)
	if err != nil {
		c.drop()
	}
	return err
}

// receive reads the answer to the end.
func (c *connection) receive() (status int, err error) {
	status, keep, err := readResponse(c.in)
	if err != nil || !keep {
		c.drop()
	}
	return status, err
}

func (c *connection) redial() error {
	raw, err := net.DialTimeout("tcp", c.address, dialWithin)
	if err != nil {
		return err
	}
	return c.use(raw)
}

// use takes a new connection into use, unless close came first.
func (c *connection) use(raw net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = raw.Close()
		return net.ErrClosed
	}
	if err := raw.SetDeadline(c.until); err != nil {
		_ = raw.Close()
		return err
	}
	c.raw = raw
	c.in.Reset(raw)
	return nil
}

// limit says when reads and writes end at the latest. One deadline for a whole
// run costs nothing per request.
func (c *connection) limit(until time.Time) error {
	c.until = until
	return c.raw.SetDeadline(until)
}

func (c *connection) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.raw.Close()
	c.raw = nil
}

// close ends what is under way and everything after it.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.raw != nil {
		_ = c.raw.Close()
	}
}
