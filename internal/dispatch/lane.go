package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/onceward/onceward"
)

// lane is one destination's queue: leased operations that wait in memory, its
// calls at once, its rate. All its sizes are bounded.
type lane struct {
	Destination
	name     string
	queue    chan job
	room     int64
	held     atomic.Int64    // reserved, queued, running or settling
	starved  atomic.Bool     // a claim loop waits for room
	watchers []chan struct{} // of the claim loops of its operations
	paused   atomic.Bool
	limiter  *rate.Limiter
	settling sync.WaitGroup
	waiting  waiting
	shortest time.Duration // lease of its operations
	slots    slots
}

type job struct {
	op     *operation
	leased onceward.Leased
	waiter *waiter
}

// Beside the calls under way a lane holds this many operations for each of
// them: enough to hide two commits.
const queuedPerCall = 4

func newLane(name string, d Destination) *lane {
	d.Concurrency = max(d.Concurrency, 1)
	room := d.Concurrency * (1 + queuedPerCall)
	limit := d.Rate
	if limit == 0 {
		limit = rate.Inf
	}
	return &lane{
		Destination: d, name: name, room: int64(room), queue: make(chan job, room), waiting: waiting{all: map[*waiter]struct{}{}},
		limiter: rate.NewLimiter(limit, max(d.Burst, 1)),
	}
}

func (l *lane) reserve(n int64) bool {
	if l.held.Add(n) <= l.room {
		return true
	}
	l.held.Add(-n)
	return false
}

// reserveUpTo takes as many places as are free, at most n, once a quarter of
// the lane is free: taking one at a time would cost a commit for each. With 0
// the claim loop is told when it is worth asking again.
func (l *lane) reserveUpTo(n int64) int64 {
	for {
		held := l.held.Load()
		if held > l.room-l.room/4 {
			l.starved.Store(true)
			if l.held.Load() > l.room-l.room/4 { // it may have changed before the mark was up
				return 0
			}
			continue
		}
		n := min(n, l.room-held)
		if l.held.CompareAndSwap(held, held+n) {
			return n
		}
	}
}

func (l *lane) release(n int64) {
	if l.held.Add(-n) <= l.room-l.room/4 && l.starved.CompareAndSwap(true, false) {
		for _, w := range l.watchers {
			notify(w)
		}
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// share bounds the calls at once over all destinations. Each destination keeps
// a part for itself, the rest is lent to whoever asks, so that dead
// destinations can use up what is lent but never another's part.
type share struct {
	own  int64
	lent chan struct{}
}

func newShare(workers, destinations int) *share {
	own := max(workers/(2*max(destinations, 1)), 1)
	return &share{own: int64(own), lent: make(chan struct{}, max(workers-own*destinations, 1))}
}

// slots are one lane's own part.
type slots chan struct{}

func (s *share) slots() slots { return make(slots, s.own) }

// acquire waits for the right to make one call. Who waits takes whichever comes
// first, an own part or a lent one: with only the lent ones to wait for, a job
// would sit behind other destinations' dead calls while its own part is idle.
// The release must be called.
func (s *share) acquire(ctx context.Context, own slots) (release func(), ok bool) {
	select {
	case own <- struct{}{}:
		return func() { <-own }, true
	default: // the own part goes first, the lent ones are for everybody
	}
	select {
	case own <- struct{}{}:
		return func() { <-own }, true
	case s.lent <- struct{}{}:
		return func() { <-s.lent }, true
	case <-ctx.Done():
		return nil, false
	}
}
