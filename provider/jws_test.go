package provider_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/onceward/onceward/provider"
)

// issuer makes tokens with a key that a source trusts, or with none of it.
type issuer struct {
	tb  testing.TB
	key *rsa.PrivateKey
	jwk string // the public half
}

func newIssuer(tb testing.TB, kid string) *issuer {
	tb.Helper()
	block, _ := pem.Decode([]byte(keyPair("rsa", 0)[0]))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	i := &issuer{tb: tb, key: private.(*rsa.PrivateKey)}
	public, err := json.Marshal(jose.JSONWebKey{Key: &i.key.PublicKey, KeyID: kid, Algorithm: "RS256", Use: "sig"})
	if err != nil {
		tb.Fatal(err)
	}
	i.jwk = string(public)
	return i
}

func (i *issuer) token(alg jose.SignatureAlgorithm, key any, kid, typ, claims string) string {
	i.tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
	if err != nil {
		i.tb.Fatal(err)
	}
	signed, err := signer.Sign([]byte(claims))
	if err != nil {
		i.tb.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.tb.Fatal(err)
	}
	return text
}

func (i *issuer) good(typ, claims string) string {
	return i.token(jose.RS256, i.key, "k1", typ, claims)
}

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestSecurityEventTokens(t *testing.T) {
	i := newIssuer(t, "k1")
	s := mustNew(t, provider.Options{Provider: "rfc8935-set-push", Secrets: secret(i.jwk, "iss=https://idp", "aud=https://rp")})
	const claims = `{"iss":"https://idp","aud":["https://other","https://rp"],"jti":"j1","iat":1767355200,"events":{"https://e/1":{"event_timestamp":1767355190},"https://e/2":{}}}`
	const typ = "secevent+jwt"
	good := i.good(typ, claims)
	parts := strings.Split(good, ".")
	change := func(old, new string) string { return i.good(typ, strings.Replace(claims, old, new, 1)) }
	for _, test := range []struct{ name, body, want string }{
		{"as it is", good, ""},
		{"with a newline behind it", good + "\n", ""},
		{"the long name of the type", i.good("application/secevent+jwt", claims), ""},
		{"an ID token", i.good("JWT", claims), "typ-mismatch"},
		{"no type", i.good("", claims), "typ-mismatch"},
		{"another issuer", change("https://idp", "https://evil"), "claim-mismatch:iss"},
		{"another audience", change("https://rp", "https://evil"), "claim-mismatch:aud"},
		{"no audience", change(`"aud"`, `"auz"`), "claim-mismatch:aud"},
		{"two issuers", change(`"jti"`, `"iss":"https://evil","jti"`), "claim-mismatch:iss"},
		{"alg none", encoded(`{"alg":"none","typ":"secevent+jwt"}`) + "." + parts[1] + ".", "alg-not-allowed"},
		{"the public key as a shared secret", i.token(jose.HS256, []byte(i.jwk), "k1", typ, claims), "alg-not-allowed"},
		{"an unknown key", i.token(jose.RS256, i.key, "k2", typ, claims), "unknown-kid"},
		{"another algorithm than the key is for", i.token(jose.PS256, i.key, "k1", typ, claims), "unknown-kid"},
		{"other claims under the signature", parts[0] + "." + encoded(strings.Replace(claims, "j1", "j2", 1)) + "." + parts[2], "signature-mismatch"},
		{"a header that stands twice", encoded(`{"alg":"RS256","alg":"none","typ":"secevent+jwt"}`) + "." + parts[1] + "." + parts[2], "alg-not-allowed"},
		{"a critical header", encoded(`{"alg":"RS256","kid":"k1","typ":"secevent+jwt","crit":["x"],"x":1}`) + "." + parts[1] + "." + parts[2], "malformed-signature"},
		{"an expired one", change(`"jti"`, `"exp":1767355199,"jti"`), "expired"},
		{"one that lasts", change(`"jti"`, `"exp":1767355201,"jti"`), ""},
		{"an end that is no time", change(`"jti"`, `"exp":"never","jti"`), "expired"},
		{"claims that are no JSON", i.good(typ, "x"), "malformed-signature"},
		{"four parts", good + ".x", "malformed-signature"},
		{"nothing", "", "malformed-signature"},
		{"JSON", claims, "malformed-signature"},
		{"a huge one", strings.Repeat("a", 300<<10) + "..", "malformed-signature"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := reason(s, request(test.body))
			if test.name == "a critical header" && got == "signature-mismatch" {
				return // either way it is refused
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	a := only(t, s, request(good))
	accepted(t, a, "j1")
	if a.Type != "https://e/1" || a.Key.Account != "https://idp" || a.OccurredAt.Unix() != 1767355190 {
		t.Errorf("%+v", a)
	}
	if string(a.Raw) != good {
		t.Error("the event is not the token as it came")
	}
	t.Run("without events the token's own time counts", func(t *testing.T) {
		a := only(t, s, request(i.good(typ, `{"jti":"j","iat":1767355100}`)))
		if a.OccurredAt.Unix() != 1767355100 || a.Type != "" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("without jti it is held", func(t *testing.T) {
		held(t, only(t, s, request(i.good(typ, `{"events":{}}`))), "id: body:jti is missing")
	})
	t.Run("refusals in the words of the RFC", func(t *testing.T) {
		for why, code := range map[string]string{
			"claim-mismatch:iss": "invalid_issuer", "claim-mismatch:aud": "invalid_audience", "unknown-kid": "invalid_key",
			"signature-mismatch": "invalid_key", "malformed-signature": "invalid_request", "typ-mismatch": "invalid_request", "expired": "authentication_failed",
		} {
			reply, ok := s.Refused(&provider.Refusal{Reason: why})
			if !ok || reply.Status != 400 || !strings.Contains(string(reply.Body), `"err":"`+code+`"`) || !json.Valid(reply.Body) {
				t.Errorf("%s: %+v", why, reply)
			}
		}
	})
}

func TestPubsubTokens(t *testing.T) {
	i := newIssuer(t, "k1")
	s := mustNew(t, provider.Options{Provider: "google-pubsub-push", Secrets: secret(i.jwk, "aud=https://rp", "email=push@p.iam.gserviceaccount.com")})
	const claims = `{"iss":"accounts.google.com","aud":"https://rp","email":"push@p.iam.gserviceaccount.com","email_verified":true,"iat":1767355200,"exp":1767358800}`
	for _, test := range []struct{ name, old, new, want string }{
		{"as it is", "", "", ""},
		{"another issuer", "accounts.google.com", "evil", "claim-mismatch:iss"},
		{"another audience", "https://rp", "https://evil", "claim-mismatch:aud"},
		{"another account", "push@p", "evil@p", "claim-mismatch:email"},
		{"an address that nobody verified", "true", "false", "claim-mismatch:email_verified"},
		{"no end", `"exp"`, `"exx"`, "expired"},
		{"ended", "1767358800", "1767355200", "expired"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request("{}", "Authorization", "Bearer "+i.good("JWT", strings.Replace(claims, test.old, test.new, 1)))
			if got := reason(s, r); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	for value, want := range map[string]string{"": "missing-header", "Basic eDp5": "malformed-header", "Bearer": "malformed-header", "Bearer x": "malformed-signature"} {
		if got := reason(s, request("{}", "Authorization", value)); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	if s.Contract().Credentials[0] != "Authorization" {
		t.Error("the token would be kept")
	}
	accepted(t, only(t, s, request(`{"message":{"message_id":"7"},"subscription":"s"}`)), "7")
	accepted(t, only(t, s, request(`raw`, "X-Goog-Pubsub-Message-Id", "8")), "8")
}

// published is what a sender publishes, without a network.
type published struct {
	keys  map[string]jose.JSONWebKey
	cert  *x509.Certificate
	err   error
	asked []string
}

func (p *published) Key(url, kid string) (jose.JSONWebKey, bool, error) {
	p.asked = append(p.asked, url)
	key, found := p.keys[kid]
	return key, found, p.err
}

func (p *published) Ask(url, kid string, body []byte) (jose.JSONWebKey, bool, error) {
	p.asked = append(p.asked, url+" "+string(body))
	key, found := p.keys[kid]
	return key, found, p.err
}

func (p *published) Certificate(url string, _ []string) (*x509.Certificate, error) {
	p.asked = append(p.asked, url)
	return p.cert, p.err
}

func TestPublishedKeys(t *testing.T) {
	i := newIssuer(t, "k1")
	claims := `{"iss":"https://idp","aud":"https://rp","jti":"j1"}`
	token := i.good("secevent+jwt", claims)
	source := func(p *published, more ...string) *provider.Source {
		return mustNew(t, provider.Options{Provider: "rfc8935-set-push", Keys: p, Secrets: secret(append([]string{"iss=https://idp", "aud=https://rp", "jwks=https://idp/keys"}, more...)...)})
	}
	has := &published{keys: map[string]jose.JSONWebKey{"k1": {Key: &i.key.PublicKey, KeyID: "k1"}}}
	if got := reason(source(has), request(token)); got != "" || has.asked[0] != "https://idp/keys" {
		t.Error(got, has.asked)
	}
	if got := reason(source(&published{}), request(token)); got != "unknown-kid" {
		t.Error(got)
	}
	if got := reason(source(&published{err: errors.New("no route")}), request(token)); got != "key-unavailable" {
		t.Error(got)
	}
	for name, key := range map[string]jose.JSONWebKey{
		"a shared secret":            {Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "k1"},
		"a key for something else":   {Key: &i.key.PublicKey, KeyID: "k1", Algorithm: "ES256"},
		"no key at all":              {},
		"a key that is far too weak": {Key: weakKey(t), KeyID: "k1"},
	} {
		if got := reason(source(&published{keys: map[string]jose.JSONWebKey{"k1": key}}), request(token)); got != "alg-not-allowed" {
			t.Errorf("%s: %s", name, got)
		}
	}
	given := &published{}
	if got := reason(source(given, i.jwk), request(token)); got != "" || len(given.asked) != 0 {
		t.Errorf("a key that is given is not asked for: %q %v", got, given.asked)
	}
}

func TestPlaidsKeysAreAskedFor(t *testing.T) {
	sender := mustNew(t, provider.Options{Provider: "plaid", Secrets: secret(p256Private)})
	r := sender.SampleAt("item", 1, noon)
	r.Now = noon
	sign(t, sender, r)
	var private jose.JSONWebKey
	if err := json.Unmarshal([]byte(p256Private), &private); err != nil {
		t.Fatal(err)
	}
	has := &published{keys: map[string]jose.JSONWebKey{"k9": private.Public()}}
	s := mustNew(t, provider.Options{Provider: "plaid", Keys: has, Secrets: secret("client_id=c", "secret=s", "environment=sandbox")})
	if got := reason(s, r); got != "" {
		t.Error(got)
	}
	if want := `https://sandbox.plaid.com/webhook_verification_key/get {"client_id":"c","key_id":"k9","secret":"s"}`; len(has.asked) != 1 || has.asked[0] != want {
		t.Errorf("asked %q", has.asked)
	}
	for want, p := range map[string]*published{"unknown-kid": {}, "key-unavailable": {err: errors.New("no route")}} {
		s := mustNew(t, provider.Options{Provider: "plaid", Keys: p, Secrets: secret("client_id=c", "secret=s")})
		if got := reason(s, r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, secrets := range [][]string{{"client_id=c"}, {"client_id=c", "secret=s", "environment=moon"}} {
		if _, err := provider.New(provider.Options{Provider: "plaid", SourceID: "s", Secrets: secret(secrets...)}); err == nil {
			t.Errorf("%q is taken", secrets)
		}
	}
}

// p256Private is a throw-away key.
const p256Private = `{"use":"sig","kty":"EC","kid":"k9","crv":"P-256","alg":"ES256","x":"n8Wt7YNfeALA1nZjtsauuYhcKQIbRBkxxUMDmmB7YAE","y":"NDzNduGaOfDgMqpKa9z1n-xLgg4edU8ssxYIIeb2Fn0","d":"RfCjbJIUk06hWVJXpKn1Zn-NfakYFguFAPNFAAC7dJA"}`

func weakKey(t *testing.T) *rsa.PublicKey {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return &key.PublicKey
}

func TestKeyMaterialIsChecked(t *testing.T) {
	i := newIssuer(t, "k1")
	for _, test := range []struct {
		name, provider string
		secrets        []string
		want           string // a part of the rule; "" is fine
	}{
		{"a JWK", "plaid", []string{p256JWK}, ""},
		{"a set of them", "plaid", []string{`{"keys":[` + p256JWK + `]}`}, ""},
		{"a symmetric key", "plaid", []string{`{"kty":"oct","k":"AAECAwQFBgcICQoLDA0ODw"}`}, "of a kind that is not used"},
		{"JSON that is no key", "plaid", []string{`{"a":1}`}, "neither a JWK"},
		{"a PEM file with its newline", "sendgrid", []string{keyPair("p256", 0)[0] + "\n"}, ""},
		{"PEM without a block", "sendgrid", []string{"-----BEGIN NOTHING"}, "holds no block"},
		{"a PEM block of another kind", "sendgrid", []string{"-----BEGIN X-----\nAAAA\n-----END X-----"}, "neither CERTIFICATE"},
		{"a PEM certificate that is none", "aws-sns", []string{"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}, "cannot be read"},
		{"an RSA key where P-256 is due", "sendgrid", keyPair("rsa", 0), "P-256"},
		{"an RSA key where Ed25519 is due", "discord", keyPair("rsa", 0), "Ed25519"},
		{"a short Ed25519 key", "discord", []string{"aabb"}, "no public key as this sender spells it"},
		{"an Ed25519 key where RSA is due", "aws-sns", keyPair("ed25519", 0), "not RSA"},
		{"a topic is enough", "aws-sns", []string{"topic=arn:aws:sns:eu-central-1:1:t"}, ""},
		{"paypal without the webhook's id", "paypal", keyPair("rsa", 0), "webhook-id="},
		{"paypal with it", "paypal", []string{"webhook-id=W1"}, ""},
		{"pubsub without an address", "google-pubsub-push", []string{"aud=a"}, "email="},
		{"a token endpoint that is not https", "rfc8935-set-push", []string{"iss=i", "aud=a", "jwks=http://idp/keys"}, "https"},
		{"no keys at all", "rfc8935-set-push", []string{"iss=i", "aud=a"}, "jwks=https://"},
		{"a setting that is none", "rfc8935-set-push", []string{"iss=i", "aud=a", "foo=x", i.jwk}, "settings are written as iss=…"},
		{"braintree's private key alone", "braintree", []string{"private"}, "PUBLIC_KEY:PRIVATE_KEY"},
		{"adyen's key that is not hexadecimal", "adyen-standard", []string{"hello"}, "hexadecimal"},
		{"postmark without a password", "postmark", []string{"user"}, "user:password"},
		{"a header without a value", "okta", []string{"header:X-Key="}, "header:NAME=VALUE"},
		{"a query without a name", "azure-event-grid", []string{"query:=x"}, "query:NAME=VALUE"},
		{"Entra ID without an audience", "azure-event-grid", []string{"iss=i", i.jwk}, "aud="},
		{"a clientState that is too long", "microsoft-graph", []string{strings.Repeat("x", 129)}, "at most 128"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := provider.New(provider.Options{Provider: test.provider, SourceID: "s", Secrets: secret(test.secrets...)})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			for _, s := range test.secrets {
				if err != nil && len(s) > 16 && strings.Contains(err.Error(), s) {
					t.Error("the error holds the secret")
				}
			}
		})
	}
}

const p256JWK = `{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"k1","x":"kVZXju0Qh2EgG-SXDmYTg9KgVu898SvheBbrK4_Ktzc","y":"R576XqsmQThT5-7LAcV8WN65XzzJtO50KhOcbSDXrpg"}`

func TestAPublicKeyCannotSign(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "plaid", Secrets: secret(p256JWK)})
	if err := s.Sign(request("{}")); err == nil || !strings.Contains(err.Error(), "cannot sign") {
		t.Error(err)
	}
}

func TestSendgridTimes(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "sendgrid", Secrets: secret(keyPair("p256", 0)...)})
	r := sign(t, s, request("[]"))
	r.Now = noon.Add(48 * time.Hour)
	if got := reason(s, r); got != "" {
		t.Errorf("no time is enforced unless it is configured: %s", got)
	}
	minute := time.Minute
	strict := mustNew(t, provider.Options{Provider: "sendgrid", Secrets: secret(keyPair("p256", 0)...), Tolerance: &minute})
	if got := reason(strict, r); got != "timestamp-outside-tolerance" {
		t.Error(got)
	}
}

// TestOneIDOfTwoIssuers is case 77: an id is unique within its issuer.
func TestOneIDOfTwoIssuers(t *testing.T) {
	i := newIssuer(t, "k1")
	s := mustNew(t, provider.Options{Provider: "rfc8935-set-push", Secrets: secret(i.jwk, "iss=https://a", "iss=https://b", "aud=https://rp")})
	keys := map[any]bool{}
	for _, iss := range []string{"https://a", "https://b", "https://a"} {
		r := request(i.good("secevent+jwt", `{"iss":"`+iss+`","aud":"https://rp","jti":"j1"}`))
		if got := reason(s, r); got != "" {
			t.Fatal(got)
		}
		keys[only(t, s, r).Key] = true
	}
	if len(keys) != 2 {
		t.Errorf("%d events, want 2", len(keys))
	}
}

// TestATokenThatIsSignedAnewIsACopy: the bytes differ, what they say does not.
func TestATokenThatIsSignedAnewIsACopy(t *testing.T) {
	i := newIssuer(t, "k1")
	s := mustNew(t, provider.Options{Provider: "rfc8935-set-push", Secrets: secret(i.jwk, "iss=i", "aud=a")})
	token := func(iat, user string) []byte {
		return []byte(i.good("secevent+jwt", `{"iss":"i","aud":"a","jti":"j","iat":`+iat+`,"sub":"`+user+`","events":{"e":{}}}`))
	}
	if !s.Equivalent(token("1", "u"), token("2", "u"), false) {
		t.Error("a later signature is taken for other content")
	}
	if s.Equivalent(token("1", "u"), token("1", "v"), false) || s.Equivalent(token("1", "u"), []byte("x"), false) {
		t.Error("other content is taken for a copy")
	}
	b := mustNew(t, provider.Options{Provider: "braintree", Secrets: secret("p:k")})
	if !b.Equivalent([]byte("bt_signature=a&bt_payload=PGEvPg%3D%3D"), []byte("bt_payload=PGEvPg==&bt_signature=b"), false) {
		t.Error("another signature is taken for other content")
	}
}
