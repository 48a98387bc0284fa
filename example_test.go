package onceward_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// The key that goes out with a call depends on the event and the operation
// alone, and leads back to the event.
func ExampleDigest_Downstream() {
	pepper := onceward.Pepper{Name: "p1", Secret: []byte("only this installation knows it")}
	key := onceward.Key{Source: "stripe-live", Environment: "production", EventID: "evt_1NG8Du2eZvKYlo2CUI79vXWy"}
	first := pepper.Digest(key).Downstream("fulfil", 0, "")
	again := pepper.Digest(key).Downstream("fulfil", 0, "")
	digest, err := onceward.ParseDownstream(first)
	fmt.Println(first, first == again)
	fmt.Println(digest == pepper.Digest(key), err)
	// Output:
	// ow_tfu5hdu2myva7pevqntukoylfjkumwkhmwdo2kq true
	// true <nil>
}

// A call without an answer is repeated where the other side deduplicates our
// key, and stops where it does not.
func ExampleOperation_Settle() {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	limits := onceward.Limits{Attempts: 9, Lease: time.Minute}
	for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Unsafe} {
		op := onceward.Operation{State: onceward.Received, Effect: effect, DueAt: now}
		op, _, _ = op.Take("worker 1", limits, false, now)
		lease := onceward.Lease{Fence: op.Fence, Attempt: op.Attempt}
		op, _, _ = op.Intend(lease, time.Minute, now)
		op, transition, _ := op.Settle(lease, onceward.Ambiguous("timeout after the request was written", now.Add(time.Second)), limits, now)
		fmt.Println(effect, transition, op.State, op.DueAt.Sub(now) > 0)
	}
	// Output:
	// keyed T3 processing true
	// unsafe T10 unknown_outcome false
}

// An owner that was silent for too long finds its lease gone.
func ExampleOperation_Take() {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	limits := onceward.Limits{Lease: time.Minute}
	op := onceward.Operation{State: onceward.Received, Effect: onceward.Keyed, DueAt: now}
	op, first, _ := op.Take("worker 1", limits, true, now)
	lease := onceward.Lease{Fence: op.Fence, Attempt: op.Attempt}
	op, second, _ := op.Take("worker 2", limits, true, now.Add(time.Minute))
	_, _, err := op.Settle(lease, onceward.Succeeded("ch_1"), limits, now)
	fmt.Println(first, second, op.Owner, errors.Is(err, onceward.ErrFenced))
	// Output: T2 T11 worker 2 true
}

// Repeating what may have happened needs a person's consent.
func ExampleOperation_Retry() {
	op := onceward.Operation{State: onceward.UnknownOutcome, Unknown: true, Attempt: 1}
	who := onceward.Decision{Actor: "ana", Reason: "the customer has no order"}
	_, _, err := op.Retry(who, time.Now())
	fmt.Println(err)
	who.Consent = true
	op, transition, _ := op.Retry(who, time.Now())
	fmt.Println(transition, op.State)
	// Output:
	// repeating may cause a second effect: its outcome was unknown; look at the other side first (operations resolve), or repeat with consent
	// T18+T20 received
}
