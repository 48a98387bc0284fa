package storetest

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// depthCases are about streams that are deep, full, taken over and reopened.
var depthCases = map[string]func(*suite){
	"a deep stream runs one by one, in order": func(s *suite) {
		order := strict()
		order.Hold = 1000
		st := s.stream(order)
		const n = 150
		ids := make([]onceward.OperationID, n+1)
		for v := n; v >= 1; v-- { // the newest first, so that each is ahead of all others
			ids[v] = st.arrive(int64(v))
		}
		for v := 1; v <= n; v++ {
			st.succeed(st.take(ids[v]))
		}
	},
	"many that are parked and late hold nobody up": func(s *suite) {
		st := s.stream(strict())
		st.succeed(st.take(st.arrive(1)))
		for range 80 {
			s.want(st.arriveWith(1, fmt.Sprint("other ", arrivals)), onceward.Quarantined)
		}
		st.succeed(st.take(st.arrive(2)))
	},
	"an active one far behind is seen": func(s *suite) {
		st := s.stream(onceward.Order{Mode: onceward.LatestFirst, Tie: onceward.ChooseProceed, Hold: 1000})
		newest := st.arrive(1000)
		l := st.take(newest)
		for v := int64(1); v <= 100; v++ {
			st.arrive(v)
		}
		st.idle()
		st.succeed(l)
		st.idle() // all of them are older
		s.counts("completed=101")
	},
	"a full stream quarantines the newest": func(s *suite) {
		order := strict()
		order.Hold = 2
		st := s.stream(order)
		two, three := st.arrive(3), st.arrive(4)
		four := st.arrive(5)
		s.want(two, onceward.Received)
		s.want(three, onceward.Received)
		s.want(four, onceward.Quarantined)
	},
	"a lost owner's stream waits for the takeover": func(s *suite) {
		st := s.stream(strict())
		one := st.arrive(1)
		st.take(one)
		two := st.arrive(2)
		s.clock.Advance(2 * time.Minute)
		l := st.take(one)
		if !l.Recovered {
			s.Error("it is not seen as taken over")
		}
		st.succeed(l)
		st.succeed(st.take(two))
	},
	"a stream is known after a restart, and forgotten with its last event": func(s *suite) {
		st := s.stream(strict())
		st.succeed(st.take(st.arrive(1)))
		three := st.arrive(3)
		s.reopen()
		st.idle()
		st.succeed(st.take(st.arrive(2)))
		st.succeed(st.take(three))
		s.clock.Advance(91 * 24 * time.Hour)
		if _, n, err := s.PruneKeys(ctx, 0, 0, 100); err != nil || n != 3 {
			s.Fatalf("forgot %d, %v", n, err)
		}
		st.succeed(st.take(st.arrive(1)))
	},
}
