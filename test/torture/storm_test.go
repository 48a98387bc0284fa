package torture

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/testkit"
	"github.com/onceward/onceward/provider"
)

var stormEvents = flag.Int("storm.events", 10_000, "events in a storm")

const (
	stormCopies  = 5
	stormSenders = 64
	secret       = "test-secret-not-real-03"
)

// storm sends copies of every event from parallel senders. Each delivery is
// repeated until it is acknowledged, as senders do.
type storm struct {
	t      *testing.T
	g      *gateway
	source *provider.Source
	client *http.Client
	sent   atomic.Int64 // acknowledged deliveries
}

func newStorm(t *testing.T, g *gateway) *storm {
	t.Helper()
	source, err := provider.New(provider.Options{Provider: "stripe", SourceID: "pay", Secrets: []provider.Secret{{Label: "s", Value: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	return &storm{t: t, g: g, source: source, client: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: stormSenders},
	}}
}

// run sends everything; at is told how many deliveries are acknowledged.
func (s *storm) run(events int, at func(sent int64)) {
	var wg sync.WaitGroup
	next := atomic.Int64{}
	for range stormSenders {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= events*stormCopies {
					return
				}
				// Copies are neighbours, so that they are in the air together.
				s.deliver(n / stormCopies)
				at(s.sent.Add(1))
			}
		})
	}
	wg.Wait()
}

func (s *storm) deliver(n int) {
	request := s.source.Sample(fmt.Sprintf("evt_storm_%06d", n), n)
	for end := time.Now().Add(3 * time.Minute); ; {
		request.Now = time.Now()
		if err := s.source.Sign(request); err != nil {
			s.t.Error(err)
			return
		}
		req, err := http.NewRequest(http.MethodPost, "http://"+s.g.intake+"/in/pay", bytes.NewReader(request.Body))
		if err != nil {
			s.t.Error(err)
			return
		}
		req.Header = request.Header.Clone()
		resp, err := s.client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
			if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
				s.t.Errorf("event %d was answered %d", n, resp.StatusCode)
				return
			}
		}
		if time.Now().After(end) {
			s.t.Errorf("event %d was never acknowledged", n)
			return
		}
	}
}

// flaky answers every fifth call 503, spread by key and turn.
func flaky(n int, r *testkit.Request) testkit.Answer {
	h := fnv.New32a()
	fmt.Fprint(h, r.Key(), n)
	if h.Sum32()%5 == 0 {
		return testkit.Answer{Status: http.StatusServiceUnavailable}
	}
	return testkit.Answer{}
}

const stormConfig = `
sources:
  pay: {provider: stripe, secrets: [%q]}
destinations:
  shop: {url: %q, effect: keyed, allow_private: true, retry: {attempts: 50, first: 20ms, max: 500ms}}
  press: {url: %q, effect: unsafe, allow_private: true}
operations:
  fulfil: {source: pay, destination: shop}
  print: {source: pay, destination: press}
log: {level: warn}
`

// TestStorm: every event has each of its effects once, whatever the copies and
// a destination that refuses a fifth of the calls.
func TestStorm(t *testing.T) {
	shop, press := testkit.NewSink(t, flaky), testkit.NewSink(t, nil)
	g := newGateway(t, fmt.Sprintf(stormConfig, secret, shop.URL, press.URL))
	s := newStorm(t, g)
	events := *stormEvents
	s.run(events, func(int64) {})
	g.settled(map[string]int{"fulfil": events, "print": events})
	shop.WaitEffects(t, time.Minute, events)
	if got, deliveries := g.events(); got != events || deliveries != events*stormCopies {
		t.Errorf("%d events and %d deliveries are recorded, want %d and %d", got, deliveries, events, events*stormCopies)
	}
	for name, sink := range map[string]*testkit.Sink{"shop": shop, "press": press} {
		if sink.Effects() != events || sink.Repeats() != 0 {
			t.Errorf("%s: %d effects and %d repeats, want %d and 0", name, sink.Effects(), sink.Repeats(), events)
		}
	}
	for _, operation := range []string{"fulfil", "print"} {
		if got := g.states(operation); got["completed"] != events || len(got) != 1 {
			t.Errorf("%s: %v, want %d completed", operation, got, events)
		}
	}
}

// TestStormWithKills: the same with kill -9 five times on the way. No
// acknowledged event is without its effect, a keyed destination sees repeats
// under the same key only, an unsafe one sees no operation twice, and what
// cannot be known is listed.
func TestStormWithKills(t *testing.T) {
	shop, press := testkit.NewSink(t, flaky), testkit.NewSink(t, nil)
	g := newGateway(t, fmt.Sprintf(stormConfig, secret, shop.URL, press.URL))
	s := newStorm(t, g)
	events := *stormEvents
	const kills = 5
	killed := make(chan struct{}, kills)
	var restarts sync.WaitGroup
	restarts.Go(func() {
		for range kills {
			<-killed
			g.kill()
			g.start()
		}
	})
	step := int64(events * stormCopies / (kills + 1))
	s.run(events, func(sent int64) {
		if sent%step == 0 && sent/step <= kills {
			killed <- struct{}{}
		}
	})
	restarts.Wait()
	g.settled(map[string]int{"fulfil": events, "print": events})

	if got, _ := g.events(); got != events {
		t.Errorf("%d events are recorded, want %d", got, events)
	}
	if shop.Effects() != events {
		t.Errorf("the shop has %d effects, want %d", shop.Effects(), events)
	}
	if got := g.states("fulfil"); got["completed"] != events || len(got) != 1 {
		t.Errorf("fulfil: %v, want %d completed", got, events)
	}
	oneKeyEach(t, shop, events)
	oneKeyEach(t, press, events)
	for _, r := range press.Requests() {
		if n := press.Attempts(r.Key()); n != 1 {
			t.Errorf("the press saw %s %d times", r.Key(), n)
		}
	}
	print := g.states("print")
	if print["completed"]+print["unknown_outcome"] != events || len(print) > 2 {
		t.Errorf("print: %v, want completed and unknown_outcome to make %d", print, events)
	}
	if press.Effects() < print["completed"] {
		t.Errorf("%d prints are recorded, the press did %d", print["completed"], press.Effects())
	}
	t.Logf("after %d kills: %d repeats at the shop, %d outcomes unknown at the press", kills, shop.Repeats(), print["unknown_outcome"])
}

// oneKeyEach checks that all calls about one event carry one key.
func oneKeyEach(t *testing.T, sink *testkit.Sink, events int) {
	t.Helper()
	keys := map[string]string{}
	for _, r := range sink.Requests() {
		event := r.Header.Get("Onceward-Event")
		if known, ok := keys[event]; ok && known != r.Key() {
			t.Errorf("event %s came under %s and %s", event, known, r.Key())
		}
		keys[event] = r.Key()
	}
	if len(keys) > events {
		t.Errorf("%d events reached the destination, more than the %d sent", len(keys), events)
	}
}

// settled waits until so many operations of each name have come to an end.
func (g *gateway) settled(want map[string]int) {
	g.t.Helper()
	for operation, n := range want {
		g.until(2*time.Minute, fmt.Sprintf("an end of %d operations %s", n, operation), func() bool {
			got := g.counters(operation)
			return got["completed"]+got["unknown_outcome"]+got["dead_lettered"] == n
		})
	}
}
