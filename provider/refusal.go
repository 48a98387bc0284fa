package provider

import "fmt"

// Reasons why a request is refused. They are part of the outside surface:
// `onceward verify` prints them and vectors name them.
const (
	MissingSignature  = "missing-signature"
	MissingHeader     = "missing-header"
	MalformedHeader   = "malformed-header"
	MalformedBody     = "malformed-body"
	NoExpectedScheme  = "no-signature-with-expected-scheme"
	SignatureMismatch = "signature-mismatch"
	TokenMismatch     = "token-mismatch"
	OutsideTolerance  = "timestamp-outside-tolerance"
	UnsupportedCoding = "unsupported-encoding"
	UnknownProvider   = "unknown-provider"
	InvalidOptions    = "invalid-options"
	NoHandshake       = "no-handshake"
	// UnsupportedAlgorithm is an algorithm that this sender is not to use.
	UnsupportedAlgorithm = "unsupported-algorithm"
)

// Refusal says why a request is not authentic. Detail is for the operator and
// holds neither a secret nor a signature that would have been right, so that it
// is the same for a wrong secret and for a changed body.
type Refusal struct {
	Reason string
	Detail string
	err    error
}

func (e *Refusal) Error() string { return e.Reason + ": " + e.Detail }

func (e *Refusal) Unwrap() error { return e.err }

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// OptionError names the option that cannot be used, and the rule it breaks.
type OptionError struct{ Field, Rule string }

func (e *OptionError) Error() string { return e.Field + ": " + e.Rule }

func wrong(field, format string, args ...any) error {
	return &OptionError{Field: field, Rule: fmt.Sprintf(format, args...)}
}
