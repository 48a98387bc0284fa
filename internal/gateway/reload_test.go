package gateway_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/testkit"
)

func TestAReloadTakesEffectWhole(t *testing.T) {
	first, second := testkit.NewSink(t, nil), testkit.NewSink(t, nil)
	r := start(t, small, first.URL)
	r.post("gh", "d-1", "{}")
	r.settled(1)
	next := strings.NewReplacer("  gh: {", "  github-2: {", "source: gh", "source: github-2", "{sink}", second.URL).Replace(small)
	if err := r.reload(next); err != nil {
		t.Fatal(err)
	}
	if status, _ := r.post("gh", "d-2", "{}"); status != 404 {
		t.Errorf("a source that is gone answers %d", status)
	}
	if status, text := r.post("github-2", "d-3", "{}"); status != 200 {
		t.Fatalf("the new source: %d %s", status, text)
	}
	second.WaitEffects(t, patience, 1)
	r.settled(2)
	if len(first.Requests()) != 1 || len(second.Requests()) != 1 {
		t.Errorf("%d requests at the old destination, %d at the new one", len(first.Requests()), len(second.Requests()))
	}
	_, text := get(t, r.AdminURL()+"/metrics")
	if !strings.Contains(text, `onceward_deliveries_total{source="github-2",status="stale"} 0`) {
		t.Error("the new source's counters are not there before their first event")
	}
}

func TestWhatWaitsAtAReloadGoesOnUnderTheNewConfiguration(t *testing.T) {
	hold := make(chan struct{})
	first := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	second := testkit.NewSink(t, nil)
	narrow := strings.Replace(small, "effect: keyed", "effect: keyed, concurrency: 1", 1)
	r := start(t, narrow, first.URL)
	for n := range 10 {
		r.post("gh", id(n), `{"n":"`+id(n)+`"}`)
	}
	first.WaitFor(t, patience, "the first call", func(all []*testkit.Request) bool { return len(all) == 1 })
	reloaded := make(chan error, 1)
	go func() { reloaded <- r.reload(strings.ReplaceAll(narrow, "{sink}", second.URL)) }()
	second.WaitEffects(t, patience, 9) // while the first call is still under way
	if err := <-reloaded; err != nil { // which nobody waits for
		t.Fatal(err)
	}
	close(hold)
	r.settled(10)
	if first.Effects() != 1 || second.Effects() != 9 || first.Repeats()+second.Repeats() != 0 {
		t.Errorf("%d effects at the old destination, %d at the new one", first.Effects(), second.Effects())
	}
	_, text := get(t, r.AdminURL()+"/metrics")
	if !strings.Contains(text, "\nonceward_leases_recovered_total 0\n") {
		t.Error("what was handed over is counted as recovered from a lost owner")
	}
}

func TestAReloadThatIsRefusedChangesNothing(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	n := 0
	for name, test := range map[string]struct{ old, new, want string }{
		"a file that does not parse":       {"sources:", "sources: [", "onceward.yaml"},
		"an unknown field":                 {"provider: github", "provider: github, colour: red", "colour"},
		"an operation without destination": {"destination: billing", "destination: nowhere", "nowhere"},
		"an unknown provider":              {"provider: github", "provider: gothub", "gothub"},
		"a destination of no scheme":       {`url: "{sink}"`, `url: "ftp://x"`, "destinations.billing"},
		"a bad expression":                 {"provider: github", `provider: github, id: "body:"`, "sources.gh.id"},
		"another store":                    {"sqlite:", "sqlite:other-", "store"},
		"another intake address":           {`intake: {listen: "127.0.0.1:0"}`, `intake: {listen: "127.0.0.1:1"}`, "intake.listen"},
		"another admin address":            {`admin: {listen: "127.0.0.1:0"}`, `admin: {listen: "127.0.0.1:1"}`, "admin.listen"},
		"another public URL":               {`intake: {`, `intake: {public_url: "https://hooks.example.com", `, "intake.public_url"},
		"other proxies":                    {`intake: {`, `intake: {trusted_proxies: [10.0.0.0/8], `, "intake.trusted_proxies"},
		"another sweep":                    {"sources:", "sweep: {every: 1h}\nsources:", "sweep"},
		"another level of log":             {"sources:", "log: {level: debug}\nsources:", "log"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(small, test.old, test.new, 1)
			if text == small {
				t.Fatal("the test changes nothing")
			}
			// A valid change beside the invalid one must not take effect either.
			text = strings.Replace(text, "fulfil:", "renamed:", 1)
			err := r.reload(text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error about %s", err, test.want)
			}
			n++
			if status, answer := r.post("gh", id(n), `{"n":"`+id(n)+`"}`); status != 200 || !strings.Contains(answer, `"name":"fulfil"`) {
				t.Fatalf("afterwards: %d %s", status, answer)
			}
			r.settled(n)
		})
	}
	if err := r.reload(small); err != nil {
		t.Errorf("a reload of the same configuration: %v", err)
	}
}

func TestAReloadChangesSecretsTokensAndWorkers(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, small, sink.URL)
	next := strings.Replace(small, `["`+secretValue+`"]`, `["another-secret-not-real"]`, 1)
	next = strings.Replace(next, `admin: {`, `admin: {tokens: [{name: ops, role: operator, token: "a-token-not-real-0123456789"}], `, 1)
	if err := r.reload(next + "workers: 3\n"); err != nil {
		t.Fatal(err)
	}
	if status, _ := r.post("gh", "d-1", "{}"); status != 401 {
		t.Errorf("the old secret answers %d", status)
	}
	if status, _ := get(t, r.AdminURL()+"/v1/operations"); status != 401 {
		t.Errorf("without the new token: %d", status)
	}
	if strings.Contains(r.log.String(), "not-real") {
		t.Error("the log holds a secret")
	}
}
