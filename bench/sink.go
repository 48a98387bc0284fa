package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// sink is a destination that answers 200 and counts.
type sink struct {
	delay  time.Duration
	ids    bool
	bodies sync.Pool
	calls  atomic.Int64

	mu     sync.Mutex
	events map[string]int
}

// sinkCounts is what a sink saw.
type sinkCounts struct {
	Calls  int64          `json:"calls"`
	Events map[string]int `json:"events"` // calls by event id, where ids are kept
}

const sinkCountsPath = "/counts"

func newSink(delay time.Duration, ids bool) http.Handler {
	s := &sink{delay: delay, ids: ids, events: map[string]int{}}
	s.bodies.New = func() any { return new(bytes.Buffer) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+sinkCountsPath, s.counts)
	mux.HandleFunc("POST /", s.take)
	return mux
}

func (s *sink) take(_ http.ResponseWriter, r *http.Request) {
	b, _ := s.bodies.Get().(*bytes.Buffer)
	defer s.bodies.Put(b)
	b.Reset()
	if _, err := b.ReadFrom(io.LimitReader(r.Body, largestBody)); err != nil {
		return
	}
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
			return
		}
	}
	s.calls.Add(1)
	if s.ids {
		s.remember(b.Bytes())
	}
}

func (s *sink) remember(body []byte) {
	var event struct{ ID string }
	if err := json.Unmarshal(body, &event); err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[event.ID]++
}

func (s *sink) counts(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sinkCounts{s.calls.Load(), s.events}) // the reader may be gone
}
