package event_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/provider"
)

const secret = "whsec_bench_0123456789abcdef"

func parse(t *testing.T, raw []byte) (*http.Request, []byte) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatalf("the request cannot be read: %v\n%s", err, raw)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, body
}

func source(t *testing.T, style event.Style) *provider.Source {
	t.Helper()
	s, err := provider.New(provider.Options{Provider: style.String(), SourceID: "bench", Secrets: []provider.Secret{{Label: "1", Value: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func corpus(style event.Style, seed uint64) *event.Corpus {
	return event.New(event.Options{Style: style, Host: "127.0.0.1:1", Path: "/in/bench", Secret: secret, Seed: seed, Bodies: 64})
}

func TestRequests(t *testing.T) {
	for _, style := range []event.Style{event.Stripe, event.GitHub} {
		t.Run(style.String()+" accepts the signature and finds the id", func(t *testing.T) {
			c, s := corpus(style, 7), source(t, style)
			w := c.Writer()
			for n := range int64(500) {
				r, body := parse(t, w.Request(n))
				if len(body) != event.Size || !json.Valid(body) {
					t.Fatalf("event %d: %d bytes of body, want %d of valid JSON:\n%s", n, len(body), event.Size, body)
				}
				if r.Method != http.MethodPost || r.URL.Path != "/in/bench" || r.Host != "127.0.0.1:1" || r.ContentLength != event.Size {
					t.Fatalf("event %d: %s %s to %s with %d bytes", n, r.Method, r.URL, r.Host, r.ContentLength)
				}
				in := &provider.Request{Method: r.Method, URL: "http://127.0.0.1:1/in/bench", Header: r.Header, Body: body, Now: time.Now()}
				if _, err := s.Verify(in); err != nil {
					t.Fatalf("event %d: %v\n%s", n, err, body)
				}
				found := s.Arrivals(in)
				if len(found) != 1 || found[0].Key.EventID != c.ID(n) {
					t.Fatalf("event %d: arrivals %+v, want one of %s", n, found, c.ID(n))
				}
			}
		})

		t.Run(style.String()+" never uses an id or a body twice", func(t *testing.T) {
			ids, bodies := map[string]bool{}, map[string]bool{}
			const each = 2000
			for seed := range uint64(3) {
				c := corpus(style, seed)
				w := c.Writer()
				for n := range int64(each) {
					_, body := parse(t, w.Request(n))
					ids[c.ID(n)], bodies[string(body)] = true, true
				}
			}
			if len(ids) != 3*each || len(bodies) != 3*each {
				t.Errorf("%d ids and %d bodies in %d events", len(ids), len(bodies), 3*each)
			}
		})

		t.Run(style.String()+" delivers an event again with the same body", func(t *testing.T) {
			c := corpus(style, 1)
			a, b := c.Writer(), c.Writer()
			b.Request(4)
			_, first := parse(t, a.Request(5))
			_, second := parse(t, b.Request(5))
			if !bytes.Equal(first, second) {
				t.Errorf("two deliveries of one event differ:\n%s\n%s", first, second)
			}
		})

		// A gateway compresses what it keeps. Bodies that repeat themselves
		// would flatter it; bodies of nothing but noise would slander it.
		t.Run(style.String()+" bodies compress like a sender's", func(t *testing.T) {
			w := corpus(style, 3).Writer()
			var packed bytes.Buffer
			z, err := flate.NewWriter(&packed, flate.DefaultCompression)
			if err != nil {
				t.Fatal(err)
			}
			const events = 64
			for n := range int64(events) {
				_, body := parse(t, w.Request(n))
				if _, err := z.Write(body); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if share := float64(packed.Len()) / (events * event.Size); share < 0.15 || share > 0.5 {
				t.Errorf("%d bodies compress to %.2f of their size, want between 0.15 and 0.5", events, share)
			} else {
				t.Logf("%d bodies compress to %.2f of their size", events, share)
			}
		})
	}
}

func TestSignedTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := event.New(event.Options{Secret: secret, Host: "h", Path: "/", Bodies: 1, Now: func() time.Time { return now }})
	s, w := source(t, event.Stripe), c.Writer()
	for range 2 {
		r, body := parse(t, w.Request(0))
		if _, err := s.Verify(&provider.Request{Method: r.Method, Header: r.Header, Body: body, Now: now}); err != nil {
			t.Errorf("signed at %v: %v", now, err)
		}
		now = now.Add(time.Hour) // a long run must not send stale signatures
	}
}
