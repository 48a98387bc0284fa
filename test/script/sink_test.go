package script_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onceward/onceward/internal/testkit"
)

// sink is a destination that records everything and answers from a script.
type sink struct {
	*testkit.Sink
	mu       sync.Mutex
	hold     chan struct{}
	from     int // requests before the current script
	answers  []step
	statuses []int // answered, by request; 0 while open, -1 broken
}

// step is a part of a sink's script: an answer, how often it is given, and for
// "1/5:503" that only every fifth request gets it.
type step struct {
	answer testkit.Answer
	after  time.Duration // Retry-After as a date
	hold   bool
	times  int
	every  int
}

// sinkCommand starts a destination, or gives it another script:
//
//	sink billing                    200 to everything
//	sink billing 503*2 200          the last answer repeats for ever
//	sink billing 429,Retry-After=3  with a header; @3s is a date from now
//	sink billing 200,body={"a":1}   with a body, which ends the token
//	sink billing hold,200           until `release billing`
//	sink billing abort              breaks the connection after the request
//	sink billing act,abort          has its effect, and breaks the connection
//	sink billing act,hold,200       acts at `release billing`, whoever is there
//	sink billing 1/5:503            every fifth request
//
// Its URL is in $BILLING.
func sinkCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) > 0, "sink name [answer…]")
	w := of(ts)
	steps := make([]step, 0, len(args))
	for _, token := range args[1:] {
		s, err := parseStep(token)
		ts.Check(err)
		steps = append(steps, s)
	}
	s := w.sinks[args[0]]
	if s == nil {
		s = &sink{hold: make(chan struct{})}
		s.Sink = testkit.NewSink(w.t, s.next)
		w.sinks[args[0]] = s
		ts.Setenv(variable(args[0]), s.URL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.from = steps, len(s.statuses)
}

func parseStep(token string) (step, error) {
	s := step{times: 1}
	if share, rest, ok := strings.Cut(token, ":"); ok && strings.HasPrefix(share, "1/") {
		n, err := strconv.Atoi(share[2:])
		if err != nil {
			return s, err
		}
		s.every, token = n, rest
	}
	token, s.answer.Body, _ = strings.Cut(token, ",body=")
	for part := range strings.SplitSeq(token, ",") {
		name, value, header := strings.Cut(part, "=")
		switch status, times, many := strings.Cut(part, "*"); {
		case header && name == "Retry-After" && strings.HasPrefix(value, "@"):
			after, err := time.ParseDuration(value[1:])
			if err != nil {
				return s, err
			}
			s.after = after
		case header:
			if s.answer.Header == nil {
				s.answer.Header = map[string]string{}
			}
			s.answer.Header[name] = value
		case part == "hold":
			s.hold = true
		case part == "act":
			s.answer.Act = true
		case part == "abort":
			s.answer.Abort = true
		default:
			var err error
			if s.answer.Status, err = strconv.Atoi(status); err == nil && many {
				s.times, err = strconv.Atoi(times)
			}
			if err != nil {
				return s, fmt.Errorf("answer %q: %w", token, err)
			}
		}
	}
	return s, nil
}

// next is the sink's answer to its nth request.
func (s *sink) next(n int, _ *testkit.Request) testkit.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.statuses) < n {
		s.statuses = append(s.statuses, 0)
	}
	chosen, left := step{times: 1}, n-s.from
	for _, at := range s.answers {
		if chosen = at; left <= at.times {
			break
		}
		left -= at.times
	}
	a := chosen.answer
	if chosen.every > 0 && n%chosen.every != 0 {
		a = testkit.Answer{}
	}
	if chosen.hold {
		a.Hold = s.hold
	}
	if chosen.after > 0 {
		// A date has whole seconds; it is never earlier than was meant.
		at := time.Now().Add(chosen.after + time.Second).UTC().Format(http.TimeFormat)
		a.Header = map[string]string{"Retry-After": at}
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	s.statuses[n-1] = a.Status
	if a.Abort {
		s.statuses[n-1] = -1
	}
	return a
}

// ledgerCommand starts a server that tells by our key what a sink has done:
// ledger NAME SINK. GET $NAME/…/KEY answers 200 with the key as reference, or 404.
func ledgerCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "ledger name sink")
	s := sinkNamed(ts, args[1])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := path.Base(r.URL.Path)
		if r.Method != http.MethodGet || s.Done(key) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Onceward-Result", key)
	}))
	of(ts).t.Cleanup(server.Close)
	ts.Setenv(variable(args[0]), server.URL)
}

// releaseCommand lets the answers go that are held now; give the sink another
// script before, or the next ones are held again.
func releaseCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "release name")
	s := sinkNamed(ts, args[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.hold)
	s.hold = make(chan struct{})
}

func sinkNamed(ts *testscript.TestScript, name string) *sink {
	s := of(ts).sinks[name]
	if s == nil {
		ts.Fatalf("there is no sink %s", name)
	}
	return s
}

// peerCommand starts a destination that breaks the wire: one fault a request,
// the last repeats. Its URL is in $NAME, its address in $NAME_HOST.
func peerCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	faults := map[string]testkit.Fault{
		"ok": testkit.AnswerOK, "reset-unread": testkit.ResetUnread, "reset-after-request": testkit.ResetAfterRequest,
		"close-after-request": testkit.CloseAfterRequest, "reset-in-head": testkit.ResetInHead, "close-in-body": testkit.CloseInBody,
		"reset-in-body": testkit.ResetInBody, "never-answer": testkit.NeverAnswer, "never-read": testkit.NeverRead, "malformed": testkit.Malformed,
	}
	usage(ts, len(args) > 1, "peer name fault…")
	script := make([]testkit.Fault, 0, len(args))
	for _, name := range args[1:] {
		f, ok := faults[name]
		usage(ts, ok, "peer name fault…; there is no fault "+name)
		script = append(script, f)
	}
	w := of(ts)
	w.peers[args[0]] = testkit.NewPeer(w.t, func(n int) testkit.Fault { return script[min(n, len(script))-1] })
	url := w.peers[args[0]].URL
	ts.Setenv(variable(args[0]), url)
	ts.Setenv(variable(args[0])+"_HOST", strings.TrimPrefix(url, "http://"))
}

// refusedCommand makes $NAME a URL on which nobody listens.
func refusedCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "refused name")
	ts.Setenv(variable(args[0]), testkit.RefusedURL(of(ts).t))
}
