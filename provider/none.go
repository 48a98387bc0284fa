package provider

import "time"

// none takes everything that reaches it.
func none() Contract {
	return Contract{
		Name:       "none",
		Title:      "No authentication",
		Revision:   "1",
		Category:   "generic",
		Confidence: "configured",

		Scheme:    "none",
		ID:        []string{"body-sha256"},
		Scope:     "the source",
		IDNote:    "the body's digest, unless another place is configured",
		Handshake: "none",
		Deadline:  10 * time.Second,
		Success:   Reply{Status: 200},
		Memory:    90 * 24 * time.Hour,

		notes: []string{"NOTHING IS AUTHENTICATED: anybody who can reach this source's URL can make events, and take the ids of real ones; keep it where only the sender can reach it"},

		newScheme: newUnsigned,
		sample:    genericSample,
	}
}

// unsigned is the scheme that proves nothing.
type unsigned struct{}

func newUnsigned(o *Options) (scheme, error) {
	if len(o.Secrets) > 0 {
		return nil, wrong("secrets", "provider none checks nothing, so its secrets would be ignored; use provider hmac, or leave them out")
	}
	return unsigned{}, nil
}

func (unsigned) verify(*Request, []byte) (verified, *Refusal) { return verified{}, nil }

func (unsigned) sign(*Request, []byte) error { return nil }

func (unsigned) covers(*expression) bool { return false }

func (unsigned) idHeader(*Request) string { return "" }
