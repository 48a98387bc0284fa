package torture

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
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

// TestADiskThatTakesNothing: no write succeeds any more, or the file may not
// grow. Senders are told to come back, and when there is room again everything
// goes on, without a restart.
func TestADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	s := newSiege(t)
	events := 0
	for _, limit := range []struct {
		name  string
		bytes uint64
	}{{"a disk that takes no write", 0}, {"a file that cannot grow", s.g.size("onceward.db") + 64<<10}} {
		s.deliver(events)
		events++
		if err := limitFiles(s.g.pid(), limit.bytes); err != nil {
			t.Fatal(err)
		}
		var refused atomic.Int64
		s.together(events, func(n int) {
			switch status, err := s.post(n); {
			case err == nil && status == http.StatusServiceUnavailable:
				refused.Add(1)
			case err == nil && status == http.StatusOK: // there was room yet
			default:
				t.Errorf("%s: event %d was answered %d, %v", limit.name, n, status, err)
			}
		})
		if refused.Load() == 0 {
			t.Errorf("%s: nothing was refused", limit.name)
		}
		if err := limitFiles(s.g.pid(), ^uint64(0)); err != nil {
			t.Fatal(err)
		}
		s.together(events, s.deliver)
		events += crowd
	}
	s.audit("disk", events, "no write succeeds; the file may not grow")
}

const crowd = 40

// together does something about a crowd of events at once.
func (s *siege) together(first int, do func(n int)) {
	var all sync.WaitGroup
	for n := range crowd {
		all.Go(func() { do(first + n) })
	}
	all.Wait()
}

func (g *gateway) pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cmd.Process.Pid
}

// size is that of one of the gateway's files.
func (g *gateway) size(name string) uint64 {
	g.t.Helper()
	info, err := os.Stat(g.path(name))
	if err != nil {
		g.t.Fatal(err)
	}
	return uint64(info.Size())
}
