package script_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const stormUsage = "storm [-kills N | -reloads N] events copies senders source body …"

// stormCommand sends copies of many events through so many senders at once. A
// sender repeats what was not acknowledged, as real ones do, also while no
// gateway runs. With -kills N the gateway is killed and started again N times
// meanwhile, evenly over what was acknowledged; with -reloads N it is told to
// read its configuration again instead.
func stormCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	what, times := "", 0
	if len(args) > 1 && strings.HasPrefix(args[0], "-") {
		var err error
		what = args[0]
		times, err = strconv.Atoi(args[1])
		ts.Check(err)
		args = args[2:]
		usage(ts, what == "-kills" || what == "-reloads", stormUsage)
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
	defer s.failed.Store(true) // however it ends, nobody sends on
	var senders sync.WaitGroup
	for range numbers[2] {
		senders.Go(func() { s.send(ts) })
	}
	for k := range times {
		within(ts, "the storm's progress", func() (bool, string) {
			acknowledged := int(s.acknowledged.Load())
			return acknowledged > s.total*(k+1)/(times+2), strconv.Itoa(acknowledged)
		})
		s.disturb(ts, what)
	}
	senders.Wait()
	if s.failed.Load() {
		ts.Fatalf("a sender gave up: %d of %d deliveries were acknowledged", s.acknowledged.Load(), s.total)
	}
	s.count.print(ts)
	fmt.Fprintf(ts.Stdout(), "not acknowledged: %d\n", s.repeated.Load())
}

// disturb kills the gateway and starts it again, or has it reload.
func (s *storm) disturb(ts *testscript.TestScript, what string) {
	if what == "-reloads" {
		if !s.w.gateway.reload(ts) {
			s.failed.Store(true)
		}
		return
	}
	s.w.gateway.kill()
	if err := s.w.start(ts, "onceward.yaml"); err != nil {
		s.failed.Store(true)
		ts.Check(err)
	}
	s.intake.Store(s.w.gateway.intake)
}

type storm struct {
	w             *world
	m             message
	events, total int
	intake        atomic.Value
	next          atomic.Int64
	acknowledged  atomic.Int64
	repeated      atomic.Int64
	failed        atomic.Bool
	count         tally
}

// send is one sender's life: the copies of an event are far apart, so that
// they meet each other in every state.
func (s *storm) send(ts *testscript.TestScript) {
	client := ownConnection()
	defer client.CloseIdleConnections()
	again := time.NewTicker(20 * time.Millisecond) // a sender's wait before it repeats
	defer again.Stop()
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
		for {
			r, err := one.over(client, s.intake.Load().(string))
			if err == nil && r.status < 300 {
				s.count.add(r, nil)
				s.acknowledged.Add(1)
				break
			}
			s.repeated.Add(1)
			if s.failed.Load() {
				return
			}
			<-again.C
		}
	}
}
