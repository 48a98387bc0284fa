package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward/provider"
	"pgregory.net/rapid"
)

func TestEquivalent(t *testing.T) {
	volatile := []string{"pending_webhooks", "data.attempt", "list.1"}
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"order and white space", `{"a":1,"b":[1, {"c":null,"d":true}]}`, "{ \"b\": [1,{\"d\":true,\"c\":null}],\n\"a\":1}", true},
		{"escapes", `{"a":"é\/\u0041\n"}`, `{"\u0061":"\u00e9/A\u000a"}`, true},
		{"a byte order mark", "\uFEFF{}", "{}", true},
		{"a volatile member", `{"id":1,"pending_webhooks":2}`, `{"id":1,"pending_webhooks":{"x":3}}`, true},
		{"a volatile member that comes and goes", `{"id":1,"pending_webhooks":2}`, `{"id":1}`, true},
		{"a volatile member below", `{"data":{"attempt":1,"x":1}}`, `{"data":{"attempt":2,"x":1}}`, true},
		{"a volatile position", `{"list":[1,2,3]}`, `{"list":[1,9,3]}`, true},
		{"another position", `{"list":[1,2,3]}`, `{"list":[1,2,4]}`, false},
		{"the same name elsewhere is not volatile", `{"x":{"pending_webhooks":1}}`, `{"x":{"pending_webhooks":2}}`, false},
		{"another case", `{"a":1}`, `{"A":1}`, false},
		{"another value", `{"a":1}`, `{"a":2}`, false},
		{"a number of another spelling", `{"a":1.0}`, `{"a":1}`, false},
		{"a number is no text", `{"a":1}`, `{"a":"1"}`, false},
		{"digits beyond a float", `{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{"order in a list", `[1,2]`, `[2,1]`, false},
		{"nesting", `[[1],2]`, `[[1,2]]`, false},
		{"null is not absent", `{"a":null}`, `{}`, false},
		{"false is not null", `[false]`, `[null]`, false},
		{"empty containers", `[{}]`, `[[]]`, false},
		{"different halves of pairs", `["\ud800"]`, `["\ud801"]`, false},
		{"half a pair and a replacement character", `["\ud800"]`, `["\ufffd"]`, false},
		{"half a pair and its bytes", `["\ud800"]`, "[\"\xed\xa0\x80\"]", false},
		{"half a pair is nothing", `["\ud800"]`, `["\ud800"]`, false},
		{"half a pair in a key is nothing", `{"\ud800":1}`, `{"\ud800":1}`, false},
		{"a key twice is nothing", `{"a":1,"a":1}`, `{"a":1,"a":1}`, false},
		{"a key twice below", `[{"x":{"a":1,"\u0061":1}}]`, `[{"x":{"a":1,"\u0061":1}}]`, false},
		{"no JSON", `a=1`, `a=1`, false},
		{"nothing", ``, ``, false},
		{"half JSON", `{"a":1}`, `{"a":1`, false},
		{"scalars", ` "a" `, `"\u0061"`, true},
		{"too deep", strings.Repeat("[", 600) + strings.Repeat("]", 600), strings.Repeat("[", 600) + strings.Repeat("]", 600), false},
		{"just deep enough", strings.Repeat("[", 512) + strings.Repeat("]", 512), strings.Repeat("[", 512) + strings.Repeat("]", 512), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := provider.Equivalent([]byte(test.a), []byte(test.b), volatile); got != test.want {
				t.Error(got)
			}
			if got := provider.Equivalent([]byte(test.b), []byte(test.a), volatile); got != test.want {
				t.Error("the other way round:", got)
			}
		})
	}
	t.Run("a volatile path that is none makes nothing equivalent", func(t *testing.T) {
		if provider.Equivalent([]byte("{}"), []byte("{}"), []string{"a..b"}) {
			t.Error("equivalent")
		}
	})
}

// TestReserialisingIsEquivalent: what a JSON library writes anew says the same,
// as long as it keeps the digits.
func TestReserialisingIsEquivalent(t *testing.T) {
	value := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "number") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "truth") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.SliceOf(rapid.String()).Draw(t, "list") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), value).Draw(t, "object")
		plain, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		indented, err := json.MarshalIndent(map[string]any{"x": object}, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if !provider.Equivalent(append(append([]byte(`{"x":`), plain...), '}'), indented, nil) {
			t.Fatalf("%s", plain)
		}
	})
}
