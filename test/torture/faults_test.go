package torture

import (
	"flag"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

var pauses = flag.Int("pauses", 1, "pauses longer than a lease")

// TestAPauseLongerThanTheLease stops the process (SIGSTOP) while its calls are
// under way, for longer than their leases, and lets it go on. Each destination
// acts in the meantime. (Case 97, from the outside.)
func TestAPauseLongerThanTheLease(t *testing.T) {
	t.Parallel()
	s := newSiege(t)
	const each, lease = 4, 12 * time.Second // the timeout of 2 s, and its margins
	for n := range *pauses {
		release := make(chan struct{})
		var arrived sync.WaitGroup
		arrived.Add(4 * each) // all but the second step's
		for name, p := range s.peers {
			p.mu.Lock()
			p.before = func(*http.Request) bool { return false }
			if name != "mail" {
				p.before = func(r *http.Request) bool {
					if r.Header.Get("Onceward-Attempt") == "1" {
						arrived.Done()
						<-release
					}
					return false
				}
			}
			p.mu.Unlock()
		}
		for i := range each {
			s.deliver(n*each + i)
		}
		arrived.Wait()
		s.g.signal(syscall.SIGSTOP)
		<-time.After(lease + time.Second)
		close(release)
		s.g.signal(syscall.SIGCONT)
		s.rest((n + 1) * each)
	}
	s.audit("pause", *pauses*each, fmt.Sprintf("%d pauses of %s", *pauses, lease+time.Second))
}

// TestADestinationThatActsAfterOurTimeout: it takes the call, we give up, and
// then it acts.
func TestADestinationThatActsAfterOurTimeout(t *testing.T) {
	t.Parallel()
	s := newSiege(t)
	var mu sync.Mutex
	slow := map[string]bool{}
	for name, p := range s.peers {
		p.before = func(r *http.Request) bool {
			key := name + r.Header.Get("Idempotency-Key")
			mu.Lock()
			first := !slow[key]
			slow[key] = true
			mu.Unlock()
			if first {
				<-r.Context().Done() // we have given up
				<-time.After(50 * time.Millisecond)
			}
			return false
		}
	}
	const events = 8
	var senders sync.WaitGroup
	for n := range events {
		senders.Go(func() { s.deliver(n) })
	}
	senders.Wait()
	s.audit("slow", events, "every first call acts after our timeout")
	if got := s.g.states("print"); got["unknown_outcome"] != events {
		t.Errorf("prints %v; each was given up on, so none is known", got)
	}
}

const forgetfulConfig = `
sources:
  pay: {provider: stripe, secrets: [%q]}
destinations:
  shop: {url: %q, effect: keyed, key_memory: 1s, allow_private: true, timeout: 2s, retry: {attempts: 1000, first: 50ms, max: 200ms}}
operations:
  fulfil: {source: pay, destination: shop}
sweep: {every: 200ms}
log: {level: error}
`

// TestADestinationThatForgetsKeys: its answers never arrive, and it knows a key
// for a while only. When that is over, nothing is repeated. (Case 61.)
func TestADestinationThatForgetsKeys(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "shop", "keyed")
	p.forgets = 4 * time.Second // what is configured, and a margin for what is on its way
	p.acted = func(*http.Request) { panic(http.ErrAbortHandler) }
	s := &siege{T: t, source: stripe(t), peers: map[string]*peer{"shop": p}}
	s.g = newGateway(t, fmt.Sprintf(forgetfulConfig, secret, p.url))
	const events = 8
	for n := range events {
		s.deliver(n)
	}
	s.g.until(time.Minute, "an end of all", func() bool { return s.g.counters("fulfil")["unknown_outcome"] == events })
	calls := p.total()
	effects, repeated := p.audit()
	if effects != events || repeated != 0 || calls <= events || p.total() != calls {
		t.Errorf("%d effects, %d of them repeated, %d calls; want %d, 0 and repetitions in time", effects, repeated, calls, events)
	}
	report(t, "forgetful", fmt.Sprintf("| shop | keyed | %d | %d | %d | %d | %d | %d |\n", events, effects, calls, events-effects, repeated, events))
}
