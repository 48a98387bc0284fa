package dispatch_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

// withSteps makes "fulfil" two calls: account at crm, welcome at billing, whose
// URL and body hold the account.
func withSteps(t *testing.T, crm dispatch.Destination, mail string) func(*setup) {
	t.Helper()
	tpl, err := forward.NewTemplate(mail, mail+"/{account}/mail", nil, `{"id": "{account}"}`, []string{"account"})
	if err != nil {
		t.Fatal(err)
	}
	return func(s *setup) {
		s.Destinations["crm"] = crm
		s.Operations = []dispatch.Operation{{Name: "fulfil", Steps: []dispatch.Step{
			{Name: "account", Destination: "crm", Lease: time.Minute},
			{Name: "welcome", Destination: "billing", Lease: time.Minute, Template: tpl},
		}}}
	}
}

func TestStepsRunInOrderAndTheLaterUsesTheEarliersResult(t *testing.T) {
	crm := testkit.NewSink(t, func(n int, _ *testkit.Request) testkit.Answer {
		return testkit.Answer{Header: map[string]string{"Onceward-Result": fmt.Sprint("acc/", n)}}
	})
	mail := testkit.NewSink(t, nil)
	r := prepare(t, to(t, mail.URL, onceward.Keyed), withSteps(t, to(t, crm.URL, onceward.Unsafe), mail.URL))
	var ids []onceward.OperationID
	for range 20 {
		ids = append(ids, r.store.add("fulfil", onceward.Unsafe))
	}
	r.run(t)
	for _, id := range ids {
		if o := r.store.untilState(id, onceward.Completed); o.Attempt != 2 || o.Step != 1 {
			t.Errorf("%+v", o)
		}
	}
	if len(crm.Requests()) != 20 || len(mail.Requests()) != 20 {
		t.Fatalf("%d and %d calls, want 20 and 20", len(crm.Requests()), len(mail.Requests()))
	}
	keys := map[string]bool{}
	for _, all := range [][]*testkit.Request{crm.Requests(), mail.Requests()} {
		for _, q := range all {
			keys[q.Key()] = true
		}
	}
	if len(keys) != 40 {
		t.Errorf("%d keys for 40 steps", len(keys))
	}
	for _, q := range mail.Requests() {
		if !strings.HasPrefix(q.Path, "/acc%2F") || !strings.HasPrefix(string(q.Body), `{"id": "acc/`) || q.Header.Get("Onceward-Step") != "welcome" {
			t.Errorf("the second step was called as %s %s", q.Path, q.Body)
		}
	}
}

// TestALaterStepThatFailsRepeatsNoEarlierOne is case 99.
func TestALaterStepThatFailsRepeatsNoEarlierOne(t *testing.T) {
	crm := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
		return testkit.Answer{Header: map[string]string{"Onceward-Result": "acc_1"}}
	})
	mail := testkit.NewSink(t, func(n int, _ *testkit.Request) testkit.Answer {
		return testkit.Answer{Status: []int{503, 503, 200}[min(n, 3)-1]}
	})
	r := prepare(t, to(t, mail.URL, onceward.Keyed), withSteps(t, to(t, crm.URL, onceward.Unsafe), mail.URL))
	id := r.store.add("fulfil", onceward.Unsafe)
	r.run(t)
	r.store.untilState(id, onceward.Completed)
	if len(crm.Requests()) != 1 || len(mail.Requests()) != 3 || len(mail.Requests()[0].Key()) == 0 || mail.Attempts(mail.Requests()[0].Key()) != 3 {
		t.Errorf("%d and %d calls", len(crm.Requests()), len(mail.Requests()))
	}
}

// TestAResultThatCannotStandThereIsADeadLetter: nothing is sent, and the first
// step stays done.
func TestAResultThatCannotStandThereIsADeadLetter(t *testing.T) {
	crm, mail := testkit.NewSink(t, nil), testkit.NewSink(t, nil) // crm gives no result
	r := prepare(t, to(t, mail.URL, onceward.Keyed), withSteps(t, to(t, crm.URL, onceward.Unsafe), mail.URL))
	id := r.store.add("fulfil", onceward.Unsafe)
	r.run(t)
	if o := r.store.untilState(id, onceward.DeadLettered); !strings.Contains(o.Reason, "nothing was sent: the result of step account is empty") || o.Step != 1 {
		t.Errorf("%+v", o)
	}
	if len(crm.Requests()) != 1 || len(mail.Requests()) != 0 {
		t.Errorf("%d and %d calls", len(crm.Requests()), len(mail.Requests()))
	}
}

// TestASlowSecondStepHoldsNoFirstOne: the lanes are the destinations'.
func TestASlowSecondStepHoldsNoFirstOne(t *testing.T) {
	hold := make(chan struct{})
	crm := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
		return testkit.Answer{Header: map[string]string{"Onceward-Result": "acc"}}
	})
	mail := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	r := prepare(t, to(t, mail.URL, onceward.Keyed, func(d *dispatch.Destination) { d.Concurrency = 1 }), withSteps(t, to(t, crm.URL, onceward.Unsafe), mail.URL))
	for range 30 {
		r.store.add("fulfil", onceward.Unsafe)
	}
	r.run(t)
	crm.WaitEffects(t, patience, 30)
	if n := mail.Effects(); n != 0 {
		t.Errorf("%d second steps are done already", n)
	}
	close(hold)
	mail.WaitEffects(t, patience, 30)
}

// TestARepetitionIsNotSentPastTheMemoryOfItsKey is case 61 in the lane: the
// call waited too long after it was taken.
func TestARepetitionIsNotSentPastTheMemoryOfItsKey(t *testing.T) {
	sink := testkit.NewSink(t, func(n int, _ *testkit.Request) testkit.Answer { return testkit.Answer{Abort: n == 1} })
	r := prepare(t, to(t, sink.URL, onceward.Keyed, func(d *dispatch.Destination) { d.KeyMemory = time.Hour }))
	id := r.store.add("fulfil", onceward.Keyed, func(rec *record) {
		// An hour has passed since the first call; the owner fell silent.
		rec.State, rec.Attempt, rec.Fence, rec.Intent, rec.Doubt, rec.Owner = onceward.Processing, 1, 1, true, false, "node-9"
		rec.IntentAt, rec.DueAt = time.Now().Add(-2*time.Hour), time.Now()
	})
	r.run(t)
	if o := r.store.untilState(id, onceward.UnknownOutcome); !strings.Contains(o.Reason, "remembers its key for 1h0m0s only") {
		t.Errorf("%+v", o)
	}
	if n := len(sink.Requests()); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// TestALateSuccessThatContradictsIsReported is case 63: the owner was frozen in
// its call, it was decided that nothing happened, and now it reports success.
func TestALateSuccessThatContradictsIsReported(t *testing.T) {
	hold := make(chan struct{})
	sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	var disputed atomic.Int32
	r := prepare(t, to(t, sink.URL, onceward.Lookup), func(s *setup) { s.OnDisputed = func() { disputed.Add(1) } })
	id := r.store.add("fulfil", onceward.Unsafe)
	r.run(t)
	sink.WaitFor(t, patience, "the call", func(all []*testkit.Request) bool { return len(all) == 1 })
	// Meanwhile the lease ran out, the other side was asked, and did not know the key.
	r.store.mu.Lock()
	o := r.store.all[id].Operation
	o, _, err := o.Expire(onceward.Limits{Attempts: 3}, o.DueAt)
	if err == nil {
		o, _, err = o.Reconcile(o.Fence, onceward.Finding{Presence: onceward.Absent, Asked: o.SentBy}, onceward.Inquiry{GiveUp: time.Hour}, "", o.SentBy)
	}
	o.DueAt = time.Now().Add(time.Hour)
	if err = errors.Join(err, r.store.put(o)); err != nil {
		t.Error(err)
	}
	r.store.mu.Unlock()
	close(hold)
	if o := r.store.untilState(id, onceward.DeadLettered); !o.Disputed || !o.Unknown {
		t.Errorf("%+v", o)
	}
	r.stop()
	if disputed.Load() != 1 || len(sink.Requests()) != 1 {
		t.Errorf("%d disputes told, %d calls", disputed.Load(), len(sink.Requests()))
	}
	if !strings.Contains(r.log.String(), "an operation is disputed") {
		t.Error("nobody is alerted")
	}
}

// TestAnUnknownOutcomeOfALookupWakesTheReconciler: it is asked about, and not
// called again.
func TestAnUnknownOutcomeOfALookupWakesTheReconciler(t *testing.T) {
	sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Abort: true} })
	woken := make(chan struct{}, 8)
	r := prepare(t, to(t, sink.URL, onceward.Lookup), func(s *setup) { s.OnUnknown = func() { woken <- struct{}{} } })
	id := r.store.add("fulfil", onceward.Unsafe)
	r.run(t)
	<-woken
	if o := r.store.untilState(id, onceward.UnknownOutcome); o.AskAt.IsZero() || o.SentBy.IsZero() {
		t.Errorf("%+v", o)
	}
	if n := len(sink.Requests()); n != 1 {
		t.Errorf("%d calls", n)
	}
}
