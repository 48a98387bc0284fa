package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// Lookup is where and how a destination is asked whether a call had its effect.
// URL holds {key}, which the downstream key takes the place of.
type Lookup struct {
	URL             string
	Present, Absent []int  // statuses that say so; any other says nothing
	Result          string // where the answer has the reference; the destination's rule when empty
}

const keyPlaceholder = "{key}"

// inquiry is a checked Lookup.
type inquiry struct {
	url             string
	present, absent []int
	result          resultRule
}

func parseLookup(l *Lookup, destination resultRule) (*inquiry, error) {
	if l == nil {
		return nil, nil
	}
	if !strings.Contains(l.URL, keyPlaceholder) {
		return nil, errors.New("lookup: its url must hold {key}, which our key takes the place of")
	}
	origin, path := splitTarget(l.URL)
	if strings.Contains(origin, keyPlaceholder) {
		return nil, errors.New("lookup: {key} may stand only in the path and the query of its url")
	}
	if _, err := parseURL(origin + strings.ReplaceAll(path, keyPlaceholder, "x")); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	q := &inquiry{url: l.URL, present: l.Present, absent: l.Absent, result: destination}
	if l.Result != "" {
		var err error
		if q.result, err = parseResult(l.Result); err != nil {
			return nil, fmt.Errorf("lookup: %w", err)
		}
	}
	return q, nil
}

// Ask asks the destination by a call's downstream key whether the call had its
// effect. It follows the destination's rules for addresses, timeouts and
// signatures, does not follow redirects, and changes nothing there. Asked is
// left to the caller, who knows the store's clock.
func (c *Client) Ask(ctx context.Context, key string) onceward.Finding {
	if c.inquiry == nil {
		return onceward.Finding{Evidence: "the destination has no lookup"}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(c.inquiry.url, keyPlaceholder, url.QueryEscape(key)), nil)
	if err != nil {
		return onceward.Finding{Evidence: "the question cannot be built"}
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	now := strconv.FormatInt(c.now().Unix(), 10)
	req.Header["Webhook-Id"] = []string{key}
	req.Header["Webhook-Timestamp"] = []string{now}
	if len(c.keys) > 0 {
		req.Header["Webhook-Signature"] = []string{sign(c.keys, key, now, nil)}
	}
	req.Header.Set("User-Agent", "Onceward")
	// A connection may still carry the ticket of an earlier call, which would
	// hold the question's bytes back; one's own ticket lets them through.
	t := &ticket{now: c.now, resend: true}
	resp, err := c.transport.RoundTrip(req.WithContext(t.trace(ctx)))
	if err != nil {
		return onceward.Finding{Evidence: "no answer: " + c.fault(ctx, err, t.seal()).Reason}
	}
	defer resp.Body.Close()
	f := onceward.Finding{Evidence: statusText(resp.StatusCode)}
	switch {
	case slices.Contains(c.inquiry.present, resp.StatusCode):
		// The status decides; a result that cannot be read is only missing.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBody))
		f.Presence = onceward.Present
		f.Result, _ = c.inquiry.result.from(resp.Header, body)
	case slices.Contains(c.inquiry.absent, resp.StatusCode):
		f.Presence = onceward.Absent
	}
	f.Evidence += " about " + key
	return f
}
