package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

func TestShowTellsTheWholeStory(t *testing.T) {
	s, id := newStore(onceward.UnknownOutcome)
	s.payload = []byte("12345")
	key := s.events[id].Event.Key.Downstream("fulfil", 0, "")
	op := onceward.OperationID{Event: id, N: 1}.String()
	want := `event ` + id.String() + `: unknown_outcome
  source       gh
  sender's id  guid-1
  type         push
  received     2026-03-01T12:00:00Z
  deliveries   5, 0 of them with other content
  payload      5 bytes (--payload prints them)

operations
  ` + op + ` fulfil at billing: unknown_outcome, attempt 1, effect unsafe
    key          ` + key + `
    reason       reset after the request was written

timeline
  2026-03-01T12:00:00.000Z  delivery   1 delivery: accepted, from 192.0.2.1
  2026-03-01T12:00:00.000Z  operation  operation fulfil recorded
  2026-03-01T12:00:01.000Z  delivery   4 deliveries: duplicate
  2026-03-01T12:00:03.000Z  attempt    attempt 1 of fulfil: ambiguous, took 2s → unknown_outcome (reset after the request was written)

next
  Ask destination billing whether ` + key + ` was applied, then: onceward operations resolve ` + op + ` --completed|--not-applied --evidence … --reason …
`
	for _, name := range []string{id.String(), op, key, "guid-1", strings.ToUpper(id.String())} {
		status, stdout, stderr := s.onceward(t, "events", "show", name)
		if diff := cmp.Diff(want, stdout); diff != "" || status != exitDone || stderr != "" {
			t.Errorf("%s: %d %s\n%s", name, status, stderr, diff)
		}
	}
	if _, stdout, _ := s.onceward(t, "events", "show", "guid-1", "--payload"); stdout != "12345" {
		t.Errorf("payload %q", stdout)
	}
	status, stdout, _ := s.onceward(t, "events", "show", "guid-1", "-o", "json")
	var page api.EventPage
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || status != exitDone || page.ID != id.String() || len(page.Timeline) != 4 {
		t.Errorf("json: %d %v %s", status, err, stdout)
	}
}

func TestShowFindsSendersIDsThatLookLikeOurs(t *testing.T) {
	s, _ := newStore(onceward.Completed)
	foreign := onceward.EventIDAt(start.Add(time.Hour)).String()
	id := s.add(start.Add(time.Minute), foreign, onceward.Completed)
	status, stdout, stderr := s.onceward(t, "events", "show", foreign)
	if status != exitDone || !strings.Contains(stdout, "event "+id.String()+": completed") {
		t.Errorf("%d %s %s", status, stdout, stderr)
	}
}

func TestShowOfSeveralOrNoneSaysNo(t *testing.T) {
	s, first := newStore(onceward.Completed)
	second := s.add(start.Add(time.Minute), "guid-1", onceward.Completed)
	status, stdout, stderr := s.onceward(t, "events", "show", "guid-1")
	if status != exitNo || !strings.Contains(stdout, first.String()) || !strings.Contains(stdout, second.String()) || !strings.Contains(stderr, "several events have the id") {
		t.Errorf("several: %d %s %s", status, stdout, stderr)
	}
	if status, _, stderr := s.onceward(t, "events", "show", "guid-9"); status != exitNo || stderr != "onceward: nothing is recorded under \"guid-9\"\n" {
		t.Errorf("none: %d %s", status, stderr)
	}
}

func TestDecisionsReachTheStore(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  onceward.State
		args   string
		called string
		want   onceward.Decision
		shows  string
	}{
		{"retry", onceward.DeadLettered, "operations retry OP --reason mended", "retry OP", onceward.Decision{Actor: "ops", Reason: "mended"}, "received"},
		{
			"retry with consent", onceward.UnknownOutcome, "operations retry OP --reason asked --accept-duplicate-risk", "retry OP",
			onceward.Decision{Actor: "ops", Reason: "asked", Consent: true},
			"received",
		},
		{
			"resolve as completed", onceward.UnknownOutcome, "operations resolve OP --completed --evidence invoice --reason seen --result in_7", `resolve true "in_7" OP`,
			onceward.Decision{Actor: "ops", Reason: "seen", Evidence: "invoice"},
			"in_7",
		},
		{
			"resolve as not applied", onceward.UnknownOutcome, "operations resolve OP --not-applied --evidence none --reason seen", `resolve false "" OP`,
			onceward.Decision{Actor: "ops", Reason: "seen", Evidence: "none"},
			"failed_before_effect",
		},
		{"abandon", onceward.UnknownOutcome, "operations abandon OP --reason refunded", "abandon OP", onceward.Decision{Actor: "ops", Reason: "refunded"}, "dead_lettered"},
		{"replay", onceward.DeadLettered, "events replay EVENT --mode resume --reason mended", "retry OP", onceward.Decision{Actor: "ops", Reason: "mended"}, "received"},
		{
			"replay with consent", onceward.UnknownOutcome, "events replay EVENT --reason asked --accept-duplicate-risk", "retry OP",
			onceward.Decision{Actor: "ops", Reason: "asked", Consent: true},
			"received",
		},
		{"pause", onceward.Completed, "destinations pause billing --reason down", "pause billing", onceward.Decision{Actor: "ops", Reason: "down"}, "destination billing is paused"},
		{"resume", onceward.Completed, "destinations resume billing --reason up", "unpause billing", onceward.Decision{Actor: "ops", Reason: "up"}, "destination billing is active"},
	} {
		for _, output := range []string{"text", "json"} {
			t.Run(c.name+" as "+output, func(t *testing.T) {
				s, id := newStore(c.state)
				op := onceward.OperationID{Event: id, N: 1}.String()
				ids := strings.NewReplacer("OP", op, "EVENT", id.String())
				status, stdout, stderr := s.onceward(t, append(strings.Fields(ids.Replace(c.args)), "-o", output)...)
				if status != exitDone || stderr != "" {
					t.Fatalf("%d %s", status, stderr)
				}
				if diff := cmp.Diff([]string{ids.Replace(c.called)}, s.calls); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff([]onceward.Decision{c.want}, s.decided); diff != "" {
					t.Error(diff)
				}
				if output == "json" != json.Valid([]byte(stdout)) || output == "text" && !strings.Contains(stdout, c.shows) {
					t.Errorf("it prints %s", stdout)
				}
			})
		}
	}
}

func TestRefusalsAreAdviceWithAStatus(t *testing.T) {
	for _, c := range []struct {
		name, args string
		status     int
		advice     string
	}{
		{"consent is missing", "operations retry OP --reason x", exitNo, "to repeat it nevertheless, add --accept-duplicate-risk"},
		{"an unknown operation", "operations show op_0000000000000_1", exitNo, "not found"},
		{"a second effect without consent", "events replay EVENT --mode reexecute --reason x", exitNo, "resolve it first"},
		{"a filter without a count", "events replay --status dead_lettered --reason x", exitUsage, "--expect is missing"},
		{"neither an event nor a filter", "events replay --reason x", exitUsage, "name a filter"},
		{"an event and a filter", "events replay EVENT --source gh --reason x", exitUsage, "cannot be meant"},
		{"an unknown destination", "destinations pause moon --reason x", exitNo, "not found"},
		{"a viewer decides", "--token viewer-token operations abandon OP --reason x", exitNo, "token wall is a viewer"},
		{"a wrong token", "--token wrong events list", exitNo, "--token or ONCEWARD_TOKEN"},
		{"no such command", "event list", exitUsage, "--help says what there is"},
		{"no such flag", "events list --sauce gh", exitUsage, "unknown flag --sauce"},
		{"no reason", "operations retry OP", exitUsage, "--reason"},
		{"no outcome", "operations resolve OP --evidence x --reason y", exitUsage, "--completed or --not-applied"},
		{"both outcomes", "operations resolve OP --completed --not-applied --evidence x --reason y", exitUsage, "can't be used together"},
		{"a result of nothing", "operations resolve OP --not-applied --evidence x --reason y --result z", exitUsage, "a result belongs to outcome completed"},
		{"an id that is none", "operations retry 42 --reason x", exitUsage, "is not an operation id"},
		{"an event id that nothing has", "events replay 42 --reason x", exitNo, "nothing is recorded under"},
		{"a status that is none", "events list --status fine", exitUsage, "unknown_outcome"},
		{"a cursor that was not given out", "events list --after bad", exitUsage, "not a cursor"},
		{"a limit past the highest", "events list --limit 1000", exitUsage, "--limit must be between 1 and 500"},
		{"a URL that is none", "--admin 127.0.0.1:8081 events list", exitUsage, "--admin must be a URL"},
		{"another output", "events list -o xml", exitUsage, "--output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, id := newStore(onceward.UnknownOutcome)
			ids := strings.NewReplacer("OP", onceward.OperationID{Event: id, N: 1}.String(), "EVENT", id.String())
			status, stdout, stderr := s.onceward(t, strings.Fields(ids.Replace(c.args))...)
			if status != c.status || !strings.Contains(stderr, c.advice) || !strings.HasPrefix(stderr, "onceward: ") {
				t.Errorf("status %d, want %d; it says %s", status, c.status, stderr)
			}
			if len(s.calls) > 0 || strings.Contains(stdout+stderr, "viewer-token") {
				t.Errorf("calls %v, output %s", s.calls, stdout+stderr)
			}
		})
	}
}

func TestListingsPage(t *testing.T) {
	s, _ := newStore(onceward.Completed)
	for i := range 1200 {
		s.add(start.Add(time.Duration(i+1)*time.Second), fmt.Sprintf("guid-%d", i+2), onceward.Completed)
	}
	status, stdout, stderr := s.onceward(t, "events", "list", "--limit", "2")
	if lines := strings.Count(stdout, "\n"); status != exitDone || lines != 3 || !strings.Contains(stderr, "--after evt_") {
		t.Errorf("a page: %d, %d lines, %s", status, lines, stderr)
	}
	cursor := strings.TrimSuffix(strings.Fields(stderr[strings.Index(stderr, "--after "):])[1], ",")
	if _, stdout, _ = s.onceward(t, "events", "list", "--limit", "1", "--after", cursor); !strings.Contains(stdout, "guid-3 ") {
		t.Errorf("the next page: %s", stdout)
	}
	s.pages = 0
	_, stdout, stderr = s.onceward(t, "events", "list", "--all", "-o", "json")
	var all api.List[api.Event]
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all.Items) != 1201 || all.Next != "" || s.pages != 3 || stderr != "" {
		t.Errorf("all: %v, %d items, next %q, %d pages, %s", err, len(all.Items), all.Next, s.pages, stderr)
	}
	_, stdout, _ = s.onceward(t, "events", "list", "--q", "nobody", "-o", "json")
	if stdout != `{"items":[],"next":""}`+"\n" {
		t.Errorf("an empty listing is %q", stdout)
	}
	if status, stdout, stderr = s.onceward(t, "events", "list", "--q", "nobody"); status != exitDone || stdout != "" || !strings.Contains(stderr, "nothing is recorded that matches") {
		t.Errorf("an empty listing: %d %q %q", status, stdout, stderr)
	}
}

func TestOtherListings(t *testing.T) {
	s, id := newStore(onceward.UnknownOutcome, onceward.Completed)
	s.pauses = []onceward.Pause{{Destination: "mail", At: start, Actor: "ops", Reason: "migration"}}
	_, stdout, _ := s.onceward(t, "operations", "list", "--state", "unknown_outcome")
	if !strings.Contains(stdout, onceward.OperationID{Event: id, N: 1}.String()) || strings.Count(stdout, "\n") != 2 {
		t.Errorf("operations: %s", stdout)
	}
	_, stdout, _ = s.onceward(t, "destinations", "list")
	want := "DESTINATION  STATUS  SINCE                 BY   REASON\nbilling      active  -                     -    -\nmail         paused  2026-03-01T12:00:00Z  ops  migration\n"
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Error(diff)
	}
	_, stdout, _ = s.onceward(t, "operations", "show", onceward.OperationID{Event: id, N: 2}.String())
	if !strings.Contains(stdout, "fulfil at billing: completed") || !strings.Contains(stdout, "events show "+id.String()) {
		t.Errorf("operation: %s", stdout)
	}
}

func TestWhatStrangersSendDoesNotSteerTheTerminal(t *testing.T) {
	s, id := newStore(onceward.Completed)
	h := s.events[id]
	h.Event.Type, h.Event.EventID = "\x1b[2Jpush\u202e", "a\nnext\n  Pay the attacker"
	s.events[id] = h
	for _, args := range [][]string{{"events", "show", id.String()}, {"events", "list"}} {
		_, stdout, _ := s.onceward(t, args...)
		if strings.ContainsAny(stdout, "\x1b\u202e") || strings.Contains(stdout, "\n  Pay") || !strings.Contains(stdout, "push") {
			t.Errorf("%v prints %q", args, stdout)
		}
	}
}

func TestWithoutAGateway(t *testing.T) {
	silent := httptest.NewServer(http.NotFoundHandler())
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer stranger.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	silent.Close()
	for url, advice := range map[string]string{
		silent.URL:    "no gateway answers at " + silent.URL,
		stranger.URL:  "is not a gateway's admin API",
		elsewhere.URL: "it answered 307",
	} {
		if status, _, stderr := program("--admin", url, "events", "list"); status != exitNo || !strings.Contains(stderr, advice) {
			t.Errorf("%d %s, want %s", status, stderr, advice)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	if status, stdout, _ := program("version"); status != exitDone || !strings.HasPrefix(stdout, "onceward ") {
		t.Errorf("version: %d %s", status, stdout)
	}
	status, stdout, _ := program("version", "-o", "json")
	var v map[string]string
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || status != exitDone || v["version"] == "" {
		t.Errorf("version as JSON: %d %s", status, stdout)
	}
	if status, stdout, _ := program("--help"); status != exitDone || !strings.Contains(stdout, "operations resolve") {
		t.Errorf("help: %d %s", status, stdout)
	}
}
