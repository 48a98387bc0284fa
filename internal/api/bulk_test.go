package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

func TestABulkBeginsOnlyWithTheCountThatWasExpected(t *testing.T) {
	s, begun := newStore(), 0
	for i := range 3 {
		s.add(start.AddDate(0, 0, i), fmt.Sprint("guid-", i), onceward.DeadLettered, onceward.Completed)
	}
	h := api.New(api.Options{Store: s, Begun: func() { begun++ }})
	const filter = `"filter":{"source":"gh"},"mode":"resume","reason":"mended"`
	w := call(h, "POST", "/v1/replays", `{`+filter+`,"dry_run":true}`)
	got := decode[api.Bulk](t, w)
	if diff := cmp.Diff(map[string]int{"retried": 3, "left": 3}, got.Would); diff != "" || got.Events != 3 || got.ID != "" || got.State != "dry_run" {
		t.Errorf("%s %s", w.Body, diff)
	}
	refused(t, call(h, "POST", "/v1/replays", `{`+filter+`,"expect":2}`), 409, "finds 3 events, not 2")
	refused(t, call(h, "POST", "/v1/replays", `{`+filter+`}`), 422, "expect is missing")
	refused(t, call(h, "POST", "/v1/replays", `{"filter":{},"mode":"resume","reason":"x","expect":3}`), 422, "the filter is empty")
	refused(t, call(h, "POST", "/v1/replays", `{"filter":{"status":"fine"},"mode":"resume","reason":"x","expect":3}`), 422, "status is neither")
	if len(s.bulks) != 0 || len(s.calls) != 0 || begun != 0 {
		t.Fatalf("%d bulks, %v, begun %d", len(s.bulks), s.calls, begun)
	}
	got = decode[api.Bulk](t, call(h, "POST", "/v1/replays", `{`+filter+`,"expect":3}`))
	if got.State != "running" || got.Events != 3 || got.Actor != api.Local || begun != 1 {
		t.Errorf("%+v, begun %d", got, begun)
	}
	if shown := decode[api.Bulk](t, call(h, "GET", "/v1/replays/"+got.ID, "")); shown.ID != got.ID || shown.Filter.Source != "gh" {
		t.Errorf("%+v", shown)
	}
	if cancelled := decode[api.Bulk](t, call(h, "POST", "/v1/replays/"+got.ID+"/cancel", `{"reason":"no"}`)); cancelled.State != "cancelled" {
		t.Errorf("%+v", cancelled)
	}
	if all := decode[api.List[api.Bulk]](t, call(h, "GET", "/v1/replays", "")); len(all.Items) != 1 {
		t.Errorf("%+v", all)
	}
	refused(t, call(h, "GET", "/v1/replays/bulk_1", ""), 422, "bulk_")
}

// A count of refusals alone tells nobody what to mend.
func TestADryRunSaysWhyEventsAreRefused(t *testing.T) {
	s := newStore()
	for i := range 3 {
		s.add(start.AddDate(0, 0, i), fmt.Sprint("guid-", i), onceward.UnknownOutcome)
	}
	h := api.New(api.Options{Store: s, Sources: []string{"gh"}})
	got := decode[api.Bulk](t, call(h, "POST", "/v1/replays", `{"filter":{"source":"gh"},"mode":"resume","reason":"mended","dry_run":true}`))
	if len(got.Refusals) != 1 || got.Would["refused"] != 3 || got.Note != "" {
		t.Fatalf("%+v", got)
	}
	for why, n := range got.Refusals {
		if n != 3 || !strings.Contains(why, "operation work1") || !strings.Contains(why, "its outcome was unknown") {
			t.Errorf("%d: %s", n, why)
		}
	}
}

func TestADryRunSaysThatASourceIsNotConfigured(t *testing.T) {
	h := api.New(api.Options{Store: newStore(), Sources: []string{"gh", "pay"}})
	got := decode[api.Bulk](t, call(h, "POST", "/v1/replays", `{"filter":{"source":"hg"},"mode":"resume","reason":"mended","dry_run":true}`))
	if want := `no source "hg" is configured, and nothing is recorded of one; configured are gh, pay`; got.Note != want {
		t.Errorf("%q", got.Note)
	}
}

func TestADryRunOfAReplayChangesNothing(t *testing.T) {
	s, woken := newStore(), 0
	id := s.add(start, "guid", onceward.Completed, onceward.DeadLettered)
	h := api.New(api.Options{Store: s, Wake: func() { woken++ }})
	w := call(h, "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"redeliver","reason":"lost","dry_run":true}`)
	got := decode[api.ReplayAnswer](t, w)
	if w.Code != 200 || !got.DryRun || len(got.Items) != 2 || !got.Items[0].NeedsConsent || got.Items[0].Did != "left" || got.Items[1].Did != "retried" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(s.calls) != 0 || woken != 0 {
		t.Errorf("calls %v, woken %d", s.calls, woken)
	}
	refused(t, call(h, "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"redeliver","reason":"lost"}`), 409, "accept_duplicate_risk: true")
	if len(s.calls) != 0 {
		t.Errorf("calls %v", s.calls)
	}
	got = decode[api.ReplayAnswer](t, call(h, "POST", "/v1/events/"+id.String()+"/replay", `{"mode":"redeliver","reason":"lost","accept_duplicate_risk":true}`))
	if got.Items[0].Did != "redelivered" || got.Items[0].ID == "" || got.Items[0].Key != s.histories[id].Event.Operations[0].Downstream(s.histories[id].Event.Key, "") || woken != 1 {
		t.Errorf("%+v, woken %d", got, woken)
	}
}

// K12 114: a click that a queue or a proxy sends again is still one click.
func TestARequestMayNameItself(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Completed)
	h := api.New(api.Options{Store: s})
	path := "/v1/events/" + id.String() + "/replay"
	call(h, "POST", path, `{"mode":"redeliver","reason":"lost","accept_duplicate_risk":true}`, "Idempotency-Key", "click-1")
	if len(s.replays) != 1 || s.replays[0].Once != "click-1" {
		t.Fatalf("%+v", s.replays)
	}
	s.err = fmt.Errorf("request %q: %w", "click-1", onceward.ErrRepeated)
	refused(t, call(h, "POST", "/v1/replays", `{"filter":{"source":"gh"},"mode":"resume","reason":"x","expect":1}`, "Idempotency-Key", "click-1"), 409, "carried out already")
	s.err = fmt.Errorf("request %q: %w", "click-1", onceward.ErrMismatch)
	refused(t, call(h, "POST", path, `{"mode":"resume","reason":"lost"}`, "Idempotency-Key", "click-1"), 422, "an Idempotency-Key of its own")
}
