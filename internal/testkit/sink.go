// Package testkit is what tests stand between Onceward and the world: a sink
// that records what reached a destination and says what its effects were, and
// peers that break the wire at a chosen point. Only tests import it. Nothing in
// it sleeps; tests wait for what they want to see, with a deadline.
package testkit

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is one request that reached a sink.
type Request struct {
	N      int // from 1, in order of arrival
	Time   time.Time
	Method string
	Path   string
	Host   string
	Header http.Header
	Body   []byte
}

// Key is the request's idempotency key.
func (r *Request) Key() string { return r.Header.Get("Idempotency-Key") }

// Answer is what a sink says to a request. The zero value is an empty 200.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
	// Hold keeps the answer back until it is closed, or the caller leaves; with
	// Act the sink has its effect only then, whether the caller is there or not.
	Hold <-chan struct{}
	// Abort breaks the connection instead of answering. With Act the effect
	// happens all the same, and only its answer is lost.
	Abort, Act bool
}

// Sink is an HTTP server that records every request and keeps a ledger of its
// effects, as a destination that deduplicates by Idempotency-Key would: an
// effect is a key that was answered 2xx, however often it came.
type Sink struct {
	URL string

	server  *httptest.Server
	over    <-chan struct{} // the test has ended
	mu      sync.Mutex
	changed *sync.Cond
	script  func(n int, r *Request) Answer
	all     []*Request
	effects map[string]int // key -> 2xx answers
	tries   map[string]int
	open    int
	most    int
}

// NewSink starts a sink that ends with the test. script answers the nth
// request; nil answers 200 to everything.
func NewSink(t testing.TB, script func(n int, r *Request) Answer) *Sink {
	t.Helper()
	s := &Sink{over: t.Context().Done(), script: script, effects: map[string]int{}, tries: map[string]int{}}
	s.changed = sync.NewCond(&s.mu)
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.server.URL
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// Script replaces what the sink answers from now on.
func (s *Sink) Script(script func(n int, r *Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

func (s *Sink) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller left before the request was whole
	}
	req, answer := s.record(&Request{
		Time: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), Host: r.Host, Header: r.Header.Clone(), Body: body,
	})
	if answer.Hold != nil {
		left := r.Context().Done()
		if answer.Act {
			left = s.over
		}
		select {
		case <-answer.Hold:
		case <-left:
		}
	}
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	s.settle(req, answer)
	if answer.Abort {
		panic(http.ErrAbortHandler)
	}
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.Status)
	say(w, answer.Body)
}

func (s *Sink) record(r *Request) (*Request, Answer) {
	s.mu.Lock()
	s.all = append(s.all, r)
	r.N = len(s.all)
	s.tries[r.Key()]++
	s.open++
	s.most = max(s.most, s.open)
	script := s.script
	s.changed.Broadcast()
	s.mu.Unlock()
	if script == nil {
		return r, Answer{}
	}
	return r, script(r.N, r)
}

func (s *Sink) settle(r *Request, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if (!a.Abort || a.Act) && a.Status >= 200 && a.Status < 300 {
		s.effects[r.Key()]++
	}
	s.changed.Broadcast()
}

// Effects is the number of keys that were answered 2xx.
func (s *Sink) Effects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.effects)
}

// Repeats is the number of 2xx answers beyond the first of each key: what a
// destination without a ledger would have done twice.
func (s *Sink) Repeats() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, times := range s.effects {
		n += times - 1
	}
	return n
}

// Done is how often a key had its effect: what the sink says when it is asked.
func (s *Sink) Done(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[key]
}

// Attempts is the number of requests that carried key.
func (s *Sink) Attempts(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries[key]
}

// Most is the largest number of requests that were open at one time.
func (s *Sink) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Requests returns what has arrived so far.
func (s *Sink) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.all...)
}

// WaitFor returns when done says so about the requests so far, and fails the
// test when that takes longer than the deadline.
func (s *Sink) WaitFor(t testing.TB, deadline time.Duration, what string, done func(all []*Request) bool) {
	t.Helper()
	var late bool
	timer := time.AfterFunc(deadline, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done(s.all) {
		if late {
			t.Fatalf("sink: %s did not happen within %s; got %s", what, deadline, summary(s.all, len(s.effects)))
		}
		s.changed.Wait()
	}
}

// WaitEffects waits until n keys have been answered 2xx.
func (s *Sink) WaitEffects(t testing.TB, deadline time.Duration, n int) {
	t.Helper()
	s.WaitFor(t, deadline, fmt.Sprintf("%d effects", n), func([]*Request) bool { return len(s.effects) >= n })
}

func summary(all []*Request, effects int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, %d effects", len(all), effects)
	for _, r := range all[max(0, len(all)-3):] {
		fmt.Fprintf(&b, "\n  %d %s %s key %s attempt %s, %d bytes", r.N, r.Method, r.Path, r.Key(), r.Header.Get("Onceward-Attempt"), len(r.Body))
	}
	return b.String()
}
