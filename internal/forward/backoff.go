package forward

import (
	"math/rand/v2"
	"time"
)

// Backoff spaces the attempts at an operation: each wait is random between the
// half and the whole of min(Max, First × 2^(n-1)).
type Backoff struct {
	Attempts int // all of them, the first included; 0 means no limit
	First    time.Duration
	Max      time.Duration // 0 means no limit
}

// Wait returns how long to wait after attempt n, from 1. What the other side
// asked for is never undercut, up to Max, and always gets some jitter on top:
// everybody who was turned away was told the same moment. rnd returns numbers
// in [0,1); nil means math/rand.
func (b Backoff) Wait(n int, retryAfter time.Duration, rnd func() float64) time.Duration {
	if rnd == nil {
		rnd = rand.Float64
	}
	whole := b.whole(n)
	wait := whole/2 + time.Duration(rnd()*float64(whole-whole/2))
	if b.Max > 0 {
		retryAfter = min(retryAfter, b.Max)
	}
	if retryAfter <= 0 || wait > retryAfter {
		return wait
	}
	spread := min(max(retryAfter/10, 100*time.Millisecond), time.Minute)
	jitter := time.Millisecond + time.Duration(rnd()*float64(spread))
	return retryAfter + min(jitter, maxDuration-retryAfter)
}

// Longest is how long all attempts may take together, when each call takes its
// whole timeout and every wait is the longest possible.
func (b Backoff) Longest(timeout time.Duration) time.Duration {
	total := time.Duration(0)
	for n := 1; n <= b.Attempts; n++ {
		step := timeout
		if n < b.Attempts {
			step += min(b.whole(n), maxDuration-timeout)
		}
		if step > maxDuration-total {
			return maxDuration
		}
		total += step
	}
	return total
}

const maxDuration = time.Duration(1<<63 - 1)

func (b Backoff) whole(n int) time.Duration {
	limit := b.Max
	if limit <= 0 {
		limit = maxDuration
	}
	whole := min(max(b.First, 0), limit)
	for ; n > 1 && whole > 0 && whole < limit; n-- {
		if whole > limit/2 {
			return limit
		}
		whole *= 2
	}
	return whole
}
