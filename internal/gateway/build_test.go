package gateway_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/provider"
)

const hmacSource = `{provider: hmac, secrets: [x], signature: {header: X-Signature}, id: "body:id"}`

// withSource is the small configuration with another source.
func withSource(source, intake string) string {
	text := strings.Replace(small, `{provider: github, secrets: ["`+secretValue+`"]}`, source, 1)
	return strings.Replace(text, `intake: {`, `intake: {`+intake, 1)
}

func TestASourceTakesBodiesUpToItsSendersOwnCap(t *testing.T) {
	const stripe = `{provider: stripe, secrets: [whsec_x]}`
	github := `{provider: github, secrets: [x]}`
	contract, ok := provider.Find("github")
	if !ok || contract.MaxBody != 25<<20 {
		t.Fatalf("GitHub's cap is %d", contract.MaxBody)
	}
	for name, test := range map[string]struct {
		source, intake string
		want           int64
	}{
		"a sender with a cap":                         {github, "", 25 << 20},
		"the same where less was configured":          {github, "max_body: 1MiB, ", 1 << 20},
		"the same where more was configured":          {github, "max_body: 100MiB, ", 25 << 20},
		"a sender without a cap":                      {hmacSource, "", 5 << 20},
		"the same with another limit":                 {hmacSource, "max_body: 64KiB, ", 64 << 10},
		"another sender without a cap, and more room": {stripe, "max_body: 30MiB, ", 30 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			meaning, _, err := gateway.Meaning(parse(t, withSource(test.source, test.intake), "{store}", "x.db", "{sink}", "http://127.0.0.1:1"))
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("at most %d bytes", test.want); !strings.Contains(meaning[0].Lines[0], want) {
				t.Errorf("check says %q, want %s", meaning[0].Lines[0], want)
			}
		})
	}
}

func TestLargePayloadsOfARealSenderAreTaken(t *testing.T) {
	r := start(t, small, "http://127.0.0.1:1")
	for i, size := range []int{136 << 10, 1 << 20, 24 << 20} {
		if status, text := r.post("gh", id(i), strings.Repeat("x", size)); status != 200 {
			t.Errorf("%d bytes: %d %s", size, status, text)
		}
	}
	if status, _ := r.post("gh", "d-9", strings.Repeat("x", 25<<20+1)); status != 413 {
		t.Errorf("one byte more than the cap: %d", status)
	}
	_, text := get(t, r.AdminURL()+"/metrics")
	if !strings.Contains(text, `onceward_deliveries_total{source="gh",status="too_large"} 1`) {
		t.Error("the refusal is not counted")
	}
}

// newSource makes the only source of a configuration.
func newSource(t *testing.T, source string) *provider.Source {
	t.Helper()
	c := parse(t, withSource(source, ""), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
	s, err := gateway.NewSource(c, &c.Sources[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestToleranceMeansTheSameWhereverItIsWritten(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   time.Duration
	}{
		"the contract's":                       {`{provider: stripe, secrets: [whsec_x]}`, 5 * time.Minute},
		"the source's own":                     {`{provider: stripe, secrets: [whsec_x], tolerance: 1m}`, time.Minute},
		"the source's own beside a signature":  {`{provider: stripe, secrets: [whsec_x], tolerance: 1m, signature: {decoded: true}}`, time.Minute},
		"of a signature with a time":           {`{provider: hmac, secrets: [x], id: "body:id", signature: {header: X-S, content: "{timestamp}.{body}", timestamp: "header:X-T", tolerance: 2m}}`, 2 * time.Minute},
		"of a signature with a time, replaced": {`{provider: hmac, secrets: [x], id: "body:id", tolerance: 1m, signature: {header: X-S, content: "{timestamp}.{body}", timestamp: "header:X-T", tolerance: 2m}}`, time.Minute},
		"of a signature without a time":        {`{provider: hmac, secrets: [x], id: "body:id", tolerance: 1m, signature: {header: X-S}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newSource(t, test.source).Contract().Tolerance; got != test.want {
				t.Errorf("tolerance %s, want %s", got, test.want)
			}
		})
	}
}

func TestASignatureOverThePlainText(t *testing.T) {
	// GetStream's senders changed to this; "verify decoded" on and off.
	wire, err := base64.StdEncoding.DecodeString("H4sIAAAAAAAC/6tWykxRslJKLSuJT6+KN1SqBQCYXh0KEQAAAA==")
	if err != nil {
		t.Fatal(err)
	}
	for decoded, want := range map[string]bool{"": false, ", signature: {decoded: true}": true} {
		s := newSource(t, `{provider: github, secrets: ["`+secretValue+`"]`+decoded+`}`)
		header := http.Header{}
		header.Set("X-Hub-Signature-256", "sha256=092bb4000e00c93f9ec76cc36fb67c297cffd023cbb75e38188f14e54f773652")
		header.Set("X-GitHub-Delivery", "d-5")
		header.Set("Content-Encoding", "gzip")
		_, err := s.Verify(&provider.Request{Method: http.MethodPost, Header: header, Body: wire, Now: time.Now()})
		if (err == nil) != want {
			t.Errorf("decoded%q: %v", decoded, err)
		}
	}
}

func TestWhatAContractCannotDoIsSaidBeforeAnythingOpens(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"a memory shorter than the sender's retries": {`{provider: stripe, secrets: [whsec_x], retention: {keys: 1d, payloads: 1d}}`, "sources.gh.retention.keys"},
		"a mode that the sender does not mark":       {`{provider: github, secrets: [x], mode: live}`, "sources.gh.mode"},
		"an expression that cannot be read":          {`{provider: hmac, secrets: [x], signature: {header: X-S}, id: "body:a..b"}`, "sources.gh.id"},
		"a secret that is none":                      {`{provider: standard-webhooks, secrets: ["whsec_!"]}`, "sources.gh.secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := tryParse(withSource(test.source, ""), "{store}", "/nowhere/x.db", "{sink}", "http://127.0.0.1:1")
			if err == nil {
				_, err = gateway.New(c, slog.New(slog.DiscardHandler), "test")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "onceward.yaml:") {
				t.Errorf("got %v, want an error that names the line and %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "whsec_!") {
				t.Error("the error holds the secret")
			}
		})
	}
}

func TestAShortMemoryIsWarnedAbout(t *testing.T) {
	c := parse(t, withSource(`{provider: standard-webhooks, secrets: ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"], retention: {keys: 4d, payloads: 1d}}`, ""), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
	_, warnings, err := gateway.Meaning(c)
	var all config.Problems = warnings
	if err != nil || len(all) != 1 || !strings.Contains(all.Error(), "sources.gh.retention.keys") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestEverySourceSaysWhatItMeans(t *testing.T) {
	meaning, _, err := gateway.Meaning(parse(t, small, "{store}", "x.db", "{sink}", "http://127.0.0.1:1"))
	if err != nil || len(meaning) != 1 {
		t.Fatalf("%+v, %v", meaning, err)
	}
	text := strings.Join(meaning[0].Lines, "\n")
	for _, want := range []string{"/in/gh", "X-Hub-Signature-256", "X-GitHub-Delivery", "90 days", "causes fulfil at billing (keyed)"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %s:\n%s", want, text)
		}
	}
	if len(meaning[0].Weaknesses) == 0 {
		t.Error("an id outside the signature is not said out loud")
	}
	if strings.Contains(fmt.Sprint(meaning), secretValue) {
		t.Error("it holds the secret")
	}
}

// withSteps is the small configuration with other destinations and operations.
func withSteps(destinations, operations string) string {
	before, _, _ := strings.Cut(small, "destinations:")
	return before + "destinations:\n" + destinations + "operations:\n" + operations
}

// TestTextsOfStepsAreCheckedWhereTheyStand: a name that is not there, or not yet,
// is an error at load, with its line.
func TestTextsOfStepsAreCheckedWhereTheyStand(t *testing.T) {
	const crm = `  crm: {url: "https://crm.example.com/a", effect: keyed}
`
	for name, test := range map[string]struct{ steps, want string }{
		"a later step in a URL":      {`{name: a, destination: crm, url: "https://crm.example.com/{b}"}, {name: b, destination: crm}`, ".steps[0].url: names {b}, which is no earlier step; there are {event}, {type}"},
		"nobody in a header":         {`{name: a, destination: crm}, {name: b, destination: crm, headers: {X-Of: "{c}"}}`, ".steps[1].headers.X-Of: names {c}"},
		"a body without quotes":      {`{name: a, destination: crm}, {name: b, destination: crm, body: '{"x": {a}}'}`, ".steps[1].body: has a placeholder outside of a string"},
		"another host":               {`{name: a, destination: crm, url: "https://evil.example.com/"}`, ".steps[0].url: must have its destination's scheme, host and port"},
		"a result that nobody gives": {`{name: a, destination: crm}, {name: b, destination: crm, body: '{"x": "{a}"}'}`, ".steps[1].body: names {a}, but destination crm does not say where its result is"},
		"a name with a meaning":      {`{name: event, destination: crm}`, ".steps[0].name: {event} means something else"},
		"an own header of ours":      {`{name: a, destination: crm, headers: {Webhook-Id: x}}`, ".steps[0].headers.Webhook-Id: header Webhook-Id is set by Onceward itself"},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, withSteps(crm, "  onboard: {source: gh, steps: ["+test.steps+"]}\n"), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
			_, _, err := gateway.Meaning(c)
			if err == nil || !strings.Contains(err.Error(), "operations.onboard"+test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			var problems config.Problems
			if !errors.As(err, &problems) || problems[0].Line < 5 || problems[0].Column < 20 {
				t.Errorf("it does not say where: %v", err)
			}
		})
	}
}

func TestCheckWarnsWhenRetriesOutlastTheMemoryOfKeys(t *testing.T) {
	for memory, warns := range map[string]bool{"10m": true, "1h": false} {
		c := parse(t, withSteps(`  far: {url: "https://far.example.com/", effect: keyed, key_memory: `+memory+"}\n", "  carry: {source: gh, destination: far}\n"), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
		_, warnings, err := gateway.Meaning(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fmt.Sprint(warnings), "destinations.far.key_memory: is shorter than its retries may take"); got != warns {
			t.Errorf("key_memory %s: %v", memory, warnings)
		}
	}
}

func TestCheckWarnsOfPrivateLookups(t *testing.T) {
	c := parse(t, withSteps(`  far: {url: "https://far.example.com/", effect: lookup, lookup: {url: "http://10.0.0.1/{key}"}}
`, "  carry: {source: gh, destination: far}\n"), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
	_, warnings, err := gateway.Meaning(c)
	if err != nil || !strings.Contains(fmt.Sprint(warnings), "destinations.far.lookup.url: is a private address") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestCheckWarnsOfSignedURLsWithoutAPublicOne(t *testing.T) {
	for source, warns := range map[string]bool{
		`{provider: twilio, secrets: [x]}`: true, `{provider: square, secrets: [x]}`: true, `{provider: hubspot, secrets: [x]}`: true,
		`{provider: stripe, secrets: [x]}`: false, `{provider: box, secrets: [x]}`: false,
	} {
		for _, public := range []string{"", `public_url: "https://hooks.example.com", `} {
			c := parse(t, withSource(source, public), "{store}", "x.db", "{sink}", "http://127.0.0.1:1")
			_, warnings, err := gateway.Meaning(c)
			if got := strings.Contains(fmt.Sprint(warnings), "intake.public_url is not set"); err != nil || got != (warns && public == "") {
				t.Errorf("%s with %q: %v, %v", source, public, warnings, err)
			}
		}
	}
}
