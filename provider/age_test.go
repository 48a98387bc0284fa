package provider_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
)

// Case 86: the age of an event counts only as far as the signature vouches for it.
func TestTheAgeOfAnEventIsAuthentic(t *testing.T) {
	const secret = "test-secret-not-real-01"
	signature := provider.Signature{Header: "X-Sig", Algorithm: "sha256", Encoding: "hex", Content: "{body}"}
	for name, c := range map[string]struct {
		options provider.Options
		body    string
		header  string
		want    time.Time
	}{
		"a time in the signed body":     {provider.Options{ID: []string{"body:id"}, OccurredAt: "body:at"}, `{"id":"e1","at":1700000000}`, "", time.Unix(1700000000, 0)},
		"a number that is no time":      {provider.Options{ID: []string{"body:id"}, OccurredAt: "body:at"}, `{"id":"e1","at":300}`, "", time.Time{}},
		"a time in an unsigned header":  {provider.Options{ID: []string{"body:id"}, OccurredAt: "header:X-At"}, `{"id":"e1"}`, "1700000000", time.Time{}},
		"a UUIDv7":                      {provider.Options{ID: []string{"body:id"}}, `{"id":"018bcfe5-6800-7000-8000-000000000001"}`, "", time.UnixMilli(1700000000000)},
		"a UUIDv4":                      {provider.Options{ID: []string{"body:id"}}, `{"id":"018bcfe5-6800-4000-8000-000000000001"}`, "", time.Time{}},
		"a ULID":                        {provider.Options{ID: []string{"body:id"}}, `{"id":"01HF7YAT000000000000000001"}`, "", time.UnixMilli(1700000000000)},
		"a ULID behind a prefix":        {provider.Options{ID: []string{"body:id"}}, `{"id":"evt_01hf7yat000000000000000001"}`, "", time.UnixMilli(1700000000000)},
		"an id that is no ULID":         {provider.Options{ID: []string{"body:id"}}, `{"id":"81HF7YAT000000000000000001"}`, "", time.Time{}},
		"a ULID from the far past":      {provider.Options{ID: []string{"body:id"}}, `{"id":"00000000000000000000000001"}`, "", time.Time{}},
		"a UUIDv7 in an unsigned place": {provider.Options{ID: []string{"header:X-At"}}, `{}`, "018bcfe5-6800-7000-8000-000000000001", time.Time{}},
		"no time at all":                {provider.Options{ID: []string{"body:id"}}, `{"id":"e1"}`, "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.Provider, o.SourceID, o.Signature, o.Secrets = "hmac", "s", signature, []provider.Secret{{Label: "1", Value: secret}}
			s, err := provider.New(o)
			if err != nil {
				t.Fatal(err)
			}
			r := &provider.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(c.body), Now: time.Unix(1800000000, 0)}
			if c.header != "" {
				r.Header.Set("X-At", c.header)
			}
			if got := s.Authentic(s.Arrivals(r)[0]); !got.Equal(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Linear signs the body, and the time is in it: read straight away where it
// stands once, with the whole text's rules where it does not.
func TestATimeInTheSignedBody(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "linear", Secrets: secret("k1")})
	for _, test := range []struct{ body, want string }{
		{`{"webhookTimestamp":1767355200000,"data":{}}`, ""},
		{`{"data":{},"webhookTimestamp":1767355200000}`, ""},
		{`{"webhookTimestamp" : 1767355200000}`, ""},
		{`{"webhookTimestamp":1767355100000}`, "timestamp-outside-tolerance"},
		{`{"webhookTimestamp": 1767355100000}`, "timestamp-outside-tolerance"},
		{`{"webhookTimestamp":1767355300000}`, "timestamp-outside-tolerance"},
		{`{"data":{"webhookTimestamp":1767355200000},"webhookTimestamp":1767355100000}`, "timestamp-outside-tolerance"},
		{`{"webhookTimestamp":1767355100000,"data":{"webhookTimestamp":1767355200000}}`, "timestamp-outside-tolerance"},
		{`{"data":"\"webhookTimestamp\":1767355200000","webhookTimestamp":1767355100000}`, "timestamp-outside-tolerance"},
		{`{"webhookTimestamp":1767355200000`, ""}, // what it cannot be read for is told when it is read
	} {
		r := request(test.body)
		if err := s.Sign(r); err != nil {
			t.Fatal(err)
		}
		if got := reason(s, r); got != test.want {
			t.Errorf("%s: %q, want %q", test.body, got, test.want)
		}
	}
}
