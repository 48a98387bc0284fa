package torture

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
)

var gapKills = flag.Int("gaps.kills", 32, "kills over all gaps")

const gapConfig = `
sources:
  pay: {provider: stripe, secrets: [%q]}
destinations:
  shop: {url: %q, effect: keyed, timeout: 2s, allow_private: true, result: "header:Onceward-Result", retry: {attempts: 1000, first: 20ms, max: 200ms}}
  press: {url: %q, effect: unsafe, timeout: 2s, allow_private: true, result: "header:Onceward-Result"}
  bank: {url: %q, effect: lookup, timeout: 2s, allow_private: true, result: "header:Onceward-Result", lookup: {url: "%[4]s/by-key/{key}", settle: 300ms, first: 20ms, max: 200ms}}
  crm: {url: %q, effect: lookup, timeout: 2s, allow_private: true, result: "header:Onceward-Result", lookup: {url: "%[5]s/by-key/{key}", settle: 300ms, first: 20ms, max: 200ms}}
  mail: {url: %q, effect: keyed, timeout: 2s, allow_private: true, result: "header:Onceward-Result", retry: {attempts: 1000, first: 20ms, max: 200ms}}
operations:
  fulfil: {source: pay, destination: shop, lease: 3s}
  print: {source: pay, destination: press, lease: 3s}
  book: {source: pay, destination: bank, lease: 3s}
  onboard:
    source: pay
    lease: 3s
    steps: [{name: account, destination: crm}, {name: welcome, destination: mail}]
sweep: {every: 200ms}
log: {level: error}
`

// siege is a gateway, its senders and its destinations, and a gap at which the
// process is killed next.
type siege struct {
	*testing.T
	g      *gateway
	source *provider.Source
	peers  map[string]*peer

	mu     sync.Mutex
	armed  string
	killed chan struct{}

	acknowledged atomic.Int64
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	s := &siege{T: t, peers: map[string]*peer{}}
	for name, class := range map[string]string{"shop": "keyed", "press": "unsafe", "bank": "lookup", "crm": "lookup", "mail": "keyed"} {
		p := newPeer(t, name, class)
		p.before = func(*http.Request) (lost bool) {
			s.at(name + " received, acts later")
			if s.isArmed(name+" is asked") || s.isArmed(name+" has said what it knows") {
				return true // so that its outcome is unknown
			}
			return s.at(name + " received, never acts")
		}
		p.acted = func(*http.Request) { s.at(name + " acted") }
		p.answered = func(*http.Request) { s.at(name + " answered") }
		p.question = func() { s.at(name + " is asked") }
		p.told = func() { s.at(name + " has said what it knows") }
		s.peers[name] = p
	}
	s.source = stripe(t)
	p := s.peers
	s.g = newGateway(t, fmt.Sprintf(gapConfig, secret, p["shop"].url, p["press"].url, p["bank"].url, p["crm"].url, p["mail"].url))
	return s
}

func stripe(t *testing.T) *provider.Source {
	t.Helper()
	source, err := provider.New(provider.Options{Provider: "stripe", SourceID: "pay", Secrets: []provider.Secret{{Label: "s", Value: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// arm makes the process be killed when the gap is reached next.
func (s *siege) arm(gap string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.killed = gap, make(chan struct{})
	return s.killed
}

// at kills the process when this is the gap, and reports it. The process is
// dead when it returns.
func (s *siege) at(gap string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed != gap {
		return false
	}
	s.armed = ""
	s.g.kill()
	close(s.killed)
	return true
}

// deliver sends one event until it is acknowledged, byte by byte under our
// eyes.
func (s *siege) deliver(n int) {
	for end := time.Now().Add(time.Minute); ; {
		status, err := s.post(n)
		if err == nil && status == http.StatusOK {
			s.acknowledged.Add(1)
			return
		}
		if err == nil && status < 500 && status != http.StatusTooManyRequests || time.Now().After(end) {
			s.Errorf("event %d: %d, %v", n, status, err)
			return
		}
	}
}

func (s *siege) post(n int) (status int, err error) {
	request := s.source.Sample(fmt.Sprintf("evt_gap_%06d", n), n)
	request.Now = time.Now()
	if err := s.source.Sign(request); err != nil {
		return 0, err
	}
	conn, err := net.Dial("tcp", s.g.intake)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	var head strings.Builder
	fmt.Fprintf(&head, "POST /in/pay HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n", s.g.intake, len(request.Body))
	_ = request.Header.Write(&head)
	head.WriteString("\r\n")
	half := len(request.Body) / 2
	if _, err := io.WriteString(conn, head.String()+string(request.Body[:half])); err != nil {
		return 0, err
	}
	s.at("half of the delivery is sent")
	if _, err := conn.Write(request.Body[half:]); err != nil {
		return 0, err
	}
	s.shortly("the delivery is sent")
	answer := bufio.NewReader(conn)
	if _, err := answer.Peek(1); err != nil {
		return 0, err
	}
	s.at("the 2xx begins to arrive")
	response, err := http.ReadResponse(answer, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func (s *siege) isArmed(gap string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed == gap
}

// shortly is at, a random moment later: the commit is somewhere in it.
func (s *siege) shortly(gap string) {
	if s.isArmed(gap) {
		go func() {
			<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
			s.at(gap)
		}()
	}
}

// gap is a place to be killed at. Its number is that of the table in
// docs/reliability.md.
type gap struct {
	name  string
	after time.Duration // killed at a random moment within this time, instead
}

func gaps() []gap {
	all := []gap{
		{name: "half of the delivery is sent"},
		{name: "the delivery is sent"},
		{name: "the 2xx begins to arrive"},
	}
	for _, name := range []string{"shop", "press", "bank", "crm", "mail"} {
		for _, moment := range []string{" received, never acts", " received, acts later", " acted", " answered"} {
			all = append(all, gap{name: name + moment})
		}
	}
	return append(all,
		gap{name: "bank is asked"}, gap{name: "bank has said what it knows"},
		gap{name: "any moment under load", after: 30 * time.Millisecond},
		gap{name: "any moment of a stop", after: 5 * time.Millisecond},
		gap{name: "any moment of a start", after: 60 * time.Millisecond},
	)
}

// round sends some events, is killed at the gap, and starts again.
func (s *siege) round(g gap, first, events int) {
	var senders sync.WaitGroup
	killed := s.arm(g.name)
	for n := range events {
		senders.Go(func() { s.deliver(first + n) })
	}
	limit := 10 * time.Second // of a gap that is not reached
	if g.after > 0 {
		limit = time.Duration(rand.Int64N(int64(g.after)))
	}
	if g.name == "any moment of a stop" {
		s.g.signal(syscall.SIGTERM)
	}
	select {
	case <-killed:
	case <-time.After(limit):
		if g.after == 0 {
			s.Errorf("the gap %q was not reached within %s", g.name, limit)
		}
		if !s.at(g.name) {
			<-killed
		}
	}
	if g.name == "any moment of a start" {
		s.g.launch()
		<-time.After(time.Duration(rand.Int64N(int64(g.after))))
		s.g.kill()
	}
	s.g.start()
	senders.Wait()
}

// TestKillsAtEveryGap kills the process with SIGKILL at every numbered gap, in
// turn, under deliveries to five destinations of three classes, and audits what
// became of everything. (Cases 47 to 49, 59, 60, 91.)
func TestKillsAtEveryGap(t *testing.T) {
	s := newSiege(t)
	all := gaps()
	const each = 2
	events := 0
	counted := map[string]int{}
	for n := range *gapKills {
		g := all[n%len(all)]
		s.round(g, events, each)
		counted[g.name]++
		events += each
	}
	if s.g.kills < *gapKills*9/10 {
		t.Errorf("%d processes died of SIGKILL in %d rounds", s.g.kills, *gapKills)
	}
	s.audit("kills", events, fmt.Sprintf("%d rounds, %d processes that died of SIGKILL", *gapKills, s.g.kills))
	table := &strings.Builder{}
	fmt.Fprintf(table, "| gap | rounds |\n|---|---|\n")
	for i, g := range all {
		fmt.Fprintf(table, "| %d %s | %d |\n", i+1, g.name, counted[g.name])
	}
	report(t, "gaps", table.String())
}

var operations = []string{"fulfil", "print", "book", "onboard"}

// rest waits until everything has come to an end or waits for a person, and
// returns how much has not.
func (s *siege) rest(events int) (stuck int) {
	s.Helper()
	open := func() (n int) {
		for _, name := range operations {
			got := s.g.counters(name)
			n += events - got["completed"] - got["dead_lettered"] - got["quarantined"]
			if name == "print" {
				n -= got["unknown_outcome"]
			}
		}
		return n
	}
	for end := time.Now().Add(2 * time.Minute); open() > 0 && time.Now().Before(end); {
		<-time.After(20 * time.Millisecond)
	}
	return open()
}

// audit compares the rows with what the destinations know, when all is at rest.
func (s *siege) audit(name string, events int, what string) {
	s.Helper()
	if n := int(s.acknowledged.Load()); n != events {
		s.Errorf("%d of %d events were acknowledged", n, events)
	}
	stuck := s.rest(events)
	operation := map[string]string{"shop": "fulfil", "press": "print", "bank": "book", "crm": "onboard", "mail": "onboard"}
	print := s.g.states("print")
	unknown := print["unknown_outcome"]
	table := &strings.Builder{}
	fmt.Fprintf(table, "| destination | class | events | effects | calls | lost | duplicated | unknown, for a person |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range []string{"shop", "press", "bank", "crm", "mail"} {
		p := s.peers[name]
		effects, repeated := p.audit()
		// What is completed without an effect of its own is lost, and so is what
		// has no row. What is not known may not have happened, and says so.
		rows := s.g.rows(operation[name])
		lost, parked := p.without(rows["completed"])+events-len(rows["completed"])-len(rows["unknown_outcome"]), len(rows["unknown_outcome"])
		if name == "press" {
			if p.mostRequests() > 1 {
				s.Errorf("the unsafe destination was called %d times about one operation", p.mostRequests())
			}
			if effects > events {
				s.Errorf("%d prints of %d events", effects, events)
			}
		}
		fmt.Fprintf(table, "| %s | %s | %d | %d | %d | %d | %d | %d |\n", name, p.class, events, effects, p.total(), lost, repeated, parked)
		if lost != 0 || repeated != 0 {
			s.Errorf("%s (%s): %d lost, %d duplicated", name, p.class, lost, repeated)
		}
	}
	if recorded, _ := s.g.events(); stuck != 0 || recorded != events || print["completed"]+unknown != events {
		s.Errorf("%d operations are stuck; %d of %d events recorded; prints %v", stuck, recorded, events, print)
	}
	for _, name := range []string{"fulfil", "book", "onboard"} {
		if got := s.g.states(name); got["completed"] != events || len(got) != 1 {
			s.Errorf("%s: %v, want %d completed", name, got, events)
		}
	}
	fmt.Fprintf(table, "\n%s: %d events, %d operations, %d stuck.\n", what, events, events*len(operations), stuck)
	report(s.T, name, table.String())
}
