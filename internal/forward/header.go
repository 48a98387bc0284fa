package forward

import (
	"bytes"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// What happens to a header of the sender's.
type headerRule uint8

const (
	pass headerRule = iota
	drop
	rename // ours has this name: theirs goes on as Onceward-Sender-…
	whole  // true of the whole body only: dropped for an item of a batch
)

const (
	ownPrefix    = "Onceward-"
	senderPrefix = "Onceward-Sender-"
	maxOwnValue  = 1024
)

// ruleFor says what happens to the sender's header of that canonical name.
func ruleFor(name string) headerRule {
	switch name {
	// Hop by hop: they describe the connection to us.
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect":
		return drop
	// Framing and negotiation of the new connection are the transport's.
	case "Host", "Content-Length", "Accept-Encoding":
		return drop
	// Credentials that were meant for us.
	case "Cookie", "Authorization":
		return drop
	case "Idempotency-Key", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature":
		return rename
	case "Content-Encoding", "Content-Md5", "Content-Digest", "Repr-Digest", "Digest":
		return whole
	}
	if strings.HasPrefix(name, ownPrefix) {
		return drop // only we speak in this name
	}
	return pass
}

// ownName checks the name of a header that a configuration sets.
func ownName(name string) (canonical string, err error) {
	canonical = textproto.CanonicalMIMEHeaderKey(name)
	if !validName(canonical) {
		return "", fmt.Errorf("header %q is not a header name", name)
	}
	switch rule := ruleFor(canonical); {
	case canonical == "Authorization" || canonical == "Cookie":
	case rule == drop, rule == rename, canonical == "Content-Encoding", canonical == "Traceparent":
		return "", fmt.Errorf("header %s is set by Onceward itself", canonical)
	}
	return canonical, nil
}

// senderHeader returns the sender's headers that go on to the destination.
func senderHeader(call Call) http.Header {
	lines := bytes.Count(call.Payload.Header, []byte{'\n'})
	h := make(http.Header, lines+12)
	values := make([]string, 0, lines)
	text := string(call.Payload.Header)
	var hops []string
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		name = textproto.CanonicalMIMEHeaderKey(name)
		// A line that net/http would refuse to send must not make the event
		// undeliverable.
		if !ok || !validName(name) || !validValue(value) {
			continue
		}
		if name == "Connection" {
			hops = append(hops, strings.Split(value, ",")...)
		}
		if call.cut() && slices.ContainsFunc(call.SignedHeaders, func(s string) bool { return strings.EqualFold(s, name) }) {
			continue
		}
		switch rule := ruleFor(name); {
		case rule == drop, rule == whole && call.cut():
			continue
		case rule == rename:
			name = senderPrefix + name
		}
		values = append(values, value)
		if old := h[name]; old == nil {
			h[name] = values[len(values)-1 : len(values) : len(values)]
		} else {
			h[name] = append(old, value)
		}
	}
	for _, name := range hops {
		h.Del(strings.TrimSpace(name))
	}
	return h
}

// ownHeader checks the destination's configured headers and adds the
// credentials of its URL, as any HTTP client would.
func ownHeader(configured http.Header, u *url.URL) (http.Header, error) {
	h := make(http.Header, len(configured)+1)
	for name, values := range configured {
		canonical, err := ownName(name)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if !validValue(v) {
				return nil, fmt.Errorf("header %s has a value with control characters", canonical)
			}
		}
		h[canonical] = slices.Clone(values)
	}
	if u.User != nil && h["Authorization"] == nil {
		password, _ := u.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(u.User.Username(), password)
	}
	return h, nil
}

// cleanValue makes text from an event fit for a header: no control
// characters, so that an event's type cannot start a header of its own.
func cleanValue(s string) string {
	if len(s) > maxOwnValue {
		s = s[:maxOwnValue]
	}
	if validValue(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}

// validName reports whether s is a token of RFC 9110.
func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// validValue reports whether s has no control characters but tabs.
func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
