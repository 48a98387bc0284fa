package storetest

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward"
)

func (s *suite) beginBulk(mode onceward.Mode, expect int) onceward.Bulk {
	s.Helper()
	b, err := s.BeginBulk(ctx, onceward.Bulk{Mode: mode, Decision: decision, Filter: onceward.EventQuery{Source: "pay", Status: "dead_lettered"}, Expect: expect})
	if err != nil {
		s.Fatal(err)
	}
	return b
}

var bulkCases = map[string]func(*suite){
	"a bulk goes on after a restart where it stood, and repeats nothing": func(s *suite) {
		var dead []onceward.OperationID
		for i := range 3 {
			dead = append(dead, s.dead(fmt.Sprintf("e%d", i)))
		}
		b := s.beginBulk(onceward.Resume, 3)
		stepped, err := s.StepBulk(ctx, b, []onceward.Step{{Event: dead[2].Event}, {Event: dead[1].Event}}, dead[1].Event.String(), false)
		if err != nil || stepped.Seen != 2 || stepped.Changed != 2 || stepped.State() != "running" {
			s.Fatalf("%+v, %v", stepped, err)
		}
		s.counts("received=2 dead_lettered=1")
		s.reopen()
		found, ok, err := s.RunningBulk(ctx)
		if err != nil || !ok || found.Cursor != dead[1].Event.String() || found.Decision.Actor != "ops" || found.Filter.Source != "pay" {
			s.Fatalf("%+v, %v, %v", found, ok, err)
		}
		// A step that was applied although its answer was lost is not applied twice.
		if _, err := s.StepBulk(ctx, b, []onceward.Step{{Event: dead[2].Event}}, "evt_x", false); !errors.Is(err, onceward.ErrFenced) {
			s.Fatalf("an old step: %v", err)
		}
		done, err := s.StepBulk(ctx, found, []onceward.Step{{Event: dead[0].Event}}, "", true)
		if err != nil || done.State() != "done" || done.Changed != 3 {
			s.Fatalf("%+v, %v", done, err)
		}
		if _, ok, _ := s.RunningBulk(ctx); ok {
			s.Fatal("it still runs")
		}
		s.counts("received=3")
	},
	"what one event is refused does not stop the others": func(s *suite) {
		unknown, dead := s.unknown("e1"), s.dead("e2")
		b := s.beginBulk(onceward.Resume, 2)
		b, err := s.StepBulk(ctx, b, []onceward.Step{{Event: unknown.Event}, {Event: dead.Event}, {Event: 42}}, "", true)
		if err != nil || b.Seen != 3 || b.Changed != 1 || b.Refused != 2 || b.Refusal == "" {
			s.Fatalf("%+v, %v", b, err)
		}
		s.want(unknown, onceward.UnknownOutcome)
		s.want(dead, onceward.Received)
	},
	"a cancelled bulk changes nothing more": func(s *suite) {
		dead := s.dead("e1")
		b := s.beginBulk(onceward.Resume, 1)
		if _, err := s.CancelBulk(ctx, b.ID, decision); err != nil {
			s.Fatal(err)
		}
		if _, err := s.StepBulk(ctx, b, []onceward.Step{{Event: dead.Event}}, "", true); !errors.Is(err, onceward.ErrFenced) {
			s.Fatalf("got %v", err)
		}
		if _, err := s.CancelBulk(ctx, b.ID, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("twice: %v", err)
		}
		s.want(dead, onceward.DeadLettered)
		all, _, err := s.Bulks(ctx, onceward.Page{Limit: 5})
		if err != nil || len(all) != 1 || all[0].State() != "cancelled" {
			s.Fatalf("%+v, %v", all, err)
		}
		if _, err := s.Bulk(ctx, 77); !errors.Is(err, onceward.ErrNotFound) {
			s.Fatalf("got %v", err)
		}
	},
	"what is held is let go only by a filter that asks for it": func(s *suite) {
		held := s.holdEvent("e1", "x", "unknown version")
		reading := s.arrival("e1", "x")
		b := s.beginBulk(onceward.Resume, 1)
		b, err := s.StepBulk(ctx, b, []onceward.Step{{Event: held, Reading: &reading}}, "", true)
		if err != nil || b.Refused != 1 {
			s.Fatalf("%+v, %v", b, err)
		}
		b, err = s.BeginBulk(ctx, onceward.Bulk{Mode: onceward.Resume, Decision: decision, Filter: onceward.EventQuery{Status: "quarantined"}, Expect: 1})
		if err != nil {
			s.Fatal(err)
		}
		b, err = s.StepBulk(ctx, b, []onceward.Step{{Event: held, Reading: &reading}}, "", true)
		if err != nil || b.Changed != 1 {
			s.Fatalf("%+v, %v", b, err)
		}
		s.counts("received=1")
	},
}
