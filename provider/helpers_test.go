package provider_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// mustNew fills in what a test is not about.
func mustNew(tb testing.TB, o provider.Options) *provider.Source {
	tb.Helper()
	if o.SourceID == "" {
		o.SourceID = "source"
	}
	s, err := provider.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func secret(values ...string) []provider.Secret {
	list := make([]provider.Secret, len(values))
	for i, v := range values {
		list[i].Value = v
	}
	return list
}

// request makes a delivery out of a body and pairs of header names and values.
func request(body string, header ...string) *provider.Request {
	r := &provider.Request{Method: "POST", URL: "https://hooks.example.test/in/x", Header: http.Header{}, Body: []byte(body), Now: noon}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// sign signs a request with a source and returns it.
func sign(tb testing.TB, s *provider.Source, r *provider.Request) *provider.Request {
	tb.Helper()
	if err := s.Sign(r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// reason returns why a request is refused, "" when it is not.
func reason(s *provider.Source, r *provider.Request) string {
	_, err := s.Verify(r)
	if err == nil {
		return ""
	}
	return err.(*provider.Refusal).Reason
}

// only returns the one arrival of a request.
func only(tb testing.TB, s *provider.Source, r *provider.Request) onceward.Arrival {
	tb.Helper()
	list := s.Arrivals(r)
	if len(list) != 1 {
		tb.Fatalf("%d arrivals, want 1", len(list))
	}
	return list[0]
}

// held fails unless the arrival is quarantined for this reason.
func held(tb testing.TB, a onceward.Arrival, why string) {
	tb.Helper()
	if a.Verdict != onceward.QuarantinedBy || a.Reason != why {
		tb.Errorf("%s: %q, want quarantined: %q", a.Verdict, a.Reason, why)
	}
}

// accepted fails unless the arrival is accepted under this event id.
func accepted(tb testing.TB, a onceward.Arrival, id string) {
	tb.Helper()
	if a.Verdict != onceward.Accepted || a.Key.EventID != id {
		tb.Errorf("%s (%s) %q, want accepted %q", a.Verdict, a.Reason, a.Key.EventID, id)
	}
}
