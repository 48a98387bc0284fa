package forward_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

// TestAFreshConnectionThatBreaks is case 98: what left decides.
func TestAFreshConnectionThatBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		fault   testkit.Fault
		timeout time.Duration
		kind    forward.Kind
		reason  string
	}{
		"reset after the request is ambiguous":         {testkit.ResetAfterRequest, 0, forward.Ambiguous, "reset after the request was written"},
		"close after the request is ambiguous":         {testkit.CloseAfterRequest, 0, forward.Ambiguous, "connection closed after the request was written"},
		"no answer is ambiguous":                       {testkit.NeverAnswer, 50 * time.Millisecond, forward.Ambiguous, "timeout after the request was written"},
		"a peer that does not read is ambiguous":       {testkit.NeverRead, 50 * time.Millisecond, forward.Ambiguous, "timeout after the request was written"},
		"a malformed answer is ambiguous":              {testkit.Malformed, 0, forward.Ambiguous, "malformed answer"},
		"an informational status is not an answer":     {testkit.OnlyInformational, 0, forward.Ambiguous, "connection closed"},
		"reset in the head is ambiguous":               {testkit.ResetInHead, 0, forward.Ambiguous, "reset inside the answer's head"},
		"200 then reset in the body is completed":      {testkit.ResetInBody, 0, forward.Completed, "200 then reset in the body"},
		"200 then close in the body is completed":      {testkit.CloseInBody, 0, forward.Completed, "200 then connection closed in the body"},
		"200 then a dripping body is completed":        {testkit.Drip, 50 * time.Millisecond, forward.Completed, "200 then timeout in the body"},
		"200 and a close without notice are completed": {testkit.CloseIdle, 0, forward.Completed, ""},
	} {
		for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Lookup, onceward.Unsafe} {
			t.Run(name+" "+effect.String(), func(t *testing.T) {
				peer := testkit.NewPeer(t, always(test.fault))
				c := client(t, peer.URL, effect, func(d *forward.Destination, _ *forward.Options) {
					d.Result = "body:id"
					if test.timeout > 0 {
						d.Timeout = test.timeout
					}
				})
				a := do(c)
				check(t, a, test.kind, test.reason)
				if !a.Sent || a.Sends != 1 || a.Result != "" {
					t.Errorf("got %+v, want one request sent and no result", a)
				}
			})
		}
	}
}

func TestAConnectionThatNeverWasIsProof(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		a := do(client(t, testkit.RefusedURL(t), onceward.Unsafe))
		check(t, a, forward.NotApplied, "dial: connection refused")
		if a.Sent || a.Sends != 0 || a.Status != 0 {
			t.Errorf("got %+v, want nothing sent", a)
		}
	})
	t.Run("no such host", func(t *testing.T) {
		c := client(t, "http://destination.example", onceward.Unsafe, func(_ *forward.Destination, o *forward.Options) {
			o.Resolver = resolver(t, func(string) []net.IP { return nil })
		})
		check(t, do(c), forward.NotApplied, "dns: no such host")
	})
	t.Run("the name server is down", func(t *testing.T) {
		c := client(t, "http://destination.example", onceward.Unsafe, func(_ *forward.Destination, o *forward.Options) {
			o.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, net.UnknownNetworkError("down")
			}}
		})
		check(t, do(c), forward.NotApplied, "dns: ")
	})
	t.Run("cancelled before the call", func(t *testing.T) {
		peer := testkit.NewPeer(t, always(testkit.AnswerOK))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		check(t, client(t, peer.URL, onceward.Unsafe).Do(ctx, call()), forward.NotApplied, "the call was cancelled")
		if n := peer.Requests(); n != 0 {
			t.Errorf("the peer saw %d requests, want 0", n)
		}
	})
	t.Run("cancelled while the name is looked up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := client(t, "http://destination.example", onceward.Unsafe, func(_ *forward.Destination, o *forward.Options) {
			o.Resolver = &net.Resolver{PreferGo: true, Dial: func(dialing context.Context, _, _ string) (net.Conn, error) {
				cancel()
				<-dialing.Done()
				return nil, dialing.Err()
			}}
		})
		check(t, c.Do(ctx, call()), forward.NotApplied, "the call was cancelled")
	})
}

func TestCancellingAfterTheRequestIsAmbiguous(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
		cancel()
		return testkit.Answer{Hold: make(chan struct{})}
	})
	a := client(t, sink.URL, onceward.Unsafe).Do(ctx, call())
	check(t, a, forward.Ambiguous, "the call was cancelled after the request was written")
}

// TestAReusedConnectionThatDies is case 72: what we count is what the peer saw.
func TestAReusedConnectionThatDies(t *testing.T) {
	for name, test := range map[string]struct {
		effect   onceward.Effect
		body     string
		requests int
		kind     forward.Kind
	}{
		"keyed is sent again with the same key":             {onceward.Keyed, "{}", 3, forward.Completed},
		"keyed with an empty body is sent again":            {onceward.Keyed, "", 3, forward.Completed},
		"unsafe reaches the peer exactly once":              {onceward.Unsafe, "{}", 2, forward.Ambiguous},
		"unsafe with an empty body reaches it exactly once": {onceward.Unsafe, "", 2, forward.Ambiguous},
		"lookup reaches the peer exactly once":              {onceward.Lookup, "{}", 2, forward.Ambiguous},
		"lookup with an empty body reaches it exactly once": {onceward.Lookup, "", 2, forward.Ambiguous},
	} {
		for _, fault := range []testkit.Fault{testkit.ResetAfterRequest, testkit.CloseAfterRequest} {
			t.Run(name, func(t *testing.T) {
				peer := testkit.NewPeer(t, func(n int) testkit.Fault {
					if n == 2 {
						return fault
					}
					return testkit.AnswerOK
				})
				c := client(t, peer.URL, test.effect)
				body := func(c *forward.Call) { c.Payload.Body = []byte(test.body) }
				check(t, do(c, body), forward.Completed, "")
				a := do(c, body)
				check(t, a, test.kind, "")
				if n := peer.Requests(); n != test.requests {
					t.Errorf("the peer saw %d requests, want %d", n, test.requests)
				}
				if a.Sends != test.requests-1 {
					t.Errorf("the answer counts %d sends, the peer %d", a.Sends, test.requests-1)
				}
			})
		}
	}
}

func TestAKeptConnectionThatIsDeadCostsNothing(t *testing.T) {
	// The peer closes each connection after its answer. Whether the client
	// notices before or while it writes, the peer must see each call once and
	// the client must never claim more than it can prove.
	peer := testkit.NewPeer(t, always(testkit.CloseIdle))
	c := client(t, peer.URL, onceward.Unsafe)
	unknown := 0
	for range 50 {
		if a := do(c); a.Kind == forward.Ambiguous {
			unknown++
		} else {
			check(t, a, forward.Completed, "")
		}
	}
	if n := peer.Requests(); n < 50-unknown || n > 50 {
		t.Errorf("the peer saw %d requests of 50 calls, %d of them ambiguous", n, unknown)
	}
}

func TestTheMomentToSend(t *testing.T) {
	start := time.Now()
	for name, test := range map[string]struct {
		now  time.Time
		kind forward.Kind
		seen int
	}{
		"before it the call goes out":    {start, forward.Completed, 1},
		"after it nothing is written":    {start.Add(2 * time.Minute), forward.NotApplied, 0},
		"just after nothing is written":  {start.Add(time.Minute + 1), forward.NotApplied, 0},
		"at that very moment it is sent": {start.Add(time.Minute), forward.Completed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			c := client(t, sink.URL, onceward.Unsafe, func(_ *forward.Destination, o *forward.Options) {
				o.Now = func() time.Time { return test.now }
			})
			a := do(c, func(c *forward.Call) { c.SendBefore = start.Add(time.Minute) })
			check(t, a, test.kind, "")
			if n := len(sink.Requests()); n != test.seen {
				t.Errorf("the sink saw %d requests, want %d", n, test.seen)
			}
		})
	}
}

// TestAnOwnerFrozenWhileConnectingDoesNotSend is the second half of case 97.
func TestAnOwnerFrozenWhileConnectingDoesNotSend(t *testing.T) {
	// The clock jumps past the deadline while the connection is being made,
	// which is where a paused process would wake up.
	sink := testkit.NewSink(t, nil)
	var mu sync.Mutex
	now := time.Now()
	deadline := now.Add(time.Minute)
	c := client(t, "http://destination.example:"+port(t, sink.URL), onceward.Unsafe, func(_ *forward.Destination, o *forward.Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		o.Resolver = resolver(t, func(string) []net.IP {
			mu.Lock()
			defer mu.Unlock()
			now = deadline.Add(time.Second)
			return []net.IP{net.IPv4(127, 0, 0, 1)}
		})
	})
	a := do(c, func(c *forward.Call) { c.SendBefore = deadline })
	check(t, a, forward.NotApplied, "the moment to send had passed")
	if n := len(sink.Requests()); n != 0 || a.Sent {
		t.Errorf("the sink saw %d requests, the answer says sent=%v", n, a.Sent)
	}
}

func TestManyCallsAtOnceAreAccountedForApart(t *testing.T) {
	// Half of the requests are broken; each caller must learn its own fate.
	sink := testkit.NewSink(t, func(_ int, r *testkit.Request) testkit.Answer {
		return testkit.Answer{Abort: r.Header.Get("Onceward-Operation") == "breaks"}
	})
	c := client(t, sink.URL, onceward.Unsafe)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if i%2 == 0 {
				a := do(c)
				check(t, a, forward.Completed, "")
			} else {
				a := do(c, func(c *forward.Call) { c.Operation = "breaks" })
				check(t, a, forward.Ambiguous, "")
			}
		})
	}
	wg.Wait()
	if n := len(sink.Requests()); n != 64 {
		t.Errorf("the sink saw %d requests of 64 calls", n)
	}
}

func TestADeadDestinationHoldsNobodyElse(t *testing.T) {
	dead := testkit.NewPeer(t, always(testkit.NeverAnswer))
	sink := testkit.NewSink(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	hanging := client(t, dead.URL, onceward.Unsafe)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { check(t, hanging.Do(ctx, call()), forward.Ambiguous, "cancelled") })
	}
	healthy := client(t, sink.URL, onceward.Unsafe)
	for range 100 {
		check(t, do(healthy), forward.Completed, "")
	}
	for dead.Requests() < 100 {
		runtime.Gosched()
	}
	cancel()
	wg.Wait()
}
