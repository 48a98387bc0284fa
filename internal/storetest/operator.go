package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward"
)

var decision = onceward.Decision{Actor: "ops", Reason: "the destination is well again"}

// dead brings an operation to dead_lettered, unknown to unknown_outcome.
func (s *suite) dead(id string) onceward.OperationID {
	s.Helper()
	op := s.one(id)
	l := s.take("w1", onceward.Keyed)
	if _, err := s.Settle(ctx, l.Lease, onceward.Refused("answered 422"), limits); err != nil {
		s.Fatal(err)
	}
	return op
}

func (s *suite) unknown(id string) onceward.OperationID {
	s.Helper()
	op := s.one(id, unsafely)
	l := s.take("w1", onceward.Unsafe)
	if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
		s.Fatal(err)
	}
	if _, err := s.Settle(ctx, l.Lease, onceward.Ambiguous("reset", s.clock.Now()), limits); err != nil {
		s.Fatal(err)
	}
	return op
}

var operatorCases = map[string]func(*suite){
	"a dead letter is retried with a fresh budget and the same key, and is on record": func(s *suite) {
		id := s.dead("e1")
		if _, err := s.Retry(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.Received)
		for range 3 {
			l := s.take("w1", onceward.Keyed)
			if _, err := s.Settle(ctx, l.Lease, onceward.NotApplied("503 again", s.clock.Now()), limits); err != nil {
				s.Fatal(err)
			}
		}
		if o := s.want(id, onceward.DeadLettered); o.Reason != "attempts spent: 503 again" {
			s.Fatalf("reason %q", o.Reason)
		}
		if _, err := s.Retry(ctx, id, decision); err != nil {
			s.Fatalf("retry of the second dead letter: %v", err)
		}
		audit, _, err := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 10}})
		if err != nil || len(audit) < 2 || audit[0].Actor != "ops" || audit[0].Reason != decision.Reason || audit[0].Operation != id {
			s.Fatalf("audit %+v, %v", audit, err)
		}
	},
	"what is completed is not retried": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Retry(ctx, id, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
		if _, err := s.Abandon(ctx, id, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
	},
	"repeating an unknown outcome needs consent": func(s *suite) {
		id := s.unknown("e1")
		if _, err := s.Retry(ctx, id, decision); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
		s.want(id, onceward.UnknownOutcome)
		with := decision
		with.Consent = true
		if _, err := s.Retry(ctx, id, with); err != nil {
			s.Fatal(err)
		}
		s.take("w2", onceward.Unsafe)
	},
	"consent is still asked for after the unknown outcome was given up": func(s *suite) {
		id := s.unknown("e1")
		if _, err := s.Abandon(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.DeadLettered)
		if _, err := s.Retry(ctx, id, decision); !errors.Is(err, onceward.ErrConsent) {
			s.Fatalf("got %v", err)
		}
	},
	"a person's evidence resolves an unknown outcome either way": func(s *suite) {
		with := decision
		with.Evidence = "ch_9 in the provider's dashboard"
		done, undone := s.unknown("e1"), s.unknown("e2")
		if _, err := s.Resolve(ctx, done, true, "ch_9", decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("without evidence: %v", err)
		}
		if _, err := s.Resolve(ctx, done, true, "ch_9", with); err != nil {
			s.Fatal(err)
		}
		if o := s.want(done, onceward.Completed); o.Result != "ch_9" {
			s.Fatalf("%+v", o)
		}
		if _, err := s.Resolve(ctx, undone, false, "", with); err != nil {
			s.Fatal(err)
		}
		if l := s.take("w2", onceward.Unsafe); l.Operation.ID != undone {
			s.Fatalf("claimed %s", l.Operation.ID)
		}
	},
	"an actor and a reason are required": func(s *suite) {
		id := s.dead("e1")
		for _, d := range []onceward.Decision{{}, {Actor: "ops"}, {Reason: "because"}, {Actor: "ops", Reason: "  "}} {
			if _, err := s.Retry(ctx, id, d); !errors.Is(err, onceward.ErrNotAllowed) {
				s.Errorf("%+v: %v", d, err)
			}
		}
		s.want(id, onceward.DeadLettered)
	},
	"what is not recorded is not found": func(s *suite) {
		missing := onceward.OperationID{Event: 42, N: 1}
		_, retry := s.Retry(ctx, missing, decision)
		_, get := s.Operation(ctx, missing)
		_, history := s.History(ctx, 42)
		_, payload := s.Payload(ctx, 42)
		_, resume := s.Replay(ctx, 42, onceward.Replay{Decision: decision, Mode: onceward.Resume})
		for name, err := range map[string]error{"retry": retry, "operation": get, "history": history, "payload": payload, "resume": resume} {
			if !errors.Is(err, onceward.ErrNotFound) {
				s.Errorf("%s: %v, want ErrNotFound", name, err)
			}
		}
	},
	"a pause is remembered until it is ended": func(s *suite) {
		for range 2 {
			if err := s.Pause(ctx, "billing", decision); err != nil {
				s.Fatal(err)
			}
		}
		s.reopen()
		all, err := s.Pauses(ctx)
		if err != nil || len(all) != 1 || all[0].Destination != "billing" || all[0].Actor != "ops" {
			s.Fatalf("%+v, %v", all, err)
		}
		if err := s.Unpause(ctx, "billing", decision); err != nil {
			s.Fatal(err)
		}
		if all, _ := s.Pauses(ctx); len(all) != 0 {
			s.Fatalf("%+v", all)
		}
		if audit, _, _ := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 10}}); len(audit) != 2 {
			s.Fatalf("audit %+v, want a pause and a resume", audit)
		}
	},
}
