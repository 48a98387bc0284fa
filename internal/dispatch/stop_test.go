package dispatch_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/testkit"
)

var bothEffects = []onceward.Effect{onceward.Keyed, onceward.Unsafe}

func TestAStopHandsBackWhatHasNotBegunAndLetsCallsEnd(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			hold, open := gate(t)
			sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
			store := newMemory(t)
			var ids []onceward.OperationID
			for range 10 {
				ids = append(ids, store.add("fulfil", effect))
			}
			r := start(t, to(t, sink.URL, effect, concurrency(2)), with(store))
			sink.WaitFor(t, patience, "two calls", arrived(2))
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				r.stop()
			}()
			store.until("all but the calls under way to be handed back", func() bool {
				owned := 0
				for _, r := range store.all {
					if r.Owner != "" {
						owned++
					}
				}
				return owned == 2
			})
			open()
			<-stopped
			done := 0
			for _, id := range ids {
				switch o := store.get(id); {
				case o.State == completed:
					done++
				case o.Owner != "" || o.Attempt != 0 || o.Intent || o.DueAt.After(time.Now()):
					t.Errorf("not handed back, or its attempt counts: %+v", o)
				}
			}
			if done != 2 || len(sink.Requests()) != 2 || store.leased() != 0 {
				t.Errorf("%d done with %d requests, %d still leased; want 2, 2 and 0", done, len(sink.Requests()), store.leased())
			}
		})
	}
}

func TestACallThatOutlastsTheGraceIsCutAndAccountedFor(t *testing.T) {
	for _, test := range []struct {
		effect onceward.Effect
		state  onceward.State
	}{{onceward.Keyed, onceward.Processing}, {onceward.Unsafe, unknown}} {
		t.Run(test.effect.String(), func(t *testing.T) {
			hold, _ := gate(t)
			sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
			r := start(t, to(t, sink.URL, test.effect), func(s *setup) { s.Grace = time.Millisecond })
			id := r.give(test.effect)
			sink.WaitFor(t, patience, "the call", arrived(1))
			r.stop()
			o := r.store.get(id)
			if o.State != test.state || !o.Intent || o.Owner != "" {
				t.Errorf("left as %+v, want %s with its intent open", o, test.state)
			}
			if ended := r.store.ended(id); len(ended) != 1 || ended[0].Outcome != "ambiguous" {
				t.Errorf("attempts %+v", ended)
			}
		})
	}
}

func TestTheNextDispatcherGoesOnWithTheSameKey(t *testing.T) {
	sink := testkit.NewSink(t, always(testkit.Answer{Status: 503}))
	store := newMemory(t)
	unlimited := func(d *dispatch.Destination) { d.Backoff.Attempts = 0 } // the stop may be slower than the attempts
	r := start(t, to(t, sink.URL, onceward.Keyed, unlimited), with(store))
	id := r.give(onceward.Keyed)
	sink.WaitFor(t, patience, "two attempts", arrived(2))
	r.stop()
	begun := len(sink.Requests())
	sink.Script(nil)
	start(t, to(t, sink.URL, onceward.Keyed, unlimited), with(store), func(s *setup) { s.Owner = "node-2" })
	store.untilState(id, completed)
	want := store.all[id].event.Key.Downstream("fulfil", 0, "")
	var attempts []string
	for _, q := range sink.Requests() {
		if q.Key() != want || q.Header.Get("Webhook-Id") != want {
			t.Errorf("request %d has key %s and id %s, want %s", q.N, q.Key(), q.Header.Get("Webhook-Id"), want)
		}
		if string(q.Body) != string(store.all[id].payload.Body) {
			t.Errorf("request %d has another body", q.N)
		}
		attempts = append(attempts, q.Header.Get("Onceward-Attempt"))
	}
	var rising []string
	for n := range begun + 1 {
		rising = append(rising, strconv.Itoa(n+1))
	}
	if !slices.Equal(attempts, rising) {
		t.Errorf("attempts %v, want %v", attempts, rising)
	}
	if sink.Effects() != 1 || sink.Repeats() != 0 {
		t.Errorf("%d effects, %d repeats", sink.Effects(), sink.Repeats())
	}
}

func TestAPlaceThatIsStartedAfterTheStopIsHandedBack(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			r := start(t, to(t, sink.URL, effect))
			place, leased := reserve(t, r, effect)
			r.stop()
			place.Start(leased)
			o := r.store.get(leased.Operation.ID)
			if o.Owner != "" || o.Attempt != 0 || o.State != failed || len(sink.Requests()) != 0 {
				t.Errorf("left as %+v after %d requests", o, len(sink.Requests()))
			}
		})
	}
}
