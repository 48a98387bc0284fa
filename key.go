package onceward

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// MaxKeyPart is the longest allowed part of a [Key], in bytes. A sender that
// exceeds it is quarantined rather than cut: two cut ids could become equal.
const MaxKeyPart = 512

// Key is the logical identity of an event: what makes two deliveries copies of
// one signal. Mode is the sender's own marker ("live", "test" or empty), Account
// the sender's sub-account; both belong to the identity, because ids repeat
// across them. Only package provider builds a Key, from authenticated material.
type Key struct {
	Tenant, Source, Environment string
	Mode, Account               string
	EventID                     string
}

// Validate reports the first part that breaks the rules: source and event id
// are never empty, and no part is longer than [MaxKeyPart].
func (k Key) Validate() error {
	for _, p := range [...]struct {
		name, value string
		required    bool
	}{
		{"tenant", k.Tenant, false},
		{"source", k.Source, true},
		{"environment", k.Environment, false},
		{"mode", k.Mode, false},
		{"account", k.Account, false},
		{"event id", k.EventID, true},
	} {
		if p.required && p.value == "" {
			return &KeyError{Part: p.name, Rule: "is missing"}
		}
		if len(p.value) > MaxKeyPart {
			return &KeyError{Part: p.name, Rule: fmt.Sprintf("has %d bytes, more than %d", len(p.value), MaxKeyPart)}
		}
	}
	return nil
}

// KeyError names the part of an identity that cannot be used, and why.
type KeyError struct{ Part, Rule string }

func (e *KeyError) Error() string { return e.Part + " " + e.Rule }

// AppendBinary appends the key's parts, each behind its length, so that no two
// different keys have the same bytes. It never fails.
func (k Key) AppendBinary(b []byte) ([]byte, error) {
	for _, p := range [...]string{k.Tenant, k.Source, k.Environment, k.Mode, k.Account, k.EventID} {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b, nil
}

// UnmarshalBinary is the inverse of [Key.AppendBinary].
func (k *Key) UnmarshalBinary(b []byte) error {
	var parts [6]string
	for i := range parts {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return fmt.Errorf("key part %d of 6 is cut short", i+1)
		}
		if w > 1 && b[w-1] == 0 {
			return fmt.Errorf("the length of key part %d of 6 is not in its shortest form", i+1)
		}
		parts[i] = string(b[w : w+int(n)])
		b = b[w+int(n):]
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes follow the last key part", len(b))
	}
	*k = Key{parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]}
	return nil
}

// Digest is the stored form of a key: a keyed hash cut to 128 bits. The pepper
// makes it meaningless outside the installation and collisions unsearchable.
type Digest [16]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the digest was never computed.
func (d Digest) IsZero() bool { return d == Digest{} }

// Pepper is the installation's secret for digests. Its name is kept beside the
// data, so that it can be rotated with a dual look-up.
type Pepper struct {
	Name   string
	Secret []byte
}

// Digests domains: an event's key and the memory of its signed body never meet.
const (
	domainKey    = "onceward/key/1\x00"
	domainBody   = "onceward/body/1\x00"
	domainStream = "onceward/stream/1\x00"
)

// Digest returns the keyed digest of k.
func (p Pepper) Digest(k Key) Digest { return p.Hasher().Digest(k) }

// Hasher computes digests without setting up the HMAC anew each time. It is
// not safe for concurrent use; keep one per goroutine or in a sync.Pool.
type Hasher struct {
	mac hash.Hash
	buf []byte
}

// Hasher returns a reusable hasher for the pepper.
func (p Pepper) Hasher() *Hasher { return &Hasher{mac: hmac.New(sha256.New, p.Secret)} }

// Digest returns the keyed digest of k.
func (h *Hasher) Digest(k Key) Digest {
	h.buf, _ = k.AppendBinary(append(h.buf[:0], domainKey...))
	return h.sum()
}

// Body returns the digest under which the signed body of an event is
// remembered, for senders whose event id is not covered by the signature:
// k's scope, the distinguishing part (usually empty) and the body's SHA-256.
func (h *Hasher) Body(k Key, part string, sha [32]byte) Digest {
	k.EventID = part
	h.buf, _ = k.AppendBinary(append(h.buf[:0], domainBody...))
	h.buf = append(h.buf, sha[:]...)
	return h.sum()
}

// Stream returns the digest of an ordering key within k's scope.
func (h *Hasher) Stream(k Key, orderingKey string) Digest {
	k.EventID = orderingKey
	h.buf, _ = k.AppendBinary(append(h.buf[:0], domainStream...))
	return h.sum()
}

func (h *Hasher) sum() (d Digest) {
	var full [sha256.Size]byte
	h.mac.Reset()
	h.mac.Write(h.buf)
	h.mac.Sum(full[:0])
	copy(d[:], full[:])
	return d
}

// Downstream returns the key that a step of the operation sends to the other
// side. A redelivery has the key of what it repeats; a later generation has one
// of its own; a later content of the event has one that derives from it, so
// that it is the same wherever and whenever that content is recorded.
func (o Operation) Downstream(event Digest, step string) string {
	if o.Revision != "" {
		step += "\x00" + o.Revision // no step's name has a zero byte
	}
	return event.Downstream(o.Name, o.Generation, step)
}

var downstreamEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Downstream returns the key that an operation's step sends to the other side:
// "ow_" and 39 characters, 42 in all, which fits every limit we know of
// (Square 45, Adyen 64, PayPal 108, Stripe 255). It depends only on the logical
// identity, so it is the same on every attempt, node, restart and replay. The
// event's digest stands readable in it, so that an operator who was told only
// this key finds the event.
func (d Digest) Downstream(operation string, generation int, step string) string {
	b := make([]byte, 0, 64+len(operation)+len(step))
	b = append(b, "onceward/downstream/1\x00"...)
	b = append(b, d[:]...)
	b = binary.AppendUvarint(b, uint64(len(operation)))
	b = append(b, operation...)
	b = binary.AppendUvarint(b, uint64(generation))
	b = append(b, step...)
	tag := sha256.Sum256(b)
	return "ow_" + downstreamEncoding.EncodeToString(append(d[:len(d):len(d)], tag[:8]...))
}

// ParseDownstream returns the event digest that a downstream key carries.
func ParseDownstream(key string) (Digest, error) {
	var d Digest
	text, ok := strings.CutPrefix(key, "ow_")
	b, err := downstreamEncoding.DecodeString(text)
	// Written anew, because the decoder skips line breaks and unused last bits.
	if err != nil || !ok || len(b) != len(d)+8 || downstreamEncoding.EncodeToString(b) != text {
		return d, fmt.Errorf("%q is not a downstream key (ow_ and 39 characters)", key)
	}
	copy(d[:], b)
	return d, nil
}
