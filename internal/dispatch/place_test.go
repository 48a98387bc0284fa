package dispatch_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/testkit"
)

// reserve takes a place and records an operation as it is to be born.
func reserve(t *testing.T, r *rig, effect onceward.Effect) (*dispatch.Place, onceward.Leased) {
	t.Helper()
	planned := onceward.Planned{Name: "fulfil", Effect: effect}
	place := r.Reserve("fulfil", &planned)
	if place == nil {
		t.Fatal("there is no place")
	}
	id := r.store.add("fulfil", effect, func(rec *record) {
		o, _, err := rec.Take(planned.Owner, onceward.Limits{Lease: planned.Lease}, planned.Intend, rec.DueAt)
		if err != nil {
			t.Fatal(err)
		}
		rec.Operation = o
	})
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return place, r.store.all[id].lease(false)
}

func TestAnOperationThatIsBornLeasedGoesOutWithoutAClaim(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			r := start(t, to(t, sink.URL, effect))
			place, leased := reserve(t, r, effect)
			if l := leased.Lease; l.Owner != "node-1" || l.Fence != 1 || l.Attempt != 1 || l.Until.Before(time.Now().Add(50*time.Second)) {
				t.Errorf("born with the lease %+v", l)
			}
			if leased.Operation.Intent != (effect == onceward.Keyed) {
				t.Errorf("born with intent %v", leased.Operation.Intent)
			}
			place.Start(leased)
			if o := r.store.untilState(leased.Operation.ID, completed); o.Attempt != 1 || o.Fence != 1 {
				t.Errorf("left as %+v, want it done by its first owner", o)
			}
		})
	}
}

func TestPlacesAreAsManyAsTheLaneHasAndComeBack(t *testing.T) {
	r := prepare(t, to(t, testkit.RefusedURL(t), onceward.Keyed, concurrency(2)))
	var places []*dispatch.Place
	for {
		var planned onceward.Planned
		place := r.Reserve("fulfil", &planned)
		if place == nil {
			if planned.Owner != "" || planned.Intend {
				t.Errorf("without a place it is planned as %+v", planned)
			}
			break
		}
		if places = append(places, place); len(places) > 1000 {
			t.Fatal("there is no end to the places")
		}
	}
	if len(places) != 10 {
		t.Errorf("%d places for two calls at once, want 10", len(places))
	}
	for _, p := range places {
		p.Release()
	}
	for range places {
		if r.Reserve("fulfil", &onceward.Planned{}) == nil {
			t.Fatal("a released place did not come back")
		}
	}
}

func TestRecordedWorkGoesBeforeNewWork(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := prepare(t, to(t, sink.URL, onceward.Keyed))
	id := r.give(onceward.Keyed) // nothing runs yet, so it waits in the store
	if r.Reserve("fulfil", &onceward.Planned{}) != nil {
		t.Fatal("new work overtook what is recorded")
	}
	r.run(t)
	r.store.untilState(id, completed)
	r.store.until("a place for new work", func() bool {
		place := r.Reserve("fulfil", &onceward.Planned{})
		if place != nil {
			place.Release()
		}
		return place != nil
	})
}

func TestThereIsNoPlaceForAnOperationThatNobodyConfigured(t *testing.T) {
	r := prepare(t, to(t, testkit.RefusedURL(t), onceward.Keyed))
	if r.Reserve("unheard-of", &onceward.Planned{}) != nil {
		t.Error("got a place")
	}
	r.Wake("unheard-of") // and nothing happens
}
