// Package event makes the webhooks that a benchmark sends: bodies of 1 KiB that
// look like a sender's and compress like a sender's, under ids that never
// repeat, signed as Stripe or GitHub sign. It owns the bytes of a request and
// nothing of how they are sent.
//
// Everything that can be done before the clock runs is done in [New]; what is
// left for each request is a copy, an id and one HMAC, because whoever sends
// shares the machine with the server that is measured.
package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"strconv"
	"time"
)

// Size is the length of every body in bytes.
const Size = 1024

// Style is whose webhooks these are.
type Style uint8

// The styles. Stripe's id is inside the signed body; GitHub's stands in a
// header that nothing signs.
const (
	Stripe Style = iota
	GitHub
)

func (s Style) String() string {
	if s == GitHub {
		return "github"
	}
	return "stripe"
}

// Options say what a corpus is made of.
type Options struct {
	Style  Style
	Host   string // of the Host header
	Path   string // the request's target
	Secret string
	Seed   uint64           // other seeds, other ids and other bodies
	Bodies int              // different bodies before the first comes again under another id; 4096 when 0
	Now    func() time.Time // time.Now when nil
}

// defaultBodies is far more than share one transaction, so that compressing a
// transaction's bodies together finds no body twice.
const defaultBodies = 4096

// Corpus holds prepared requests. It is safe for concurrent use through the
// writers that it gives out.
type Corpus struct {
	o    Options
	made []prepared
}

// prepared is a request whose variable parts are at known places.
type prepared struct {
	bytes     []byte
	body      int // where the body begins
	id        int // where the event's id stands
	commit    int // GitHub: where the commit stands that makes the body unique
	stamp     int // Stripe: where the signed time stands
	signature int
}

// New prepares a corpus.
func New(o Options) *Corpus {
	if o.Bodies <= 0 {
		o.Bodies = defaultBodies
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Corpus{o: o, made: make([]prepared, o.Bodies)}
	random := rand.New(rand.NewPCG(o.Seed, 0x6f6e6365))
	for i := range c.made {
		if o.Style == GitHub {
			c.made[i] = c.github(random)
		} else {
			c.made[i] = c.stripe(random)
		}
	}
	return c
}

// The lengths of the parts that are filled in.
const (
	stampLength     = 10 // seconds since 1970, until the year 2286
	signatureLength = 2 * sha256.Size
)

func (c *Corpus) stripe(random *rand.Rand) prepared {
	body, id := stripeBody(random, c.o.Now())
	p := prepared{commit: -1}
	b := c.head("Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	b = append(b, "Stripe-Signature: t="...)
	p.stamp = len(b)
	b = append(b, blank(stampLength)...)
	b = append(b, ",v1="...)
	p.signature = len(b)
	b = append(b, blank(signatureLength)...)
	b, p.body = finish(b, body)
	p.bytes, p.id = b, p.body+id
	return p
}

func (c *Corpus) github(random *rand.Rand) prepared {
	body, commit := githubBody(random, c.o.Now())
	p := prepared{stamp: -1}
	b := c.head("GitHub-Hookshot/044aadd")
	b = append(b, "X-GitHub-Event: push\r\nX-GitHub-Delivery: "...)
	p.id = len(b)
	b = append(b, blank(guidLength)...)
	b = append(b, "\r\nX-Hub-Signature-256: sha256="...)
	p.signature = len(b)
	b = append(b, blank(signatureLength)...)
	b, p.body = finish(b, body)
	p.bytes, p.commit = b, p.body+commit
	return p
}

func (c *Corpus) head(agent string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nAccept: */*\r\nContent-Type: application/json; charset=utf-8\r\n", c.o.Path, c.o.Host, agent)
}

func finish(head, body []byte) (request []byte, at int) {
	head = fmt.Appendf(head, "\r\nContent-Length: %d\r\n\r\n", len(body))
	return append(head, body...), len(head)
}

func blank(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return b
}

// ID returns the id of event n.
func (c *Corpus) ID(n int64) string {
	if c.o.Style == GitHub {
		return string(appendGUID(nil, c.o.Seed, n))
	}
	return string(appendStripeID(nil, c.o.Seed, n))
}

// Writer returns a writer of this corpus for one goroutine.
func (c *Corpus) Writer() *Writer {
	return &Writer{corpus: c, mac: hmac.New(sha256.New, []byte(c.o.Secret))}
}

// Writer writes requests into one buffer, again and again.
type Writer struct {
	corpus *Corpus
	mac    hash.Hash
	buffer []byte
	stamp  []byte // the signed time and the dot behind it
	sum    [sha256.Size]byte
}

// Request returns the request that delivers event n, signed now. The bytes are
// good until the next call. A second call for the same n is another delivery
// of the same event.
func (w *Writer) Request(n int64) []byte {
	c := w.corpus
	p := &c.made[uint64(n)%uint64(len(c.made))]
	w.buffer = append(w.buffer[:0], p.bytes...)
	b := w.buffer
	w.mac.Reset()
	if c.o.Style == GitHub {
		appendGUID(b[p.id:p.id], c.o.Seed, n)
		appendCommit(b[p.commit:p.commit], c.o.Seed, n)
	} else {
		appendStripeID(b[p.id:p.id], c.o.Seed, n)
		w.stamp = append(strconv.AppendInt(w.stamp[:0], c.o.Now().Unix(), 10), '.')
		copy(b[p.stamp:p.stamp+stampLength], w.stamp)
		w.mac.Write(w.stamp)
	}
	w.mac.Write(b[p.body:])
	hex.Encode(b[p.signature:], w.mac.Sum(w.sum[:0]))
	return b
}
