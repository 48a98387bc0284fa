package config

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

const redacted = "[secret]"

// Secret is a value that no output shows: not fmt with any verb, not slog, not
// JSON, YAML or text encoding. Only [Secret.Reveal] gives it.
type Secret struct{ value, label string }

// NewSecret makes a secret in code. The label says where it came from.
func NewSecret(value, label string) Secret { return Secret{value, label} }

// Reveal returns the value.
func (s Secret) Reveal() string { return s.value }

// Label says where the value came from: "${VARIABLE}", "file:PATH", or
// "literal" when it stands in the configuration itself.
func (s Secret) Label() string { return s.label }

// Equal compares the values in constant time; labels do not count.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.value), []byte(o.value)) == 1
}

// Format writes a placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

func (Secret) String() string { return redacted }

// GoString keeps the value out of %#v when Format is bypassed.
func (Secret) GoString() string { return redacted }

// MarshalJSON writes a placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML writes a placeholder.
func (Secret) MarshalYAML() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText writes a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue writes a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
