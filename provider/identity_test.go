package provider_test

import (
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
	"pgregory.net/rapid"
)

func TestIdentityFromTheBody(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "none", ID: []string{`body:event.id`}})
	for _, test := range []struct{ name, body, id, why string }{
		{name: "a text", body: `{"event":{"id":"e1"}}`, id: "e1"},
		{name: "a number of 19 digits keeps every one", body: `{"event":{"id":9223372036854775807}}`, id: "9223372036854775807"},
		{name: "a number keeps its spelling", body: `{"event":{"id":1.50E+3}}`, id: "1.50E+3"},
		{name: "escapes are read", body: `{"\u0065vent":{"i\u0064":"\u00e9\n\ud83d\ude9a\/"}}`, id: "é\n🚚/"},
		{name: "a byte order mark is passed over", body: "\uFEFF {\"event\":{\"id\":\"e1\"}}", id: "e1"},
		{name: "another case is another key", body: `{"event":{"ID":"wrong","Id":"wrong","id":"e1"},"Event":{"id":"wrong"}}`, id: "e1"},
		{name: "a list position", body: `{"event":{"id":"e1"},"x":[{"id":2}]}`, id: "e1"},
		{name: "only another case is missing", body: `{"event":{"ID":"e1"}}`, why: "id: body:event.id is missing"},
		{name: "null is missing", body: `{"event":{"id":null}}`, why: "id: body:event.id is missing"},
		{name: "an empty text is missing", body: `{"event":{"id":""}}`, why: "id: body:event.id is missing"},
		{name: "blanks are missing", body: `{"event":{"id":" \t"}}`, why: "id: body:event.id is missing"},
		{name: "a value on the way is missing", body: `{"event":"id"}`, why: "id: body:event.id is missing"},
		{name: "an object is no id", body: `{"event":{"id":{}}}`, why: "id: body:event.id is an object, not a value"},
		{name: "a list is no id", body: `{"event":{"id":["e1"]}}`, why: "id: body:event.id is a list, not a value"},
		{name: "two ids are none", body: `{"event":{"id":"e1","id":"e2"}}`, why: "id: body:event.id stands twice in the body, so it has two answers"},
		{name: "two ids are none, however the key is spelt", body: `{"event":{"id":"e1","\u0069d":"e2"}}`, why: "id: body:event.id stands twice in the body, so it has two answers"},
		{name: "two objects on the way are none", body: `{"event":{"id":"e1"},"event":{}}`, why: "id: body:event.id stands twice in the body, so it has two answers"},
		{name: "a NUL cannot be kept everywhere", body: `{"event":{"id":"e\u00001"}}`, why: "id: body:event.id contains a NUL"},
		{name: "half a surrogate pair is no text", body: `{"event":{"id":"e\ud83d"}}`, why: "id: body:event.id has half of a surrogate pair in it"},
		{name: "the other half neither", body: `{"event":{"id":"\ude9a\ud83d"}}`, why: "id: body:event.id has half of a surrogate pair in it"},
		{name: "bytes that are no UTF-8", body: "{\"event\":{\"id\":\"\xff\"}}", why: "id: body:event.id is not UTF-8 text"},
		{name: "600 bytes", body: `{"event":{"id":"` + strings.Repeat("x", 600) + `"}}`, why: "event id has 600 bytes, more than 512"},
		{name: "512 bytes", body: `{"event":{"id":"` + strings.Repeat("x", 512) + `"}}`, id: strings.Repeat("x", 512)},
		{name: "empty", body: ``, why: "body is not JSON: it is empty"},
		{name: "only blanks", body: " \n", why: "body is not JSON: it is empty"},
		{name: "no JSON", body: `event=e1`, why: "body is not JSON (at byte 0)"},
		{name: "cut short", body: `{"event":{"id":"e1"}`, why: "body is not JSON (at byte 20)"},
		{name: "something behind", body: `{"event":{"id":"e1"}} x`, why: "body is not JSON (at byte 22)"},
		{name: "a comma too many", body: `{"event":{"id":"e1",}}`, why: "body is not JSON (at byte 20)"},
		{name: "a raw control character", body: "{\"event\":{\"id\":\"e\n1\"}}", why: "body is not JSON (at byte 17)"},
		{name: "single quotes", body: `{'event':{'id':'e1'}}`, why: "body is not JSON (at byte 1)"},
		{name: "a leading zero", body: `{"event":{"id":012}}`, why: "body is not JSON (at byte 15)"},
		{name: "a bad escape", body: `{"event":{"id":"\x"}}`, why: "body is not JSON (at byte 16)"},
		{name: "10 000 brackets", body: strings.Repeat("[", 10_000), why: "body is nested deeper than 512"},
		{name: "1 000 000 brackets, closed", body: strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000), why: "body is nested deeper than 512"},
		{name: "1 000 000 objects", body: strings.Repeat(`{"event":`, 1_000_000), why: "body is nested deeper than 512"},
		{name: "512 levels", body: `{"event":{"id":"e1"},"x":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + `}`, id: "e1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request(test.body)
			a := only(t, s, r)
			if string(a.Raw) != test.body {
				t.Error("the bytes changed")
			}
			if test.why == "" {
				accepted(t, a, test.id)
				return
			}
			held(t, a, test.why)
			if again := only(t, s, r); again.Key != a.Key || a.Key.Validate() != nil {
				t.Errorf("a copy is another event: %v, %v", a.Key, again.Key)
			}
		})
	}
}

func TestIdentityFromElsewhere(t *testing.T) {
	for _, test := range []struct {
		name    string
		id      []string
		request *provider.Request
		want    string
		why     string
	}{
		{"a key with a dot in it", []string{`body:a\.b.c`}, request(`{"a.b":{"c":"x"},"a":{"b":{"c":"wrong"}}}`), "x", ""},
		{"a position in a list", []string{`body:list.1.id`}, request(`{"list":[{"id":"a"},{"id":"b"},{"id":"c"}]}`), "b", ""},
		{"a position as a key", []string{`body:list.1.id`}, request(`{"list":{"1":{"id":"b"}}}`), "b", ""},
		{"a truth value", []string{`body:ok`}, request(`{"ok":true}`), "true", ""},
		{"a header", []string{"header:x-id"}, request("", "X-Id", " e1 "), "e1", ""},
		{"a header twice with one value", []string{"header:X-Id"}, request("", "X-Id", "e1", "X-Id", "e1"), "e1", ""},
		{"a header twice with two values", []string{"header:X-Id"}, request("", "X-Id", "e1", "X-Id", "e2"), "", "id: header X-Id was sent with different values"},
		{"a header that is no UTF-8", []string{"header:X-Id"}, request("", "X-Id", "\xe9"), "", "id: header X-Id is not UTF-8 text"},
		{"a form field", []string{"form:id"}, request("a=1&id=e+1%2B&b=2"), "e 1+", ""},
		{"a form field twice with two values", []string{"form:id"}, request("id=1&id=2"), "", "id: form:id was sent with different values"},
		{"a form field twice with one value", []string{"form:id"}, request("id=1&id=1"), "1", ""},
		{"a form field that is badly encoded", []string{"form:id"}, request("id=%zz"), "", "id: form:id is not encoded as a form is"},
		{"a form field that is missing", []string{"form:id"}, request("idx=1"), "", "id: form:id is missing"},
		{"the body's digest", []string{"body-sha256"}, request("x"), "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", ""},
		{"a list", []string{"header:A", "header:B"}, request("", "A", "a", "B", "bc"), "1:a,2:bc,", ""},
		{"another list", []string{"header:A", "header:B"}, request("", "A", "ab", "B", "c"), "2:ab,1:c,", ""},
		{"a list without one of its parts", []string{"header:A", "header:B"}, request("", "A", "ab"), "", "id: header B is missing"},
		{"a list that grows too long", []string{"header:A", "header:B"}, request("", "A", strings.Repeat("a", 300), "B", strings.Repeat("b", 300)), "", "event id has 610 bytes, more than 512"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := only(t, mustNew(t, provider.Options{Provider: "none", ID: test.id}), test.request)
			if test.why != "" {
				held(t, a, test.why)
				return
			}
			accepted(t, a, test.want)
		})
	}
	t.Run("a query field", func(t *testing.T) {
		r := request("")
		r.URL = "https://hooks.example.test/in/x?a=1&id=e%201#id=wrong"
		accepted(t, only(t, mustNew(t, provider.Options{Provider: "none", ID: []string{"query:id"}}), r), "e 1")
	})
}

func TestWhatSurroundsTheIdentity(t *testing.T) {
	stripe := func(o provider.Options) *provider.Source {
		o.Provider, o.Secrets = "stripe", secret(paySecret)
		o.SourceID, o.Tenant, o.Environment = "pay", "acme", "production"
		return mustNew(t, o)
	}
	connect := `{"id":"evt_1","account":"acct_1","livemode":true,"type":"a.b","created":1767323000,"api_version":"2026-01-01"}`
	t.Run("scope, marker and account are part of it", func(t *testing.T) {
		a := only(t, stripe(provider.Options{HideIDs: true}), request(connect))
		want := onceward.Key{Tenant: "acme", Source: "pay", Environment: "production", Mode: "live", Account: "acct_1", EventID: "evt_1"}
		if a.Key != want || a.Type != "a.b" || a.Version != "2026-01-01" || !a.HideID || !a.OccurredAt.Equal(time.Unix(1767323000, 0)) {
			t.Errorf("%+v", a)
		}
	})
	for _, test := range []struct {
		name string
		o    provider.Options
		body string
		why  string
	}{
		{"the marker fits", provider.Options{Mode: "live"}, connect, ""},
		{"the marker contradicts", provider.Options{Mode: "test"}, connect, "marker live contradicts mode test"},
		{"the marker is missing", provider.Options{Mode: "test"}, `{"id":"evt_1"}`, "mode: body:livemode is missing, and mode is test"},
		{"the marker is missing and may be anything", provider.Options{Mode: "any"}, `{"id":"evt_1"}`, ""},
		{"the marker is no marker", provider.Options{}, `{"id":"evt_1","livemode":"yes"}`, "mode: body:livemode is neither of the sender's markers"},
		{"the account has two answers", provider.Options{}, `{"id":"evt_1","account":"a","account":"b"}`, "account: body:account stands twice in the body, so it has two answers"},
		{"the account is too long", provider.Options{}, `{"id":"evt_1","account":"` + strings.Repeat("a", 513) + `"}`, "account has 513 bytes, more than 512"},
		{"the version fits a pattern", provider.Options{Versions: []string{"2025-*", "2026-*"}}, connect, ""},
		{"the version fits none", provider.Options{Versions: []string{"2025-*"}}, connect, "version 2026-01-01 is not in versions"},
		{"the version is missing", provider.Options{Versions: []string{"*"}}, `{"id":"evt_1"}`, "version: body:api_version is missing"},
		{"a configured type is missing", provider.Options{Type: "header:X-Event"}, connect, "type: header X-Event is missing"},
		{"the contract's type may be missing", provider.Options{}, `{"id":"evt_1"}`, ""},
		{"the type is an object", provider.Options{}, `{"id":"evt_1","type":{}}`, "type: body:type is an object, not a value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := only(t, stripe(test.o), request(test.body))
			if test.why == "" {
				accepted(t, a, "evt_1")
			} else {
				held(t, a, test.why)
			}
		})
	}
	t.Run("a held event with a readable identity keeps it", func(t *testing.T) {
		strict := only(t, stripe(provider.Options{Versions: []string{"1"}}), request(connect))
		open := only(t, stripe(provider.Options{}), request(connect))
		if strict.Verdict != onceward.QuarantinedBy || strict.Key != open.Key {
			t.Errorf("%v is not %v", strict.Key, open.Key)
		}
	})
}

func TestOccurrenceTimes(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "none", OccurredAt: "body:at"})
	for _, test := range []struct{ text, want string }{
		{`1767323045`, "2026-01-02T03:04:05Z"},
		{`"1767323045"`, "2026-01-02T03:04:05Z"},
		{`1767323045.25`, "2026-01-02T03:04:05.25Z"},
		{`"1515449522.000016"`, "2018-01-08T22:12:02.000016Z"},
		{`1767323045123`, "2026-01-02T03:04:05.123Z"},
		{`1767323045123456`, "2026-01-02T03:04:05.123456Z"},
		{`1767323045123456789`, "0001-01-01T00:00:00Z"}, // 19 digits are no time we take
		{`"2026-01-02T05:04:05.000000001+02:00"`, "2026-01-02T03:04:05Z"},
		{`"2026-01-02"`, "0001-01-01T00:00:00Z"},
		{`-5`, "0001-01-01T00:00:00Z"},
		{`"soon"`, "0001-01-01T00:00:00Z"},
		{`[]`, "0001-01-01T00:00:00Z"},
	} {
		a := only(t, s, request(`{"at":`+test.text+`}`))
		if got := a.OccurredAt.Format(time.RFC3339Nano); got != test.want || a.Verdict != onceward.Accepted {
			t.Errorf("%s: %s (%s), want %s", test.text, got, a.Verdict, test.want)
		}
	}
}

func TestSignedBodiesAreRemembered(t *testing.T) {
	for _, test := range []struct {
		o    provider.Options
		want bool
	}{
		{provider.Options{Provider: "github"}, true},
		{provider.Options{Provider: "github", ID: []string{"body:id"}}, false},
		{provider.Options{Provider: "github", ID: []string{"body-sha256"}}, false},
		{provider.Options{Provider: "github", ID: []string{"query:id"}}, true},
		{provider.Options{Provider: "shopify"}, true},
		{provider.Options{Provider: "stripe"}, false},
		{provider.Options{Provider: "stripe", ID: []string{"header:X-Id"}}, true},
		{provider.Options{Provider: "slack"}, false},
		{provider.Options{Provider: "standard-webhooks"}, false},
		{provider.Options{Provider: "standard-webhooks", ID: []string{"header:Webhook-Id"}}, false},
		{provider.Options{Provider: "standard-webhooks", ID: []string{"header:X-Id"}}, true},
		{provider.Options{Provider: "svix"}, false},
		{provider.Options{Provider: "svix", ID: []string{"header:Svix-Id"}}, true}, // it may stand unsigned beside the other spelling
		{provider.Options{Provider: "gitlab"}, false},                              // signed by the message scheme
		{provider.Options{Provider: "gitlab", Secrets: secret("token")}, false},    // a token covers no body
		{provider.Options{Provider: "hmac", ID: []string{"header:X-Id"}, Signature: provider.Signature{Header: "X-Sig"}}, true},
		{provider.Options{Provider: "hmac", ID: []string{"header:X-Id"}, Signature: provider.Signature{Header: "X-Sig", Content: "{header:x-id}.{body}"}}, false},
		{provider.Options{Provider: "hmac", ID: []string{"query:id"}, Signature: provider.Signature{Header: "X-Sig", Content: "{url}{body}"}}, false},
	} {
		if test.o.Secrets == nil {
			test.o.Secrets = secret(stdSecret)
		}
		s := mustNew(t, test.o)
		a := onceward.Arrival{Key: onceward.Key{EventID: "e"}, Verdict: onceward.Accepted, Type: "t"}
		if part, remember := s.BodyPart(a); remember != test.want || remember && part != "" && test.o.Provider != "shopify" {
			t.Errorf("%s %v: %q, %v; want %v", test.o.Provider, test.o.ID, part, remember, test.want)
		}
		if s.Contract().IDSigned == test.want && test.o.Provider != "gitlab" {
			t.Errorf("%s %v: the contract says that the id is signed: %v", test.o.Provider, test.o.ID, s.Contract().IDSigned)
		}
	}
}

// TestListIdentitiesNeverCollide: two lists of parts have one identity only if
// they are the same list.
func TestListIdentitiesNeverCollide(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "none", ID: []string{"header:A", "header:B", "header:C"}})
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[0-9:,a]{1,6}`)
		list := rapid.SliceOfN(part, 3, 3)
		first, second := list.Draw(t, "first"), list.Draw(t, "second")
		id := func(parts []string) string {
			return s.Arrivals(request("", "A", parts[0], "B", parts[1], "C", parts[2]))[0].Key.EventID
		}
		same := first[0] == second[0] && first[1] == second[1] && first[2] == second[2]
		if (id(first) == id(second)) != same {
			t.Fatalf("%q and %q: %q, %q", first, second, id(first), id(second))
		}
	})
}

func TestVersionPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, version string
		want             bool
	}{
		{"2025-*", "2025-09-30", true},
		{"2025-*", "2025-", true},
		{"2025-*", "2026-2025-", false},
		{"*", "x", true},
		{"v1", "v1", true},
		{"v1", "v10", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxcyyb", false},
		{"*.clover", "2025-09-30.clover", true},
		{"[1]", "1", false},
	} {
		s := mustNew(t, provider.Options{Provider: "none", Version: "header:V", Versions: []string{"never", test.pattern}})
		a := only(t, s, request("{}", "V", test.version))
		if (a.Verdict == onceward.Accepted) != test.want {
			t.Errorf("%s for %s: %s", test.pattern, test.version, a.Verdict)
		}
	}
}

// Case 76: a digest of 32 bits is no identity. These two have one CRC-32.
func TestBodiesWithOneChecksumAreTwoEvents(t *testing.T) {
	bodies := []string{"plumless", "buckeroo"}
	if crc32.ChecksumIEEE([]byte(bodies[0])) != crc32.ChecksumIEEE([]byte(bodies[1])) {
		t.Fatal("this test is about bodies with one checksum")
	}
	s := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("k"), ID: []string{"body-sha256"}, Signature: provider.Signature{Header: "X-Sig"}})
	first, second := only(t, s, sign(t, s, request(bodies[0]))), only(t, s, sign(t, s, request(bodies[1])))
	if first.Key == second.Key || first.Key.EventID == "" || first.Content == second.Content {
		t.Errorf("%+v and %+v", first.Key, second.Key)
	}
}

// Case 77, as far as it needs no JWT: a repetition of issuer and id is the same
// event, the same id of another issuer is another one.
func TestAnIDIsItsIssuersOwn(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("k"), ID: []string{"body:iss", "body:jti"}, Signature: provider.Signature{Header: "X-Sig"}})
	key := func(body string) onceward.Key { return only(t, s, sign(t, s, request(body))).Key }
	first := key(`{"iss":"https://a.example","jti":"1","iat":1}`)
	if again := key(`{"iss":"https://a.example","jti":"1","iat":2}`); again != first {
		t.Errorf("the same token sent again is %+v, want %+v", again, first)
	}
	if other := key(`{"iss":"https://b.example","jti":"1","iat":1}`); other == first {
		t.Errorf("another issuer's token is %+v, too", other)
	}
}
