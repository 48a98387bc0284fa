package provider

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// edwardsScheme verifies an Ed25519 signature over a time and the body.
type edwardsScheme struct {
	*material
	header, stampAt string // canonical
	between         string // what stands between the time and the body
	encoding        string // hex, base64: of key and signature
}

func newEdwards(header, stampAt, between, encoding string) func(o *Options) (scheme, error) {
	return func(o *Options) (scheme, error) {
		m, err := readMaterial(o, func(text string) (crypto.PublicKey, bool) {
			key, ok := decoded(text, encoding)
			return ed25519.PublicKey(key), ok && len(key) == ed25519.PublicKeySize
		})
		if err != nil {
			return nil, err
		}
		for _, k := range m.keys {
			if _, is := k.public.(ed25519.PublicKey); !is {
				return nil, wrong("secrets", "%s is not an Ed25519 key, as this sender's is", k.label)
			}
		}
		return &edwardsScheme{m, header, stampAt, between, encoding}, nil
	}
}

func decoded(text, encoding string) ([]byte, bool) {
	var b []byte
	var err error
	if encoding == "hex" {
		b, err = hex.DecodeString(text)
	} else {
		b, err = base64.StdEncoding.Strict().DecodeString(text)
	}
	return b, err == nil
}

func (e *edwardsScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	name := strings.ToLower(e.header)
	sent, refusal := r.must(e.header, name, MissingSignature)
	if refusal != nil {
		return verified{}, refusal
	}
	stamp, refusal := r.must(e.stampAt, strings.ToLower(e.stampAt), MissingHeader)
	if refusal != nil {
		return verified{}, refusal
	}
	v := verified{timed: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header %s is not a time", strings.ToLower(e.stampAt))
	}
	signature, ok := decoded(sent, e.encoding)
	if !ok || len(signature) != ed25519.SignatureSize {
		return v, mismatch(name, len(e.keys))
	}
	message := append([]byte(stamp+e.between), body...)
	for _, k := range e.keys[:min(len(e.keys), maxPublicTries)] {
		if ed25519.Verify(k.public.(ed25519.PublicKey), message, signature) {
			v.label = k.label
			return v, nil
		}
	}
	return v, mismatch(name, len(e.keys))
}

func (e *edwardsScheme) sign(r *Request, body []byte) error {
	k, err := e.signer()
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(r.Now.Unix(), 10)
	signature, err := k.private.Sign(nil, append([]byte(stamp+e.between), body...), crypto.Hash(0))
	if err != nil {
		return wrong("secrets", "%s cannot sign", k.label)
	}
	value := base64.StdEncoding.EncodeToString(signature)
	if e.encoding == "hex" {
		value = hex.EncodeToString(signature)
	}
	r.Header.Set(e.stampAt, stamp)
	r.Header.Set(e.header, value)
	return nil
}

func (e *edwardsScheme) covers(x *expression) bool {
	return x.kind != fromQuery && (x.kind != fromHeader || x.name == e.stampAt)
}

func (e *edwardsScheme) idHeader(*Request) string { return "" }
