package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// specialSources are one source of every sender with a scheme of its own.
func specialSources(tb testing.TB) []*provider.Source {
	var list []*provider.Source
	for _, s := range specials() {
		list = append(list, mustNew(tb, provider.Options{Provider: s.name, Secrets: labelled(s.first)}))
	}
	return list
}

// carriers are the headers in which special senders carry what they sign.
var carriers = []string{
	"Box-Signature-Primary", "Box-Delivery-Timestamp", "X-Twilio-Signature", "X-Docusign-Signature-1", "X-Hubspot-Signature-V3", "X-Hubspot-Request-Timestamp",
	"X-Hubspot-Signature", "X-Contentful-Signature", "X-Contentful-Signed-Headers", "X-Contentful-Timestamp", "X-Mandrill-Signature", "X-Signature-Ed25519",
	"X-Signature-Timestamp", "Telnyx-Signature-Ed25519", "Telnyx-Timestamp", "X-Twilio-Email-Event-Webhook-Signature", "X-Twilio-Email-Event-Webhook-Timestamp",
	"Paypal-Transmission-Id", "Paypal-Transmission-Time", "Paypal-Transmission-Sig", "Paypal-Cert-Url", "Plaid-Verification", "Authorization", "X-Secret",
	"X-Telegram-Bot-Api-Secret-Token", "X-Okta-Verification-Challenge", "Webhook-Request-Origin", "Ce-Id", "Ce-Source", "I-Twilio-Idempotency-Token",
}

// FuzzSpecialSenders: nothing that a stranger sends is authentic, nothing is
// more than a refusal or an arrival, reading is the same each time, and no
// answer shows a secret.
func FuzzSpecialSenders(f *testing.F) {
	for _, seed := range []struct{ body, header, media, query string }{
		{`{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":"AAAA"}}}]}`, "AAAA", "application/json", ""},
		{`{"value":[{"clientState":"x"},7]}`, "Bearer a.b.c", "application/json", "validationToken=%3Cx%3E"},
		{"bt_signature=pub%7C00%26pub%7C11&bt_payload=PD94bWw%2B", "1767355200", "application/x-www-form-urlencoded", "bt_challenge=20f9f8ed05f77439fe955c977e4c8a53"},
		{"mandrill_events=[{\"_id\":1}]&mandrill_events=[]", "x", "application/x-www-form-urlencoded", ""},
		{`{"Type":"Notification","Signature":"AA==","SignatureVersion":"2","SigningCertURL":"https://sns.us-east-1.amazonaws.com/a.pem"}`, "", "text/plain", ""},
		{"<a><b>1</b><b><c/></b></a>", "", "text/xml", ""},
		{"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "", "text/xml", ""},
		{"<a>" + strings.Repeat("<b>", 70), "", "text/xml", ""},
		{"{\"log_id\":1}\n{\"log_id\":2}\n\n[", "", "application/json", ""},
		{"\n", "", "", ""},
		{"", "", "", ""},
		{"eyJhbGciOiJSUzI1NiJ9.eyJqdGkiOiJhIiwiZXZlbnRzIjp7IngiOnt9fX0.AAAA", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA", "application/secevent+jwt", ""},
		{`{"events":{"a":}}`, "x.y.z", "application/cloudevents-batch+json", "access_token=%zz"},
		{`{"update_id":1,"message":{}}`, "a,a,a", "application/cloudevents", "bodySHA256=00"},
		{`{"signature":{"timestamp":"1","token":"t","signature":"00"},"event-data":{"id":"x"}}`, "\xe9", "application/json", "a=1&a=2"},
		{"\uFEFF{}", "", "application/json", "\x00"},
		{"{", "", "", ""},
		{" {} ", "%41%zz%", "", ""},
	} {
		f.Add([]byte(seed.body), seed.header, seed.media, seed.query)
	}
	all := specialSources(f)
	keyPairs := map[string]bool{}
	for _, s := range specials() {
		keyPairs[s.name] = strings.HasPrefix(s.first[0], "-----BEGIN")
	}
	f.Fuzz(func(t *testing.T, body []byte, header, media, query string) {
		original := bytes.Clone(body)
		for _, s := range all {
			name := s.Contract().Name
			fresh := func() *provider.Request {
				r := request("", "Content-Type", media, "Box-Signature-Version", "1", "Box-Signature-Algorithm", "HmacSHA256", "Paypal-Auth-Algo", "SHA256withRSA")
				for _, carrier := range carriers {
					r.Header.Set(carrier, header)
				}
				r.Body, r.URL = body, r.URL+"?"+query
				return r
			}
			r := fresh()
			var refusal *provider.Refusal
			if _, err := s.Verify(r); err == nil {
				if stranger(header, query, body) {
					t.Fatalf("%s took it", name)
				}
			} else if !errors.As(err, &refusal) || refusal.Reason == "" || refusal.Detail == "" {
				t.Fatalf("%s: %v", name, err)
			}
			for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS"} {
				r.Method = method
				s.Greet(r)
			}
			r.Method = "POST"
			s.Handshake(r)
			list, again := s.Arrivals(r), s.Arrivals(r)
			if len(list) == 0 || len(list) != len(again) {
				t.Fatal(name, len(list), len(again))
			}
			for i, a := range list {
				if err := a.Key.Validate(); err != nil || a.Key != again[i].Key && !s.Contract().Level || a.Verdict != again[i].Verdict || a.Reason != again[i].Reason {
					t.Fatalf("%s: %+v, %+v, %v", name, a, again[i], err)
				}
				if (a.Verdict == onceward.Accepted) != (a.Reason == "") {
					t.Fatalf("%s: %s with reason %q", name, a.Verdict, a.Reason)
				}
				for _, text := range []string{a.Key.EventID, a.Key.Account, a.Type, a.Version} {
					if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
						t.Fatalf("%s: %q cannot be kept in every store", name, text)
					}
				}
				if a.Of == 0 && !bytes.Equal(a.Raw, original) {
					t.Fatalf("%s: the bytes changed", name)
				}
			}
			if !bytes.Equal(body, original) {
				t.Fatalf("%s wrote into the body", name)
			}
			// What it was is never in the way of what is signed properly.
			signed := fresh()
			if keyPairs[name] || s.Sign(signed) != nil { // which sign far too slowly to look for anything
				continue
			}
			if got := reason(s, signed); got == provider.SignatureMismatch || got == provider.BodyHashMismatch || got == provider.TokenMismatch {
				t.Fatalf("%s refuses its own signature: %s", name, got)
			}
		}
	})
}

// stranger reports whether nothing in a request is a secret of the tests: those
// that travel are short enough to be found by chance.
func stranger(header, query string, body []byte) bool {
	values, _ := url.ParseQuery(query)
	return header != "s1" && header != "Bearer s1" && !strings.Contains(query, "s1") && len(values["s1"]) == 0 && !bytes.Contains(body, []byte("s1"))
}

// FuzzKeyMaterial: no text that is configured is more than an error or a key,
// and no error shows it.
func FuzzKeyMaterial(f *testing.F) {
	for _, seed := range []string{
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", p256JWK, `{"keys":[{}]}`, `{"kty":"oct","k":"AAAA"}`,
		`{"kty":"RSA","n":"AQ","e":"AQAB"}`, "aud=x", "iss=", "header:X=1", "query:a=b", "a:b", "aabb", "\x00", `{"kty":"RSA","n":"` + strings.Repeat("A", 5000) + `","e":"AQAB"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range specials() {
			made, err := provider.New(provider.Options{Provider: s.name, SourceID: "s", Secrets: secret(text, "iss=i", "aud=a", "email=e")})
			if err == nil {
				r := request("{}", "Authorization", "Bearer a.b.c", "Plaid-Verification", "a.b.c")
				_ = made.Sign(r)
				_, _ = made.Verify(r)
				continue
			}
			var option *provider.OptionError
			if !errors.As(err, &option) || option.Rule == "" {
				t.Fatalf("%s: %v", s.name, err)
			}
			if len(text) > 40 && strings.Contains(err.Error(), text) {
				t.Fatalf("%s: the error shows the secret", s.name)
			}
		}
	})
}

// FuzzDocuments reads bodies that are not JSON, or not yet: XML, tokens, forms
// with JSON or XML in them, lines. What is read is the same each time, items are
// parts of the body where they are said to be, and lines are counted right.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{
		"<e:Envelope xmlns:e='x'><e:Body><notifications><OrganizationId>o</OrganizationId><Notification><Id>1</Id></Notification></notifications></e:Body></e:Envelope>",
		"<a/><b/>", "<a>&lt;&#x41;<![CDATA[<x>]]></a>", "<?xml version='1.0' encoding='latin1'?><a/>", "<!DOCTYPE a><a/>", "<a><Notification/><Notification><Notification/></Notification></a>",
		"bt_payload=PGEvPg%3D%3D&bt_signature=x", "bt_payload=%zz", "mandrill_events=%5B%7B%7D%5D", "mandrill_events=[", "mandrill_events=1&mandrill_events=2",
		"{\"log_id\":1}\n{\"log_id\":2}\n", "{\"\n\":0}", "\uFEFF[{}]", "{}\r\n\r\n{}", "{\n}\n{}", "a.eyJqdGkiOjEsImV2ZW50cyI6eyJ4Ijp7fX19.b", "..", "a.e30.b", `{"update_id":1,"message":{}}`, `{"update_type":"x"}`, "{", "{}",
	} {
		f.Add([]byte(seed), "application/json")
	}
	var all []*provider.Source
	for _, name := range []string{"salesforce-outbound", "braintree", "mandrill", "auth0-log-streams", "rfc8935-set-push", "telegram", "cloudevents"} {
		all = append(all, mustNew(f, provider.Options{Provider: name, Secrets: secret(provider.Trial(name)...)}))
	}
	f.Fuzz(func(t *testing.T, body []byte, media string) {
		original := bytes.Clone(body)
		for _, s := range all {
			name := s.Contract().Name
			r := request("", "Content-Type", media, "Ce-Id", media)
			r.Body = body
			list, again := s.Arrivals(r), s.Arrivals(r)
			if len(list) == 0 || len(list) != len(again) || !bytes.Equal(body, original) {
				t.Fatalf("%s: %d, then %d", name, len(list), len(again))
			}
			for i, a := range list {
				if err := a.Key.Validate(); err != nil || a.Key != again[i].Key || !bytes.Equal(a.Raw, again[i].Raw) {
					t.Fatalf("%s: %+v, then %+v", name, a, again[i])
				}
				if a.Of == 0 && !bytes.Equal(a.Raw, original) || a.Of > 0 && name != "mandrill" && !bytes.Contains(original, a.Raw) {
					t.Fatalf("%s: an event is not the bytes that came: %q", name, a.Raw)
				}
			}
		}
		lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
		whole := len(lines) > 1 && !json.Valid(body)
		for _, line := range lines {
			whole = whole && json.Valid(line) && bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && bytes.Count(line, []byte("{")) < 300
		}
		if whole && len(lines) < 1000 {
			r := request("")
			r.Body = body
			for _, s := range all {
				if s.Contract().Name == "auth0-log-streams" {
					if n := len(s.Arrivals(r)); n != len(lines) {
						t.Fatalf("%d lines are %d events", len(lines), n)
					}
				}
			}
		}
	})
}
