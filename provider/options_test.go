package provider_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
)

func TestOptionsThatCannotBeUsed(t *testing.T) {
	minute := time.Minute
	sig := provider.Signature{Header: "X-Sig"}
	with := func(change func(*provider.Signature)) provider.Signature {
		s := sig
		change(&s)
		return s
	}
	hmac := func(s provider.Signature) provider.Options {
		return provider.Options{Provider: "hmac", Secrets: secret("s"), ID: []string{"body:id"}, Signature: s}
	}
	for _, test := range []struct {
		name  string
		o     provider.Options
		field string
		rule  string // a part of it
	}{
		{"an unknown provider", provider.Options{Provider: "strpe"}, "provider", "the providers are stripe, github"},
		{"no secret", provider.Options{Provider: "stripe"}, "secrets", "at least one"},
		{"an empty secret", provider.Options{Provider: "stripe", Secrets: secret("a", "")}, "secrets", "secret 2 is empty"},
		{"a blank secret", provider.Options{Provider: "stripe", Secrets: secret(" ")}, "secrets", "secret 1 is only whitespace"},
		{"a newline behind a secret", provider.Options{Provider: "github", Secrets: secret(ghSecret + "\n")}, "secrets", "whitespace"},
		{"a blank before a labelled secret", provider.Options{Provider: "gitlab", Secrets: []provider.Secret{{Label: "old", Value: " tok"}}}, "secrets", "old has whitespace"},
		{"a secret for none", provider.Options{Provider: "none", Secrets: secret("x")}, "secrets", "checks nothing"},
		{"a signature's spelling as a secret", provider.Options{Provider: "standard-webhooks", Secrets: secret("v1," + stdSecret)}, "secrets", "begins with whsec_"},
		{"the same for gitlab", provider.Options{Provider: "gitlab", Secrets: secret("v1," + stdSecret)}, "secrets", "begins with whsec_"},
		{"a secret that is no base64", provider.Options{Provider: "svix", Secrets: secret("whsec_not base64")}, "secrets", "whitespace inside"},
		{"a secret of mixed alphabets", provider.Options{Provider: "svix", Secrets: secret("whsec_ab+d-f")}, "secrets", "is not base64"},
		{"a secret of no bytes", provider.Options{Provider: "svix", Secrets: secret("whsec_")}, "secrets", "no bytes"},
		{"a short public key", provider.Options{Provider: "svix", Secrets: secret("whpk_AAAA")}, "secrets", "has 3 bytes behind whpk_"},
		{"a short private key", provider.Options{Provider: "svix", Secrets: secret("whsk_AAAA")}, "secrets", "has 3 bytes behind whsk_"},
		{"a literal secret elsewhere", provider.Options{Provider: "stripe", Secrets: secret("s"), LiteralSecret: true}, "secrets", "literal"},
		{"a long tenant", provider.Options{Provider: "none", Tenant: strings.Repeat("x", 513)}, "tenant", "513 bytes"},
		{"a mode of no kind", provider.Options{Provider: "stripe", Secrets: secret("s"), Mode: "prod"}, "mode", "any, live or test"},
		{"a mode that the sender does not mark", provider.Options{Provider: "github", Secrets: secret("s"), Mode: "live"}, "mode", "marks nothing"},
		{"a tolerance without a time", provider.Options{Provider: "github", Secrets: secret("s"), Tolerance: &minute}, "tolerance", "signs no timestamp"},
		{"a signature of a built-in sender", provider.Options{Provider: "github", Secrets: secret("s"), Signature: sig}, "signature", "only provider hmac"},
		{"hmac without an id", provider.Options{Provider: "hmac", Secrets: secret("s"), Signature: sig}, "id", "is missing"},
		{"hmac without a header", hmac(provider.Signature{}), "signature.header", "is missing"},
		{"a header's name that is none", hmac(provider.Signature{Header: "X Sig"}), "signature.header", "cannot be the name"},
		{"an unknown algorithm", hmac(with(func(s *provider.Signature) { s.Algorithm = "md5" })), "signature.algorithm", "sha1, sha256 or sha512"},
		{"an unknown encoding", hmac(with(func(s *provider.Signature) { s.Encoding = "base32" })), "signature.encoding", "hex or base64"},
		{"an unknown placeholder", hmac(with(func(s *provider.Signature) { s.Content = "{id}.{body}" })), "signature.content", "{id} is unknown"},
		{"an open brace", hmac(with(func(s *provider.Signature) { s.Content = "{body" })), "signature.content", "closing brace"},
		{"a timestamp that is nowhere", hmac(with(func(s *provider.Signature) { s.Content = "{timestamp}.{body}" })), "signature.timestamp", "is missing"},
		{"a timestamp that is not signed", hmac(with(func(s *provider.Signature) { s.Timestamp = "header:X-Time" })), "signature.timestamp", "proves nothing"},
		{"a timestamp of no kind", hmac(with(func(s *provider.Signature) { s.Content, s.Timestamp = "{timestamp}{body}", "body:t" })), "signature.timestamp", "neither"},
		{"a tolerance without a timestamp", hmac(with(func(s *provider.Signature) { s.Tolerance = minute })), "signature.tolerance", "needs a timestamp"},
		{"an id that is no expression", provider.Options{Provider: "none", ID: []string{"event.id"}}, "id", "is not an expression"},
		{"an empty step", provider.Options{Provider: "none", ID: []string{"body:a..b"}}, "id", "empty steps"},
		{"the whole body", provider.Options{Provider: "none", ID: []string{"body:"}}, "id", "empty steps"},
		{"another path language", provider.Options{Provider: "none", ID: []string{"body:$.id"}}, "id", "exact keys"},
		{"a pattern", provider.Options{Provider: "none", ID: []string{"body:items.#.id"}}, "id", "exact keys"},
		{"a part twice", provider.Options{Provider: "none", ID: []string{"body:a", "body:a"}}, "id", "twice"},
		{"a header's name in an expression", provider.Options{Provider: "none", ID: []string{"header:a b"}}, "id", "is not an expression"},
		{"too many parts", provider.Options{Provider: "none", ID: strings.Split(strings.Repeat("body:a,", 17), ",")[:17]}, "id", "17 parts"},
		{"a type that is no expression", provider.Options{Provider: "none", Type: "x"}, "type", "is not an expression"},
		{"an item without items", provider.Options{Provider: "none", ID: []string{"item:id"}}, "id", "needs items"},
		{"items without an id", provider.Options{Provider: "none", Items: "body"}, "id", "a batch needs its own"},
		{"items with one id for all", provider.Options{Provider: "none", Items: "body", ID: []string{"header:X-Id"}}, "id", "same for every item"},
		{"items in a header", provider.Options{Provider: "none", Items: "header:X", ID: []string{"item:id"}}, "items", "in the body"},
		{"versions of nothing", provider.Options{Provider: "none", Versions: []string{"1"}}, "versions", "needs version"},
		{"an empty repeated id", provider.Options{Provider: "none", RepeatIDs: []string{""}}, "repeat_ids", "between 1 and 256"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.o.SourceID = "source"
			_, err := provider.New(test.o)
			var wrong *provider.OptionError
			if !errors.As(err, &wrong) || wrong.Field != test.field || !strings.Contains(wrong.Rule, test.rule) {
				t.Fatalf("%v; want %s: …%s…", err, test.field, test.rule)
			}
			for _, s := range test.o.Secrets {
				if len(s.Value) > len("whsec_") && strings.Contains(err.Error(), s.Value) {
					t.Error("the secret is in the error")
				}
			}
		})
	}
	t.Run("a source without a name", func(t *testing.T) {
		if _, err := provider.New(provider.Options{Provider: "none"}); err == nil || err.Error() != "source: is missing" {
			t.Error(err)
		}
	})
}

func TestStandardWebhooksSecrets(t *testing.T) {
	padded := "AAECAwQFBgcICQoLDA0ODxAREhMUFQ=="
	for _, test := range []struct {
		name    string
		signer  string
		checker string
		literal bool
		want    string
	}{
		{"the prefix may be missing", stdSecret, stdSecret[6:], false, ""},
		{"the padding may be missing", "whsec_" + padded, "whsec_" + padded[:30], false, ""},
		{"the alphabet may be the URL's", "whsec_+/+/", "whsec_-_-_", false, ""},
		{"a literal secret is another key", stdSecret, stdSecret, true, "signature-mismatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			signer := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(test.signer)})
			checker := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(test.checker), LiteralSecret: test.literal})
			if got := reason(checker, sign(t, signer, request("{}"))); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	t.Run("a literal secret fits only itself", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret("v1," + stdSecret), LiteralSecret: true})
		if got := reason(s, sign(t, s, request("{}"))); got != "" {
			t.Error(got)
		}
	})
}
