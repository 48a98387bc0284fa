package provider

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// jwsRules are what a sender's tokens have to be. Algorithms are pinned: what
// the token says about itself is only compared with them.
type jwsRules struct {
	algorithms []jose.SignatureAlgorithm
	types      []string // of the header typ, in lower case; empty does not look
	url        string   // of the sender's key set
	// ask asks for one key instead, for senders that publish no set.
	ask    func(published Keys, kid string) (jose.JSONWebKey, bool, error)
	claims []claimRule
}

// claimRule is what a claim has to say: one of the values. Those of a setting
// are configured.
type claimRule struct {
	name   string
	values []string
}

// token is one whose signature holds.
type token struct {
	label   string
	payload []byte
	claims  found
}

// maxToken bounds a token: real ones stay below 4 KiB, security events below
// some more.
const maxToken = 256 << 10

var (
	jwsHeader = lookFor("alg", "kid", "typ")
	jwsClaims = lookFor("iss", "aud", "email", "email_verified", "exp", "nbf", "iat", "jti", "request_body_sha256", "azp", "appid")
)

// verifyJWS checks a compact token: algorithm, type, key, signature, claims.
func (m *material) verifyJWS(text string, rules *jwsRules, published Keys) (token, *Refusal) {
	if len(text) > maxToken || strings.Count(text, ".") != 2 {
		return token{}, refuse(MalformedSignature, "the token is not a signed token of three parts")
	}
	head, err := base64.RawURLEncoding.DecodeString(text[:strings.IndexByte(text, '.')])
	if err != nil {
		return token{}, refuse(MalformedSignature, "the token's header is not base64")
	}
	h, ok := jwsHeader.read(head)
	defer h.close()
	if !ok {
		return token{}, refuse(MalformedSignature, "the token's header is not JSON")
	}
	alg, _ := h.text("alg")
	if !slices.Contains(rules.algorithms, jose.SignatureAlgorithm(alg)) {
		return token{}, refuse(AlgNotAllowed, "the token is signed with another algorithm than this sender uses")
	}
	if typ, _ := h.text("typ"); len(rules.types) > 0 && !slices.Contains(rules.types, strings.TrimPrefix(strings.ToLower(typ), "application/")) {
		return token{}, refuse(TypMismatch, "the token's type is not %s, so it was made for something else", rules.types[0])
	}
	kid, state := h.text("kid")
	if state == ambiguous {
		return token{}, refuse(MalformedSignature, "the token names no single key")
	}
	keys, refusal := m.candidates(kid, alg, rules, published)
	if refusal != nil {
		return token{}, refusal
	}
	signed, err := jose.ParseSignedCompact(text, rules.algorithms)
	if err != nil {
		return token{}, refuse(MalformedSignature, "the token cannot be read")
	}
	for _, k := range keys {
		payload, err := signed.Verify(k.public)
		if err != nil {
			continue
		}
		claims, ok := jwsClaims.read(payload)
		t := token{k.label, payload, claims}
		if !ok {
			claims.close()
			return token{}, refuse(MalformedSignature, "the token's claims are not JSON")
		}
		if refusal := t.obeys(rules.claims); refusal != nil {
			claims.close()
			return token{}, refusal
		}
		return t, nil
	}
	return token{}, refuse(SignatureMismatch, "the token's signature does not fit: %d key(s) were tried", len(keys))
}

// candidates are the keys that may have signed: those of the token's key id,
// given or published, and those that have no id.
func (m *material) candidates(kid, alg string, rules *jwsRules, published Keys) ([]pairKey, *Refusal) {
	var list []pairKey
	for _, k := range m.keys {
		if (k.kid == "" || kid == "" || k.kid == kid) && (k.algorithm == "" || k.algorithm == alg) && len(list) < maxPublicTries {
			list = append(list, k)
		}
	}
	url := rules.url
	if configured := m.settings["jwks"]; len(configured) > 0 {
		url = configured[0]
	}
	if len(list) > 0 || published == nil || url == "" && rules.ask == nil || kid == "" {
		if len(list) == 0 && len(m.keys) == 0 {
			return nil, refuse(KeyUnavailable, "the sender's keys cannot be fetched here; give them as a secret (a JWK or a set of them)")
		}
		if len(list) == 0 {
			return nil, refuse(UnknownKid, "the token names a key that is none of the %d given", len(m.keys))
		}
		return list, nil
	}
	ask := rules.ask
	if ask == nil {
		ask = func(published Keys, kid string) (jose.JSONWebKey, bool, error) { return published.Key(url, kid) }
	}
	key, known, err := ask(published, kid)
	switch {
	case err != nil:
		return nil, &Refusal{KeyUnavailable, "the sender's keys could not be fetched: " + err.Error(), err}
	case !known:
		return nil, refuse(UnknownKid, "the token names a key that the sender does not publish")
	case !usable(key.Key) || key.Algorithm != "" && key.Algorithm != alg:
		return nil, refuse(AlgNotAllowed, "the key that the token names is for another algorithm")
	}
	return []pairKey{newPairKey("the sender's key", key)}, nil
}

// obeys checks the claims. A list counts if one of the wanted is in it.
func (t token) obeys(rules []claimRule) *Refusal {
	for _, rule := range rules {
		value := t.claims.value(rule.name)
		fits := false
		switch {
		case value.repeated:
		case value.kind == '[':
			var list []string
			fits = json.Unmarshal(t.payload[value.start:value.end], &list) == nil &&
				slices.ContainsFunc(list, func(one string) bool { return slices.Contains(rule.values, one) })
		default:
			text, state := t.claims.text(rule.name)
			fits = state == present && slices.Contains(rule.values, text)
		}
		if !fits {
			return refuse(ClaimMismatch+":"+rule.name, "the token's claim %s is not what is configured", rule.name)
		}
	}
	return nil
}

// time reads a claim that is a time in seconds.
func (t token) time(name string) (time.Time, bool) {
	text, _ := t.claims.text(name)
	return instant(text)
}

// expires is the end of the token, zero when it has none. A claim that is no
// time ends it at once.
func (t token) expires() time.Time {
	if t.claims.value("exp").kind == 0 {
		return time.Time{}
	}
	at, ok := t.time("exp")
	if !ok {
		return time.Unix(0, 0)
	}
	return at
}

// signJWS makes a token over a payload with the material's private key.
func (m *material) signJWS(payload []byte, typ string, rules *jwsRules) (string, error) {
	k, err := m.signer()
	if err != nil {
		return "", err
	}
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	for _, alg := range rules.algorithms {
		if k.algorithm != "" && k.algorithm != string(alg) {
			continue
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: k.private, KeyID: k.kid}}, options)
		if err != nil {
			continue
		}
		signed, err := signer.Sign(payload)
		if err != nil {
			continue
		}
		return signed.CompactSerialize()
	}
	return "", wrong("secrets", "%s is not a key for the algorithm that this sender uses", k.label)
}

// bearer returns the token of an Authorization header.
func bearer(r *Request) (string, *Refusal) {
	value, refusal := r.must("Authorization", "Authorization", MissingHeader)
	if refusal != nil {
		return "", refusal
	}
	kind, text, found := strings.Cut(value, " ")
	if !found || !strings.EqualFold(kind, "Bearer") {
		return "", refuse(MalformedHeader, "header Authorization is not a bearer token")
	}
	return strings.TrimSpace(text), nil
}
