package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

// call sends one request to a handler as a program on this machine would.
func call(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8081"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) (out T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return out
}

type problem struct {
	Status int
	Title  string
	Detail string
}

// refused checks that an answer is a problem with a status and a word in it.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, word string) {
	t.Helper()
	p := decode[problem](t, w)
	if w.Code != status || p.Status != status || p.Title == "" || !strings.Contains(w.Body.String(), word) {
		t.Errorf("answer %d %s, want %d with %q", w.Code, w.Body, status, word)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
}

func TestEventsAreListedByPages(t *testing.T) {
	s := newStore()
	for i := range 5 {
		s.add(start.Add(time.Duration(i)*time.Second), fmt.Sprintf("guid-%d", i), onceward.Completed)
	}
	h := api.New(api.Options{Store: s})
	var seen []string
	after := ""
	for range 3 {
		w := call(h, "GET", "/v1/events?limit=2&after="+after, "")
		list := decode[api.List[api.Event]](t, w)
		for _, e := range list.Items {
			seen = append(seen, e.EventID)
		}
		after = list.Next
	}
	if diff := cmp.Diff([]string{"guid-4", "guid-3", "guid-2", "guid-1", "guid-0"}, seen); diff != "" || after != "" {
		t.Errorf("%s, next %q", diff, after)
	}
}

func TestAnEventHasItsDocumentedShape(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Completed, onceward.FailedBeforeEffect)
	w := call(api.New(api.Options{Store: s}), "GET", "/v1/events", "")
	got := decode[map[string]any](t, w)
	item := got["items"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{
		"id": id.String(), "source": "gh", "tenant": "", "environment": "", "event_id": "guid", "type": "push",
		"status": "failed_before_effect", "received_at": "2026-03-01T12:00:00Z", "occurred_at": nil, "deliveries": 1.0,
	} {
		if value, there := item[name]; !there || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	o := item["operations"].([]any)[1].(map[string]any)
	for name, want := range map[string]any{
		"id": onceward.OperationID{Event: id, N: 2}.String(), "name": "work2", "state": "failed_before_effect", "attempt": 1.0, "result": "", "reason": "",
		"next_at": "2026-03-01T12:01:00Z",
	} {
		if value, there := o[name]; !there || value != want {
			t.Errorf("operation's %s is %v, want %v", name, value, want)
		}
	}
	if strings.Contains(w.Body.String(), "$schema") {
		t.Error("schema links are in the answer")
	}
	if empty := call(api.New(api.Options{Store: newStore()}), "GET", "/v1/events", "").Body.String(); empty != `{"items":[],"next":""}`+"\n" {
		t.Errorf("an empty listing is %s", empty)
	}
}

func TestFiltersReachTheStore(t *testing.T) {
	s := newStore()
	h := api.New(api.Options{Store: s})
	call(h, "GET", "/v1/events?source=gh&type=push*&status=ignored&q=%20guid&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z&limit=7", "")
	id := onceward.EventIDAt(start)
	call(h, "GET", "/v1/operations?state=unknown_outcome&name=work1&event="+id.String(), "")
	call(h, "GET", "/v1/audit?after=12&actor=ops&action=T2*&event="+id.String(), "")
	want := []any{
		onceward.EventQuery{Page: onceward.Page{Limit: 7}, Source: "gh", Type: "push*", Status: "ignored", Search: "guid", Since: start.Add(-12 * time.Hour), Until: start.Add(12 * time.Hour)},
		onceward.OperationQuery{Page: onceward.Page{Limit: 50}, State: onceward.UnknownOutcome, Name: "work1", Event: id},
		onceward.AuditQuery{Page: onceward.Page{After: "12", Limit: 50}, Actor: "ops", Action: "T2*", Event: id},
	}
	if diff := cmp.Diff(want, s.queries); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.DeadLettered)
	op := onceward.OperationID{Event: id, N: 1}.String()
	h := api.New(api.Options{Store: s})
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		word                       string
	}{
		{"an unknown status", "GET", "/v1/events?status=fine", "", 422, "unknown_outcome"},
		{"an unknown state", "GET", "/v1/operations?state=fine", "", 422, "is not a state"},
		{"a cursor that was not given out", "GET", "/v1/events?after=nonsense", "", 422, "pass the next of the page before"},
		{"a limit of zero", "GET", "/v1/events?limit=0", "", 422, "limit"},
		{"a limit past the highest", "GET", "/v1/events?limit=501", "", 422, "limit"},
		{"a time that is none", "GET", "/v1/events?since=yesterday", "", 422, "since"},
		{"a filter that does not exist", "GET", "/v1/events?sauce=gh", "", 422, "sauce"},
		{"an id that is none", "GET", "/v1/events/42", "", 422, "is not an event id"},
		{"an unknown event", "GET", "/v1/events/" + onceward.EventIDAt(start.Add(time.Hour)).String(), "", 404, "not found"},
		{"an unknown operation", "GET", "/v1/operations/" + onceward.OperationID{Event: id, N: 9}.String(), "", 404, "not found"},
		{"a decision without a reason", "POST", "/v1/operations/" + op + "/retry", `{}`, 422, "reason"},
		{"a decision with a blank reason", "POST", "/v1/operations/" + op + "/retry", `{"reason":"  "}`, 422, "reason is required"},
		{"a decision that names its own actor", "POST", "/v1/operations/" + op + "/retry", `{"reason":"x","actor":"me"}`, 422, "actor"},
		{"a resolution without evidence", "POST", "/v1/operations/" + op + "/resolve", `{"outcome":"completed","reason":"x","evidence":" "}`, 422, "evidence is required"},
		{"a resolution with an unknown outcome", "POST", "/v1/operations/" + op + "/resolve", `{"outcome":"maybe","reason":"x","evidence":"y"}`, 422, "outcome"},
		{"a result of what was not applied", "POST", "/v1/operations/" + op + "/resolve", `{"outcome":"not_applied","reason":"x","evidence":"y","result":"z"}`, 422, "result"},
		{"an impossible move", "POST", "/v1/operations/" + op + "/abandon", `{"reason":"x"}`, 409, "dead_lettered already"},
		{"a body that is no JSON", "POST", "/v1/operations/" + op + "/retry", `{`, 400, "body"},
		{"no body", "POST", "/v1/operations/" + op + "/retry", "", 400, "body"},
		{"a body past the limit", "POST", "/v1/operations/" + op + "/retry", `{"reason":"` + strings.Repeat("x", 1<<17) + `"}`, 413, "too large"},
		{"a mode that does not exist", "POST", "/v1/events/" + id.String() + "/replay", `{"mode":"again","reason":"x"}`, 422, "mode"},
		{"an unknown destination", "POST", "/v1/destinations/moon/pause", `{"reason":"x"}`, 404, "moon"},
		{"an unknown path", "GET", "/v1/everything", "", 404, "openapi.json"},
		{"a method that is not there", "DELETE", "/v1/events", "", 405, "GET"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, call(h, c.method, c.target, c.body), c.status, c.word) })
	}
	if len(s.calls) > 0 {
		t.Errorf("the store was changed: %v", s.calls)
	}
	w := call(h, "POST", "/v1/operations/"+op+"/retry", `{"reason":"x"}`, "Content-Type", "text/plain")
	refused(t, w, http.StatusUnsupportedMediaType, "content type")
}

func TestDecisionsReachTheStoreWithActorAndReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  onceward.State
		path   string
		body   string
		called string
		want   onceward.Decision
		wakes  int
		after  string
	}{
		{
			"retry of a dead letter", onceward.DeadLettered, "retry", `{"reason":"mended"}`, "retry",
			onceward.Decision{Actor: "ops", Reason: "mended"},
			1, "received",
		},
		{
			"retry of an unknown outcome with consent", onceward.UnknownOutcome, "retry", `{"reason":"asked","accept_duplicate_risk":true}`, "retry",
			onceward.Decision{Actor: "ops", Reason: "asked", Consent: true},
			1, "received",
		},
		{
			"resolve as completed", onceward.UnknownOutcome, "resolve", `{"outcome":"completed","reason":"seen","evidence":"invoice 7","result":"in_7"}`, `resolve true "in_7"`,
			onceward.Decision{Actor: "ops", Reason: "seen", Evidence: "invoice 7"},
			0, "completed",
		},
		{
			"resolve as not applied", onceward.UnknownOutcome, "resolve", `{"outcome":"not_applied","reason":"seen","evidence":"no invoice"}`, `resolve false ""`,
			onceward.Decision{Actor: "ops", Reason: "seen", Evidence: "no invoice"},
			1, "failed_before_effect",
		},
		{
			"abandon", onceward.UnknownOutcome, "abandon", `{"reason":"refunded by hand"}`, "abandon",
			onceward.Decision{Actor: "ops", Reason: "refunded by hand"},
			0, "dead_lettered",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, woken := newStore(), 0
			op := onceward.OperationID{Event: s.add(start, "guid", c.state), N: 1}
			h := api.New(api.Options{Store: s, Wake: func() { woken++ }, Tokens: tokens})
			w := call(h, "POST", "/v1/operations/"+op.String()+"/"+c.path, c.body, "Authorization", "Bearer operator-token")
			if got := decode[api.Operation](t, w); w.Code != 200 || got.State != c.after {
				t.Errorf("answer %d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff([]string{c.called + " " + op.String()}, s.calls); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]onceward.Decision{c.want}, s.decided); diff != "" {
				t.Error(diff)
			}
			if woken != c.wakes {
				t.Errorf("woken %d times, want %d", woken, c.wakes)
			}
		})
	}
}

func TestAnUnknownOutcomeIsNotRepeatedWithoutConsent(t *testing.T) {
	s, woken := newStore(), 0
	id := s.add(start, "guid", onceward.UnknownOutcome)
	h := api.New(api.Options{Store: s, Wake: func() { woken++ }})
	refused(t, call(h, "POST", "/v1/operations/"+onceward.OperationID{Event: id, N: 1}.String()+"/retry", `{"reason":"x"}`), 409, "accept_duplicate_risk: true")
	refused(t, call(h, "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"resume","reason":"x"}`), 409, "accept_duplicate_risk: true")
	if len(s.calls) > 0 || woken > 0 {
		t.Errorf("calls %v, woken %d", s.calls, woken)
	}
}

func TestReplayResumesWhatIsNotCompleted(t *testing.T) {
	s, woken := newStore(), 0
	id := s.add(start, "guid", onceward.Completed, onceward.DeadLettered)
	w := call(api.New(api.Options{Store: s, Wake: func() { woken++ }}), "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"resume","reason":"mended"}`)
	list := decode[api.ReplayAnswer](t, w)
	if w.Code != 200 || len(list.Items) != 2 || list.Items[0].State != "completed" || list.Items[0].Did != "left" || list.Items[1].State != "received" || list.Items[1].Did != "retried" {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff([]string{"retried " + onceward.OperationID{Event: id, N: 2}.String()}, s.calls); diff != "" || woken != 1 {
		t.Errorf("%s, woken %d", diff, woken)
	}
	if s.decided[0] != (onceward.Decision{Actor: api.Local, Reason: "mended"}) {
		t.Errorf("decision %+v", s.decided[0])
	}
}

func TestDestinationsArePausedAndResumed(t *testing.T) {
	s, woken := newStore(), 0
	s.pauses = []onceward.Pause{{Destination: "gone", Actor: "ops", Reason: "old"}}
	h := api.New(api.Options{Store: s, Destinations: []string{"billing", "mail"}, Wake: func() { woken++ }})
	w := call(h, "POST", "/v1/destinations/billing/pause", `{"reason":"down"}`)
	if got := decode[api.Destination](t, w); w.Code != 200 || !got.Paused || got.Reason != "down" || got.Actor != api.Local {
		t.Errorf("paused: %d %s", w.Code, w.Body)
	}
	var names []string
	for _, d := range decode[api.List[api.Destination]](t, call(h, "GET", "/v1/destinations", "")).Items {
		names = append(names, fmt.Sprintf("%s %t", d.Name, d.Paused))
	}
	if diff := cmp.Diff([]string{"billing true", "mail false", "gone true"}, names); diff != "" || woken != 1 {
		t.Errorf("%s, woken %d", diff, woken)
	}
	for _, name := range []string{"billing", "gone"} {
		w = call(h, "POST", "/v1/destinations/"+name+"/resume", `{"reason":"up"}`)
		if got := decode[api.Destination](t, w); w.Code != 200 || got.Paused || got.Name != name {
			t.Errorf("resumed: %d %s", w.Code, w.Body)
		}
	}
	if diff := cmp.Diff([]string{"pause billing", "unpause billing", "unpause gone"}, s.calls); diff != "" || woken != 3 {
		t.Errorf("%s, woken %d", diff, woken)
	}
}

func TestFaultsOfOursAre503AndTellNothing(t *testing.T) {
	for name, err := range map[string]error{
		"the store is unavailable": fmt.Errorf("open /var/lib/x: %w", onceward.ErrUnavailable),
		"an error without a name":  errors.New("disk /var/lib/x is on fire"),
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			s := newStore()
			id := s.add(start, "guid", onceward.DeadLettered)
			s.err = err
			h := api.New(api.Options{Store: s, Destinations: []string{"billing"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			for _, target := range []string{"/v1/events", "/v1/events/" + id.String(), "/v1/operations", "/v1/destinations", "/v1/audit", "/v1/stats", "/readyz"} {
				w := call(h, "GET", target, "")
				refused(t, w, 503, "")
				if strings.Contains(w.Body.String(), "/var/lib") {
					t.Errorf("%s tells the inside: %s", target, w.Body)
				}
			}
			if !strings.Contains(log.String(), "/var/lib/x") {
				t.Errorf("the log does not say why: %s", log.String())
			}
			if w := call(h, "GET", "/healthz", ""); w.Code != 200 {
				t.Errorf("alive: %d", w.Code)
			}
		})
	}
}

func TestReportsAndHealth(t *testing.T) {
	s := newStore()
	op := onceward.OperationID{Event: onceward.EventIDAt(start), N: 1}
	s.audits = []onceward.Audit{{ID: 3, At: start, Actor: "ops", Action: "T20", Target: op.String(), Operation: op, Reason: "mended"}}
	h := api.New(api.Options{Store: s, Version: "1.2.3"})
	if got := decode[api.Stats](t, call(h, "GET", "/v1/stats", "")); cmp.Diff(api.Stats{Version: "1.2.3", Operations: []api.Count{{Name: "work1", State: "completed", Count: 7}}}, got) != "" {
		t.Errorf("stats %+v", got)
	}
	audit := decode[api.List[api.Audit]](t, call(h, "GET", "/v1/audit", ""))
	if len(audit.Items) != 1 || audit.Items[0].Actor != "ops" || audit.Items[0].Operation != op.String() {
		t.Errorf("audit %+v", audit)
	}
	if w := call(h, "GET", "/readyz", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "ready") {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
	description := decode[map[string]any](t, call(h, "GET", "/openapi.json", ""))
	paths := description["paths"].(map[string]any)
	for _, path := range []string{"/v1/events", "/v1/events/{id}", "/v1/events/{id}/replay", "/v1/events/{id}/explain", "/v1/events/{id}/reject", "/v1/events/{id}/erase", "/v1/erasures", "/v1/replays/{id}/cancel", "/v1/conflicts/{id}/resolve", "/v1/operations/{id}/resolve", "/v1/destinations/{name}/pause", "/healthz"} {
		if paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
}
