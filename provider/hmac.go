package provider

import "time"

// genericHMAC is for every sender with an HMAC in one header that is not built
// in; the configuration says what is signed, and where the identity is.
func genericHMAC() Contract {
	return Contract{
		Name:       "hmac",
		Title:      "Generic HMAC (header, prefix, encoding and content are configured)",
		Revision:   "1",
		Category:   "generic",
		Confidence: "configured",

		Scheme:    "hmac",
		Signature: Signature{Algorithm: "sha256", Encoding: "hex", Content: "{body}"},
		Tolerance: 5 * time.Minute,
		Rotation:  "configure the old and the new secret; any that fits is accepted",
		IDNote:    "to be configured: there is no default",
		Handshake: "none",
		Deadline:  10 * time.Second,
		Success:   Reply{Status: 200},
		Memory:    90 * 24 * time.Hour,

		newScheme: func(o *Options) (scheme, error) { return newHeaderScheme(o.Signature, o) },
		sample:    genericSample,
	}
}

// decoded takes over the one part of a built-in signature that is a fact of
// the source and not of the sender.
func (s Signature) decoded(o *Options) Signature {
	s.Decoded = o.Signature.Decoded
	return s
}

func (h *headerScheme) describe(c *Contract) {
	if !h.bodySign {
		c.notes = append(c.notes, "the signature does not cover the body: whoever sees one request can send any other body with it")
	}
}

func genericSample(d *draft) {
	d.kind = "order.paid"
	d.json(`{"type":"order.paid",{at:"created":{unix},}"data":{"order":{n},"amount":{amount},"currency":"eur","note":"sample {id}"}}`)
}
