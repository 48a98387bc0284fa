package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Cases 78 to 84 are those of the contract's list of test cases.
var orderCases = map[string]func(*suite){
	"case 78: latest applies the newer version and supersedes the older": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		two, one := st.arrive(2), st.arrive(1)
		st.runs(2, two) // when both are there they run in order
		if o := s.want(one, onceward.Completed); o.Superseded {
			s.Errorf("the older one came in time, and is %s", o.Reason)
		}
	},
	"case 78: what is older than what was applied never runs": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		two := st.arrive(2)
		st.succeed(st.take(two))
		one := st.arrive(1)
		o := s.want(one, onceward.Completed)
		if !o.Superseded || o.Attempt != 0 || !strings.Contains(o.Reason, "older than 2") {
			s.Fatalf("the older one is %+v", o)
		}
		st.audited(one, "T25", "gate")
		st.idle()
		s.counts("completed=2")
	},
	"an older version that waits for its next attempt is superseded": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		one := st.arrive(1)
		st.settle(st.take(one), onceward.NotApplied("busy", s.clock.Now().Add(time.Minute)))
		two := st.arrive(2)
		st.succeed(st.take(two))
		s.clock.Advance(2 * time.Minute)
		st.idle()
		if o := s.want(one, onceward.Completed); !o.Superseded {
			s.Fatalf("the older one is %+v", o)
		}
	},
	"case 79: strict runs 1, 3, 2 in the order 1, 2, 3": func(s *suite) {
		st := s.stream(strict())
		one, three := st.arrive(1), st.arrive(3)
		st.succeed(st.take(one))
		st.idle()
		two := st.arrive(2)
		st.succeed(st.take(two))
		st.succeed(st.take(three))
	},
	"case 80: a gap that lasts is quarantined, and what was missing goes on": func(s *suite) {
		st := s.stream(strict())
		st.succeed(st.take(st.arrive(1)))
		three := st.arrive(3)
		s.clock.Advance(4 * time.Minute)
		st.idle()
		s.want(three, onceward.Received)
		s.clock.Advance(2 * time.Minute)
		st.idle()
		if o := s.want(three, onceward.Quarantined); !strings.Contains(o.Reason, "2 has not come") {
			s.Fatalf("held because %q", o.Reason)
		}
		st.audited(three, "T24", "gate")
		two := st.arrive(2)
		st.succeed(st.take(two))
		st.idle() // the third is a person's now
		st.release(three)
		st.succeed(st.take(three))
	},
	"case 80: a gap that may be passed over is put on record, and what comes late is superseded": func(s *suite) {
		order := strict()
		order.OnGap = onceward.ChooseRefetch
		st := s.stream(order)
		st.succeed(st.take(st.arrive(1)))
		three := st.arrive(3)
		s.clock.Advance(6 * time.Minute)
		l := st.take(three)
		if !l.Operation.Refetch {
			s.Error("the destination is not told to read the current state")
		}
		st.audited(three, "order", "gate")
		st.succeed(l)
		two := st.arrive(2)
		if o := s.want(two, onceward.Completed); !o.Superseded || !strings.Contains(o.Reason, "late after the gap") {
			s.Fatalf("the late one is %+v", o)
		}
	},
	"a stream that is first seen in the middle begins there after the wait": func(s *suite) {
		st := s.stream(strict())
		seven := st.arrive(7)
		st.idle()
		five := st.arrive(5)
		s.clock.Advance(6 * time.Minute)
		st.succeed(st.take(five))
		st.idle() // six may come
		st.succeed(st.take(st.arrive(6)))
		st.succeed(st.take(seven))
	},
	"case 81: an equal version with other content is not stale": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		a, b := st.arrive(1), st.arrive(1)
		st.runs(1, a)
		st.runs(1, b)
	},
	"case 81: an equal version with the same content is superseded": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		st.succeed(st.take(st.arrive(1)))
		if o := s.want(st.arriveWith(1, "body 1"), onceward.Completed); !o.Superseded {
			s.Fatalf("it is %+v", o)
		}
	},
	"case 81: an equal version is quarantined where that was chosen": func(s *suite) {
		for _, order := range []onceward.Order{{Mode: onceward.LatestFirst, Tie: onceward.ChooseQuarantine}, strict()} {
			st := s.stream(order)
			st.succeed(st.take(st.arrive(1)))
			tie := st.arrive(1)
			s.want(tie, onceward.Quarantined)
			st.succeed(st.take(st.arrive(2))) // which holds nobody up
			st.release(tie)
			if order.Mode == onceward.LatestFirst { // 2 was applied since: the guard holds for persons, too
				s.want(tie, onceward.Completed)
			} else {
				st.succeed(st.take(tie))
			}
		}
	},
	"case 82: two workers never have two operations of one stream": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.RefetchOnly})
		const n = 40
		var ids []onceward.OperationID
		for range n {
			ids = append(ids, st.arrive(1))
		}
		var mu sync.Mutex
		active, done := 0, 0
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for {
					leased := s.claim(fmt.Sprint("w", w), onceward.Keyed, 10)
					mu.Lock()
					active += len(leased)
					if active > 1 {
						s.Errorf("%d are active at once", active)
					}
					mu.Unlock()
					for _, l := range leased {
						mu.Lock()
						active--
						done++
						mu.Unlock()
						st.succeed(l)
					}
					mu.Lock()
					end := done == n
					mu.Unlock()
					if end {
						return
					}
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if o := s.want(id, onceward.Completed); o.Attempt != 1 || !o.Refetch {
				s.Errorf("%+v", o)
			}
		}
	},
	"case 83: an unknown predecessor blocks its stream and no other": func(s *suite) {
		st, other := s.stream(strict()), s.stream(strict())
		one := st.arrive(1)
		l := st.takeUnsafe(one)
		st.settle(l, onceward.Ambiguous("timeout", time.Time{}))
		two := st.arrive(2)
		st.idle()
		if o := s.want(two, onceward.Received); !strings.Contains(o.Reason, "unknown") {
			s.Errorf("it waits because %q", o.Reason)
		}
		oldest, err := s.Oldest(ctx, "fulfil")
		if err != nil || oldest.IsZero() {
			s.Errorf("a blocked stream is not seen in the age of the oldest: %v, %v", oldest, err)
		}
		other.succeed(other.take(other.arrive(1)))
		if _, err := s.Resolve(ctx, one, true, "", onceward.Decision{Actor: "ops", Reason: "seen", Evidence: "invoice 7"}); err != nil {
			s.Fatal(err)
		}
		st.succeed(st.take(two))
	},
	"a dead predecessor blocks, or is skipped by policy": func(s *suite) {
		for _, skip := range []bool{false, true} {
			order := strict()
			order.Skip = skip
			st := s.stream(order)
			one := st.arrive(1)
			st.settle(st.take(one), onceward.Refused("404"))
			two := st.arrive(2)
			if skip {
				st.succeed(st.take(two))
				st.release(one)
				if o := s.want(one, onceward.Completed); !o.Superseded {
					s.Fatalf("what was skipped ran after its successor: %+v", o)
				}
				continue
			}
			st.idle()
			st.release(one)
			st.succeed(st.take(one))
			st.succeed(st.take(two))
		}
	},
	"case 84: a sequence that goes back without an epoch is quarantined": func(s *suite) {
		st := s.stream(strict())
		for n := int64(5); n < 8; n++ {
			id := st.arrive(n)
			s.clock.Advance(6 * time.Minute)
			st.succeed(st.take(id))
		}
		back := st.arrive(1)
		if o := s.want(back, onceward.Quarantined); !strings.Contains(o.Reason, "without a new epoch") {
			s.Fatalf("held because %q", o.Reason)
		}
		st.release(back) // a person says that it begins anew
		st.succeed(st.take(back))
		st.succeed(st.take(st.arrive(2)))
		anew := st.arriveAt(onceward.Place{Epoch: 1, Sequence: 1}, "new epoch")
		st.succeed(st.take(anew))
	},
	"case 85: copies neither advance nor release": func(s *suite) {
		st := s.stream(strict())
		one := st.arrive(1)
		st.succeed(st.take(one))
		three := st.arrive(3)
		for range 3 {
			if m := s.admit(st.last)[0]; m.Verdict != onceward.Duplicate {
				s.Fatalf("a copy is %s", m.Verdict)
			}
		}
		st.idle()
		s.want(three, onceward.Received)
	},
	"what is given up holds nobody up, and never runs after what went on without it": func(s *suite) {
		for _, order := range []onceward.Order{strict(), {Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed}} {
			st := s.stream(order)
			one := st.arrive(1)
			st.settle(st.take(one), onceward.Refused("404"))
			two := st.arrive(2)
			st.idle()
			if _, err := s.Abandon(ctx, one, onceward.Decision{Actor: "ops", Reason: "not needed"}); err != nil {
				s.Fatal(err)
			}
			st.audited(one, "T21b", "ops")
			st.succeed(st.take(two))
			if _, err := s.Abandon(ctx, one, onceward.Decision{Actor: "ops", Reason: "once more"}); err == nil {
				s.Error("it was given up twice")
			}
			st.release(one)
			if o := s.want(one, onceward.Completed); !o.Superseded {
				s.Errorf("it ran after its successor: %+v", o)
			}
		}
	},
	"a new order decides anew about what waits": func(s *suite) {
		st := s.stream(strict())
		one := st.arrive(1)
		st.settle(st.take(one), onceward.Refused("404"))
		two := st.arrive(2)
		st.idle()
		order := strict()
		order.Skip = true
		if err := s.Reorder(ctx, "fulfil", st.last.Key, order); err != nil {
			s.Fatal(err)
		}
		st.succeed(st.take(two))
	},
	"a hundred that are passed over hold nobody up": func(s *suite) {
		for _, order := range []onceward.Order{
			{Mode: onceward.RefetchOnly, Skip: true, Hold: 1000},
			{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed, Skip: true, Hold: 1000},
			{Mode: onceward.StrictOrder, Tie: onceward.ChooseQuarantine, OnGap: onceward.ChooseQuarantine, Gap: time.Minute, Skip: true, Hold: 1000},
		} {
			st := s.stream(order)
			for v := range int64(100) {
				l := st.takeUnsafe(st.arrive(v + 1))
				st.settle(l, onceward.Ambiguous("timeout", time.Time{}))
			}
			st.succeed(st.take(st.arrive(101)))
		}
	},
	"what is older than an unknown outcome that is passed over waits for a person": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed, Skip: true})
		two := st.arrive(2)
		st.settle(st.takeUnsafe(two), onceward.Ambiguous("timeout", time.Time{}))
		one := st.arrive(1)
		if o := s.want(one, onceward.Quarantined); !strings.Contains(o.Reason, "may have been applied") {
			s.Errorf("it is held because %q", o.Reason)
		}
		st.succeed(st.take(st.arrive(3)))
	},
	"what joined without a version runs, whatever the order is since": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed})
		st.succeed(st.take(st.arrive(59)))
		st.order = onceward.Order{Mode: onceward.RefetchOnly}
		hint := st.arriveAt(onceward.Place{}, "hint one")
		second := st.arriveAt(onceward.Place{}, "hint two")
		latest := onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed}
		if err := s.Reorder(ctx, "fulfil", st.last.Key, latest); err != nil {
			s.Fatal(err)
		}
		st.order = latest
		for _, id := range []onceward.OperationID{hint, second} {
			l := st.take(id)
			if !l.Operation.Refetch {
				s.Error("the destination is not told to read the current state")
			}
			st.succeed(l)
		}
		if o := s.want(st.arrive(58), onceward.Completed); !o.Superseded {
			s.Errorf("the stream forgot what was applied: %+v", o)
		}
		st.succeed(st.take(st.arrive(60)))
	},
}

func strict() onceward.Order {
	return onceward.Order{Mode: onceward.StrictOrder, Tie: onceward.ChooseQuarantine, OnGap: onceward.ChooseQuarantine, Gap: 5 * time.Minute, Hold: 100}
}
