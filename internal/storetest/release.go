package storetest

import (
	"errors"
	"strings"

	"github.com/onceward/onceward"
)

// holdEvent records an event that intake held, without operations.
func (s *suite) holdEvent(id, body, reason string) onceward.EventID {
	s.Helper()
	a := s.arrival(id, body)
	a.Verdict, a.Reason, a.Operations = onceward.QuarantinedBy, reason, nil
	return s.admit(a)[0].Event
}

var releaseCases = map[string]func(*suite){
	"case 56: an event that was held is released with the operations that are wanted today": func(s *suite) {
		id := s.holdEvent("e1", `{"v":9}`, "version 9 is not in versions")
		reading := s.arrival("e1", `{"v":9}`)
		reading.Type, reading.Version = "order.paid", "9"
		if _, err := s.Replay(ctx, id, replayOf(onceward.Resume)); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("without a reading: %v", err)
		}
		read := func(r *onceward.Replay) { r.Reading = &reading }
		if _, err := s.Replay(ctx, id, replayOf(onceward.Resume, read, func(r *onceward.Replay) { r.Held = false })); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("a filter that does not ask for held events: %v", err)
		}
		if got := did(s.replay(id, onceward.Resume, read)); got != "released T0b" {
			s.Fatal(got)
		}
		l := s.take("w", onceward.Keyed)
		if string(l.Payload.Body) != `{"v":9}` || l.Event.Version != "9" {
			s.Fatalf("%+v", l)
		}
		s.settle(l, onceward.Succeeded("r"))
		if got := s.admit(s.arrival("e1", `{"v":9}`))[0]; got.Verdict != onceward.Duplicate || len(got.Operations) != 1 || got.Reason != "" {
			s.Fatalf("a copy after the release: %+v", got)
		}
		s.counts("completed=1")
		if events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 5}, Status: "quarantined"}); err != nil || len(events) != 0 {
			s.Fatalf("%+v, %v", events, err)
		}
	},
	"an identity that can be read only now makes later copies duplicates": func(s *suite) {
		id := s.holdEvent("sha256:unread", "x", "id is missing")
		reading := s.arrival("e1", "x")
		s.replay(id, onceward.Resume, func(r *onceward.Replay) { r.Reading = &reading })
		if got := s.admit(s.arrival("e1", "x"))[0]; got.Verdict != onceward.Duplicate || got.Event != id {
			s.Fatalf("%+v", got)
		}
		known := s.one("e2")
		other := s.holdEvent("sha256:other", "y", "id is missing")
		second := s.arrival("e2", "y")
		if _, err := s.Replay(ctx, other, replayOf(onceward.Resume, func(r *onceward.Replay) { r.Reading = &second })); !errors.Is(err, onceward.ErrNotAllowed) || !strings.Contains(err.Error(), known.Event.String()) {
			s.Fatalf("got %v", err)
		}
		s.reopen()
		if got := s.admit(s.arrival("e1", "x"))[0]; got.Verdict != onceward.Duplicate || got.Event != id {
			s.Fatalf("after a restart: %+v", got)
		}
	},
	"a held event is rejected for good": func(s *suite) {
		id := s.holdEvent("e1", "x", "body is not JSON")
		if err := s.Reject(ctx, id, onceward.Decision{Actor: "ops"}); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("without a reason: %v", err)
		}
		if err := s.Reject(ctx, id, decision); err != nil {
			s.Fatal(err)
		}
		if err := s.Reject(ctx, id, decision); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("twice: %v", err)
		}
		if got := s.admit(s.arrival("e1", "x"))[0]; got.Verdict != onceward.Duplicate || len(got.Operations) != 0 {
			s.Fatalf("%+v", got)
		}
		h, err := s.History(ctx, id)
		if err != nil || h.Event.Verdict != onceward.Ignored || len(h.Audits) != 1 || h.Audits[0].Action != "T23" {
			s.Fatalf("%+v, %v", h, err)
		}
	},
	"an event gets an operation that it never had only by name": func(s *suite) {
		a := s.arrival("e1", "x")
		a.Verdict, a.Operations = onceward.Ignored, nil
		id := s.admit(a)[0].Event
		reading := s.arrival("e1", "x")
		read := func(r *onceward.Replay) { r.Reading = &reading }
		if _, err := s.Replay(ctx, id, replayOf(onceward.Resume, read)); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
		if _, err := s.Replay(ctx, id, replayOf(onceward.Resume, read, func(r *onceward.Replay) { r.Operations = []string{"nonsense"} })); !errors.Is(err, onceward.ErrNotAllowed) {
			s.Fatalf("got %v", err)
		}
		named := func(r *onceward.Replay) { r.Operations = []string{"fulfil"} }
		if got := did(s.replay(id, onceward.Resume, read, named)); got != "released T0b" {
			s.Fatal(got)
		}
		if got := did(s.replay(id, onceward.Resume, read, named)); got != "left" {
			s.Fatal(got)
		}
		s.counts("received=1")
	},
}
