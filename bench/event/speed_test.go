package event_test

import (
	"testing"

	"github.com/onceward/onceward/bench/event"
)

func BenchmarkRequest(b *testing.B) {
	w := corpus(event.Stripe, 1).Writer()
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		w.Request(n)
	}
}
