package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

var leaseCases = map[string]func(*suite){
	"a hundred concurrent claims give each operation to one owner": func(s *suite) {
		for i := range 100 {
			s.one(fmt.Sprint("e", i))
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		owners := map[onceward.OperationID]int{}
		for w := range 100 {
			wg.Go(func() {
				leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: fmt.Sprint("w", w), Effect: onceward.Keyed, Limits: limits, Limit: 3})
				if err != nil {
					s.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, l := range leased {
					owners[l.Operation.ID]++
				}
			})
		}
		wg.Wait()
		for id, n := range owners {
			if n != 1 {
				s.Errorf("%s was given to %d owners", id, n)
			}
		}
		if len(owners) != 100 {
			s.Fatalf("%d operations were claimed, want 100", len(owners))
		}
		s.counts("processing=100")
	},
	"a claim carries event and payload": func(s *suite) {
		s.one("e1")
		l := s.take("w1", onceward.Keyed)
		if l.Event.EventID != "e1" || l.Event.Source != "pay" || l.Event.Type != "order.paid" || string(l.Payload.Body) != `{"id":"e1"}` || l.Event.Key.IsZero() || l.Missing {
			s.Fatalf("got %+v", l)
		}
		if l.Lease.Fence != 1 || l.Lease.Attempt != 1 || !l.Lease.Until.Equal(s.clock.Now().Add(time.Minute)) {
			s.Fatalf("lease %+v", l.Lease)
		}
	},
	"a lease that ran out is taken over and the first owner is fenced (case 67)": func(s *suite) {
		id := s.one("e1")
		first := s.take("w1", onceward.Keyed)
		s.clock.Advance(59 * time.Second)
		if more := s.claim("w2", onceward.Keyed, 10); len(more) != 0 {
			s.Fatal("taken over before the lease's end")
		}
		s.clock.Advance(time.Second)
		second := s.take("w2", onceward.Keyed)
		if second.Lease.Fence <= first.Lease.Fence || second.Lease.Attempt != 2 || !second.Operation.Intent {
			s.Fatalf("takeover %+v", second.Operation)
		}
		for name, err := range map[string]error{
			"renew":  second1(s.Renew(ctx, first.Lease, time.Minute)),
			"intend": second1(s.Intend(ctx, first.Lease, time.Minute)),
			"settle": second1(s.Settle(ctx, first.Lease, onceward.Succeeded("late"), limits)),
		} {
			if !errors.Is(err, onceward.ErrFenced) {
				s.Errorf("%s by the old owner: %v, want ErrFenced", name, err)
			}
		}
		if _, err := s.Settle(ctx, second.Lease, onceward.Succeeded("r2"), limits); err != nil {
			s.Fatal(err)
		}
		if o := s.want(id, onceward.Completed); o.Result != "r2" {
			s.Fatalf("result %q", o.Result)
		}
	},
	"a call that may be out is not repeated once its destination is said not to deduplicate": func(s *suite) {
		for effect, want := range map[onceward.Effect]bool{onceward.Unsafe: false, onceward.Lookup: true} {
			id := s.one("e " + effect.String())
			s.take("w1", onceward.Keyed)
			s.clock.Advance(time.Minute)
			if again := s.claim("w2", effect, 10); len(again) != 0 {
				s.Errorf("%s: it was given to another owner", effect)
			}
			if o := s.want(id, onceward.UnknownOutcome); o.AskAt.IsZero() == want {
				s.Errorf("%s: asked at %v", effect, o.AskAt)
			}
		}
	},
	"a call that was made unsafely is not repeated once its destination deduplicates": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(time.Minute)
		if again := s.claim("w2", onceward.Keyed, 10); len(again) != 0 {
			s.Error("it was given to another owner")
		}
		s.want(id, onceward.UnknownOutcome)
	},
	"an expired lease that nobody took still settles": func(s *suite) {
		id := s.one("e1")
		l := s.take("w1", onceward.Keyed)
		s.clock.Advance(time.Hour)
		if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
			s.Fatal(err)
		}
		s.want(id, onceward.Completed)
	},
	"a renewed lease is not taken over": func(s *suite) {
		s.one("e1")
		l := s.take("w1", onceward.Keyed)
		s.clock.Advance(50 * time.Second)
		renewed, err := s.Renew(ctx, l.Lease, time.Minute)
		if err != nil || !renewed.Until.Equal(s.clock.Now().Add(time.Minute)) {
			s.Fatalf("%+v, %v", renewed, err)
		}
		s.clock.Advance(50 * time.Second)
		if more := s.claim("w2", onceward.Keyed, 10); len(more) != 0 {
			s.Fatal("taken over within the renewed lease")
		}
	},
	"an unsafe call whose owner is lost becomes an unknown outcome (case 60)": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(time.Minute)
		moved, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10)
		if err != nil || moved != 1 {
			s.Fatalf("moved %d, %v", moved, err)
		}
		s.want(id, onceward.UnknownOutcome)
		if more := s.claim("w2", onceward.Unsafe, 10); len(more) != 0 {
			s.Fatal("an unknown outcome was claimed")
		}
	},
	"an unsafe operation without an open intent is taken over": func(s *suite) {
		s.one("e1", unsafely)
		s.take("w1", onceward.Unsafe)
		s.clock.Advance(time.Minute)
		if l := s.take("w2", onceward.Unsafe); l.Operation.Intent {
			s.Fatal("the intent is open")
		}
	},
	"a claim that meets a lost unsafe call moves it out of the way": func(s *suite) {
		id := s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(time.Minute)
		if more := s.claim("w2", onceward.Unsafe, 10); len(more) != 0 {
			s.Fatal("repeated an unsafe call")
		}
		s.want(id, onceward.UnknownOutcome)
	},
	"a worker that dies on its last attempt leaves a dead letter (case 96)": func(s *suite) {
		id := s.one("e1", unsafely)
		for range 3 {
			s.take("w", onceward.Unsafe)
			s.clock.Advance(time.Minute)
		}
		if more := s.claim("w", onceward.Unsafe, 10); len(more) != 0 {
			s.Fatal("a fourth attempt")
		}
		s.want(id, onceward.DeadLettered)
	},
	"a handed back operation is due at once and its attempt does not count": func(s *suite) {
		s.one("e1", unsafely)
		l := s.take("w1", onceward.Unsafe)
		if err := s.HandBack(ctx, l.Lease); err != nil {
			s.Fatal(err)
		}
		if again := s.take("w2", onceward.Unsafe); again.Lease.Attempt != 1 || again.Lease.Fence <= l.Lease.Fence {
			s.Fatalf("%+v", again.Lease)
		}
	},
	"an operation that no worker knows is left alone (case 68)": func(s *suite) {
		id := s.one("e1")
		if _, err := s.Recover(ctx, map[string][]onceward.Limits{"other": {limits}}, 10); err != nil {
			s.Fatal(err)
		}
		if leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "other", Owner: "w", Effect: onceward.Keyed, Limits: limits, Limit: 9}); err != nil || len(leased) != 0 {
			s.Fatalf("%v %v", leased, err)
		}
		s.want(id, onceward.Received)
	},
	"reopening takes over at once what the dead process held, with the same key (case 59)": func(s *suite) {
		id := s.one("e1")
		s.take("w1", onceward.Keyed)
		s.reopen()
		if l := s.take("w2", onceward.Keyed); l.Lease.Attempt != 2 || l.Operation.ID != id {
			s.Fatalf("%+v", l)
		}
	},
	"what the owner reports while the janitor looks stays (case 66)": func(s *suite) {
		for i := range 20 {
			id := s.one(fmt.Sprint("e", i), unsafely)
			l := s.take("w1", onceward.Unsafe)
			if _, err := s.Intend(ctx, l.Lease, time.Minute); err != nil {
				s.Fatal(err)
			}
			s.clock.Advance(time.Minute)
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded("r"), limits); err != nil {
					s.Errorf("the owner's report: %v", err)
				}
			})
			both.Go(func() {
				if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
					s.Errorf("the janitor: %v", err)
				}
			})
			both.Wait()
			if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
				s.Fatal(err)
			}
			s.want(id, onceward.Completed) // at once, or late (T19)
		}
		s.counts("completed=20")
	},
	"what is born leased is not claimed beside its owner (case 70)": func(s *suite) {
		var all sync.WaitGroup
		var mu sync.Mutex
		owners := map[onceward.OperationID]int{}
		own := func(id onceward.OperationID) {
			mu.Lock()
			defer mu.Unlock()
			owners[id]++
		}
		for i := range 50 {
			a := s.arrival(fmt.Sprint("e", i), "x")
			if i%2 == 0 { // a worker waits for it
				a.Operations[0].Owner, a.Operations[0].Lease, a.Operations[0].Intend = "w1", time.Minute, true
			}
			admission := s.admission(a)
			all.Go(func() {
				admitted, err := s.Admit(ctx, admission)
				if err != nil {
					s.Error(err)
					return
				}
				if o := admitted[0].Operations[0]; o.State == onceward.Processing {
					own(o.ID)
				}
			})
			all.Go(func() {
				leased, _, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w2", Effect: onceward.Keyed, Limits: limits, Intend: true, Limit: 5})
				if err != nil {
					s.Error(err)
				}
				for _, l := range leased {
					own(l.Operation.ID)
				}
				if _, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 10); err != nil {
					s.Error(err)
				}
			})
		}
		all.Wait()
		for _, l := range s.claim("w3", onceward.Keyed, 100) {
			own(l.Operation.ID)
		}
		for id, n := range owners {
			if n != 1 {
				s.Errorf("%s was given to %d owners", id, n)
			}
		}
		if len(owners) != 50 {
			s.Errorf("%d operations have an owner, want 50", len(owners))
		}
	},
	"the next due time is reported": func(s *suite) {
		s.one("e1")
		l := s.take("w1", onceward.Keyed)
		at := s.clock.Now().Add(10 * time.Minute)
		if _, err := s.Settle(ctx, l.Lease, onceward.NotApplied("503", at), limits); err != nil {
			s.Fatal(err)
		}
		leased, next, err := s.Claim(ctx, onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: limits, Limit: 1})
		if err != nil || len(leased) != 0 || !next.Equal(at) {
			s.Fatalf("%v, next %v, %v", leased, next, err)
		}
	},
}

func second1[T any](_ T, err error) error { return err }
