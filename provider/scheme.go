package provider

import "time"

// scheme proves where a request is from. There are four: an HMAC in one
// header, a signed message (Standard Webhooks), a token, and nothing.
type scheme interface {
	// verify checks the bytes that are signed; freshness is the caller's,
	// because it counts only after this holds.
	verify(r *Request, body []byte) (verified, *Refusal)
	// sign adds the headers as the sender would, with the first secret.
	sign(r *Request, body []byte) error
	// covers reports whether what the expression reads is inside the signature.
	covers(e *expression) bool
	// idHeader names the header whose id belongs to this request, for senders
	// that have several spellings; empty otherwise.
	idHeader(r *Request) string
}

// verified is what a signature proved.
type verified struct {
	label  string // of the secret that fits
	timed  bool
	signed time.Time // the signed time, when timed
	future bool      // a time that lies ahead is accepted
	// expires is when the proof ends, for tokens that say so; zero for others.
	expires time.Time
}
