package storetest

import (
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

var admitCases = map[string]func(*suite){
	"a new event is recorded with its operation": func(s *suite) {
		id := s.one("e1")
		s.want(id, onceward.Received)
		p, err := s.Payload(ctx, id.Event)
		if err != nil || string(p.Body) != `{"id":"e1"}` || string(p.Header) != "Content-Type: application/json\n" {
			s.Fatalf("payload %q %q, %v", p.Header, p.Body, err)
		}
		s.counts("received=1")
	},
	"a copy is a duplicate with the state of each operation": func(s *suite) {
		id := s.one("e1")
		got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]
		if got.Verdict != onceward.Duplicate || got.Event != id.Event || len(got.Operations) != 1 || got.Operations[0].Name != "fulfil" {
			s.Fatalf("got %+v", got)
		}
		h, err := s.History(ctx, id.Event)
		if err != nil || h.Event.Deliveries != 2 || len(h.Deliveries) != 2 {
			s.Fatalf("history %+v, %v", h, err)
		}
		s.counts("received=1")
	},
	"a hundred copies at once make one event and one operation": func(s *suite) {
		var wg sync.WaitGroup
		verdicts := make(chan onceward.Verdict, 100)
		for range 100 {
			wg.Go(func() {
				admitted, err := s.Admit(ctx, s.admission(s.arrival("e1", "x")))
				if err != nil {
					s.Error(err)
					return
				}
				verdicts <- admitted[0].Verdict
			})
		}
		wg.Wait()
		close(verdicts)
		count := map[onceward.Verdict]int{}
		for v := range verdicts {
			count[v]++
		}
		if count[onceward.Accepted] != 1 || count[onceward.Duplicate] != 99 {
			s.Fatalf("verdicts %v, want 1 accepted and 99 duplicates", count)
		}
		s.counts("received=1")
		// A copy is answered when its event is durable; its count may follow.
		s.until("100 deliveries of one event", func() bool {
			events, _, err := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 10}})
			return err == nil && len(events) == 1 && events[0].Deliveries == 100
		})
	},
	"case 46: five hundred copies that say different times make one event": func(s *suite) {
		var all sync.WaitGroup
		var accepted atomic.Int32
		for i := range 500 {
			all.Go(func() {
				a := s.admission(s.arrival("e1", "x"))
				a.At = a.At.Add(time.Duration(i%10-5) * time.Minute)
				got, err := s.Admit(ctx, a)
				if err != nil {
					s.Errorf("copy %d: %v", i, err)
				} else if got[0].Verdict == onceward.Accepted {
					accepted.Add(1)
				}
			})
		}
		all.Wait()
		if n := accepted.Load(); n != 1 {
			s.Fatalf("%d were new", n)
		}
		s.counts("received=1")
	},
	"case 51: what an event was compared by survives its success": func(s *suite) {
		id := s.done("e1")
		before, err := s.History(ctx, id.Event)
		if err != nil || before.Event.Content != sha256.Sum256([]byte(`{"id":"e1"}`)) {
			s.Fatalf("%+v, %v", before.Event, err)
		}
		s.reopen()
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("%+v", got)
		}
		if got := s.admit(s.arrival("e1", "completed"))[0]; !got.Differs {
			s.Fatalf("%+v", got)
		}
	},
	"other content under a known key differs and records nothing": func(s *suite) {
		s.one("e1")
		got := s.admit(s.arrival("e1", "other"))[0]
		if !got.Differs || got.Verdict != onceward.Conflicting {
			s.Fatalf("got %+v", got)
		}
		events, _, _ := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 10}})
		if len(events) != 1 || events[0].Deliveries != 1 {
			s.Fatalf("events %+v", events)
		}
	},
	"other content in the very same batch differs too": func(s *suite) {
		got := s.admit(s.arrival("e1", "one"), s.arrival("e1", "two"), s.arrival("e1", "one"))
		if got[0].Verdict != onceward.Accepted || !got[1].Differs || got[2].Verdict != onceward.Duplicate {
			s.Fatalf("got %+v", got)
		}
	},
	"a conflict before any effect holds the operation and keeps both bodies": func(s *suite) {
		id := s.one("e1")
		second := s.arrival("e1", "other")
		for range 2 {
			if _, err := s.RecordConflict(ctx, id.Event, s.admission(second), &second, onceward.HoldConflict); err != nil {
				s.Fatal(err)
			}
		}
		s.want(id, onceward.Quarantined)
		h, err := s.History(ctx, id.Event)
		if err != nil || len(h.Conflicts) != 1 || h.Conflicts[0].Count != 2 || h.Event.Conflicts != 2 || h.Event.Deliveries != 3 {
			s.Fatalf("history %+v, %v", h, err)
		}
		if h.Conflicts[0].Content != sha256.Sum256([]byte("other")) {
			s.Fatal("the evidence has another content")
		}
		s.counts("quarantined=1")
	},
	"a conflict while the work runs does not interrupt it": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		second := s.arrival("e1", "other")
		if _, err := s.RecordConflict(ctx, id.Event, s.admission(second), &second, onceward.HoldConflict); err != nil {
			s.Fatal(err)
		}
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r1"), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.Completed)
	},
	"a batch body is admitted whole, its known items as duplicates": func(s *suite) {
		s.admit(s.arrival("a", "a"), s.arrival("b", "b"))
		got := s.admit(s.arrival("a", "a"), s.arrival("c", "c"), s.arrival("b", "b"))
		if got[0].Verdict != onceward.Duplicate || got[1].Verdict != onceward.Accepted || got[2].Verdict != onceward.Duplicate {
			s.Fatalf("got %+v", got)
		}
		s.counts("received=3")
	},
	"equal ids of two scopes are two events": func(s *suite) {
		live, test := s.arrival("e1", "x"), s.arrival("e1", "x")
		test.Key.Mode = "test"
		test.Digest = s.Peppers()[0].Digest(test.Key)
		if got := s.admit(live, test); got[0].Verdict != onceward.Accepted || got[1].Verdict != onceward.Accepted {
			s.Fatalf("got %+v", got)
		}
	},
	"a signed body under another id is quarantined, without operations": func(s *suite) {
		first, second := s.arrival("e1", "x"), s.arrival("e2", "x")
		first.Body = onceward.Digest{1}
		second.Body = onceward.Digest{1}
		s.admit(first)
		got := s.admit(second)[0]
		if got.Verdict != onceward.QuarantinedBy || !strings.HasPrefix(got.Reason, "same_body_other_id") || len(got.Operations) != 0 {
			s.Fatalf("got %+v", got)
		}
		if again := s.admit(second)[0]; again.Verdict != onceward.Duplicate {
			s.Fatalf("its copy: %+v", again)
		}
		s.counts("received=1")
	},
	"quarantined and ignored events have no operations": func(s *suite) {
		q, i := s.arrival("q", "q"), s.arrival("i", "i")
		q.Verdict, q.Reason, i.Verdict = onceward.QuarantinedBy, "body is not JSON", onceward.Ignored
		got := s.admit(q, i)
		if got[0].Verdict != onceward.QuarantinedBy || got[1].Verdict != onceward.Ignored {
			s.Fatalf("got %+v", got)
		}
		s.counts("")
	},
	"an operation can be born leased": func(s *suite) {
		a := s.arrival("e1", "x")
		a.Operations = []onceward.Planned{{Name: "fulfil", Effect: onceward.Keyed, Owner: "w1", Lease: limits.Lease, Intend: true}}
		got := s.admit(a)[0].Operations[0]
		if got.State != onceward.Processing || got.Fence != 1 || got.Attempt != 1 || !got.Intent {
			s.Fatalf("got %+v", got)
		}
		if more := s.claim("w2", onceward.Keyed, 10); len(more) != 0 {
			s.Fatalf("a leased operation was claimed: %+v", more)
		}
	},
	"bytes of every value come back as they were": func(s *suite) {
		body := make([]byte, 4096)
		for i := range body {
			body[i] = byte(i)
		}
		a := s.arrival("e\x00\xff", string(body))
		id := s.admit(a)[0].Event
		p, err := s.Payload(ctx, id)
		if err != nil || string(p.Body) != string(body) {
			s.Fatalf("%d bytes back, %v", len(p.Body), err)
		}
	},
	"an empty body is a body": func(s *suite) {
		id := s.admit(s.arrival("e1", ""))[0].Event
		if p, err := s.Payload(ctx, id); err != nil || len(p.Body) != 0 {
			s.Fatalf("%q, %v", p.Body, err)
		}
	},
	"a huge body does not keep others from fitting": func(s *suite) {
		huge := strings.Repeat("x", 3<<20)
		got := s.admit(s.arrival("a", huge), s.arrival("b", "b"), s.arrival("c", huge))
		for i, want := range []string{huge, "b", huge} {
			if p, err := s.Payload(ctx, got[i].Event); err != nil || string(p.Body) != want {
				s.Fatalf("item %d: %d bytes, %v", i, len(p.Body), err)
			}
		}
	},
	"memory survives reopening": func(s *suite) {
		s.one("e1")
		s.reopen()
		if got := s.admit(s.arrival("e1", `{"id":"e1"}`))[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("got %+v", got)
		}
		s.counts("received=1")
	},
}
