package dispatch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testkit"
)

func TestEveryAttemptIsInOneTrace(t *testing.T) {
	sink := testkit.NewSink(t, first(2, testkit.Answer{Status: 503}))
	r := start(t, to(t, sink.URL, onceward.Keyed))
	id := r.give(onceward.Keyed)
	r.store.untilState(id, completed)
	var spans []string
	for _, q := range sink.Requests() {
		parts := strings.Split(q.Header.Get("Traceparent"), "-")
		if len(parts) != 4 || parts[0] != "00" || parts[1] != r.store.all[id].event.Key.String() || len(parts[2]) != 16 || parts[3] != "01" {
			t.Fatalf("traceparent %v", parts)
		}
		if slices.Contains(spans, parts[2]) {
			t.Error("two attempts have the same span")
		}
		spans = append(spans, parts[2])
	}
}

func TestTheSendersTraceGoesOn(t *testing.T) {
	const theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sink := testkit.NewSink(t, nil)
	r := start(t, to(t, sink.URL, onceward.Keyed))
	id := r.give(onceward.Keyed, func(r *record) { r.payload.Header = []byte("Traceparent: " + theirs + "\n") })
	r.store.untilState(id, completed)
	if got := sink.Requests()[0].Header.Values("Traceparent"); !slices.Equal(got, []string{theirs}) {
		t.Errorf("traceparent %q", got)
	}
}

func TestAnItemOfABatchGoesOutAloneAndUnsigned(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, to(t, sink.URL, onceward.Keyed), func(s *setup) {
		s.Operations[0].SignedHeaders = map[string][]string{"pay": {"X-Signature"}}
	})
	item := r.give(onceward.Keyed, func(r *record) { r.event.Item, r.event.Of = 3, 40 })
	whole := r.give(onceward.Keyed)
	r.store.untilState(item, completed)
	r.store.untilState(whole, completed)
	for _, q := range sink.Requests() {
		alone := q.Header.Get("Onceward-Event") == item.Event.String()
		if want := map[bool]string{true: "3/40", false: ""}[alone]; q.Header.Get("Onceward-Item") != want {
			t.Errorf("item %q, want %q", q.Header.Get("Onceward-Item"), want)
		}
		if signed := q.Header.Get("X-Signature") != ""; signed == alone {
			t.Errorf("alone %v, with the signature of the whole body %v", alone, signed)
		}
	}
}

func TestLinesInTheLogNameTheOperationAndNoSecret(t *testing.T) {
	sink := testkit.NewSink(t, always(testkit.Answer{Status: 500, Body: "SENTINEL-BODY", Header: map[string]string{"X-Leak": "SENTINEL-HEADER"}}))
	for _, url := range []string{sink.URL + "/x?token=SENTINEL-URL", testkit.RefusedURL(t) + "/x?token=SENTINEL-URL", "http://user:SENTINEL-PASSWORD@" + strings.TrimPrefix(sink.URL, "http://")} {
		r := start(t, to(t, url, onceward.Unsafe))
		id := r.give(onceward.Unsafe)
		r.store.until("an end", func() bool { return !r.store.all[id].State.Open() })
		r.stop()
		text := r.log.String()
		if strings.Contains(text, "SENTINEL") {
			t.Errorf("the log holds what it must not: %s", text)
		}
		for _, want := range []string{`"event":"` + id.Event.String(), `"operation":"fulfil"`, `"key":"` + r.store.all[id].event.Key.String(), `"attempt":1`, `"fence":1`, `"state":"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the log lacks %s: %s", want, text)
			}
		}
		if o := r.store.get(id); strings.Contains(o.Reason, "SENTINEL") {
			t.Errorf("the reason is %q", o.Reason)
		}
	}
}
