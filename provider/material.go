package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Keys finds the public keys that senders publish. It fetches, caches and
// bounds; here nothing but the answer counts. found is false when the sender
// has no such key; an error says nothing about the request.
type Keys interface {
	// Key returns the key of this id in the set at a URL.
	Key(url, kid string) (key jose.JSONWebKey, found bool, err error)
	// Ask posts a JSON body to a URL that answers with the one key of this id.
	// The body holds credentials.
	Ask(url, kid string, body []byte) (key jose.JSONWebKey, found bool, err error)
	// Certificate returns the certificate at a URL. With names it is checked up
	// to a root that is trusted, and is for one of them.
	Certificate(url string, names []string) (*x509.Certificate, error)
}

// pairKey is a public key, with its private half where that is given.
type pairKey struct {
	label     string
	kid       string
	algorithm string // that its owner says it is for
	public    crypto.PublicKey
	private   crypto.Signer // for those who sign as the sender; nil for most
}

// material is what the secrets of a sender with public keys say: keys, and
// settings written as NAME=VALUE.
type material struct {
	keys     []pairKey
	settings map[string][]string
}

// maxKeySet bounds the keys of one set.
const maxKeySet = 64

// readMaterial reads keys as PEM (a certificate, a public or a private key) or
// as JSON (a JWK or a set of them), settings by their names, and everything
// else with plain, which may be nil.
func readMaterial(o *Options, plain func(text string) (crypto.PublicKey, bool), settings ...string) (*material, error) {
	trimmed := *o
	trimmed.Secrets = slices.Clone(o.Secrets)
	for i, s := range trimmed.Secrets {
		if text := strings.TrimSpace(s.Value); strings.HasPrefix(text, "-----BEGIN ") || strings.HasPrefix(text, "{") {
			trimmed.Secrets[i].Value = text // a file of several lines ends with one
		}
	}
	list, err := secrets(&trimmed)
	if err != nil {
		return nil, err
	}
	m := &material{settings: map[string][]string{}}
	for _, s := range list {
		if name, value, found := strings.Cut(s.Value, "="); found && slices.Contains(settings, name) && value != "" {
			m.settings[name] = append(m.settings[name], value)
			continue
		}
		keys, rule := readKeys(s, plain)
		if rule != "" {
			if len(settings) > 0 {
				rule += "; settings are written as " + strings.Join(settings, "=…, ") + "=…"
			}
			return nil, wrong("secrets", "%s %s", s.Label, rule)
		}
		m.keys = append(m.keys, keys...)
	}
	return m, nil
}

func readKeys(s Secret, plain func(string) (crypto.PublicKey, bool)) (keys []pairKey, rule string) {
	switch {
	case strings.HasPrefix(s.Value, "-----BEGIN "):
		keys, rule = readPEM(s)
	case strings.HasPrefix(s.Value, "{"):
		keys, rule = readJWKS(s)
	default:
		if plain != nil {
			if public, ok := plain(s.Value); ok {
				return []pairKey{{label: s.Label, public: public}}, ""
			}
		}
		return nil, "is no public key as this sender spells it; PEM is read as well"
	}
	for i := range keys {
		if !usable(keys[i].public) {
			return nil, "holds a key of a kind that is not used here, or one that is too short"
		}
	}
	return keys, rule
}

// usable refuses what no sender uses: an RSA key below 2048 bits is weak, one
// above 8192 costs too much.
func usable(key crypto.PublicKey) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && k.N.BitLen() <= 8192
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

func readPEM(s Secret) (keys []pairKey, rule string) {
	rest := []byte(s.Value)
	for len(keys) < maxKeySet {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		k := pairKey{label: s.Label}
		switch block.Type {
		case "CERTIFICATE":
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, "holds a certificate that cannot be read"
			}
			k.public = cert.PublicKey
		case "PUBLIC KEY":
			public, err := x509.ParsePKIXPublicKey(block.Bytes)
			if err != nil {
				return nil, "holds a public key that cannot be read"
			}
			k.public = public
		case "PRIVATE KEY":
			private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			signer, ok := private.(crypto.Signer)
			if err != nil || !ok {
				return nil, "holds a private key that cannot be read"
			}
			k.private, k.public = signer, signer.Public()
		default:
			return nil, "holds a PEM block that is neither CERTIFICATE, PUBLIC KEY nor PRIVATE KEY"
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, "begins as PEM and holds no block of it"
	}
	return keys, ""
}

// readJWKS reads one key or a set. A symmetric key is refused: with it, whoever
// knows what is public could sign.
func readJWKS(s Secret) (keys []pairKey, rule string) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(s.Value), &set); err != nil || len(set.Keys) == 0 {
		var one jose.JSONWebKey
		if err := json.Unmarshal([]byte(s.Value), &one); err != nil {
			return nil, "begins as JSON and is neither a JWK nor a set of them"
		}
		set.Keys = []jose.JSONWebKey{one}
	}
	if len(set.Keys) > maxKeySet {
		return nil, "holds too many keys"
	}
	for _, k := range set.Keys {
		keys = append(keys, newPairKey(s.Label, k))
	}
	return keys, ""
}

func newPairKey(label string, k jose.JSONWebKey) pairKey {
	p := pairKey{label: label, kid: k.KeyID, algorithm: k.Algorithm, public: k.Key}
	if signer, ok := k.Key.(crypto.Signer); ok {
		p.private, p.public = signer, signer.Public()
	}
	return p
}

// signer returns the first private key.
func (m *material) signer() (pairKey, error) {
	for _, k := range m.keys {
		if k.private != nil {
			return k, nil
		}
	}
	return pairKey{}, wrong("secrets", "hold public keys, which verify but cannot sign; to sign as this sender in a test, give a private key of your own (PEM, PKCS #8), and its public half to the source")
}

// rsaKeys are the keys of the material that verify RSA signatures.
func (m *material) rsaKeys() []pairKey {
	return slices.DeleteFunc(slices.Clone(m.keys), func(k pairKey) bool {
		_, is := k.public.(*rsa.PublicKey)
		return !is
	})
}

// verifyRSA checks a PKCS #1 v1.5 signature with any of the keys.
func verifyRSA(keys []pairKey, hash crypto.Hash, sum, signature []byte) (label string, ok bool) {
	for _, k := range keys[:min(len(keys), maxPublicTries)] {
		if public, is := k.public.(*rsa.PublicKey); is && rsa.VerifyPKCS1v15(public, hash, sum, signature) == nil {
			return k.label, true
		}
	}
	return "", false
}
