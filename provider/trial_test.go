package provider_test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// TestEverySenderCanBeTried: what onceward send signs by itself is accepted by
// what onceward dev verifies with.
func TestEverySenderCanBeTried(t *testing.T) {
	for _, c := range provider.Contracts() {
		if c.Category == "generic" && c.Name != "standard-webhooks" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			s := mustNew(t, provider.Options{Provider: c.Name, Secrets: secret(provider.Trial(c.Name)...)})
			r := s.SampleAt("e-1", 1, noon)
			r.URL, r.Now = "http://127.0.0.1:8080/in/x", noon
			sign(t, s, r)
			if got := reason(s, r); got != "" {
				t.Fatal(got)
			}
			for _, a := range s.Arrivals(r) {
				if a.Verdict != onceward.Accepted {
					t.Errorf("%s: %s", a.Verdict, a.Reason)
				}
			}
		})
	}
	if provider.Trial("none") != nil || provider.Trial("fax") != nil {
		t.Error("there is nothing to sign with")
	}
}
