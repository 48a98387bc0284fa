package provider

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"unicode"
)

// Secret is one of a source's secrets. The label is shown to people; the value
// never is.
type Secret struct{ Label, Value string }

// secrets checks what every secret must obey and labels those without a label.
// White space at an end is refused rather than cut: it is nearly always the
// newline of a file, but cutting it would hide which of two values is in use.
func secrets(o *Options) ([]Secret, error) {
	if len(o.Secrets) == 0 {
		return nil, wrong("secrets", "provider %s needs at least one secret", o.Provider)
	}
	list := make([]Secret, len(o.Secrets))
	for i, s := range o.Secrets {
		if s.Label == "" {
			s.Label = fmt.Sprintf("secret %d", i+1)
		}
		switch {
		case s.Value == "":
			return nil, wrong("secrets", "%s is empty", s.Label)
		case strings.TrimSpace(s.Value) == "":
			return nil, wrong("secrets", "%s is only whitespace", s.Label)
		case strings.TrimSpace(s.Value) != s.Value:
			return nil, wrong("secrets", "%s has whitespace at its beginning or end, often the newline of a file or a paste; remove it", s.Label)
		}
		list[i] = s
	}
	return list, nil
}

// key is a secret ready to compute MACs. States are pooled, because setting up
// an HMAC costs more than running it over a kilobyte.
type key struct {
	label string
	pool  sync.Pool
}

// mac is one pooled HMAC state with its scratch space.
type mac struct {
	hash.Hash
	sum  []byte
	buf  []byte
	seen [2 * sha512.Size]byte
}

func newKey(label, algorithm string, secret []byte) *key {
	k := &key{label: label}
	k.pool.New = func() any { return &mac{Hash: hmac.New(algorithms(algorithm), secret)} }
	return k
}

// keysOf makes a key of each secret, as it stands.
func keysOf(o *Options, algorithm string) ([]*key, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	keys := make([]*key, len(list))
	for i, s := range list {
		keys[i] = newKey(s.Label, algorithm, []byte(s.Value))
	}
	return keys, nil
}

// algorithms returns the hash function of that name, nil when there is none.
func algorithms(name string) func() hash.Hash {
	switch name {
	case "sha1":
		return sha1.New
	case "sha256":
		return sha256.New
	case "sha512":
		return sha512.New
	}
	return nil
}

// open returns a fresh state; give it back with close.
func (k *key) open() *mac {
	m := k.pool.Get().(*mac)
	m.Reset()
	m.buf = m.buf[:0]
	return m
}

func (k *key) close(m *mac) { k.pool.Put(m) }

// flush feeds what was gathered in the buffer.
func (m *mac) flush() {
	m.Write(m.buf)
	m.buf = m.buf[:0]
}

// finish computes the sum.
func (m *mac) finish() {
	m.flush()
	m.sum = m.Sum(m.sum[:0])
}

// matches compares a signature as it was sent with the sum, in constant time.
// Base64 may lack its padding or use the URL's alphabet: both spell the same
// bytes. What cannot be read is simply not the right signature.
func (m *mac) matches(sent, encoding string) bool {
	if encoding == "base64" {
		sent = strings.TrimRight(sent, "=")
		if base64.RawStdEncoding.EncodedLen(len(m.sum)) != len(sent) {
			return false
		}
		m.buf = append(m.buf[:0], sent...)
		for i, c := range m.buf {
			switch c {
			case '-':
				m.buf[i] = '+'
			case '_':
				m.buf[i] = '/'
			}
		}
		// Strict: a last character whose unused bits are set is another text.
		n, err := base64.RawStdEncoding.Strict().Decode(m.seen[:], m.buf)
		return err == nil && hmac.Equal(m.seen[:n], m.sum)
	}
	if len(sent) != hex.EncodedLen(len(m.sum)) {
		return false
	}
	m.buf = append(m.buf[:0], sent...)
	n, err := hex.Decode(m.seen[:], m.buf)
	return err == nil && hmac.Equal(m.seen[:n], m.sum)
}

// spell writes the sum as the sender would.
func (m *mac) spell(encoding string) string {
	if encoding == "base64" {
		return base64.StdEncoding.EncodeToString(m.sum)
	}
	return hex.EncodeToString(m.sum)
}

// decodeKey reads base64 key material of either alphabet, padded or not. An
// alphabet that is mixed, or white space inside, is refused: it would silently
// become another key.
func decodeKey(text string) ([]byte, error) {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return nil, errors.New("has whitespace inside")
	}
	text = strings.TrimRight(text, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	key, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	if len(key) == 0 {
		return nil, errors.New("holds no bytes")
	}
	return key, nil
}
