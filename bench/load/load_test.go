package load_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/bench/load"
)

// numbered writes requests that name their number.
type numbered struct{}

func (numbered) Request(n int64) []byte {
	body := fmt.Sprint(n)
	return fmt.Appendf(nil, "POST /in HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func requests() load.Requests { return numbered{} }

// tally is a server that counts how often each request came.
type tally struct {
	mu    sync.Mutex
	seen  map[string]int
	peers map[string]bool
	*httptest.Server
}

func newTally(t *testing.T, answer func(w http.ResponseWriter, body string)) *tally {
	t.Helper()
	s := &tally{seen: map[string]int{}, peers: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.seen[string(body)]++
		s.peers[r.RemoteAddr] = true
		s.mu.Unlock()
		if answer != nil {
			answer(w, string(body))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *tally) address() string { return s.Listener.Addr().String() }

func run(t *testing.T, o load.Options) *load.Result {
	t.Helper()
	o.Requests = requests
	r, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClosedLoop(t *testing.T) {
	t.Run("sends every request once, over as many connections as told", func(t *testing.T) {
		s := newTally(t, nil)
		r := run(t, load.Options{Address: s.address(), Connections: 8, Count: 500, First: 1000})
		if r.Sent != 500 || r.Taken != 500 || r.Accepted != 500 || r.Lost != 0 || r.NotAccepted() != 0 {
			t.Errorf("%+v", r)
		}
		for n := 1000; n < 1500; n++ {
			if s.seen[fmt.Sprint(n)] != 1 {
				t.Fatalf("request %d came %d times", n, s.seen[fmt.Sprint(n)])
			}
		}
		if len(s.seen) != 500 || len(s.peers) > 8 {
			t.Errorf("%d requests over %d connections", len(s.seen), len(s.peers))
		}
		if r.Rate() <= 0 || r.Latency(0.5) <= 0 || r.Latency(1) < r.Latency(0.5) || r.Latency(0) > r.Latency(0.5) {
			t.Errorf("rate %v, latencies %v %v %v", r.Rate(), r.Latency(0), r.Latency(0.5), r.Latency(1))
		}
	})

	t.Run("sends every copy, and no more", func(t *testing.T) {
		s := newTally(t, nil)
		r := run(t, load.Options{Address: s.address(), Connections: 8, Copies: 10, Count: 300})
		for n := range 30 {
			if s.seen[fmt.Sprint(n)] != 10 {
				t.Errorf("request %d came %d times", n, s.seen[fmt.Sprint(n)])
			}
		}
		if r.Taken != 300 || len(s.seen) != 30 {
			t.Errorf("%d taken, %d different", r.Taken, len(s.seen))
		}
	})

	t.Run("sends the copies of a request at once", func(t *testing.T) {
		together := make(chan struct{})
		var mu sync.Mutex
		waiting := 0
		s := newTally(t, func(http.ResponseWriter, string) {
			mu.Lock()
			if waiting++; waiting == 4 {
				close(together) // nobody is answered before all four are here
			}
			mu.Unlock()
			<-together
		})
		if r := run(t, load.Options{Address: s.address(), Connections: 4, Copies: 4, Count: 4}); r.Taken != 4 || s.seen["0"] != 4 {
			t.Errorf("%d taken, %v", r.Taken, s.seen)
		}
	})

	t.Run("ends when its time is over", func(t *testing.T) {
		s := newTally(t, nil)
		r := run(t, load.Options{Address: s.address(), Connections: 2, Warmup: time.Millisecond, Duration: 20 * time.Millisecond})
		if r.Accepted > r.Taken || r.Taken != r.Sent || r.Elapsed <= 0 || r.Elapsed > 20*time.Millisecond {
			t.Errorf("%+v", r)
		}
	})

	t.Run("counts what was refused by its status", func(t *testing.T) {
		s := newTally(t, func(w http.ResponseWriter, body string) {
			if strings.HasSuffix(body, "7") {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		r := run(t, load.Options{Address: s.address(), Connections: 3, Count: 100})
		if r.Accepted != 90 || r.Refused[503] != 10 || len(r.Refused) != 1 || r.NotAccepted() != 10 {
			t.Errorf("%+v", r)
		}
	})
}

func TestOpenLoop(t *testing.T) {
	t.Run("due times follow from the start alone", func(t *testing.T) {
		start := time.Unix(1_700_000_000, 0)
		for _, c := range []struct {
			rate float64
			n    int64
			want time.Duration
		}{
			{200, 0, 0},
			{200, 1, 5 * time.Millisecond},
			{1000, 10_000, 10 * time.Second},
			{3, 3_000_000, 1_000_000 * time.Second},
		} {
			if got := load.Due(start, c.rate, c.n).Sub(start); got != c.want {
				t.Errorf("delivery %d at %v/s is due after %v, want %v", c.n, c.rate, got, c.want)
			}
		}
	})

	t.Run("sends what is due and nothing after the end", func(t *testing.T) {
		s := newTally(t, nil)
		r := run(t, load.Options{Address: s.address(), Connections: 4, Rate: 2000, Warmup: 10 * time.Millisecond, Duration: 50 * time.Millisecond})
		if r.Taken != 120 || len(s.seen) != 120 || r.Accepted != 100 {
			t.Errorf("%d taken, %d different, %d measured; want 120, 120, 100", r.Taken, len(s.seen), r.Accepted)
		}
	})

	t.Run("the wait for a free connection belongs to the latency", func(t *testing.T) {
		s := newTally(t, func(_ http.ResponseWriter, body string) {
			if body == "0" {
				<-time.After(30 * time.Millisecond) // the requests after this one are due meanwhile
			}
		})
		r := run(t, load.Options{Address: s.address(), Connections: 1, Rate: 1000, Count: 20, Duration: time.Minute})
		if r.Taken != 20 {
			t.Fatalf("%d taken, want 20", r.Taken)
		}
		for _, q := range []float64{0, 0.5, 1} {
			if r.Latency(q) < r.Lateness(q) {
				t.Errorf("at %v the latency is %v, less than the %v that requests waited", q, r.Latency(q), r.Lateness(q))
			}
		}
		if r.Lateness(0.5) < 5*time.Millisecond { // ten of the requests were due at least that long before the first answer
			t.Errorf("half of the requests waited at most %v for a server that stood still", r.Lateness(0.5))
		}
	})
}

// raw is a server that answers each request on a connection by a text, and
// then closes it.
func raw(t *testing.T, answers ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer := make([]byte, 4096)
				for _, a := range answers {
					if _, err := c.Read(buffer); err != nil {
						return
					}
					if _, err := io.WriteString(c, a); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestFaults(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

	t.Run("a connection that the server ends is opened again", func(t *testing.T) {
		address := raw(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		if r := run(t, load.Options{Address: address, Connections: 2, Count: 20}); r.Taken != 20 || r.Lost != 0 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("an answer that breaks off is lost, and not a delivery that was taken", func(t *testing.T) {
		address := raw(t, ok, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhel")
		r := run(t, load.Options{Address: address, Connections: 1, Count: 10})
		if r.Taken != 5 || r.Lost != 5 || r.NotAccepted() != 5 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("no server is an error", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := load.Run(t.Context(), load.Options{Address: l.Addr().String(), Requests: requests, Count: 1}); err == nil {
			t.Error("no error")
		}
	})

	t.Run("no end is an error", func(t *testing.T) {
		if _, err := load.Run(t.Context(), load.Options{Address: "127.0.0.1:1", Requests: requests}); err == nil {
			t.Error("no error")
		}
	})

	for name, rate := range map[string]float64{"a closed loop": 0, "an open loop": 1000} {
		t.Run(name+" ends with its context although the server is silent", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := newTally(t, func(http.ResponseWriter, string) {
				cancel()
				<-t.Context().Done()
			})
			_, err := load.Run(ctx, load.Options{Address: s.address(), Connections: 3, Requests: requests, Rate: rate, Duration: time.Minute})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
}
