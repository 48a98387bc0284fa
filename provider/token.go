package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/textproto"
	"net/url"
	"strings"
)

// tokenScheme compares a secret that travels as it is. It proves the caller and
// covers nothing.
type tokenScheme struct {
	places []tokenPlace
	bearer *bearerRules // of tokens that an identity service signs; nil without
}

// tokenPlace is a secret with where it has to stand.
type tokenPlace struct {
	label, value  string
	header, query string // canonical header, or field of the query
	sum           [32]byte
}

// bearerRules verify signed tokens in the header Authorization.
type bearerRules struct {
	*material
	published Keys
	rules     jwsRules
}

// tokens makes the scheme of a sender whose secret stands in a header. A secret
// may say another place: header:NAME=VALUE or query:NAME=VALUE. spell writes a
// plain secret as the header has it; nil as it stands.
func tokens(header string, spell func(string) []string) func(o *Options) (scheme, error) {
	return func(o *Options) (scheme, error) {
		list, err := secrets(o)
		if err != nil {
			return nil, err
		}
		t := &tokenScheme{}
		for _, s := range list {
			places, err := placesOf(s, header, spell)
			if err != nil {
				return nil, err
			}
			t.places = append(t.places, places...)
		}
		return t, nil
	}
}

func placesOf(s Secret, header string, spell func(string) []string) ([]tokenPlace, error) {
	if rest, found := strings.CutPrefix(s.Value, "header:"); found {
		name, value, _ := strings.Cut(rest, "=")
		if !validHeader(name) || value == "" {
			return nil, wrong("secrets", "%s is not header:NAME=VALUE", s.Label)
		}
		return []tokenPlace{newTokenPlace(s.Label, textproto.CanonicalMIMEHeaderKey(name), "", value)}, nil
	}
	if rest, found := strings.CutPrefix(s.Value, "query:"); found {
		name, value, _ := strings.Cut(rest, "=")
		if name == "" || value == "" {
			return nil, wrong("secrets", "%s is not query:NAME=VALUE", s.Label)
		}
		return []tokenPlace{newTokenPlace(s.Label, "", name, value)}, nil
	}
	values := []string{s.Value}
	if spell != nil {
		values = spell(s.Value)
	}
	if len(values) == 0 {
		return nil, wrong("secrets", "%s is not spelled as this sender's are: user:password, header:NAME=VALUE or query:NAME=VALUE", s.Label)
	}
	var list []tokenPlace
	for _, value := range values {
		list = append(list, newTokenPlace(s.Label, header, "", value))
	}
	return list, nil
}

func newTokenPlace(label, header, query, value string) tokenPlace {
	return tokenPlace{label, value, header, query, sha256.Sum256([]byte(value))}
}

// withBearer spells a secret as it stands, and behind the word Bearer.
func withBearer(secret string) []string { return []string{secret, "Bearer " + secret} }

// basicAuth spells user:password as the header has it.
func basicAuth(secret string) []string {
	if !strings.Contains(secret, ":") {
		return nil
	}
	return []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(secret))}
}

func (t *tokenScheme) verify(r *Request, _ []byte) (verified, *Refusal) {
	if t.bearer != nil {
		v, refusal := t.bearer.verify(r)
		if refusal == nil || len(t.places) == 0 || refusal.Reason == KeyUnavailable {
			return v, refusal
		}
	}
	seen := ""
	for i := range t.places {
		p := &t.places[i]
		sent, state := p.read(r)
		if state == absent {
			continue
		}
		seen = p.name()
		sum := sha256.Sum256([]byte(sent)) // equal lengths, so that the comparison tells nothing
		if state == present && subtle.ConstantTimeCompare(sum[:], p.sum[:]) == 1 {
			return verified{label: p.label}, nil
		}
	}
	if seen == "" {
		return verified{}, refuse(MissingHeader, "%s, in which the secret has to be, is missing", t.places[0].name())
	}
	return verified{}, refuse(TokenMismatch, "the secret in %s is none of the %d configured", seen, len(t.places))
}

func (p *tokenPlace) name() string {
	if p.query != "" {
		return "query " + p.query
	}
	return "header " + p.header
}

// read returns what stands in the place. An empty value was sent, and is wrong.
func (p *tokenPlace) read(r *Request) (string, presence) {
	if p.query != "" {
		found := field(&expression{kind: fromQuery, name: p.query}, r.query())
		return found.text, found.state
	}
	return r.header(p.header)
}

func (t *tokenScheme) sign(r *Request, _ []byte) error {
	if len(t.places) == 0 {
		return wrong("secrets", "are those of an identity service, which signs its tokens itself")
	}
	p := &t.places[0]
	if p.query == "" {
		r.Header.Set(p.header, p.value)
		return nil
	}
	base, query, _ := strings.Cut(r.URL, "?")
	var kept []string
	for one := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(one, "="); one != "" && name != url.QueryEscape(p.query) {
			kept = append(kept, one)
		}
	}
	r.URL = base + "?" + strings.Join(append(kept, url.QueryEscape(p.query)+"="+url.QueryEscape(p.value)), "&")
	return nil
}

func (t *tokenScheme) covers(*expression) bool { return false }

func (t *tokenScheme) idHeader(*Request) string { return "" }

// describe names the headers that are secrets, so that none is kept or passed on.
func (t *tokenScheme) describe(c *Contract) {
	for _, p := range t.places {
		if p.header != "" {
			c.Credentials = append(c.Credentials[:len(c.Credentials):len(c.Credentials)], p.header)
		}
	}
}

func (b *bearerRules) verify(r *Request) (verified, *Refusal) {
	text, refusal := bearer(r)
	if refusal != nil {
		return verified{}, refusal
	}
	t, refusal := b.verifyJWS(text, &b.rules, b.published)
	if refusal != nil {
		return verified{}, refusal
	}
	defer t.claims.close()
	v := verified{label: t.label, expires: t.expires()}
	if v.expires.IsZero() {
		return v, refuse(Expired, "the token does not say when it ends (exp)")
	}
	return v, nil
}

// unprovenNote is the weakness of every sender whose proof is a shared secret
// that travels.
const unprovenNote = "the secret authenticates the caller and nothing about the body: whoever sees one request can make up any other"
