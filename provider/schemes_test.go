package provider_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

func TestStandardWebhooksAgreesWithTheOfficialLibrary(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(stdSecret)})
	official, err := oracle.NewWebhook(stdSecret)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		id := rapid.StringMatching(`msg_[A-Za-z0-9_]{1,20}`).Draw(t, "id")
		at := time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "at"), 0)

		ours := request(string(body), "webhook-id", id)
		ours.Now = at
		if err := s.Sign(ours); err != nil {
			t.Fatal(err)
		}
		if err := official.VerifyIgnoringTimestamp(body, ours.Header); err != nil {
			t.Fatalf("the library refuses ours: %v", err)
		}
		value, err := official.Sign(id, at, body)
		if err != nil {
			t.Fatal(err)
		}
		ours.Header.Set("webhook-signature", "v1,AAAA v2,"+value[3:]+" "+value)
		if _, err := s.Verify(ours); err != nil {
			t.Fatalf("we refuse the library's: %v", err)
		}
		ours.Body = append(ours.Body, 'x')
		if official.VerifyIgnoringTimestamp(ours.Body, ours.Header) == nil {
			t.Fatal("the library accepts another body")
		}
		if _, err := s.Verify(ours); err == nil {
			t.Fatal("we accept another body")
		}
	})
}

func TestStandardWebhooksMessages(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(stdSecret)})
	good := func() *provider.Request { return sign(t, s, request("{}", "webhook-id", "msg_1")) }
	for _, test := range []struct {
		name   string
		change func(r *provider.Request)
		want   string
	}{
		{"as it is", func(*provider.Request) {}, ""},
		{"another id", func(r *provider.Request) { r.Header.Set("webhook-id", "msg_2") }, "signature-mismatch"},
		{"two ids", func(r *provider.Request) { r.Header.Add("webhook-id", "msg_2") }, "malformed-header"},
		{"an empty id", func(r *provider.Request) { r.Header.Set("webhook-id", " ") }, "missing-header"},
		{"a dot in the id", func(r *provider.Request) { r.Header.Set("webhook-id", "msg.1") }, "malformed-header"},
		{"no time", func(r *provider.Request) { r.Header.Set("webhook-timestamp", "noon") }, "malformed-header"},
		{"another time", func(r *provider.Request) { r.Header.Set("webhook-timestamp", "1767355201") }, "signature-mismatch"},
		{"no headers", func(r *provider.Request) { r.Header = nil }, "missing-header"},
		{"a signature without its version", func(r *provider.Request) {
			r.Header.Set("webhook-signature", strings.TrimPrefix(r.Header.Get("webhook-signature"), "v1,"))
		}, "signature-mismatch"},
		{"signatures by comma", func(r *provider.Request) {
			r.Header.Set("webhook-signature", "v1,AAAA,"+r.Header.Get("webhook-signature"))
		}, ""},
		{"signatures in two lines", func(r *provider.Request) {
			r.Header["Webhook-Signature"] = append([]string{"v1,AAAA"}, r.Header["Webhook-Signature"]...)
		}, ""},
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

func TestEd25519Signatures(t *testing.T) {
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	public := "whpk_" + base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	signer := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret("whsk_" + base64.StdEncoding.EncodeToString(private))})
	seeded := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret("whsk_" + base64.RawURLEncoding.EncodeToString(private.Seed()))})
	checker := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: []provider.Secret{{Label: "shared", Value: stdSecret}, {Label: "public", Value: public}}})
	for _, s := range []*provider.Source{signer, seeded} {
		r := sign(t, s, request("{}"))
		label, err := checker.Verify(r)
		if err != nil || label != "public" {
			t.Error(label, err)
		}
		r.Body = []byte("[]")
		if got := reason(checker, r); got != "signature-mismatch" {
			t.Error(got)
		}
	}
	t.Run("a public key cannot sign", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(public)})
		if err := s.Sign(request("{}")); err == nil || strings.Contains(err.Error(), public[5:]) {
			t.Error(err)
		}
	})
	t.Run("only so many are tried", func(t *testing.T) {
		r := sign(t, signer, request("{}"))
		other := "v1a," + base64.StdEncoding.EncodeToString(make([]byte, ed25519.SignatureSize)) + " "
		fits := r.Header.Get("webhook-signature")
		r.Header.Set("webhook-signature", strings.Repeat(other, 15)+fits)
		if got := reason(checker, r); got != "" {
			t.Error(got)
		}
		r.Header.Set("webhook-signature", strings.Repeat(other, 16)+fits)
		if got := reason(checker, r); got != "signature-mismatch" {
			t.Error(got)
		}
	})
}

func TestSvixSpellings(t *testing.T) {
	svix := mustNew(t, provider.Options{Provider: "svix", Secrets: secret(stdSecret)})
	standard := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(stdSecret)})
	t.Run("its own names", func(t *testing.T) {
		r := sign(t, svix, request("{}", "svix-id", "msg_s"))
		if got := reason(svix, r); got != "" {
			t.Error(got)
		}
		accepted(t, only(t, svix, r), "msg_s")
	})
	t.Run("the standard names", func(t *testing.T) {
		r := sign(t, standard, request("{}", "webhook-id", "msg_w"))
		if got := reason(svix, r); got != "" {
			t.Error(got)
		}
		accepted(t, only(t, svix, r), "msg_w")
	})
	t.Run("an id that was put beside a signed one does not count", func(t *testing.T) {
		r := sign(t, standard, request("{}", "webhook-id", "msg_w", "svix-id", "msg_forged"))
		if got := reason(svix, r); got != "" {
			t.Error(got)
		}
		accepted(t, only(t, svix, r), "msg_w")
	})
	t.Run("two halves are not a whole", func(t *testing.T) {
		r := sign(t, standard, request("{}", "webhook-id", "msg_w"))
		r.Header["Svix-Id"] = r.Header["Webhook-Id"]
		delete(r.Header, "Webhook-Id")
		if got := reason(svix, r); got != "missing-header" {
			t.Error(got)
		}
	})
}

func TestGitlabTokensAndSignatures(t *testing.T) {
	token := mustNew(t, provider.Options{Provider: "gitlab", Secrets: secret("tok", "tok2")})
	signing := mustNew(t, provider.Options{Provider: "gitlab", Secrets: secret(stdSecret)})
	both := mustNew(t, provider.Options{Provider: "gitlab", Secrets: secret(stdSecret, "tok")})
	plain := func(value string) *provider.Request {
		return request("{}", "X-Gitlab-Token", value, "Idempotency-Key", "k1")
	}
	signed := func() *provider.Request {
		return sign(t, signing, request("{}", "webhook-id", "k1", "Idempotency-Key", "forged"))
	}
	for _, test := range []struct {
		name string
		s    *provider.Source
		r    *provider.Request
		want string
	}{
		{"the first token", token, plain("tok"), ""},
		{"the second token", token, plain("tok2"), ""},
		{"another token", token, plain("tok3"), "token-mismatch"},
		{"no token", token, request("{}"), "missing-header"},
		{"two tokens", token, request("{}", "X-Gitlab-Token", "tok", "X-Gitlab-Token", "tok3"), "token-mismatch"},
		{"a signature", signing, signed(), ""},
		{"a token where a signature is due", signing, plain("tok"), "missing-header"},
		{"a signature where both are taken", both, signed(), ""},
		{"a token where both are taken", both, plain("tok"), ""},
		{"a forged signature is not saved by a token", both, request("{}", "X-Gitlab-Token", "tok", "webhook-id", "k", "webhook-timestamp", "1767355200", "webhook-signature", "v1,AAAA"), "signature-mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reason(test.s, test.r); got != test.want {
				t.Fatalf("%q, want %q", got, test.want)
			}
			if test.want == "" {
				accepted(t, only(t, test.s, test.r), "k1")
			}
		})
	}
	t.Run("the token is signed with, and is a credential", func(t *testing.T) {
		r := sign(t, token, request("{}"))
		if r.Header.Get("X-Gitlab-Token") != "tok" || token.Contract().Credentials[0] != "X-Gitlab-Token" {
			t.Error(r.Header)
		}
	})
	t.Run("check says that a token covers nothing", func(t *testing.T) {
		if list := token.Contract().Weaknesses(); len(list) != 1 || !strings.Contains(list[0], "nothing about the body") {
			t.Error(list)
		}
		if list := signing.Contract().Weaknesses(); len(list) != 0 {
			t.Error(list)
		}
	})
}

func TestStripeHeaders(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret(paySecret)})
	good := sign(t, s, request("{}")).Header.Get("Stripe-Signature")
	stamp, sum, _ := strings.Cut(good, ",v1=")
	for _, test := range []struct{ name, header, want string }{
		{"as it is", good, ""},
		{"blanks between", strings.ReplaceAll(good, ",", " , "), ""},
		{"the signature first", "v1=" + sum + "," + stamp, ""},
		{"upper case", stamp + ",v1=" + strings.ToUpper(sum), ""},
		{"an unreadable v1 first", stamp + ",v1=nothex,v1=,v1=" + sum, ""},
		{"only v0", stamp + ",v0=" + sum, "no-signature-with-expected-scheme"},
		{"two times", stamp + ",t=1,v1=" + sum, "malformed-header"},
		{"no time", "v1=" + sum, "malformed-header"},
		{"a time that is none", "t=now,v1=" + sum, "malformed-header"},
		{"a negative time", "t=-1,v1=" + sum, "malformed-header"},
		{"empty", "", "missing-signature"},
		{"nothing in it", ", ,", "missing-signature"},
		{"one digit less", good[:len(good)-1], "signature-mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reason(s, request("{}", "Stripe-Signature", test.header)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	t.Run("no header", func(t *testing.T) {
		if got := reason(s, request("{}")); got != "missing-signature" {
			t.Error(got)
		}
	})
}

func TestGenericHMAC(t *testing.T) {
	for _, test := range []struct {
		name string
		sig  provider.Signature
	}{
		{"plain", provider.Signature{Header: "X-Sig"}},
		{"sha1 in base64", provider.Signature{Header: "X-Sig", Algorithm: "sha1", Encoding: "base64"}},
		{"sha512", provider.Signature{Header: "X-Sig", Algorithm: "sha512", Prefix: "sha512="}},
		{"a prefix with a blank", provider.Signature{Header: "Authorization", Encoding: "base64", Prefix: "HMAC "}},
		{"everything signed", provider.Signature{Header: "X-Sig", Content: "{method} {url}\n{timestamp}:{header:X-Id}:{body}!", Timestamp: "header:X-Time", Tolerance: time.Minute}},
		{"a header that is the time", provider.Signature{Header: "X-Sig", Content: "{header:x-time}{body}", Timestamp: "header:X-Time"}},
		{"elements", provider.Signature{Header: "X-Sig", Content: "{timestamp}:{body}", Prefix: "h1=", Timestamp: "element:ts"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("k"), ID: []string{"body:id"}, Signature: test.sig})
			r := sign(t, s, request(`{"id":"e1"}`))
			if got := reason(s, r); got != "" {
				t.Fatal(got, r.Header)
			}
			r.Body = []byte(`{"id":"e2"}`)
			if got := reason(s, r); got != "signature-mismatch" {
				t.Error(got)
			}
			if test.sig.Timestamp != "" {
				r = sign(t, s, request(`{"id":"e1"}`))
				r.Now = noon.Add(6 * time.Minute)
				if got := reason(s, r); got != "timestamp-outside-tolerance" {
					t.Error(got)
				}
			}
		})
	}
	t.Run("a known answer", func(t *testing.T) { // RFC 4231, test case 2
		s := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("Jefe"), ID: []string{"body-sha256"}, Signature: provider.Signature{Header: "X-Sig"}})
		r := request("what do ya want for nothing?", "X-Sig", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
		if got := reason(s, r); got != "" {
			t.Error(got)
		}
	})
	t.Run("a signature without the body is said out loud", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("k"), ID: []string{"body:id"}, Signature: provider.Signature{Header: "X-Sig", Content: "{header:X-Token}"}})
		if list := s.Contract().Weaknesses(); len(list) != 1 || !strings.Contains(list[0], "does not cover the body") || s.Contract().IDSigned {
			t.Error(list)
		}
	})
}

func TestSlackHandshake(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "slack", Secrets: secret("k")})
	for _, test := range []struct{ name, body, want string }{
		{"a verification", `{"type":"url_verification","challenge":"c-1","token":"t"}`, "c-1"},
		{"an event", `{"type":"event_callback","event_id":"Ev1","event":{"type":"message"}}`, ""},
		{"an event that talks about one", `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","text":"url_verification"}}`, ""},
		{"a verification without a challenge", `{"type":"url_verification"}`, ""},
		{"a challenge that is no text", `{"type":"url_verification","challenge":{}}`, ""},
		{"no JSON", `url_verification`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, ok := s.Handshake(request(test.body))
			if ok != (test.want != "") || string(reply.Body) != test.want {
				t.Errorf("%v, %+v", ok, reply)
			}
		})
	}
	t.Run("others have none", func(t *testing.T) {
		if _, ok := gh(t).Handshake(request(`{"type":"url_verification","challenge":"c"}`)); ok {
			t.Error("answered")
		}
	})
	t.Run("a command is identified by its digest", func(t *testing.T) {
		a := only(t, s, request("command=%2Fdeploy&trigger_id=1.2", "Content-Type", "application/x-www-form-urlencoded"))
		if !strings.HasPrefix(a.Key.EventID, "sha256:") || a.Type != "/deploy" || a.Reason != "" {
			t.Errorf("%+v", a)
		}
	})
}
