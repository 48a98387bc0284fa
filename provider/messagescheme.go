package provider

import (
	"crypto/ed25519"
	"encoding/base64"
	"strconv"
	"strings"
)

func checkedMessageScheme(o *Options, sets []messageHeaders) (scheme, error) {
	m, err := newMessageScheme(o, sets)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// messageHeaders are the three headers of one spelling, in canonical form.
type messageHeaders struct{ id, timestamp, signature string }

func newMessageHeaders(prefix string) messageHeaders {
	prefix = strings.ToUpper(prefix[:1]) + prefix[1:]
	return messageHeaders{prefix + "-Id", prefix + "-Timestamp", prefix + "-Signature"}
}

func standardHeaders() []messageHeaders { return []messageHeaders{newMessageHeaders("webhook")} }

// messageScheme verifies "{id}.{timestamp}.{body}".
type messageScheme struct {
	sets    []messageHeaders
	shared  []*key
	publics []publicKey
	private ed25519.PrivateKey // of the first secret, if it can sign as v1a
	first   Secret
}

type publicKey struct {
	label string
	key   ed25519.PublicKey
}

// maxPublicTries bounds the v1a signatures of one request that are tried: each
// costs a curve operation, and a forger could send thousands.
const maxPublicTries = 16

func newMessageScheme(o *Options, sets []messageHeaders) (*messageScheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	m := &messageScheme{sets: sets, first: list[0]}
	for _, s := range list {
		if err := m.add(s, o.LiteralSecret); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// add reads one secret. Three spellings of the same looking string are in use;
// only the two that are beyond doubt are taken without being told.
func (m *messageScheme) add(s Secret, literal bool) error {
	if literal {
		m.shared = append(m.shared, newKey(s.Label, "sha256", []byte(s.Value)))
		return nil
	}
	if strings.HasPrefix(s.Value, "v1,") {
		return wrong("secrets", "%s begins with v1, as a signature does; leave out those three characters, so that it begins with whsec_, or say that the secret is literal", s.Label)
	}
	kind, text, found := strings.Cut(s.Value, "_")
	if !found || kind != "whsec" && kind != "whpk" && kind != "whsk" {
		kind, text = "whsec", s.Value
	}
	bytes, err := decodeKey(text)
	if err != nil {
		return wrong("secrets", "%s %s: write it as whsec_ and base64, or say that the secret is literal if the sender uses it as it stands", s.Label, err.Error())
	}
	switch kind {
	case "whsec":
		m.shared = append(m.shared, newKey(s.Label, "sha256", bytes))
		return nil
	case "whpk":
		if len(bytes) != ed25519.PublicKeySize {
			return wrong("secrets", "%s has %d bytes behind whpk_; an Ed25519 public key has %d", s.Label, len(bytes), ed25519.PublicKeySize)
		}
		m.publics = append(m.publics, publicKey{s.Label, bytes})
		return nil
	}
	private := ed25519.PrivateKey(bytes)
	switch len(bytes) {
	case ed25519.SeedSize:
		private = ed25519.NewKeyFromSeed(bytes)
	case ed25519.PrivateKeySize:
	default:
		return wrong("secrets", "%s has %d bytes behind whsk_; an Ed25519 private key has %d", s.Label, len(bytes), ed25519.PrivateKeySize)
	}
	if s == m.first {
		m.private = private
	}
	m.publics = append(m.publics, publicKey{s.Label, private.Public().(ed25519.PublicKey)})
	return nil
}

// set returns the spelling that the request uses: the first that is complete.
// Two incomplete ones are never mixed.
func (m *messageScheme) set(r *Request) (messageHeaders, *Refusal) {
	var partial *Refusal
	for _, set := range m.sets {
		missing, found := "", 0
		for _, name := range [...]string{set.id, set.timestamp, set.signature} {
			if len(r.values(name)) > 0 {
				found++
			} else if missing == "" {
				missing = name
			}
		}
		if found == 3 {
			return set, nil
		}
		if found > 0 && partial == nil {
			partial = refuse(MissingHeader, "header %s is missing", strings.ToLower(missing))
		}
	}
	set := m.sets[0]
	if partial == nil {
		partial = refuse(MissingHeader, "headers %s, %s and %s are missing", strings.ToLower(set.id), strings.ToLower(set.timestamp), strings.ToLower(set.signature))
	}
	return set, partial
}

// message returns the signed id and timestamp as they were sent.
func (m *messageScheme) message(r *Request, set messageHeaders) (id, stamp string, _ *Refusal) {
	var parts [2]string
	for i, name := range [...]string{set.id, set.timestamp} {
		value, state := r.header(name)
		switch state {
		case absent:
			return "", "", refuse(MissingHeader, "header %s is empty", strings.ToLower(name))
		case ambiguous:
			return "", "", refuse(MalformedHeader, "header %s was sent with different values", strings.ToLower(name))
		}
		parts[i] = value
	}
	if strings.Contains(parts[0], ".") {
		return "", "", refuse(MalformedHeader, "header %s contains a dot, so where the signed id ends is open", strings.ToLower(set.id))
	}
	return parts[0], parts[1], nil
}

func (m *messageScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	set, refusal := m.set(r)
	if refusal != nil {
		return verified{}, refusal
	}
	id, stamp, refusal := m.message(r, set)
	if refusal != nil {
		return verified{}, refusal
	}
	v := verified{timed: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header %s is not a time", strings.ToLower(set.timestamp))
	}
	sent := r.values(set.signature)
	for _, k := range m.shared {
		state := k.open()
		state.message(id, stamp, body)
		matched := entries(sent, "v1,", func(entry string) bool { return state.matches(entry, "base64") })
		k.close(state)
		if matched {
			v.label = k.label
			return v, nil
		}
	}
	if label, ok := m.verifyPublic(sent, id, stamp, body); ok {
		v.label = label
		return v, nil
	}
	return v, mismatch(strings.ToLower(set.signature), len(m.shared)+len(m.publics))
}

// message computes the sum over a message.
func (m *mac) message(id, stamp string, body []byte) {
	m.buf = appendMessage(m.buf, id, stamp)
	m.flush()
	m.Write(body)
	m.finish()
}

func appendMessage(b []byte, id, stamp string) []byte {
	b = append(append(b, id...), '.')
	return append(append(b, stamp...), '.')
}

func (m *messageScheme) verifyPublic(sent []string, id, stamp string, body []byte) (label string, ok bool) {
	if len(m.publics) == 0 {
		return "", false
	}
	message := append(appendMessage(nil, id, stamp), body...)
	tries := 0
	entries(sent, "v1a,", func(entry string) bool {
		signature, err := base64.StdEncoding.DecodeString(entry)
		if err != nil || len(signature) != ed25519.SignatureSize {
			return false
		}
		for _, p := range m.publics {
			if ok = ed25519.Verify(p.key, message, signature); ok {
				label = p.label
				return true
			}
		}
		tries++
		return tries == maxPublicTries
	})
	return label, ok
}

func (m *messageScheme) sign(r *Request, body []byte) error {
	set := m.sets[0]
	id, state := r.header(set.id)
	if state != present {
		id = messageID(body)
	}
	stamp := strconv.FormatInt(r.Now.Unix(), 10)
	var value string
	switch {
	case m.private != nil:
		message := append(appendMessage(nil, id, stamp), body...)
		value = "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(m.private, message))
	case len(m.shared) > 0 && m.shared[0].label == m.first.Label:
		k := m.shared[0]
		state := k.open()
		state.message(id, stamp, body)
		value = "v1," + state.spell("base64")
		k.close(state)
	default:
		return wrong("secrets", "%s is a public key, which verifies but cannot sign", m.first.Label)
	}
	r.Header.Set(set.id, id)
	r.Header.Set(set.timestamp, stamp)
	r.Header.Set(set.signature, value)
	return nil
}

// covers counts a header only where there is one spelling: with two, the other
// one may be there without being signed.
func (m *messageScheme) covers(e *expression) bool {
	switch e.kind {
	case fromQuery:
		return false
	case fromHeader:
		return len(m.sets) == 1 && (e.name == m.sets[0].id || e.name == m.sets[0].timestamp)
	}
	return true
}

func (m *messageScheme) idHeader(r *Request) string {
	set, _ := m.set(r)
	return set.id
}
