package intake_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/provider"
)

// unsized hides how long a body is, as a chunked one does.
type unsized struct{ io.Reader }

func TestABodyIsTakenUpToItsLimit(t *testing.T) {
	const limit = 200_000 // beyond what is set aside at first
	for name, c := range map[string]struct {
		size    int
		chunked bool
		code    int
	}{
		"shorter":               {limit - 1, false, 200},
		"shorter, chunked":      {limit - 1, true, 200},
		"exactly":               {limit, false, 200},
		"exactly, chunked":      {limit, true, 200},
		"one too many":          {limit + 1, false, 413},
		"one too many, chunked": {limit + 1, true, 413},
		"far too many, chunked": {limit * 10, true, 413},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) {
				r.source.MaxBody = limit
				r.options.MaxBytes = limit + 2
			})
			body := `{"id":"e1","type":"order.x","pad":"` + strings.Repeat("x", c.size-37) + `"}`
			for range 3 { // what was counted for it is given back
				q := r.signed(body)
				if c.chunked {
					q.Body, q.ContentLength = io.NopCloser(unsized{q.Body}), -1
				}
				a := r.send(q)
				if a.StatusCode != c.code {
					t.Fatalf("%d bytes: answered %d %s, want %d", len(body), a.StatusCode, a.text, c.code)
				}
				if c.code == 413 {
					a.refused(t, 413, "too-large")
					if a.Header.Get("Connection") != "close" {
						t.Error("the connection stays open behind an unread body")
					}
				}
			}
			if c.code == 413 {
				r.counted("too_large", "too_large", "too_large")
				if r.store.called() != 0 {
					t.Errorf("%d store calls", r.store.called())
				}
			} else if got := r.store.admissions[0].Arrivals[0].Raw; string(got) != body {
				t.Errorf("%d bytes were recorded of %d", len(got), len(body))
			}
		})
	}
}

func TestContentCodings(t *testing.T) {
	for coding, code := range map[string]int{"br": 415, "gzip, gzip": 415, "deflate": 415, "identity": 200, "gzip": 200, "": 200} {
		t.Run("coding "+coding, func(t *testing.T) {
			r := newRig(t, shop())
			body := paid
			if coding == "gzip" {
				body = string(gzipped(t, paid, 1))
			}
			q := r.signed(body)
			if coding != "" {
				q.Header.Set("Content-Encoding", coding)
			}
			a := r.send(q)
			if code == 200 {
				a.want(t, 200, "accepted")
				return
			}
			a.refused(t, 415, "unsupported-encoding")
			r.counted("malformed")
		})
	}
	t.Run("two headers", func(t *testing.T) {
		r := newRig(t, shop())
		r.deliver(paid, "Content-Encoding", "identity", "Content-Encoding", "gzip").refused(t, 415, "unsupported-encoding")
	})
}

func TestABodyThatBreaksOffIsNotRecorded(t *testing.T) {
	r := newRig(t, shop())
	q := r.signed(paid)
	q.Body = io.NopCloser(io.MultiReader(strings.NewReader(paid[:10]), broken{}))
	r.send(q).refused(t, 400, "incomplete")
	r.counted("malformed")
	if r.store.called() != 0 {
		t.Error("the store was asked")
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestABodyThatStallsIsGivenUp(t *testing.T) {
	r := newRig(t, shop())
	server := httptest.NewUnstartedServer(r.handler)
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST /in/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"id\""); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	read(t, response).refused(t, 408, "too-slow")
	r.counted("malformed")
	if r.store.called() != 0 {
		t.Error("the store was asked")
	}
}

// gate is a body whose end comes only when it is let through.
type gate struct {
	io.Reader
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if n == 0 {
		g.reached <- struct{}{}
		<-g.open
	}
	return n, err
}

func (g *gate) Close() error { return nil }

// occupied sends one delivery whose body does not end, calls then, lets it end
// and returns its answer.
func (r *rig) occupied(then func()) answer {
	q := r.signed(paid)
	g := &gate{bytes.NewReader([]byte(paid)), make(chan struct{}), make(chan struct{})}
	q.Body, q.ContentLength = g, -1
	done := make(chan *http.Response)
	go func() {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		done <- w.Result()
	}()
	<-g.reached
	then()
	close(g.open)
	return read(r.T, <-done)
}

func TestTooMuchAtOnceIsToldToComeBack(t *testing.T) {
	for name, limit := range map[string]func(*intake.Options){
		"requests": func(o *intake.Options) { o.MaxRequests = 1 },
		"bytes":    func(o *intake.Options) { o.MaxBytes = 64<<10 + 10 }, // the room of one unsized body
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) { limit(&r.options) })
			for range 3 { // the places of both come back every time
				r.occupied(func() {
					for range 5 {
						a := r.deliver(paid)
						a.refused(t, http.StatusTooManyRequests, "overloaded")
						if a.Header.Get("Retry-After") != "1" {
							t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
						}
					}
				})
				if a := r.deliver(paid); a.StatusCode != 200 {
					t.Fatalf("when there was room again: %d %s", a.StatusCode, a.text)
				}
			}
			if n := len(r.store.admissions); n != 6 {
				t.Errorf("%d admissions, want 6", n)
			}
			if r.statuses[0] != "overloaded" {
				t.Errorf("counted %q", r.statuses)
			}
		})
	}
}

// Sentry repeats nothing that was answered 4xx, so what is over in a moment
// must not be.
func TestWhatIsOverInAMomentIsNo4xxToWhomThatIsFinal(t *testing.T) {
	sentry := provider.Options{Provider: "sentry", SourceID: "shop", Secrets: []provider.Secret{{Label: "secret 1", Value: sharedSecret}}}
	r := newRig(t, sentry, func(r *rig) { r.options.MaxRequests = 1 })
	r.occupied(func() {
		if a := r.deliver(paid); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "1" {
			t.Errorf("overload is answered %d, Retry-After %q", a.StatusCode, a.Header.Get("Retry-After"))
		}
	})
}

func TestAnAnnouncedLengthHoldsNoMemory(t *testing.T) {
	r := newRig(t, shop(), func(r *rig) {
		r.source.MaxBody = 1 << 40
		r.options.MaxBytes = 128 << 10
	})
	q := r.signed(paid)
	q.ContentLength = 1 << 40
	if a := r.send(q); a.StatusCode == 429 {
		t.Errorf("the announced length was counted: %s", a.text)
	}
}

// gzipped compresses text; the same text at another level is other bytes.
func gzipped(t *testing.T, text string, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
