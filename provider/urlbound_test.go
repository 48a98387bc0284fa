package provider_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/onceward/onceward/provider"
)

const twilioToken = "test-token-not-real-04"

func twilioRequest(url, body, signature string) *provider.Request {
	r := request(body, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8", "X-Twilio-Signature", signature)
	r.URL = url
	return r
}

// sha1MAC is what a sender computes that signs text with SHA-1.
func sha1MAC(secret, text string) string {
	m := hmac.New(sha1.New, []byte(secret))
	m.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// TestThePortOfASignedURL is K02 15: the sender keeps or drops the port.
func TestThePortOfASignedURL(t *testing.T) {
	const form = "Body=Hello+world+%26+more&Empty=&From=%2B15550100&To=%2B15550199&a=lower"
	const at = "https://hooks.example.test:8443/in/tw"
	s := mustNew(t, provider.Options{Provider: "twilio", Secrets: secret(twilioToken)})
	for _, test := range []struct{ name, url, signature, want string }{
		{"with the port", at, "GkAA2ig245/zZ65YrrqDr3LSMTc=", ""},
		{"without the port", at, "pvAp7JB6x1OsG5Lw/YTv4yeVRe8=", ""},
		{"another port", "https://hooks.example.test:9443/in/tw", "GkAA2ig245/zZ65YrrqDr3LSMTc=", "signature-mismatch"},
		{"another host", "https://hooks.example.org:8443/in/tw", "GkAA2ig245/zZ65YrrqDr3LSMTc=", "signature-mismatch"},
		{"a slash more", at + "/", "GkAA2ig245/zZ65YrrqDr3LSMTc=", "signature-mismatch"},
		{"the fragment with overrides is not signed", at + "#rc=2&rp=all", "GkAA2ig245/zZ65YrrqDr3LSMTc=", ""},
		{"no signature", at, "", "missing-signature"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reason(s, twilioRequest(test.url, form, test.signature)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	t.Run("an IPv6 host keeps its colons", func(t *testing.T) {
		const url = "http://[2001:db8::1]/in/tw"
		for _, signed := range []string{url, "http://[2001:db8::1]:80/in/tw"} {
			if got := reason(s, twilioRequest(url, "", sha1MAC(twilioToken, signed))); got != "" {
				t.Errorf("%s: %s", signed, got)
			}
		}
		if got := reason(s, twilioRequest("http://[2001:db8::1]:8080/in/tw", "", sha1MAC(twilioToken, url))); got != "" {
			t.Error(got)
		}
	})
}

// TestRepeatedFormKeys is K02 17: a field that is sent several times.
func TestRepeatedFormKeys(t *testing.T) {
	const url, form = "https://hooks.example.test/in/tw", "n=1&n=2&n=2&From=%2B15550100"
	s := mustNew(t, provider.Options{Provider: "twilio", Secrets: secret(twilioToken)})
	for text, want := range map[string]string{
		"From+15550100n1n2":   "",
		"From+15550100n[1 2]": "signature-mismatch",
		"From+15550100n1n2n2": "signature-mismatch",
		"From+15550100n1":     "signature-mismatch",
	} {
		if got := reason(s, twilioRequest(url, form, sha1MAC(twilioToken, url+text))); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	t.Run("a form that is not encoded", func(t *testing.T) {
		if got := reason(s, twilioRequest(url, "a=%zz", "AAAA")); got != "malformed-body" {
			t.Error(got)
		}
	})
	t.Run("too many fields are not sorted", func(t *testing.T) {
		if got := reason(s, twilioRequest(url, strings.Repeat("a=1&", 5001), "AAAA")); got != "malformed-body" {
			t.Error(got)
		}
	})
}

func TestTwilioIdentities(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "twilio", Secrets: secret(twilioToken)})
	form := func(body string, header ...string) *provider.Request {
		return request(body, append(header, "Content-Type", "application/x-www-form-urlencoded")...)
	}
	for _, test := range []struct{ body, id, kind string }{
		{"MessageSid=SM1&MessageStatus=sent&AccountSid=AC1", "3:SM1,4:sent,", "sent"},
		{"MessageSid=SM1&MessageStatus=delivered", "3:SM1,9:delivered,", "delivered"},
		{"CallSid=CA1&CallStatus=ringing&SequenceNumber=1", "3:CA1,7:ringing,1:1,", "ringing"},
		{"CallSid=CA1&CallStatus=ringing", "3:CA1,7:ringing,", "ringing"},
		{"MessageSid=SM1&Body=hello", "SM1", ""},
	} {
		a := only(t, s, form(test.body))
		accepted(t, a, test.id)
		if a.Type != test.kind {
			t.Errorf("%s: type %q", test.body, a.Type)
		}
	}
	accepted(t, only(t, s, form("MessageSid=SM1&MessageStatus=sent", "I-Twilio-Idempotency-Token", "tok")), "tok")
	held(t, only(t, s, form("Body=hello")), "id: header I-Twilio-Idempotency-Token is missing")
	if s.Contract().IDSigned {
		t.Error("the token's header is not signed")
	}
	if _, remember := s.BodyPart(only(t, s, form("MessageSid=SM1", "I-Twilio-Idempotency-Token", "tok"))); !remember {
		t.Error("a captured form could come again under another token")
	}
}

func TestHubspotSchemes(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "hubspot", Secrets: secret("k1")})
	r := sign(t, s, request("[]"))
	r.Header.Set("X-HubSpot-Signature", "00")
	if got := reason(s, r); got != "" {
		t.Errorf("an old signature beside v3: %s", got)
	}
	r.Header.Set("X-HubSpot-Signature-V3", "AAAA")
	r.Header.Set("X-HubSpot-Signature", "20b4a9e6") // whatever it says
	if got := reason(s, r); got != "signature-mismatch" {
		t.Errorf("a bad v3 is not saved by an old one: %s", got)
	}
	for name, header := range map[string][]string{
		"unsupported-version": {"X-HubSpot-Signature", "00", "X-HubSpot-Signature-Version", "v9"},
		"signature-mismatch":  {"X-HubSpot-Signature", "not hex"},
		"missing-signature":   {},
		"missing-header":      {"X-HubSpot-Signature-V3", "AAAA"},
		"malformed-header":    {"X-HubSpot-Signature-V3", "AAAA", "X-HubSpot-Request-Timestamp", "noon"},
	} {
		if got := reason(s, request("[]", header...)); got != name {
			t.Errorf("%v: %s, want %s", header, got, name)
		}
	}
	t.Run("v2 signs method and URL", func(t *testing.T) {
		// SHA-256 of k1POSThttps://hooks.example.test/in/x[], by another program.
		r := request("[]", "X-HubSpot-Signature", "e902e1f388bff8535110c8f19ac9b200341b6406f440021af9ab15ba244b7d9d", "X-HubSpot-Signature-Version", "v2")
		if got := reason(s, r); got != "" {
			t.Error(got)
		}
		r.URL += "?x"
		if got := reason(s, r); got != "signature-mismatch" {
			t.Error(got)
		}
	})
}

func TestContentfulNamesWhatItSigns(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "contentful", Secrets: secret("k1")})
	good := func() *provider.Request {
		r := request("{}", "X-Contentful-Idempotency-Key", "i1", "X-Contentful-Topic", "t")
		r.URL = "https://hooks.example.test/in/x?a=1&b=2"
		return sign(t, s, r)
	}
	for _, test := range []struct {
		name   string
		change func(*provider.Request)
		want   string
	}{
		{"as it is", func(*provider.Request) {}, ""},
		{"the query in another order", func(r *provider.Request) { r.URL = "https://hooks.example.test/in/x?b=2&a=1" }, "signature-mismatch"},
		{"another host is not signed", func(r *provider.Request) { r.URL = "https://other.example.test/in/x?a=1&b=2" }, ""},
		{"a signed header changed", func(r *provider.Request) { r.Header.Set("X-Contentful-Idempotency-Key", "i2") }, "signature-mismatch"},
		{"a signed header gone", func(r *provider.Request) { r.Header.Del("X-Contentful-Topic") }, "missing-header"},
		{"a signed header twice", func(r *provider.Request) { r.Header.Add("X-Contentful-Topic", "u") }, "malformed-header"},
		{"a list without the time", func(r *provider.Request) {
			r.Header.Set("X-Contentful-Signed-Headers", "x-contentful-signed-headers")
		}, "malformed-header"},
		{"a list that is too long", func(r *provider.Request) {
			r.Header.Set("X-Contentful-Signed-Headers", strings.Repeat("a,", 101))
		}, "malformed-header"},
		{"another method", func(r *provider.Request) { r.Method = "PUT" }, "signature-mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := good()
			test.change(r)
			if got := reason(s, r); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
