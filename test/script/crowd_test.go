package script_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

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
