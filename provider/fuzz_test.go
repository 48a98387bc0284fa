package provider_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// sources returns one source of every scheme.
func sources(tb testing.TB) []*provider.Source {
	var list []*provider.Source
	for _, name := range []string{"stripe", "github", "shopify", "slack", "gitlab", "standard-webhooks", "svix"} {
		list = append(list, mustNew(tb, provider.Options{Provider: name, Secrets: secret(stdSecret, "whsec_b3RoZXI=")}))
	}
	return append(list, mustNew(tb, provider.Options{
		Provider: "hmac", Secrets: secret("k"), ID: []string{"body:id"},
		Signature: provider.Signature{Header: "X-Sig", Content: "{timestamp}.{body}", Prefix: "s=", Timestamp: "element:t"},
	}), mustNew(tb, provider.Options{Provider: "gitlab", Secrets: secret("token")}))
}

// FuzzSignatureHeaders: no header of a stranger is ever authentic, and none is
// more than a refusal.
func FuzzSignatureHeaders(f *testing.F) {
	for _, seed := range [][2]string{
		{"sha256=\xe9", "1767355200"},
		{"t=1767355200,v1=" + strings.Repeat("0", 64), ""},
		{"v1,t=1", "t="},
		{"v1,AAAA v2,BBBB v1a,CCCC", "1767355200"},
		{"v1,", "-1"},
		{"v0=" + strings.Repeat("f", 64), "99999999999999999999"},
		{"sha256=a,sha256=b", "2026-01-02T12:00:00Z"},
		{strings.Repeat("=", 44), "1767355200000"},
		{",;, ;", "\x00"},
	} {
		f.Add(seed[0], seed[1], []byte("{}"))
	}
	all := sources(f)
	f.Fuzz(func(t *testing.T, signature, stamp string, body []byte) {
		for _, s := range all {
			r := request(string(body), "X-Slack-Request-Timestamp", stamp, "Webhook-Timestamp", stamp, "Svix-Timestamp", stamp,
				"Webhook-Id", "msg_1", "Svix-Id", stamp)
			for _, name := range []string{"Stripe-Signature", "X-Hub-Signature-256", "X-Shopify-Hmac-SHA256", "X-Slack-Signature", "Webhook-Signature", "Svix-Signature", "X-Sig", "X-Gitlab-Token"} {
				r.Header.Set(name, signature)
			}
			_, err := s.Verify(r)
			refusal, ok := err.(*provider.Refusal)
			if !ok && !(signature == "token" && s.Contract().Name == "gitlab") {
				t.Fatalf("%s: %v", s.Contract().Name, err)
			}
			if ok && (refusal.Reason == "" || refusal.Detail == "" || strings.Contains(refusal.Detail, stdSecret[6:])) {
				t.Fatalf("%s: %+v", s.Contract().Name, refusal)
			}
			// What it was is never in the way of what is signed properly.
			if err := s.Sign(r); err != nil {
				continue // an id or a header that cannot be signed
			}
			if _, err := s.Verify(r); err != nil && s.Contract().Name != "svix" {
				t.Fatalf("%s refuses its own signature: %v", s.Contract().Name, err)
			}
		}
	})
}

// FuzzIdentity: reading never fails, is the same each time, keeps the bytes,
// and agrees with the standard library about what is JSON.
func FuzzIdentity(f *testing.F) {
	for _, seed := range []string{
		`{"id":"e1","type":"t","created":1767323000,"livemode":true,"account":"a"}`,
		`{"id":9223372036854775807}`, `{"ID":"a","id":"b"}`, `{"id":"a","id":"b"}`, `{"\u0069d":"\ud83d"}`,
		"\uFEFF{}", "", "\x00", `{"id":"\u0000"}`, strings.Repeat("[", 600), `[{"id":1},{"id":2},"x"]`, `{"events":[{"id":1}]}`,
		`id=1&id=2`, `{"id":1e999}`, `{"id":-0}`, `{"id":01}`, `["\ud83d\u0041"]`, `{"a":{"b":[{"c":[]}]}}`, `[,]`, `{"":""}`,
		"{\"id\":\"\xff\"}", `{"id":"` + strings.Repeat("x", 600) + `"}`,
	} {
		f.Add([]byte(seed), "e1", "application/json")
	}
	f.Add([]byte("id=1"), "\xe9", "application/x-www-form-urlencoded; charset=utf-8")
	all := append(sources(f),
		mustNew(f, provider.Options{Provider: "none", ID: []string{"body:a.b", "header:X-Id", "body:id"}, Version: "body:a", Versions: []string{"*1*"}}),
		mustNew(f, provider.Options{Provider: "none", Items: "body", ID: []string{"item:id", "header:X-Id"}}),
		mustNew(f, provider.Options{Provider: "none", Items: "body:events", ID: []string{"item:id"}}),
		mustNew(f, provider.Options{Provider: "none", ID: []string{"form:id", "query:id"}}),
		mustNew(f, provider.Options{Provider: "none", HideIDs: true}))
	f.Fuzz(func(t *testing.T, body []byte, id, media string) {
		original := bytes.Clone(body)
		for _, s := range all {
			r := request("", "X-GitHub-Delivery", id, "X-Id", id, "Webhook-Id", id, "X-Shopify-Event-Id", id, "X-Shopify-Topic", media, "Content-Type", media)
			r.Body, r.URL = body, "/x?id="+id
			list, again := s.Arrivals(r), s.Arrivals(r)
			if len(list) == 0 || len(list) != len(again) {
				t.Fatal(len(list), len(again))
			}
			for i, a := range list {
				if err := a.Key.Validate(); err != nil || a.Key != again[i].Key || a.Verdict != again[i].Verdict || a.Reason != again[i].Reason {
					t.Fatalf("%+v, %+v, %v", a, again[i], err)
				}
				if (a.Verdict == onceward.Accepted) != (a.Reason == "") {
					t.Fatalf("%s with reason %q", a.Verdict, a.Reason)
				}
				for _, text := range []string{a.Key.EventID, a.Key.Account, a.Type, a.Version} {
					if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
						t.Fatalf("%q cannot be kept in every store", text)
					}
				}
				if len(list) == 1 && a.Of == 0 && !bytes.Equal(a.Raw, original) {
					t.Fatal("the bytes changed")
				}
			}
		}
		agree(t, body)
	})
}

// agree compares our reading of the grammar with the standard library's, where
// the two have the same opinion: below the depth that we bound, and without a
// byte order mark.
func agree(t *testing.T, body []byte) {
	if bytes.HasPrefix(body, []byte("\uFEFF")) || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) > 512 {
		return
	}
	s := mustNew(t, provider.Options{Provider: "none", Items: "body:x", ID: []string{"item:id"}})
	reason := s.Arrivals(&provider.Request{Body: body})[0].Reason
	if json.Valid(body) == strings.HasPrefix(reason, "body is not JSON") {
		t.Fatalf("%q: %q", body, reason)
	}
}

// FuzzEquivalent: a document is equivalent to what the standard library makes
// of it, unless it has a key twice, and never to anything that it would find
// different.
func FuzzEquivalent(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{`{"a":"\u00e9"}`, `{"a":"é"}`},
		{`{"a":1}`, `{"a":1.0}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`["\ud800"]`, `["\ufffd"]`},
		{`["\ud800"]`, "[\"\xed\xa0\x80\"]"},
		{`[[],{}]`, `[{},[]]`},
		{`{"x":1}`, `{"x":2}`},
		{"\uFEFF[]", `[]`},
		{`[1,2]`, `[12]`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		same := provider.Equivalent(a, b, nil)
		if same != provider.Equivalent(b, a, nil) {
			t.Fatal("not symmetric")
		}
		if same && !provider.Equivalent(a, b, []string{"x", "y.z"}) {
			t.Fatal("leaving something out makes a difference")
		}
		if !same {
			return
		}
		one, two := normal(a), normal(b)
		if one == "" || one != two {
			t.Fatalf("%s is not %s", one, two)
		}
	})
}

// normal is what the standard library makes of a document, digits kept.
func normal(data []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}
