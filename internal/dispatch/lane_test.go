package dispatch_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/testkit"
)

func concurrency(n int) func(*dispatch.Destination) {
	return func(d *dispatch.Destination) { d.Concurrency = n }
}

func TestADestinationGetsNoMoreCallsAtOnceThanItMayHave(t *testing.T) {
	for name, test := range map[string]struct{ concurrency, workers, want int }{
		"as many as its own limit":        {3, 64, 3},
		"as many as there are workers":    {16, 4, 4},
		"one, when nothing else was said": {0, 64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			hold, open := gate(t)
			sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
			r := start(t, to(t, sink.URL, onceward.Keyed, concurrency(test.concurrency)), func(s *setup) { s.Workers = test.workers })
			var ids []onceward.OperationID
			for range 20 {
				ids = append(ids, r.give(onceward.Keyed))
			}
			sink.WaitFor(t, patience, "as many calls as allowed", arrived(test.want))
			open()
			for _, id := range ids {
				r.store.untilState(id, completed)
			}
			if sink.Most() != test.want || sink.Repeats() != 0 {
				t.Errorf("%d calls at once and %d repeats, want %d and 0", sink.Most(), sink.Repeats(), test.want)
			}
		})
	}
}

func TestAFullLaneHoldsNoMoreThanItsPlaces(t *testing.T) {
	hold, open := gate(t)
	defer open()
	sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
	r := start(t, to(t, sink.URL, onceward.Keyed, concurrency(2)))
	for range 50 {
		r.store.add("fulfil", onceward.Keyed)
	}
	r.Wake("fulfil")
	sink.WaitFor(t, patience, "two calls", arrived(2))
	if n := r.store.leased(); n > 10 {
		t.Errorf("%d operations are leased for a destination with 10 places", n)
	}
}

func TestARateLimitHoldsCallsBack(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, to(t, sink.URL, onceward.Keyed, func(d *dispatch.Destination) {
		d.Rate, d.Burst = rate.Limit(1.0/3600), 2 // the third one would go in an hour
	}))
	for range 6 {
		r.store.add("fulfil", onceward.Keyed)
	}
	r.Wake("fulfil")
	sink.WaitEffects(t, patience, 2)
	r.store.until("the two settled", func() bool { return len(r.store.attempts) == 2 })
	r.stop()
	if n := len(sink.Requests()); n != 2 {
		t.Errorf("%d calls, want the burst of 2", n)
	}
	waiting := 0
	for id := range r.store.all {
		if o := r.store.get(id); o.State != completed {
			waiting++
			if o.Owner != "" || o.Attempt != 0 || o.Intent {
				t.Errorf("what waited for the rate was not handed back: %+v", o)
			}
		}
	}
	if waiting != 4 {
		t.Errorf("%d wait, want 4", waiting)
	}
}

func TestASlowDestinationHoldsNobodyElse(t *testing.T) {
	hold, open := gate(t)
	defer open()
	slow := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
	quick := testkit.NewSink(t, nil)
	r := prepare(t, to(t, slow.URL, onceward.Keyed, concurrency(16)), func(s *setup) {
		s.Workers = 10
		s.Destinations["crm"] = to(t, quick.URL, onceward.Keyed)
		s.Operations = append(s.Operations, dispatch.Operation{Name: "tell", Steps: []dispatch.Step{{Destination: "crm", Lease: s.Operations[0].Steps[0].Lease}}})
		for i := range 20 { // a third one, dead as the first
			name := fmt.Sprint("dead", i)
			s.Destinations[name] = to(t, slow.URL, onceward.Keyed, concurrency(16))
			s.Operations = append(s.Operations, dispatch.Operation{Name: name, Steps: []dispatch.Step{{Destination: name, Lease: s.Operations[0].Steps[0].Lease}}})
		}
	})
	for i := range 100 {
		r.store.add("fulfil", onceward.Keyed)
		r.store.add(fmt.Sprint("dead", i%20), onceward.Keyed)
	}
	r.run(t)
	slow.WaitFor(t, patience, "the slow ones to be under way", arrived(10))
	var told []onceward.OperationID
	for range 20 {
		told = append(told, r.store.add("tell", onceward.Keyed))
	}
	r.Wake("tell")
	quick.WaitEffects(t, patience, 20)
	for _, id := range told {
		r.store.untilState(id, completed)
	}
	if slow.Effects() != 0 {
		t.Fatal("the slow destination answered: the test proved nothing")
	}
}

func TestAPausedDestinationGetsNothingUntilItIsResumed(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	store := newMemory(t)
	store.pauses["billing"] = onceward.Decision{Actor: "ops"}
	r := start(t, to(t, sink.URL, onceward.Keyed), with(store))
	id := r.give(onceward.Keyed)
	var planned onceward.Planned
	if place := r.Reserve("fulfil", &planned); place != nil {
		t.Error("a place was reserved at a paused destination")
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(sink.Requests()); n != 0 || store.get(id).State != onceward.Received {
		t.Fatalf("%d calls, operation %+v", n, store.get(id))
	}
	store.Unpause("billing")
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := store.untilState(id, completed); o.Attempt != 1 {
		t.Errorf("attempt %d, want the first", o.Attempt)
	}
}

func TestAnAnswerOf410PausesTheDestination(t *testing.T) {
	for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Unsafe} {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, first(1, testkit.Answer{Status: 410}))
			store := newMemory(t)
			var ids []onceward.OperationID
			for range 5 {
				ids = append(ids, store.add("fulfil", effect))
			}
			r := start(t, to(t, sink.URL, effect, concurrency(1)), with(store))
			store.untilState(ids[0], dead)
			store.until("the pause to be on record", func() bool { return store.pauses["billing"].Actor == "onceward" })
			store.until("the others to be handed back", func() bool {
				for _, id := range ids[1:] {
					if o := store.all[id]; o.Owner != "" || o.Attempt != 0 {
						return false
					}
				}
				return true
			})
			if n := len(sink.Requests()); n != 1 {
				t.Fatalf("%d calls after the destination wanted no more", n-1)
			}
			if why := store.pauses["billing"].Reason; !strings.Contains(why, "410") {
				t.Errorf("the pause says %q", why)
			}
			store.Unpause("billing")
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids[1:] {
				if o := store.untilState(id, completed); o.Attempt != 1 {
					t.Errorf("attempt %d, want the first", o.Attempt)
				}
			}
			if _, recovered := r.told(); recovered != 0 {
				t.Errorf("%d operations are counted as recovered, though no owner was lost", recovered)
			}
		})
	}
}

func TestAPauseHoldsInMemoryEvenIfItCannotBeRecorded(t *testing.T) {
	sink := testkit.NewSink(t, always(testkit.Answer{Status: 410}))
	store := newMemory(t)
	store.failing("Pause", 1)
	r := start(t, to(t, sink.URL, onceward.Unsafe, concurrency(1)), with(store))
	store.untilState(r.give(onceward.Unsafe), dead)
	id := r.give(onceward.Unsafe)
	r.stop()
	if n := len(sink.Requests()); n != 1 || store.get(id).Attempt != 0 {
		t.Errorf("%d calls, want 1; the second operation is %+v", n, store.get(id))
	}
}

func TestAnOperationNeedsItsDestination(t *testing.T) {
	_, err := dispatch.New(dispatch.Options{Operations: []dispatch.Operation{{Name: "fulfil", Steps: []dispatch.Step{{Destination: "nowhere"}}}}})
	if err == nil || !strings.Contains(err.Error(), "fulfil") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, want an error that names the operation and the destination", err)
	}
}

func TestLimitsAreEveryOperationsOwn(t *testing.T) {
	r := prepare(t, to(t, testkit.RefusedURL(t), onceward.Keyed))
	limits := r.Limits()
	if l := limits["fulfil"][0]; len(limits) != 1 || l.Attempts != 3 || l.Lease.String() != "1m0s" {
		t.Errorf("limits %+v", limits)
	}
}
