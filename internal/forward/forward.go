// Package forward makes one outside call and says what can be proved
// afterwards. It owns the connections to a destination, the request that goes
// out and the reading of the answer; it does not own retries, leases or
// records, and it never tries again where a byte of the request may have left.
//
// The invariant: [NotApplied] and [Refused] are only ever said with proof, an
// answer that says so or the fact that no byte of the request was handed to the
// network. Whatever happened after the first byte and is not an answer is
// [Ambiguous]. DESIGN.md says what counts as proof, and why.
package forward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Destination is where calls go. Name, URL and Effect are required.
type Destination struct {
	Name string
	URL  string
	// Effect decides what the transport may do by itself: only a Keyed call may
	// be sent again on a fresh connection when a reused one dies under it.
	Effect onceward.Effect
	// Secrets sign each call as Standard Webhooks says, one signature per
	// secret: "whsec_" and base64, or plain text.
	Secrets      []string
	Timeout      time.Duration // of the whole call; default 10 s
	Result       string        // "", "header:NAME" or "body:PATH": where the reference stands
	AllowPrivate bool          // private and loopback addresses may be dialled
	Header       http.Header   // sent with each call, over the sender's own
	// MaxRetryAfter bounds what the other side may ask for; default 24 h.
	MaxRetryAfter time.Duration
	Concurrency   int // connections kept for reuse; default 16
	Lookup        *Lookup
}

// Options are what a test, or an unusual machine, replaces.
type Options struct {
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
	Now      func() time.Time
}

// Client calls one destination. Its connections are its own, so a destination
// that holds them all holds nobody else's. It is safe for concurrent use.
type Client struct {
	name      string
	url       *url.URL
	effect    onceward.Effect
	timeout   time.Duration
	retryMax  time.Duration
	header    http.Header
	keys      [][]byte
	result    resultRule
	inquiry   *inquiry // nil when it cannot be asked
	transport *http.Transport
	now       func() time.Time
}

const (
	defaultTimeout       = 10 * time.Second
	defaultMaxRetryAfter = 24 * time.Hour
	defaultConcurrency   = 16
	dialTimeout          = 10 * time.Second
	maxAnswerHead        = 64 << 10

	// A peer that closes an idle connection in the very moment in which we
	// write on it leaves a call without an answer. A keyed call is repeated;
	// any other would need a person. The shortest idle limit of common servers
	// is two seconds, so those connections are given up before.
	idleKeyed  = 60 * time.Second
	idleSingle = time.Second
)

// New checks the destination and returns its client. Errors name the
// destination and the rule, never the address or a secret.
func New(d Destination, opts Options) (*Client, error) {
	c := &Client{name: d.Name, effect: d.Effect, timeout: d.Timeout, retryMax: d.MaxRetryAfter, now: opts.Now}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if c.retryMax <= 0 {
		c.retryMax = defaultMaxRetryAfter
	}
	if c.now == nil {
		c.now = time.Now
	}
	switch d.Effect {
	case onceward.Keyed, onceward.Lookup, onceward.Unsafe:
	default:
		return nil, fmt.Errorf("destination %s: effect must be keyed, lookup or unsafe", d.Name)
	}
	var err error
	if c.url, err = parseURL(d.URL); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.Name, err)
	}
	if c.keys, err = parseSecrets(d.Secrets); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.Name, err)
	}
	if c.result, err = parseResult(d.Result); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.Name, err)
	}
	if c.inquiry, err = parseLookup(d.Lookup, c.result); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.Name, err)
	}
	if c.header, err = ownHeader(d.Header, c.url); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.Name, err)
	}
	c.url.User = nil
	c.transport = newTransport(d, opts, c.timeout)
	return c, nil
}

// Name returns the destination's name.
func (c *Client) Name() string { return c.name }

// Close closes the connections that are idle. Calls under way go on.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do makes the call and says what is known afterwards. It returns when the
// answer is in, or the destination's timeout or ctx has ended.
func (c *Client) Do(ctx context.Context, call Call) Answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for tries := 1; ; tries++ {
		a, again := c.once(ctx, cancel, call)
		// A kept connection can turn out dead before anything was written on
		// it. That proves no effect, so another connection is taken at once
		// instead of spending one of the operation's attempts.
		if !again || tries == 3 || ctx.Err() != nil {
			return a
		}
	}
}

func (c *Client) once(ctx context.Context, cancel context.CancelFunc, call Call) (Answer, bool) {
	t := &ticket{now: c.now, before: call.SendBefore, resend: c.effect == onceward.Keyed}
	req, err := c.request(t.trace(ctx), call)
	if err != nil {
		return Answer{Kind: NotApplied, Proof: "nothing was sent", Reason: "the request cannot be built: the method is not a word"}, false
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		known := t.seal()
		return c.fault(ctx, err, known), known.reused && !known.sent() && !known.late
	}
	a := c.answered(resp, cancel)
	a.Sent, a.Sends = true, t.sends()
	return a, false
}

func newTransport(d Destination, opts Options, timeout time.Duration) *http.Transport {
	idle, kept := idleSingle, d.Concurrency
	if d.Effect == onceward.Keyed {
		idle = idleKeyed
	}
	if kept <= 0 {
		kept = defaultConcurrency
	}
	dial := dialer{
		net: &net.Dialer{Timeout: min(timeout, dialTimeout), Resolver: opts.Resolver},
		tls: &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12},
	}
	if !d.AllowPrivate {
		dial.net.Control = refusePrivate
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would be dialled instead of the address that was checked
		DialContext:            dial.plain,
		DialTLSContext:         dial.secure,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only: see DESIGN.md
		MaxIdleConns:           kept,
		MaxIdleConnsPerHost:    kept,
		IdleConnTimeout:        idle,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswerHead,
	}
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		// url.Parse quotes its input, which may hold a password or a token.
		return nil, fmt.Errorf("url must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func parseSecrets(secrets []string) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for i, s := range secrets {
		key := []byte(s)
		if encoded, ok := strings.CutPrefix(s, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return nil, fmt.Errorf("secret %d begins with whsec_, but what follows is not base64", i+1)
			}
		}
		if len(key) == 0 {
			return nil, fmt.Errorf("secret %d is empty", i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
