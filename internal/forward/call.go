package forward

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward"
)

// Call is one attempt at an operation's outside effect.
type Call struct {
	Key       string // downstream key, the same on every attempt
	Event     onceward.EventID
	Operation string
	Step      string // empty for the only step of an operation
	Source    string
	Type      string
	Attempt   int
	Item, Of  int  // place in a batch body, from 1; 0 of 0 otherwise
	Refetch   bool // the payload is only a hint: the current state is to be read
	Payload   onceward.Payload
	Rendered  Rendered // what a step's template makes of it
	Method    string   // default POST
	// TraceParent replaces the sender's; empty leaves the sender's alone.
	TraceParent string
	// SignedHeaders are the sender's signature headers. They cover the whole
	// body, so an item of a batch goes out without them.
	SignedHeaders []string
	// SendBefore is the moment after which nothing may be written any more:
	// somebody else may own the operation by then. Zero means no limit. A time
	// made from time.Now keeps its monotonic reading, which is what is compared.
	SendBefore time.Time
}

func (c *Client) request(ctx context.Context, call Call) (*http.Request, error) {
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	target := c.url.String()
	if call.Rendered.URL != "" {
		target = call.Rendered.URL
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(call.body()))
	if err != nil {
		return nil, err
	}
	if c.effect != onceward.Keyed {
		// net/http takes a request with an Idempotency-Key and a rewindable
		// body for idempotent and sends it again when a reused connection dies.
		req.GetBody = nil
	}
	req.Header = c.headers(call)
	return req, nil
}

// body is what goes out: the event's bytes as they came, or a step's own.
func (c *Call) body() []byte {
	if c.Rendered.Body != nil {
		return c.Rendered.Body
	}
	return c.Payload.Body
}

// cut reports whether the body is not the whole of what the sender signed.
func (c *Call) cut() bool { return c.Of > 0 || c.Rendered.Body != nil }

func (c *Client) headers(call Call) http.Header {
	h := senderHeader(call)
	for name, values := range c.header {
		h[name] = values
	}
	for name, values := range call.Rendered.Header {
		h[name] = values
	}
	now := strconv.FormatInt(c.now().Unix(), 10)
	h["Idempotency-Key"] = []string{call.Key}
	h["Webhook-Id"] = []string{call.Key}
	h["Webhook-Timestamp"] = []string{now}
	if len(c.keys) > 0 {
		h["Webhook-Signature"] = []string{sign(c.keys, call.Key, now, call.body())}
	}
	h["Onceward-Event"] = []string{call.Event.String()}
	h["Onceward-Operation"] = []string{cleanValue(call.Operation)}
	if call.Step != "" {
		h["Onceward-Step"] = []string{cleanValue(call.Step)}
	}
	h["Onceward-Attempt"] = []string{strconv.Itoa(call.Attempt)}
	h["Onceward-Source"] = []string{cleanValue(call.Source)}
	if call.Type != "" {
		h["Onceward-Type"] = []string{cleanValue(call.Type)}
	}
	if call.Of > 0 {
		h["Onceward-Item"] = []string{strconv.Itoa(call.Item) + "/" + strconv.Itoa(call.Of)}
	}
	if call.Refetch {
		h["Onceward-Order"] = []string{"refetch"}
	}
	if call.TraceParent != "" {
		h["Traceparent"] = []string{cleanValue(call.TraceParent)}
	}
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = []string{"Onceward"}
	}
	return h
}

// sign returns the Standard Webhooks signatures, one per key, so that a
// receiver that knows only the old or only the new secret accepts the call.
func sign(keys [][]byte, id, timestamp string, body []byte) string {
	out := make([]byte, 0, len(keys)*48)
	var sum [sha256.Size]byte
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		if i > 0 {
			out = append(out, ' ')
		}
		out = append(out, "v1,"...)
		out = base64.StdEncoding.AppendEncode(out, mac.Sum(sum[:0]))
	}
	return string(out)
}
