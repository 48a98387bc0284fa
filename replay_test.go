package onceward_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// Whatever stands there and whatever is asked, a replay keeps the promises: what
// is completed stays, a new key needs consent, the same key is the same.
func TestAReplayOfAnythingKeepsThePromises(t *testing.T) {
	key := onceward.Digest{1, 2, 3}
	tried := map[string]int{}
	for _, o := range standings() {
		o.ID = onceward.OperationID{Event: 1, N: 1}
		e := onceward.Event{ID: 1, Key: key, Verdict: onceward.Accepted, Operations: []onceward.Operation{o}}
		for _, mode := range []onceward.Mode{onceward.Resume, onceward.Redeliver, onceward.Reexecute} {
			for _, d := range []onceward.Decision{decision, consent} {
				for _, held := range []bool{false, true} {
					all, err := e.Replay(onceward.Replay{Decision: d, Mode: mode, Held: held}, noon)
					if err != nil || len(all) == 0 {
						t.Fatalf("%s of %+v: %v", mode, o, err)
					}
					for _, r := range all {
						tried[r.Did]++
						replayedRightly(t, o, r, d, key)
						if r.Did != onceward.Left && o.State == onceward.Quarantined && !held {
							t.Errorf("%s let go what is held: %+v", mode, r)
						}
					}
					if d.Consent && errors.Is(onceward.Refusal(all), onceward.ErrConsent) {
						t.Errorf("%s with consent still wants it: %+v", mode, all)
					}
				}
			}
		}
	}
	for _, did := range []string{onceward.Retried, onceward.Redelivered, onceward.Reexecuted, onceward.Superseded, onceward.Left} {
		if tried[did] == 0 {
			t.Errorf("nothing was %s, so this test shows nothing about it", did)
		}
	}
}

func replayedRightly(t *testing.T, o onceward.Operation, r onceward.Replayed, d onceward.Decision, key onceward.Digest) {
	t.Helper()
	same := r.To.Downstream(key, "") == o.Downstream(key, "")
	switch r.Did {
	case onceward.Left:
		if r.From != r.To || r.From != o || r.Why == "" {
			t.Errorf("left, and not as it was, or without a reason: %+v", r)
		}
		return
	case onceward.Retried:
		if !same || o.State == onceward.Completed || o.Unknown && !d.Consent {
			t.Errorf("retried: %+v", r)
		}
	case onceward.Redelivered:
		if !same || o.State != onceward.Completed || r.From.State != 0 || r.To.Attempt != o.Attempt || o.Effect != onceward.Keyed && !d.Consent {
			t.Errorf("redelivered: %+v", r)
		}
	case onceward.Reexecuted:
		if same || !d.Consent || r.From.State != 0 || o.State == onceward.UnknownOutcome || o.State.Open() {
			t.Errorf("re-executed: %+v", r)
		}
	case onceward.Superseded:
		if !r.To.Superseded || r.To.State != onceward.Completed || o.State == onceward.Completed || r.To.Fence <= r.From.Fence {
			t.Errorf("superseded: %+v", r)
		}
	default:
		t.Errorf("%q is not what a replay does to one operation: %+v", r.Did, r)
	}
	if !follows(r.By, r.From.State, r.To.State) {
		t.Errorf("%s does not lead from %s to %s", r.By, r.From.State, r.To.State)
	}
	if why := broken(r.To); why != "" {
		t.Errorf("%s: %+v", why, r.To)
	}
}

func TestAReplayIsOfTheLastOfEachNameAndContent(t *testing.T) {
	op := func(n int, state onceward.State, change func(*onceward.Operation)) onceward.Operation {
		o := onceward.Operation{ID: onceward.OperationID{Event: 1, N: n}, Name: "a", State: state, Effect: onceward.Keyed, Attempt: 1, Fence: 1}
		if state.Open() {
			o.DueAt = noon
		}
		change(&o)
		return o
	}
	plain := func(*onceward.Operation) {}
	again := func(o *onceward.Operation) { o.Redelivery = 1 }
	later := func(o *onceward.Operation) { o.Revision = "r" }
	e := onceward.Event{ID: 1, Verdict: onceward.Accepted, Operations: []onceward.Operation{
		op(1, onceward.Completed, plain), op(2, onceward.Completed, again), op(3, onceward.Completed, later), op(4, onceward.DeadLettered, func(o *onceward.Operation) { o.Name = "b" }),
	}}
	all, err := e.Replay(onceward.Replay{Decision: decision, Mode: onceward.Redeliver}, noon)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all[0].To.Redelivery != 2 || all[1].To.Revision != "r" || all[1].To.Redelivery != 1 || all[2].Did != onceward.Retried {
		t.Errorf("%+v", all)
	}
	if all, err := e.Replay(onceward.Replay{Decision: decision, Mode: onceward.Resume, Operations: []string{"b"}}, noon); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	e.Erased = noon
	if _, err := e.Replay(onceward.Replay{Decision: decision, Mode: onceward.Resume}, noon); !errors.Is(err, onceward.ErrNotAllowed) {
		t.Errorf("erased: %v", err)
	}
}

// Whatever stands in which order, one re-execution begins for each work, under a
// generation that nothing has, and only when all the others have ended.
func TestOneReexecutionForHoweverManyOperationsDoTheSame(t *testing.T) {
	var some []onceward.Operation
	for _, o := range standings() {
		o.Name, o.Stream = "a", 0
		if !o.Superseded {
			some = append(some, o)
		}
	}
	begun := 0
	for _, one := range some {
		for _, two := range some {
			for _, superseded := range []bool{false, true} {
				one, two := one, two
				one.ID, two.ID, two.Generation = onceward.OperationID{Event: 1, N: 1}, onceward.OperationID{Event: 1, N: 2}, one.Generation+1
				last := onceward.Operation{ID: onceward.OperationID{Event: 1, N: 3}, Name: "a", State: onceward.Completed, Effect: onceward.Keyed, Superseded: true, Generation: two.Generation + 1}
				e := onceward.Event{ID: 1, Verdict: onceward.Accepted, Operations: []onceward.Operation{one, two}}
				if superseded {
					e.Operations = append(e.Operations, last)
				}
				all, err := e.Replay(onceward.Replay{Decision: consent, Mode: onceward.Reexecute, Held: true}, noon)
				if err != nil {
					t.Fatal(err)
				}
				runs, closed := 0, 0
				for _, r := range all {
					switch r.Did {
					case onceward.Reexecuted:
						runs++
						if r.To.Generation <= e.Operations[len(e.Operations)-1].Generation {
							t.Errorf("generation %d is taken: %+v", r.To.Generation, e.Operations)
						}
					case onceward.Superseded:
						closed++
					}
				}
				ended := func(o onceward.Operation) bool {
					return o.State == onceward.Completed || o.State == onceward.DeadLettered
				}
				want := 0
				if ended(one) && ended(two) {
					want = 1
				}
				if runs != want || want == 0 && closed > 0 {
					t.Fatalf("%d runs, %d closed, want %d of %+v", runs, closed, want, e.Operations)
				}
				begun += runs
			}
		}
	}
	if begun == 0 {
		t.Error("nothing ran, so this test shows nothing")
	}
}

func TestTheAgeOfAnArrival(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		stale    onceward.OnStale
		happened time.Time
		restored time.Time
		held     bool
		refused  bool
	}{
		"no time":                     {onceward.RejectStale, time.Time{}, noon, false, false},
		"young":                       {onceward.RejectStale, noon.Add(-day), time.Time{}, false, false},
		"as old as the memory":        {onceward.ReviewStale, noon.Add(-90 * day), time.Time{}, false, false},
		"older":                       {onceward.ReviewStale, noon.Add(-90*day - 1), time.Time{}, true, false},
		"older and accepted":          {onceward.AcceptStale, noon.Add(-900 * day), time.Time{}, false, false},
		"older and refused":           {onceward.RejectStale, noon.Add(-91 * day), time.Time{}, true, true},
		"before a restore":            {onceward.AcceptStale, noon.Add(-day), noon, true, false},
		"before a restore, refusing":  {onceward.RejectStale, noon.Add(-91 * day), noon, true, false},
		"at the moment of a restore":  {onceward.ReviewStale, noon, noon, false, false},
		"ahead of everybody's clocks": {onceward.RejectStale, noon.Add(9 * day), noon, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := &onceward.Admission{At: noon, Keys: 90 * day, Stale: c.stale}
			why, refused := a.Age(&onceward.Arrival{Authentic: c.happened}, c.restored)
			if (why != "") != c.held || refused != c.refused {
				t.Errorf("%q, refused %t", why, refused)
			}
		})
	}
}
