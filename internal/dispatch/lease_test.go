package dispatch_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/testkit"
)

func lease(d time.Duration) func(*setup) {
	return func(s *setup) { s.Operations[0].Steps[0].Lease = d }
}

func timeout(d time.Duration) func(*dispatch.Destination) {
	return func(to *dispatch.Destination) { to.Timeout = d }
}

// claim takes due operations as another process would.
func claim(t *testing.T, m *memory, effect onceward.Effect) []onceward.Leased {
	t.Helper()
	leased, _, err := m.Claim(t.Context(), onceward.ClaimRequest{
		Name: "fulfil", Owner: "node-2", Effect: effect, Limits: onceward.Limits{Attempts: 9, Lease: time.Minute}, Intend: effect == onceward.Keyed, Limit: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	return leased
}

func TestACallIsNotTakenOverWhileItMayStillRun(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			hold, open := gate(t)
			defer open()
			c := newClock()
			sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold}))
			// The configured lease is shorter than the call may take.
			r := start(t, to(t, sink.URL, effect, timeout(30*time.Second)), lease(100*time.Millisecond), at(c))
			id := r.give(effect)
			sink.WaitFor(t, patience, "the call", arrived(1))
			c.Advance(30 * time.Second) // the longest that it may take
			if stolen := claim(t, r.store, effect); len(stolen) != 0 || r.store.get(id).State != onceward.Processing {
				t.Fatalf("taken over under the call: %+v", r.store.get(id))
			}
			open()
			if o := r.store.untilState(id, completed); o.Attempt != 1 {
				t.Errorf("left as %+v", o)
			}
		})
	}
}

func TestTheLeaseOfALongCallIsRenewedUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const call = 10 * time.Minute
		r := prepare(t, to(t, "http://127.0.0.1:1", onceward.Keyed, timeout(call)))
		id := r.store.add("fulfil", onceward.Keyed)
		l := claim(t, r.store, onceward.Keyed)[0]
		var err error
		if l.Lease, err = r.store.Renew(t.Context(), l.Lease, call+10*time.Second); err != nil {
			t.Fatal(err)
		}
		stop := r.Keep(t.Context(), "fulfil", l)
		for range 30 { // half an hour: three times what the lease began with
			time.Sleep(time.Minute)
			if stolen := claim(t, r.store, onceward.Keyed); len(stolen) != 0 {
				t.Fatalf("taken over after %s", time.Since(l.Operation.Changed))
			}
		}
		if last := stop(); last.Fence != l.Lease.Fence || !last.Until.After(time.Now()) || !last.Until.Equal(r.store.get(id).DueAt) {
			t.Errorf("the lease is %+v at the end, the store has %+v", last, r.store.get(id))
		}
		renewed := r.store.calls("Renew")
		time.Sleep(time.Hour)
		if n := r.store.calls("Renew"); n != renewed {
			t.Errorf("renewed %d times after the call had ended", n-renewed)
		}
	})
}

func TestRenewingEndsWhenTheLeaseIsLostAndOutlivesAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const call = 10 * time.Minute
		r := prepare(t, to(t, "http://127.0.0.1:1", onceward.Keyed, timeout(call)))
		r.store.add("fulfil", onceward.Keyed)
		l := claim(t, r.store, onceward.Keyed)[0]
		r.store.failing("Renew", 2)
		stop := r.Keep(t.Context(), "fulfil", l)
		time.Sleep(20 * time.Minute)
		if n := r.store.calls("Renew"); n < 3 {
			t.Fatalf("asked the store %d times, want it to go on after two failures", n)
		}
		time.Sleep(24 * time.Hour)
		r.store.mu.Lock()
		r.store.all[l.Operation.ID].Fence++ // a person decided
		r.store.mu.Unlock()
		time.Sleep(time.Hour)
		asked := r.store.calls("Renew")
		time.Sleep(24 * time.Hour)
		if n := r.store.calls("Renew"); n != asked {
			t.Errorf("asked %d times more after the lease was lost", n-asked)
		}
		stop()
	})
}

func TestTheIntentIsOnRecordBeforeTheCall(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			store := newMemory(t)
			seen := make(chan onceward.Operation, 1)
			id := store.add("fulfil", effect)
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
				seen <- store.get(id)
				return testkit.Answer{}
			})
			start(t, to(t, sink.URL, effect), with(store))
			if o := <-seen; !o.Intent || o.State != onceward.Processing || o.Owner != "node-1" || o.Attempt != 1 {
				t.Errorf("while the request is there the store has %+v", o)
			}
			if o := store.untilState(id, completed); o.Intent {
				t.Error("the intent is still open after the answer")
			}
		})
	}
}

func TestNothingIsSentWhenTheIntentCannotBeRecorded(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := newClock()
	store := newMemory(t)
	store.failing("Intend", 1)
	r := start(t, to(t, sink.URL, onceward.Unsafe), with(store), at(c))
	id := r.give(onceward.Unsafe)
	store.until("the intent to be refused", func() bool { return store.called["Intend"] == 1 })
	c.Advance(time.Minute) // the lease runs out
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.untilState(id, completed)
	if o := store.get(id); len(sink.Requests()) != 1 || o.Attempt != 2 {
		t.Errorf("%d requests, left as %+v", len(sink.Requests()), o)
	}
	if _, recovered := r.told(); recovered != 1 {
		t.Errorf("%d takeovers were counted, want 1", recovered)
	}
}

func TestALateResultIsDiscardedWhenTheLeaseWasLost(t *testing.T) {
	hold, open := gate(t)
	sink := testkit.NewSink(t, always(testkit.Answer{Hold: hold, Header: map[string]string{"Onceward-Result": "late"}}))
	c := newClock()
	r := start(t, to(t, sink.URL, onceward.Keyed), at(c))
	id := r.give(onceward.Keyed)
	sink.WaitFor(t, patience, "the call", arrived(1))
	c.Advance(time.Hour)
	other := claim(t, r.store, onceward.Keyed)
	if len(other) != 1 || other[0].Lease.Attempt != 2 || !other[0].Operation.Intent {
		t.Fatalf("takeover %+v", other)
	}
	if _, err := r.store.Settle(t.Context(), other[0].Lease, onceward.Succeeded("first"), onceward.Limits{Attempts: 9}); err != nil {
		t.Fatal(err)
	}
	open()
	r.stop()
	if o := r.store.get(id); o.State != completed || o.Result != "first" {
		t.Errorf("left as %+v", o)
	}
	if n := r.store.calls("Settle"); n != 2 {
		t.Errorf("settled %d times: a lost lease is no reason to try again", n-1)
	}
	if !strings.Contains(r.log.String(), "came too late") {
		t.Error("nothing in the log tells of the discarded result")
	}
}

func TestAnOutcomeWaitsForAStoreThatIsAway(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			store := newMemory(t)
			store.failing("Settle", 3)
			r := start(t, to(t, sink.URL, effect), with(store))
			id := r.give(effect)
			o := store.untilState(id, completed)
			if len(sink.Requests()) != 1 || o.Attempt != 1 {
				t.Errorf("%d requests, left as %+v", len(sink.Requests()), o)
			}
		})
	}
}

func TestAStopWhileTheStoreIsAwayLosesNothing(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			c := newClock()
			store := newMemory(t)
			store.failing("Settle", 1_000_000)
			r := start(t, to(t, sink.URL, effect), with(store), at(c))
			id := r.give(effect)
			store.until("an outcome that cannot be recorded", func() bool { return store.called["Settle"] > 0 })
			r.stop()
			if o := store.get(id); !o.Intent || o.State != onceward.Processing {
				t.Fatalf("left as %+v", o)
			}
			store.failing("", 0)
			c.Advance(time.Hour)
			next := start(t, to(t, sink.URL, effect), with(store), at(c), func(s *setup) { s.Owner = "node-2" })
			if effect == onceward.Unsafe {
				store.untilState(id, unknown)
				next.stop()
				if n := len(sink.Requests()); n != 1 {
					t.Errorf("an unsafe call was made %d times", n)
				}
				return
			}
			store.untilState(id, completed)
			if sink.Effects() != 1 || sink.Repeats() != 1 {
				t.Errorf("%d keys with %d repeats, want one key twice", sink.Effects(), sink.Repeats())
			}
		})
	}
}

func TestALargePayloadIsReadWhenItsCallBegins(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := start(t, to(t, sink.URL, onceward.Keyed))
	id := r.give(onceward.Keyed, func(r *record) { r.large = true })
	r.store.untilState(id, completed)
	if q := sink.Requests(); len(q) != 1 || string(q[0].Body) != string(r.store.all[id].payload.Body) || len(q[0].Body) == 0 {
		t.Errorf("%d requests", len(q))
	}
}

func TestWithoutItsPayloadAnOperationIsADeadLetter(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			sink := testkit.NewSink(t, nil)
			r := start(t, to(t, sink.URL, effect))
			o := r.store.untilState(r.give(effect, func(r *record) { r.missing = true }), dead)
			if !strings.Contains(o.Reason, "no longer kept") || len(sink.Requests()) != 0 || o.Intent {
				t.Errorf("%d requests, left as %+v", len(sink.Requests()), o)
			}
		})
	}
}

func TestATakeoverIsCountedAndAHandBackIsNot(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := newClock()
	store := newMemory(t)
	store.now = c.Now
	lost, handed := store.add("fulfil", onceward.Keyed), store.add("fulfil", onceward.Keyed)
	for _, l := range claim(t, store, onceward.Keyed) {
		if l.Operation.ID == handed {
			if err := store.HandBack(t.Context(), l.Lease); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Advance(time.Hour)
	r := start(t, to(t, sink.URL, onceward.Keyed), with(store), at(c))
	store.untilState(lost, completed)
	store.untilState(handed, completed)
	if _, recovered := r.told(); recovered != 1 {
		t.Errorf("%d takeovers, want 1", recovered)
	}
}

// TestWaitingInALaneSpendsNoAttempt: the lane is slower than the lease is long.
func TestWaitingInALaneSpendsNoAttempt(t *testing.T) {
	for _, effect := range bothEffects {
		t.Run(effect.String(), func(t *testing.T) {
			c := newClock()
			store := newMemory(t)
			store.now = c.Now
			var ids []onceward.OperationID
			for range 5 {
				ids = append(ids, store.add("fulfil", effect))
			}
			step := make(chan struct{})
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: step} })
			r := start(t, to(t, sink.URL, effect, concurrency(1), timeout(2*time.Minute)), with(store), at(c))
			for n := range ids {
				sink.WaitFor(t, patience, "the next call", arrived(n+1))
				for n == 0 && r.Waiting("billing") < len(ids)-1 {
					runtime.Gosched() // the claim loop has not passed on all of them yet
				}
				for range 3 { // each call takes its time; the lease is a minute
					c.Advance(20 * time.Second)
					r.RenewWaiting("billing")
				}
				if err := r.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := janitor(store, r.Limits()["fulfil"][0]); err != nil {
					t.Fatal(err)
				}
				step <- struct{}{}
				store.until("the outcome", func() bool { return len(store.attempts) == n+1 })
			}
			for _, id := range ids {
				if o := store.untilState(id, completed); o.Attempt != 1 || o.Fence > 2 {
					t.Errorf("left as %+v after %+v, want it done in its first attempt", o, store.ended(id))
				}
			}
		})
	}
}

// janitor does what the janitor does.
func janitor(m *memory, limits onceward.Limits) (moved int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.all {
		o, _, err := r.Expire(limits, m.now())
		if errors.Is(err, onceward.ErrNotDue) {
			continue
		}
		if err := errors.Join(err, m.put(o)); err != nil {
			return moved, err
		}
		moved++
	}
	return moved, nil
}
