package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testkit"
)

func TestWhatCannotBeTakenNowStaysRecorded(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	store := newMemory(t)
	store.failing("Claim", 1)
	r := start(t, to(t, sink.URL, onceward.Keyed), with(store))
	if o := store.untilState(r.give(onceward.Keyed), completed); o.Attempt != 1 {
		t.Errorf("left as %+v", o)
	}
}

// halfClaimed is a store that leases operations and then cannot read what
// belongs to them.
type halfClaimed struct {
	*memory
	fail bool
}

func (h *halfClaimed) Claim(ctx context.Context, r onceward.ClaimRequest) ([]onceward.Leased, time.Time, error) {
	leased, next, err := h.memory.Claim(ctx, r)
	if h.fail && len(leased) > 0 {
		h.fail = false
		for i := range leased {
			leased[i].Event, leased[i].Payload = onceward.Event{}, onceward.Payload{}
		}
		return leased, next, fmt.Errorf("%w: a page cannot be read", onceward.ErrUnavailable)
	}
	return leased, next, err
}

func TestNothingIsSentOfAClaimThatFailed(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := newClock()
	store := newMemory(t)
	r := prepare(t, to(t, sink.URL, onceward.Keyed, concurrency(1)), with(store), at(c), func(s *setup) { s.Wrap = &halfClaimed{s.store, true} })
	id := r.store.add("fulfil", onceward.Keyed)
	r.run(t)
	store.until("the claim", func() bool { return store.called["Claim"] > 0 })
	c.Advance(2 * time.Minute)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.untilState(id, completed)
	for _, q := range sink.Requests() {
		if want := store.all[id].event.Key.Downstream("fulfil", 0, ""); q.Key() != want || len(q.Body) == 0 {
			t.Errorf("request %d has key %s and %d bytes", q.N, q.Key(), len(q.Body))
		}
	}
	for range 5 { // no place is lost
		store.until("a place", func() bool { return r.Reserve("fulfil", &onceward.Planned{}) != nil })
	}
}

func TestWhatCannotBeReadIsNotSentAndTriedAgain(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			r := start(t, to(t, sink.URL, effect))
			id := r.give(effect, func(r *record) { r.faults = 1 })
			o := r.store.untilState(id, completed)
			if len(sink.Requests()) != 1 || sink.Requests()[0].Key() != r.store.all[id].event.Key.Downstream("fulfil", 0, "") {
				t.Errorf("%d requests, left as %+v", len(sink.Requests()), o)
			}
		})
	}
}
