package script_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// tally counts answers by what they said.
type tally struct {
	mu sync.Mutex
	by map[string]int
}

func (t *tally) add(r reply, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]int{}
	}
	if err != nil {
		t.by["no answer"]++
		return
	}
	t.by[strings.TrimSpace(fmt.Sprint(r.status, " ", r.said()))]++
}

// print writes "STATUS VERDICT: COUNT" lines, and clears.
func (t *tally) print(ts *testscript.TestScript) {
	for _, said := range slices.Sorted(maps.Keys(t.by)) {
		fmt.Fprintf(ts.Stdout(), "%s: %d\n", said, t.by[said])
	}
}

// numbered fills in the copy's and the round's number.
func (m message) numbered(copies, round int) message {
	fill := strings.NewReplacer("{n}", strconv.Itoa(copies), "{round}", strconv.Itoa(round))
	m.sign.id = fill.Replace(m.sign.id)
	m.body = []byte(fill.Replace(string(m.body)))
	m.lines = slices.Clone(m.lines)
	for i := range m.lines {
		m.lines[i] = fill.Replace(m.lines[i])
	}
	return m
}

func ownConnection() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
}

func (m message) signed(ts *testscript.TestScript) message {
	lines, err := m.sign.lines(m.body)
	ts.Check(err)
	m.lines = append(m.lines, lines...)
	return m
}

// deliverCommand sends copies over as many connections, released together:
// deliver [-rounds N] copies source body [as post]. {n} and {round} in the id,
// the body and the headers become numbers from 1. It prints how often each
// answer came.
func deliverCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	rounds := 1
	if len(args) > 1 && args[0] == "-rounds" {
		var err error
		rounds, err = strconv.Atoi(args[1])
		ts.Check(err)
		args = args[2:]
	}
	usage(ts, len(args) >= 3, "deliver [-rounds N] copies source body …")
	copies, err := strconv.Atoi(args[0])
	ts.Check(err)
	m, intake := parseMessage(ts, args[1:]), ts.Getenv("INTAKE")
	clients := make([]*http.Client, copies)
	for i := range clients {
		clients[i] = ownConnection()
		defer clients[i].CloseIdleConnections()
	}
	var count tally
	for round := range rounds {
		together := make(chan struct{})
		var all sync.WaitGroup
		for i, client := range clients {
			one := m.numbered(i+1, round+1).signed(ts)
			all.Go(func() {
				<-together
				count.add(one.over(client, intake))
			})
		}
		close(together)
		all.Wait()
	}
	count.print(ts)
}

const stormUsage = "storm events copies senders source body …"

// stormCommand sends copies of many events through so many senders at once. A
// sender repeats what was not acknowledged, as real ones do, also while no
// gateway runs. With -kills N the gateway is killed and started again N times
// meanwhile, evenly over what was acknowledged.
func stormCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	kills := 0
	if len(args) > 1 && args[0] == "-kills" {
		var err error
		kills, err = strconv.Atoi(args[1])
		ts.Check(err)
		args = args[2:]
	}
	usage(ts, len(args) >= 5, stormUsage)
	var numbers [3]int
	for i := range numbers {
		var err error
		numbers[i], err = strconv.Atoi(args[i])
		ts.Check(err)
	}
	s := &storm{w: of(ts), total: numbers[0] * numbers[1], events: numbers[0], m: parseMessage(ts, args[3:])}
	s.intake.Store(ts.Getenv("INTAKE"))
	var senders sync.WaitGroup
	for range numbers[2] {
		senders.Go(func() { s.send(ts) })
	}
	for k := range kills {
		within(ts, "the storm's progress", func() (bool, string) {
			acknowledged := int(s.acknowledged.Load())
			return acknowledged > s.total*(k+1)/(kills+2), strconv.Itoa(acknowledged)
		})
		s.w.gateway.kill()
		if err := s.w.start(ts, "onceward.yaml"); err != nil {
			s.failed.Store(true)
			senders.Wait()
			ts.Check(err)
		}
		s.intake.Store(ts.Getenv("INTAKE"))
	}
	senders.Wait()
	if s.failed.Load() {
		ts.Fatalf("a sender gave up: %d of %d deliveries were acknowledged", s.acknowledged.Load(), s.total)
	}
	s.count.print(ts)
}

type storm struct {
	w             *world
	m             message
	events, total int
	intake        atomic.Value
	next          atomic.Int64
	acknowledged  atomic.Int64
	failed        atomic.Bool
	count         tally
}

// send is one sender's life: the copies of an event are far apart, so that
// they meet each other in every state.
func (s *storm) send(ts *testscript.TestScript) {
	client := ownConnection()
	defer client.CloseIdleConnections()
	for {
		n := int(s.next.Add(1)) - 1
		if n >= s.total {
			return
		}
		one := s.m.numbered(n%s.events+1, 1)
		lines, err := one.sign.lines(one.body)
		if err != nil {
			s.failed.Store(true)
			return
		}
		one.lines = append(one.lines, lines...)
		for tries := 0; ; tries++ {
			r, err := one.over(client, s.intake.Load().(string))
			if err == nil && r.status < 300 {
				s.count.add(r, nil)
				s.acknowledged.Add(1)
				break
			}
			if s.failed.Load() || tries > 1_000_000 {
				s.failed.Store(true)
				return
			}
		}
	}
}

// bodyCommand makes a large body: body file.raw part…, where a part is "=text",
// "text*count", "bytes*count" for all 256 byte values, "noise*count" for
// bytes that cannot be compressed, or a file.
func bodyCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) > 1, "body file.raw part…")
	var b bytes.Buffer
	for _, part := range args[1:] {
		text, times, many := strings.Cut(part, "*")
		n, err := strconv.Atoi(times)
		switch {
		case !many || strings.HasPrefix(part, "="):
			b.Write(readBody(ts, part))
		case err != nil:
			ts.Fatalf("part %q: %v", part, err)
		case text == "noise":
			noise := rand.NewChaCha8([32]byte{})
			for range n {
				b.WriteByte(byte(noise.Uint64()))
			}
		case text == "bytes":
			for i := range n * 256 {
				b.WriteByte(byte(i))
			}
		default:
			b.WriteString(strings.Repeat(text, n))
		}
	}
	ts.Check(writeFile(ts.MkAbs(args[0]), b.Bytes()))
}
