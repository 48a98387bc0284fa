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
	// UnsupportedVersion is a version of the scheme that is not known here.
	UnsupportedVersion = "unsupported-version"
	// MalformedSignature is what cannot be a signature at all.
	MalformedSignature = "malformed-signature"
	// BodyNotBound is a signature over the URL alone, beside a body.
	BodyNotBound     = "body-not-bound"
	BodyHashMismatch = "body-hash-mismatch"
	// IllegalCharacters stand where the scheme wants base64.
	IllegalCharacters = "illegal-characters"
	// NoMatchingKey is a signature of an account that is not configured.
	NoMatchingKey = "no-matching-public-key"
	// ClientStateMismatch is an item that lacks the secret of its subscription.
	ClientStateMismatch = "client-state-mismatch"
	// CertNotTrusted is a certificate from anywhere but the sender's own hosts.
	CertNotTrusted = "cert-url-not-trusted"
	AlgNotAllowed  = "alg-not-allowed"
	UnknownKid     = "unknown-kid"
	Expired        = "expired"
	TypMismatch    = "typ-mismatch"
	// ClaimMismatch is followed by a colon and the name of the claim.
	ClaimMismatch = "claim-mismatch"
	// KeyUnavailable means that a key could not be fetched: it says nothing
	// about the request, which is to be sent again.
	KeyUnavailable = "key-unavailable"
	NoHandshake    = "no-handshake"
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
