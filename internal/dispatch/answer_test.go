package dispatch_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/testkit"
)

const (
	completed = onceward.Completed
	failed    = onceward.FailedBeforeEffect
	unknown   = onceward.UnknownOutcome
	dead      = onceward.DeadLettered
)

// TestEveryAnswerEndsInItsState lets the destination give one answer, and 200
// to whatever comes after.
func TestEveryAnswerEndsInItsState(t *testing.T) {
	both := []onceward.Effect{onceward.Keyed, onceward.Unsafe}
	keyed, unsafe := both[:1], both[1:]
	for _, test := range []struct {
		name     string
		answer   testkit.Answer
		effects  []onceward.Effect
		state    onceward.State
		requests int
		outcome  string
	}{
		{"200", testkit.Answer{}, both, completed, 1, "completed"},
		{"201", testkit.Answer{Status: 201}, both, completed, 1, "completed"},
		{"204", testkit.Answer{Status: 204}, both, completed, 1, "completed"},
		{"301", testkit.Answer{Status: 301, Header: map[string]string{"Location": "/elsewhere"}}, both, dead, 1, "refused"},
		{"302", testkit.Answer{Status: 302, Header: map[string]string{"Location": "/elsewhere"}}, both, dead, 1, "refused"},
		{"400", testkit.Answer{Status: 400}, both, dead, 1, "refused"},
		{"403", testkit.Answer{Status: 403}, both, dead, 1, "refused"},
		{"404", testkit.Answer{Status: 404}, both, dead, 1, "refused"},
		{"408", testkit.Answer{Status: 408}, both, completed, 2, "not_applied"},
		{"409", testkit.Answer{Status: 409}, both, completed, 2, "not_applied"},
		{"410", testkit.Answer{Status: 410}, both, dead, 1, "refused"},
		{"422", testkit.Answer{Status: 422}, both, dead, 1, "refused"},
		{"425", testkit.Answer{Status: 425}, both, completed, 2, "not_applied"},
		{"429", testkit.Answer{Status: 429}, both, completed, 2, "not_applied"},
		{"503", testkit.Answer{Status: 503}, both, completed, 2, "not_applied"},
		{"500 where the key is known", testkit.Answer{Status: 500}, keyed, completed, 2, "ambiguous"},
		{"500 where it is not", testkit.Answer{Status: 500}, unsafe, unknown, 1, "ambiguous"},
		{"502 where the key is known", testkit.Answer{Status: 502}, keyed, completed, 2, "ambiguous"},
		{"504 where it is not", testkit.Answer{Status: 504}, unsafe, unknown, 1, "ambiguous"},
		{"no answer where the key is known", testkit.Answer{Abort: true}, keyed, completed, 2, "ambiguous"},
		{"no answer where it is not", testkit.Answer{Abort: true}, unsafe, unknown, 1, "ambiguous"},
		{"500 that says that nothing happened", testkit.Answer{Status: 500, Header: map[string]string{"Onceward-Effect": "none"}}, both, completed, 2, "not_applied"},
		{"500 that says that it is done", testkit.Answer{Status: 500, Header: map[string]string{"Onceward-Effect": "done"}}, both, completed, 1, "completed"},
		{"503 that does not know", testkit.Answer{Status: 503, Header: map[string]string{"Onceward-Effect": "unknown"}}, unsafe, unknown, 1, "ambiguous"},
	} {
		for _, effect := range test.effects {
			t.Run(fmt.Sprint(test.name, ", ", effect), func(t *testing.T) {
				sink := testkit.NewSink(t, first(1, test.answer))
				r := start(t, to(t, sink.URL, effect))
				id := r.give(effect)
				o := r.store.untilState(id, test.state)
				r.stop()
				if n := len(sink.Requests()); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
				if o.Attempt != test.requests || o.Intent && o.State != unknown {
					t.Errorf("left as %+v", o)
				}
				ended := r.store.ended(id)
				status := test.answer.Status
				if status == 0 && !test.answer.Abort {
					status = http.StatusOK
				}
				if len(ended) != test.requests || ended[0].Outcome != test.outcome || ended[0].Status != status {
					t.Errorf("attempts %+v, want the first one %s with status %d", ended, test.outcome, status)
				}
				told, _ := r.told()
				if len(told) != test.requests || told[0] != test.outcome {
					t.Errorf("told of %v", told)
				}
			})
		}
	}
}

func TestARefusedConnectionHadNoEffect(t *testing.T) {
	for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Unsafe} {
		t.Run(effect.String(), func(t *testing.T) {
			r := start(t, to(t, testkit.RefusedURL(t), effect))
			o := r.store.untilState(r.give(effect), dead)
			if o.Attempt != 3 || !strings.Contains(o.Reason, "connection refused") {
				t.Errorf("left as %+v, want a dead letter after three refused connections", o)
			}
		})
	}
}

func TestAttemptsStopAtTheLimit(t *testing.T) {
	for name, test := range map[string]struct {
		effect onceward.Effect
		answer testkit.Answer
		state  onceward.State
		reason string
	}{
		"always turned away":       {onceward.Unsafe, testkit.Answer{Status: 503}, dead, "attempts spent: answered 503"},
		"always without an answer": {onceward.Keyed, testkit.Answer{Abort: true}, unknown, "after the request was written"},
	} {
		t.Run(name, func(t *testing.T) {
			sink := testkit.NewSink(t, always(test.answer))
			r := start(t, to(t, sink.URL, test.effect))
			id := r.give(test.effect)
			o := r.store.untilState(id, test.state)
			if o.Attempt != 3 || len(sink.Requests()) != 3 || !strings.Contains(o.Reason, test.reason) {
				t.Errorf("%d requests, left as %+v", len(sink.Requests()), o)
			}
			var numbers []int
			for _, a := range r.store.ended(id) {
				numbers = append(numbers, a.Number)
			}
			if !slices.Equal(numbers, []int{1, 2, 3}) {
				t.Errorf("attempts %v are on record, want 1 to 3", numbers)
			}
			if n := sink.Requests()[2].Header.Get("Onceward-Attempt"); n != "3" {
				t.Errorf("the third request says attempt %s", n)
			}
		})
	}
}

func TestRetryAfterIsNeverUndercut(t *testing.T) {
	c := newClock()
	for name, test := range map[string]struct {
		header string
		least  time.Duration
	}{
		"in seconds":               {"3", 3 * time.Second},
		"as a date":                {time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 80 * time.Second},
		"beyond the longest wait":  {"86400", time.Hour},
		"that is no time":          {"soon", 0},
		"in the past":              {"Mon, 01 Jan 2024 00:00:00 GMT", 0},
		"of less than the backoff": {"0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			sink := testkit.NewSink(t, first(1, testkit.Answer{Status: 429, Header: map[string]string{"Retry-After": test.header}}))
			r := start(t, to(t, sink.URL, onceward.Unsafe, func(d *dispatch.Destination) { d.Backoff.First = 10 * time.Millisecond }), at(c))
			id := r.give(onceward.Unsafe)
			o := r.store.untilState(id, failed)
			wait := o.DueAt.Sub(c.Now())
			if wait < test.least || wait > test.least+test.least/4+time.Second {
				t.Fatalf("due in %s, want a little more than %s", wait, test.least)
			}
			if wait == test.least && wait > 0 {
				t.Error("no jitter: everybody who was turned away comes back in the same moment")
			}
			c.Advance(wait - time.Microsecond)
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(sink.Requests()); n != 1 {
				t.Fatalf("%d requests before it was due", n)
			}
			c.Advance(time.Microsecond)
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.store.untilState(id, completed)
		})
	}
}

func TestTheResultReferenceIsKept(t *testing.T) {
	sink := testkit.NewSink(t, always(testkit.Answer{Header: map[string]string{"Onceward-Result": "ch_1"}, Body: "SECRET-BODY"}))
	r := start(t, to(t, sink.URL, onceward.Keyed))
	if o := r.store.untilState(r.give(onceward.Keyed), completed); o.Result != "ch_1" || o.Reason != "" {
		t.Errorf("left as %+v", o)
	}
	if strings.Contains(r.log.String(), "SECRET") {
		t.Error("a byte of the answer's body is in the log")
	}
}
