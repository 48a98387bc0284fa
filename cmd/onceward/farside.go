package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// farSide is a destination that does what a careful one should: it applies a
// call once for each Idempotency-Key and remembers what it answered. dev shows
// its calls, demo counts its effects.
type farSide struct {
	listener net.Listener
	server   *http.Server
	onCall   func(farCall)

	mu      sync.Mutex
	changed *sync.Cond
	calls   int
	applied map[string]string // key → event
	repeats int
	fails   int // of each ten first calls, how many are answered 503
	refused map[string]bool
	hold    bool // apply, but do not answer
	held    int
	free    chan struct{}
}

type farCall struct {
	at                                   time.Time
	event, operation, kind, attempt, key string
	repeat                               bool
	bytes                                int
}

func (c farCall) String() string {
	what := "effect"
	if c.repeat {
		what = "repeat, not applied again"
	}
	return fmt.Sprintf("%s  %s  %s  attempt %s  %s  %d bytes  %s", c.at.Format("15:04:05.000"), c.event, c.kind, c.attempt, c.key, c.bytes, what)
}

func newFarSide(address string) (*farSide, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("echo destination: %w", err)
	}
	f := &farSide{listener: listener, applied: map[string]string{}, refused: map[string]bool{}, free: make(chan struct{})}
	f.changed = sync.NewCond(&f.mu)
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: headerTimeout}
	go func() {
		if err := f.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.changed.Broadcast()
		}
	}()
	return f, nil
}

const headerTimeout = 5 * time.Second

func (f *farSide) url() string { return "http://" + f.listener.Addr().String() }

func (f *farSide) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if f.server.Shutdown(ctx) != nil {
		_ = f.server.Close() // whoever is still connected is cut
	}
}

// ServeHTTP applies a call unless its key is known.
func (f *farSide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the call broke off; nothing was applied
	}
	key := r.Header.Get("Idempotency-Key")
	call := farCall{
		at: time.Now(), event: r.Header.Get("Onceward-Event"), operation: r.Header.Get("Onceward-Operation"),
		kind: r.Header.Get("Onceward-Type"), attempt: r.Header.Get("Onceward-Attempt"), key: key, bytes: len(body),
	}
	f.mu.Lock()
	f.calls++
	if f.fails > 0 && !f.refused[key] && f.applied[key] == "" {
		f.refused[key] = true
		if len(f.refused)%10 < f.fails {
			f.mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	}
	_, call.repeat = f.applied[key]
	if call.repeat {
		f.repeats++
	} else {
		f.applied[key] = call.event
	}
	holding, free := f.hold, f.free
	if holding {
		f.held++
	}
	f.changed.Broadcast()
	f.mu.Unlock()
	if holding {
		// The effect is there and its answer never arrives: the worst moment.
		select {
		case <-free:
		case <-r.Context().Done():
		}
		return
	}
	if f.onCall != nil {
		f.onCall(call)
	}
	w.Header().Set("Onceward-Result", "far-"+key[max(len(key)-8, 0):])
	w.WriteHeader(http.StatusOK)
}
