package config_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/onceward/onceward/internal/config"
)

// environment is what the good and bad files may refer to.
var environment = map[string]string{
	"ONCEWARD_TOKEN": "token-of-ops", "STRIPE_SECRET": "whsec_from_env\n", "STD_SECRET": "std", "LEGACY_SECRET": "legacy",
	"BILLING_SECRET": "whsec_AAEC", "GH": "gh-secret", "APP_HOST": "127.0.0.1", "WORKERS": "3",
	"EMPTY": "", "SPACED": " hushhush", "TWO_LINES": "hushhush\n\n", "WORDS": "hush hush",
}

func lookup(name string) (string, bool) {
	v, ok := environment[name]
	return v, ok
}

func readFile(name string) ([]byte, error) {
	switch name {
	case "/run/secrets/stripe_old":
		return []byte("whsec_from_file\r\n"), nil
	case "tokens/wall":
		return []byte("token-of-wall"), nil
	case "/spaced":
		return []byte("hushhush \n"), nil
	case "/huge":
		return make([]byte, 1<<20), nil
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
}

func load(t *testing.T, file string) *config.Config {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(file, content, lookup, readFile)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var plain = cmp.Options{
	cmpopts.IgnoreUnexported(config.Config{}),
	cmp.Comparer(func(a, b config.Secret) bool { return a.Equal(b) && a.Label() == b.Label() }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestFullFile(t *testing.T) {
	day := 24 * time.Hour
	want := &config.Config{
		Store: "sqlite:./data/onceward.db",
		Intake: config.Intake{
			Listen: ":8080", PublicURL: "https://hooks.example.com", MaxBody: 1e6,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("fd00::/8")},
		},
		Admin: config.Admin{Listen: "0.0.0.0:8081", Tokens: []config.Token{
			{Name: "ops", Role: "operator", Token: config.NewSecret("token-of-ops", "${ONCEWARD_TOKEN}")},
			{Name: "wall-board", Role: "viewer", Token: config.NewSecret("token-of-wall", "file:tokens/wall")},
		}},
		Sources: []config.Source{
			{
				Name: "stripe-live", StableID: "stripe-live", Provider: "stripe", Environment: "production", Mode: "live", Tenant: "acme",
				Secrets: []config.Secret{
					config.NewSecret("whsec_from_env", "${STRIPE_SECRET}"),
					config.NewSecret("whsec_from_file", "file:/run/secrets/stripe_old"),
					config.NewSecret("whsec_written_here", "literal"),
				},
				Retention: config.Retention{Keys: 120 * day, Payloads: 14 * day}, RepeatIDs: []string{"evt_00000000000000"},
				Tolerance: 10 * time.Minute, Strict: true, Backfill: &config.Backfill{Token: config.NewSecret("whsec_from_env", "${STRIPE_SECRET}"), URL: "https://api.example.com"}, OnConflict: "reject", OnStale: "review",
			},
			{
				Name: "std", StableID: "standard", Provider: "standard-webhooks", Mode: "any", SecretLiteral: true, HideIDs: true,
				Secrets:   []config.Secret{config.NewSecret("std", "${STD_SECRET}")},
				Retention: config.Retention{Keys: 90 * day, Payloads: 30 * day}, OnConflict: "quarantine", OnStale: "review",
			},
			{
				Name: "legacy", StableID: "legacy", Provider: "hmac", Mode: "any",
				Secrets:   []config.Secret{config.NewSecret("legacy", "${LEGACY_SECRET}")},
				Retention: config.Retention{Keys: 90 * day, Payloads: 30 * day}, OnConflict: "quarantine", Repeat: "once", OnStale: "review",
				Signature: &config.Signature{
					Header: "X-Signature", Algorithm: "sha512", Encoding: "base64", Prefix: "v1=",
					Content: "{timestamp}.{url}.{header:X-Topic}.{body}", Timestamp: "header:X-Time", Tolerance: 90 * time.Second, Decoded: true,
				},
				Identity: []string{"header:X-Account", "item:id"}, Items: "body:events", Type: "item:type", OccurredAt: "item:created",
				Version: "body:api_version", Versions: []string{"2025-*", "2026-*"}, Order: &config.Order{Key: "item:object", Version: "item:version", Epoch: "item:epoch", Mode: "strict", Tie: "apply", Gap: 10 * time.Minute, OnGap: "proceed", Stuck: "skip", Hold: 50},
			},
			{
				Name: "raw", StableID: "raw", Provider: "none", Mode: "any", Identity: []string{"body-sha256"},
				Retention: config.Retention{Keys: 90 * day, Payloads: 30 * day}, OnConflict: "quarantine", OnStale: "review",
			},
		},
		Destinations: []config.Destination{
			{
				Name: "billing", URL: "http://127.0.0.1:9000/hooks", Effect: "keyed", Secrets: []config.Secret{config.NewSecret("whsec_AAEC", "${BILLING_SECRET}")},
				Timeout: 20 * time.Second, Retry: config.Retry{Attempts: 3, First: 500 * time.Millisecond, Max: time.Hour}, Concurrency: 4,
				Rate: config.Rate{Count: 100, Per: time.Second}, Result: "header:Onceward-Result", KeyMemory: 36 * time.Hour, AllowPrivate: true,
			},
			{
				Name: "bank", URL: "https://bank.example.com/payments", Effect: "lookup", Timeout: 10 * time.Second,
				Lookup: &config.Lookup{
					URL: "https://bank.example.com/payments/{key}", Present: []int{200, 202}, Absent: []int{404, 410}, Result: "body:id",
					Settle: 2 * time.Minute, First: time.Second, Max: time.Minute, GiveUp: 2 * day,
				},
				Retry: config.Retry{Attempts: 9, First: 5 * time.Second, Max: day}, Concurrency: 16,
			},
			{
				Name: "mail", URL: "https://mail.example.com/send", Effect: "unsafe", Timeout: 10 * time.Second,
				Retry: config.Retry{Attempts: 9, First: 5 * time.Second, Max: day}, Concurrency: 16,
			},
		},
		Operations: []config.Operation{
			{Name: "fulfil", Sources: []string{"stripe-live"}, Types: []string{"checkout.session.completed", "payment_intent.*"}, Destination: "billing", Lease: time.Minute},
			{Name: "notify", Sources: []string{"stripe-live", "legacy"}, Destination: "mail", Lease: 40 * time.Second},
			{Name: "onboard", Sources: []string{"stripe-live"}, Steps: []config.Step{
				{Name: "pay", Destination: "bank", Lease: 40 * time.Second},
				{
					Name: "welcome", Destination: "mail", Lease: 40 * time.Second, URL: "https://mail.example.com/{pay}/welcome",
					Headers: []config.Header{{Name: "X-Payment", Value: "{pay}"}, {Name: "X-From", Value: "whsec_AAEC"}}, Body: "{\n  \"payment\": \"{pay}\"\n}\n",
				},
			}},
		},
		Workers: 8,
		Sweep:   config.Sweep{Every: time.Minute},
		Log:     config.Log{Level: "debug", Format: "text"},
	}
	if diff := cmp.Diff(want, load(t, "good.full.yaml"), plain); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	got, err := config.Parse("empty", nil, lookup, readFile)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Store:  "sqlite:onceward.db",
		Intake: config.Intake{Listen: ":8080", MaxBody: 5 << 20}, Admin: config.Admin{Listen: "127.0.0.1:8081"},
		Workers: 64, Sweep: config.Sweep{Every: 10 * time.Second}, Log: config.Log{Level: "info", Format: "json"},
	}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Error(diff)
	}
	if got.SQLitePath() != "onceward.db" {
		t.Errorf("path %q", got.SQLitePath())
	}
}

func TestVariablesReachEveryKindOfField(t *testing.T) {
	c := load(t, "good.small.yaml")
	if c.Workers != 3 || c.Destinations[0].URL != "http://127.0.0.1:9000/" {
		t.Errorf("workers %d, url %s", c.Workers, c.Destinations[0].URL)
	}
}

func TestLoadReadsReferencesRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("gh.secret", "from the file\n")
	write("onceward.yaml", "sources: {gh: {provider: github, secrets: ['file:gh.secret']}}")
	c, err := config.Load(filepath.Join(dir, "onceward.yaml"), lookup)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Sources[0].Secrets[0]; got.Reveal() != "from the file" || got.Label() != "file:gh.secret" {
		t.Errorf("secret %q from %s", got.Reveal(), got.Label())
	}
	_, err = config.Load(filepath.Join(dir, "absent.yaml"), lookup)
	if err == nil || !strings.HasSuffix(err.Error(), "absent.yaml: cannot be read: no such file or directory") {
		t.Errorf("error %v", err)
	}
}

func TestCheckHoldsTheMemoryAgainstTheSender(t *testing.T) {
	day := 24 * time.Hour
	horizon := func(provider string) (retry, manual, memory time.Duration, ok bool) {
		if provider != "stripe" {
			return 0, 0, 0, false
		}
		return 3 * day, 30 * day, 40 * day, true
	}
	for _, c := range []struct{ name, yaml, fails, warns string }{
		{"a memory shorter than the retries is an error", "stripe, retention: {keys: 2d}", "sources.s.retention.keys: 2d is shorter than 3d", ""},
		{"a memory shorter than the manual window is an error", "stripe, retention: {keys: 20d, payloads: 1d}", "20d is shorter than 30d", ""},
		{"a memory shorter than recommended is a warning", "stripe, retention: {keys: 35d}", "", "35d is shorter than 40d"},
		{"the default is long enough", "stripe", "", ""},
		{"an unknown provider is an error", "stripy", `sources.s.provider: "stripy" is not a provider`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := config.Parse("c.yaml", []byte("sources:\n  s: {secrets: [x], provider: "+c.yaml+"}\n"), lookup, readFile)
			if err != nil {
				t.Fatal(err)
			}
			warnings, err := cfg.Check([]string{"stripe", "github"}, horizon)
			if c.fails == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "c.yaml:2:") {
				t.Errorf("no position in %v", err)
			}
			if got := warnings.Error(); c.warns == "" != (got == "") || !strings.Contains(got, c.warns) {
				t.Errorf("warnings %q, want %q", got, c.warns)
			}
			var problems config.Problems
			if err != nil && !errors.As(err, &problems) {
				t.Errorf("error is %T", err)
			}
		})
	}
}
