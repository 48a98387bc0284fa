package forward_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward/internal/forward"
)

func TestWaitsGrowFromHalfToWhole(t *testing.T) {
	b := forward.Backoff{First: 5 * time.Second, Max: time.Minute}
	low, high := func() float64 { return 0 }, func() float64 { return 0.999999999 }
	for n, whole := range map[int]time.Duration{
		-1: 5 * time.Second, 0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 4: 40 * time.Second, 5: time.Minute, 6: time.Minute, 1 << 40: time.Minute,
	} {
		if got := b.Wait(n, 0, low); got != whole/2 {
			t.Errorf("the shortest wait after attempt %d is %s, want %s", n, got, whole/2)
		}
		if got := b.Wait(n, 0, high); got > whole || got < whole-time.Microsecond {
			t.Errorf("the longest wait after attempt %d is %s, want just under %s", n, got, whole)
		}
	}
}

func TestRetryAfterIsNeverUndercutAndAlwaysJittered(t *testing.T) {
	b := forward.Backoff{First: time.Second, Max: time.Minute}
	for _, test := range []struct{ asked, honoured time.Duration }{
		{3 * time.Second, 3 * time.Second}, {30 * time.Second, 30 * time.Second}, {time.Minute, time.Minute}, {time.Hour, time.Minute},
	} {
		seen := map[time.Duration]bool{}
		r := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			got := b.Wait(1, test.asked, r.Float64)
			if got <= test.honoured || got > test.honoured+test.honoured/10+102*time.Millisecond {
				t.Fatalf("asked for %s, waits %s", test.asked, got)
			}
			seen[got] = true
		}
		if len(seen) < 90 {
			t.Errorf("asked for %s, only %d different waits in 100: a herd", test.asked, len(seen))
		}
	}
}

func TestASeededOutageSpreadsItsRetries(t *testing.T) {
	b := forward.Backoff{First: 10 * time.Second, Max: time.Hour}
	r := rand.New(rand.NewPCG(3, 4))
	var slots [10]int
	for range 1000 {
		w := b.Wait(1, 0, r.Float64)
		slots[int((w-5*time.Second)/(500*time.Millisecond))]++
	}
	for i, n := range slots {
		if n < 50 || n > 200 {
			t.Errorf("slot %d of the second half holds %d of 1000 retries", i, n)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Int64Range(0, 1<<62)
		b := forward.Backoff{First: time.Duration(duration.Draw(t, "first")), Max: time.Duration(duration.Draw(t, "max"))}
		n := rapid.IntRange(-2, 200).Draw(t, "n")
		asked := time.Duration(rapid.Int64().Draw(t, "retry after"))
		x := rapid.Float64Range(0, 0.9999999).Draw(t, "random")
		got := b.Wait(n, asked, func() float64 { return x })
		if got < 0 {
			t.Fatalf("a negative wait: %s", got)
		}
		if b.Max > 0 && got > b.Max+b.Max/10+time.Minute && got-b.Max > time.Minute+time.Second {
			t.Fatalf("waits %s, far past the limit %s", got, b.Max)
		}
		if honoured := asked; honoured > 0 {
			if b.Max > 0 {
				honoured = min(honoured, b.Max)
			}
			if got < honoured {
				t.Fatalf("waits %s, less than the %s asked for", got, honoured)
			}
		}
	})
}
