package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/onceward/onceward/provider"
)

// Notifications with resource data bring tokens: clientState alone, which a
// log may show, is not enough for them.
func TestGraphTokens(t *testing.T) {
	i := newIssuer(t, "k1")
	s := mustNew(t, provider.Options{Provider: "microsoft-graph", Secrets: secret("s1", i.jwk, "app=8e460676", "app=2b1d0001", "tenant=84bd8158")})
	const claims = `{"aud":"8e460676","iss":"https://sts.windows.net/84bd8158/","iat":1767355000,"exp":1767358800,"appid":"0bf30f3b-4a52-48df-9a82-234910c4a086"}`
	const item = `{"id":"n1","clientState":"s1","changeType":"updated","encryptedContent":{"data":"AA=="}}`
	list := func(tokens ...string) string {
		text, err := json.Marshal(tokens)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	signed := func(old, new string) string { return i.good("JWT", strings.Replace(claims, old, new, 1)) }
	good := signed("", "")
	many := make([]string, 17)
	for n := range many {
		many[n] = good
	}
	for _, test := range []struct{ name, tokens, item, want string }{
		{"as it is", list(good), item, ""},
		{"version 2", list(signed(`sts.windows.net/84bd8158/","iat":1767355000,"exp":1767358800,"appid"`, `login.microsoftonline.com/84bd8158/v2.0","iat":1767355000,"exp":1767358800,"azp"`)), item, ""},
		{"one for each application", list(good, signed("8e460676", "2b1d0001")), item, ""},
		{"no tokens with resource data", "", item, "missing-signature"},
		{"null with resource data", "null", item, "missing-signature"},
		{"an empty list with resource data", "[]", item, "missing-signature"},
		{"no tokens without resource data", "", strings.Replace(item, "encryptedContent", "resourceData", 1), ""},
		{"a wrong token without resource data", list(signed("8e460676", "evil")), strings.Replace(item, "encryptedContent", "resourceData", 1), "claim-mismatch:aud"},
		{"one of two for another application", list(good, signed("8e460676", "evil")), item, "claim-mismatch:aud"},
		{"another tenant", list(signed("84bd8158", "evil")), item, "claim-mismatch:iss"},
		{"another publisher", list(signed("0bf30f3b", "evil")), item, "claim-mismatch:appid"},
		{"two publishers", list(signed(`"appid"`, `"azp":"evil","appid"`)), item, "claim-mismatch:appid"},
		{"no publisher", list(signed(`"appid"`, `"appix"`)), item, "claim-mismatch:appid"},
		{"ended", list(signed("1767358800", "1767355200")), item, "expired"},
		{"one of two ended", list(good, signed("1767358800", "1767355200")), item, "expired"},
		{"no end", list(signed(`"exp"`, `"exx"`)), item, "expired"},
		{"another key", list(i.token(jose.RS256, i.key, "k2", "JWT", claims)), item, "unknown-kid"},
		{"the public key as a shared secret", list(i.token(jose.HS256, []byte(i.jwk), "k1", "JWT", claims)), item, "alg-not-allowed"},
		{"another clientState", list(good), strings.Replace(item, "s1", "s2", 1), "client-state-mismatch"},
		{"a text", `"` + good + `"`, item, "malformed-body"},
		{"a list of lists", "[[]]", item, "malformed-body"},
		{"two lists", list(good) + `,"validationTokens":` + list(good), item, "malformed-body"},
		{"too many", list(many...), item, "malformed-body"},
		{"no token", list("x"), item, "malformed-signature"},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := `{"value":[` + test.item + `]`
			if test.tokens != "" {
				body += `,"validationTokens":` + test.tokens
			}
			if got := reason(s, request(body+"}")); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	// Without keys of its own the source asks for Microsoft's.
	keys := &published{keys: map[string]jose.JSONWebKey{"k1": {Key: &i.key.PublicKey, KeyID: "k1", Algorithm: "RS256"}}}
	s = mustNew(t, provider.Options{Provider: "microsoft-graph", Secrets: secret("s1", "app=8e460676", "tenant=84bd8158"), Keys: keys})
	if got := reason(s, request(`{"value":[`+item+`],"validationTokens":`+list(good)+`}`)); got != "" || len(keys.asked) != 1 || keys.asked[0] != "https://login.microsoftonline.com/common/discovery/v2.0/keys" {
		t.Errorf("%q; asked %v", got, keys.asked)
	}
	for _, secrets := range [][]string{{"s1", "app=8e460676"}, {"app=8e460676", "tenant=84bd8158"}} {
		if _, err := provider.New(provider.Options{Provider: "microsoft-graph", Secrets: secret(secrets...)}); err == nil {
			t.Errorf("%v are taken", secrets)
		}
	}
}
