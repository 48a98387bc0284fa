package provider_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
)

// signedStripe returns a source and a signed body of about a kilobyte.
func signedStripe(tb testing.TB) (*provider.Source, *provider.Request) {
	tb.Helper()
	s := mustNew(tb, provider.Options{Provider: "stripe", Secrets: []provider.Secret{{Value: "whsec_test"}}})
	r := s.SampleAt("evt_1", 1, time.Unix(1767323045, 0))
	r.Now = time.Unix(1767323045, 0)
	if err := s.Sign(r); err != nil {
		tb.Fatal(err)
	}
	return s, r
}

func BenchmarkVerify(b *testing.B) {
	s, r := signedStripe(b)
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Verify(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArrivals(b *testing.B) {
	s, r := signedStripe(b)
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if a := s.Arrivals(r); a[0].Key.EventID != "evt_1" {
			b.Fatal(a[0].Reason)
		}
	}
}

func BenchmarkEquivalent(b *testing.B) {
	_, r := signedStripe(b)
	b.SetBytes(int64(len(r.Body)))
	for b.Loop() {
		if !provider.Equivalent(r.Body, r.Body, []string{"pending_webhooks"}) {
			b.Fatal("not equivalent to itself")
		}
	}
}
