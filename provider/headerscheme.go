package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// headerScheme verifies an HMAC in one header: most senders, as data.
type headerScheme struct {
	Signature
	header    string // canonical
	stampAt   string // canonical header, empty when it is an element
	element   string // "t=", empty when it is a header or absent
	timed     bool
	content   []piece
	keys      []*key
	bodySign  bool
	urlSign   bool
	signsHead map[string]bool
}

// newHeaderScheme compiles a signature with the source's secrets.
func newHeaderScheme(sig Signature, o *Options) (*headerScheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	h := &headerScheme{Signature: sig, signsHead: map[string]bool{}}
	if err := h.defaults(); err != nil {
		return nil, err
	}
	if h.content, err = pieces(h.Content); err != nil {
		return nil, err
	}
	if err := h.locate(); err != nil {
		return nil, err
	}
	for _, s := range list {
		secret, err := h.keyOf(s)
		if err != nil {
			return nil, err
		}
		h.keys = append(h.keys, newKey(s.Label, h.Algorithm, secret))
	}
	return h, nil
}

// keyOf reads a secret as this sender spells it.
func (h *headerScheme) keyOf(s Secret) ([]byte, error) {
	switch h.Key {
	case "hex":
		key, err := hex.DecodeString(s.Value)
		if err != nil {
			return nil, wrong("secrets", "%s is not hexadecimal, as this sender's keys are", s.Label)
		}
		return key, nil
	case "base64":
		key, err := decodeKey(s.Value)
		if err != nil {
			return nil, wrong("secrets", "%s %s, as this sender's keys are", s.Label, err.Error())
		}
		return key, nil
	}
	return []byte(s.Value), nil
}

func (h *headerScheme) defaults() error {
	if h.Algorithm == "" {
		h.Algorithm = "sha256"
	}
	if h.Encoding == "" {
		h.Encoding = "hex"
	}
	if h.Content == "" {
		h.Content = "{body}"
	}
	switch {
	case h.Header == "":
		return wrong("signature.header", "is missing: the name of the header that carries the signature")
	case !validHeader(h.Header):
		return wrong("signature.header", "%q cannot be the name of a header", h.Header)
	case algorithms(h.Algorithm) == nil:
		return wrong("signature.algorithm", "%q is unknown; use sha1, sha256 or sha512", h.Algorithm)
	case h.Encoding != "hex" && h.Encoding != "base64":
		return wrong("signature.encoding", "%q is unknown; use hex or base64", h.Encoding)
	}
	h.header = textproto.CanonicalMIMEHeaderKey(h.Header)
	return nil
}

// locate finds where the timestamp is and what the content covers. A time that
// is not signed proves nothing, so it is an error to configure one.
func (h *headerScheme) locate() error {
	signsTime := false
	for _, p := range h.content {
		switch p.kind {
		case bodyPiece:
			h.bodySign = true
		case urlPiece:
			h.urlSign = true
		case timestampPiece:
			signsTime = true
		case headerPiece:
			h.signsHead[p.text] = true
		}
	}
	name, isHeader := strings.CutPrefix(h.Timestamp, "header:")
	element, isElement := strings.CutPrefix(h.Timestamp, "element:")
	switch {
	case h.Bare:
	case h.Timestamp == "" && signsTime:
		return wrong("signature.timestamp", "is missing: content has {timestamp} in it; say header:NAME or element:NAME")
	case h.Timestamp == "" && h.Tolerance > 0:
		return wrong("signature.tolerance", "needs a timestamp; say where it is with signature.timestamp")
	case h.Timestamp == "":
		return nil
	case isHeader && validHeader(name):
		h.stampAt = textproto.CanonicalMIMEHeaderKey(name)
		h.signsHead[h.stampAt] = h.signsHead[h.stampAt] || signsTime
		signsTime = h.signsHead[h.stampAt]
	case isElement && element != "" && !strings.ContainsAny(element, separators+"="):
		h.element = element + "="
	default:
		return wrong("signature.timestamp", "%q is neither header:NAME nor element:NAME", h.Timestamp)
	}
	if !signsTime {
		return wrong("signature.timestamp", "%s is not part of signature.content, so it proves nothing; add {timestamp} to the content or leave it out", h.Timestamp)
	}
	h.timed = true
	return nil
}

func (h *headerScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	values := r.values(h.header)
	if !h.Groups {
		return h.verifyIn(values, r, body)
	}
	groups := strings.Fields(strings.Join(values, " "))
	if len(groups) == 0 || len(groups) > maxGroups {
		return h.verifyIn(nil, r, body)
	}
	var refusal *Refusal
	for _, group := range groups {
		v, why := h.verifyIn([]string{group}, r, body)
		if why == nil {
			return v, nil
		}
		refusal = why
	}
	return verified{}, refusal
}

// maxGroups bounds how often one request is verified.
const maxGroups = 8

// verifyIn verifies with the entries of these header values.
func (h *headerScheme) verifyIn(values []string, r *Request, body []byte) (verified, *Refusal) {
	if !entries(values, "", func(string) bool { return true }) {
		return verified{}, refuse(MissingSignature, "header %s is missing or empty", h.Header)
	}
	if h.Allow != "" {
		if said, _ := r.header(textproto.CanonicalMIMEHeaderKey(h.Allow)); said != h.Means {
			return verified{}, refuse(UnsupportedAlgorithm, "header %s does not say %s, and nothing else is accepted", h.Allow, h.Means)
		}
	}
	if h.Form != "" && r.isForm() {
		body = formField(body, h.Form)
	}
	stamp, refusal := h.stamp(r, values)
	if refusal != nil {
		return verified{}, refusal
	}
	if h.element != "" && !entries(values, h.Prefix, func(string) bool { return true }) {
		return verified{}, refuse(NoExpectedScheme, "header %s has no entry that begins with %s", h.Header, h.Prefix)
	}
	v := verified{timed: h.timed, future: h.Future}
	if h.timed {
		var ok bool
		if v.signed, ok = instant(stamp); !ok {
			return v, refuse(MalformedHeader, "the timestamp of %s is not a time", h.Header)
		}
	}
	for _, k := range h.keys {
		m := k.open()
		refusal := h.write(m, r, body, stamp)
		matched := refusal == nil && entries(values, h.Prefix, func(entry string) bool { return m.matches(entry, h.Encoding) })
		k.close(m)
		if refusal != nil {
			return v, refusal
		}
		if matched {
			v.label = k.label
			return v, nil
		}
	}
	return v, mismatch(h.Header, len(h.keys))
}

// mismatch is one sentence for every cause, so that it is no oracle.
func mismatch(header string, tried int) *Refusal {
	return refuse(SignatureMismatch, "no signature in %s fits: %d secret(s) were tried; either the secret is another one, or the bytes were changed on the way", header, tried)
}

// stamp returns the timestamp as it was sent: these characters are signed.
func (h *headerScheme) stamp(r *Request, values []string) (string, *Refusal) {
	switch {
	case h.stampAt != "":
		value, state := r.header(h.stampAt)
		if state == absent {
			return "", refuse(MissingHeader, "header %s is missing", strings.TrimPrefix(h.Timestamp, "header:"))
		}
		if state == ambiguous {
			return "", refuse(MalformedHeader, "header %s was sent with different values", strings.TrimPrefix(h.Timestamp, "header:"))
		}
		return value, nil
	case h.Bare:
		stamp := ""
		entries(values, "", func(entry string) bool {
			stamp = entry
			return true
		})
		return stamp, nil
	case h.element != "":
		stamp, clash := "", false
		entries(values, h.element, func(entry string) bool {
			clash = clash || stamp != "" && stamp != entry
			stamp = entry
			return false
		})
		if stamp == "" || clash {
			return "", refuse(MalformedHeader, "header %s has no single %s entry", h.Header, h.element)
		}
		return stamp, nil
	}
	return "", nil
}

// write feeds the signed content and computes the sum.
func (h *headerScheme) write(m *mac, r *Request, body []byte, stamp string) *Refusal {
	for _, p := range h.content {
		switch p.kind {
		case literal:
			m.buf = append(m.buf, p.text...)
		case timestampPiece:
			m.buf = append(m.buf, stamp...)
		case urlPiece:
			m.buf = append(m.buf, r.URL...)
		case methodPiece:
			m.buf = append(m.buf, r.Method...)
		case headerPiece:
			value, state := r.header(p.text)
			if state == absent {
				return refuse(MissingHeader, "header %s, which is signed, is missing", p.text)
			}
			if state == ambiguous {
				return refuse(MalformedHeader, "header %s, which is signed, was sent with different values", p.text)
			}
			m.buf = append(m.buf, value...)
		case bodyPiece:
			m.flush()
			m.Write(body)
		}
	}
	m.finish()
	return nil
}

func (h *headerScheme) sign(r *Request, body []byte) error {
	stamp := strconv.FormatInt(r.Now.Unix(), 10)
	if h.TimeText {
		stamp = r.Now.UTC().Format(time.RFC3339Nano)
	}
	if h.stampAt != "" {
		r.Header.Set(h.stampAt, stamp)
	}
	for _, p := range h.content {
		if _, state := r.header(p.text); p.kind == headerPiece && state == absent {
			r.Header.Set(p.text, messageID(body))
		}
	}
	k := h.keys[0]
	m := k.open()
	defer k.close(m)
	if refusal := h.write(m, r, body, stamp); refusal != nil {
		return refusal
	}
	value := h.Prefix + m.spell(h.Encoding)
	if h.Allow != "" {
		r.Header.Set(h.Allow, h.Means)
	}
	if h.Bare {
		value = stamp + "," + value
	}
	if h.element != "" {
		value = h.element + stamp + "," + value
	}
	r.Header.Set(h.header, value)
	return nil
}

// messageID derives an id from the body, for a request that has none: without
// randomness, the same request gets the same id.
func messageID(body []byte) string {
	sum := sha256.Sum256(body)
	return "msg_" + hex.EncodeToString(sum[:12])
}

func (h *headerScheme) covers(e *expression) bool {
	switch e.kind {
	case fromHeader:
		return h.signsHead[e.name]
	case fromQuery:
		return h.urlSign
	default:
		return h.bodySign
	}
}

func (h *headerScheme) idHeader(*Request) string { return "" }
