package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var listCases = map[string]func(*suite){
	"pages cover everything once, newest first": func(s *suite) {
		for i := range 25 {
			s.one(fmt.Sprintf("e%02d", i))
			s.clock.Advance(time.Millisecond)
		}
		var got []string
		q := onceward.EventQuery{Page: onceward.Page{Limit: 10}}
		for pages := 0; ; pages++ {
			items, next, err := s.Events(ctx, q)
			if err != nil || pages > 3 {
				s.Fatal(pages, err)
			}
			for _, e := range items {
				got = append(got, e.EventID)
			}
			if next == "" {
				break
			}
			q.After = next
		}
		if len(got) != 25 || got[0] != "e24" || got[24] != "e00" {
			s.Fatalf("got %v", got)
		}
		var operations int
		p := onceward.OperationQuery{Page: onceward.Page{Limit: 10}}
		for {
			items, next, err := s.Operations(ctx, p)
			if err != nil {
				s.Fatal(err)
			}
			operations += len(items)
			if next == "" {
				break
			}
			p.After = next
		}
		if operations != 25 {
			s.Fatalf("%d operations", operations)
		}
	},
	"filters narrow a listing": func(s *suite) {
		dead := s.dead("e1")
		s.clock.Advance(time.Hour)
		other := s.arrival("e2", "x")
		other.Type = "invoice.sent"
		s.admit(other)
		for _, test := range []struct {
			q    onceward.EventQuery
			want string
		}{
			{onceward.EventQuery{Type: "invoice.*"}, "[e2]"},
			{onceward.EventQuery{Type: "order.paid"}, "[e1]"},
			{onceward.EventQuery{Source: "nobody"}, "[]"},
			{onceward.EventQuery{Status: "dead_lettered"}, "[e1]"},
			{onceward.EventQuery{Status: "received"}, "[e2]"},
			{onceward.EventQuery{Since: s.clock.Now().Add(-time.Minute)}, "[e2]"},
			{onceward.EventQuery{Until: s.clock.Now().Add(-time.Minute)}, "[e1]"},
			{onceward.EventQuery{Search: "e1"}, "[e1]"},
			{onceward.EventQuery{Search: dead.String()}, "[e1]"},
			{onceward.EventQuery{Search: dead.Event.String()}, "[e1]"},
			{onceward.EventQuery{Search: other.Digest.Downstream("fulfil", 0, "")}, "[e2]"},
			{onceward.EventQuery{Search: "nothing"}, "[]"},
		} {
			test.q.Limit = 10
			items, _, err := s.Events(ctx, test.q)
			got := []string{}
			for _, e := range items {
				got = append(got, e.EventID)
			}
			if err != nil || fmt.Sprint(got) != test.want {
				s.Errorf("%+v: %v, %v, want %s", test.q, got, err, test.want)
			}
		}
		items, _, err := s.Operations(ctx, onceward.OperationQuery{State: onceward.DeadLettered, Page: onceward.Page{Limit: 10}})
		if err != nil || len(items) != 1 || items[0].ID != dead || items[0].Name != "fulfil" {
			s.Fatalf("%+v, %v", items, err)
		}
		items, _, err = s.Operations(ctx, onceward.OperationQuery{Event: dead.Event, Page: onceward.Page{Limit: 10}})
		if err != nil || len(items) != 1 || items[0].ID != dead {
			s.Fatalf("%+v, %v", items, err)
		}
	},
	"a sender's id is found before and after it was indexed": func(s *suite) {
		for i := range 30 {
			s.one(fmt.Sprint("e", i))
		}
		find := func() {
			s.Helper()
			items, _, err := s.Events(ctx, onceward.EventQuery{Search: "e7", Page: onceward.Page{Limit: 10}})
			if err != nil || len(items) != 1 || items[0].EventID != "e7" {
				s.Fatalf("%+v, %v", items, err)
			}
		}
		find()
		if n, err := s.Index(ctx, 20); err != nil || n != 20 {
			s.Fatal(n, err)
		}
		find()
		if n, err := s.Index(ctx, 20); err != nil || n != 10 {
			s.Fatal(n, err)
		}
		find()
	},
	"quarantined deliveries are listed with quarantined operations": func(s *suite) {
		held := s.arrival("e1", "x")
		held.Verdict, held.Reason = onceward.QuarantinedBy, "body is not JSON"
		s.admit(held)
		id := s.one("e2")
		second := s.arrival("e2", "other")
		if _, err := s.RecordConflict(ctx, id.Event, s.admission(second), &second, onceward.HoldConflict); err != nil {
			s.Fatal(err)
		}
		s.one("e3")
		var got []string
		for q := (onceward.EventQuery{Status: "quarantined", Page: onceward.Page{Limit: 1}}); ; {
			items, next, err := s.Events(ctx, q)
			if err != nil {
				s.Fatal(err)
			}
			for _, e := range items {
				got = append(got, e.EventID)
			}
			if q.After = next; next == "" {
				break
			}
		}
		if fmt.Sprint(got) != "[e2 e1]" {
			s.Fatalf("got %v", got)
		}
	},
	"a joined id is found by each of its parts": func(s *suite) {
		a := s.arrival("10:orders/new,4:e-77,", "x")
		a.Shown = "orders/new|e-77"
		s.admit(a)
		for range 2 {
			for _, text := range []string{"e-77", "orders/new", "orders/new|e-77"} {
				items, _, err := s.Events(ctx, onceward.EventQuery{Search: text, Page: onceward.Page{Limit: 10}})
				if err != nil || len(items) != 1 || items[0].EventID != "orders/new|e-77" {
					s.Fatalf("%q: %+v, %v", text, items, err)
				}
			}
			if _, err := s.Index(ctx, 10); err != nil {
				s.Fatal(err)
			}
		}
	},
	"a hidden id is not kept": func(s *suite) {
		a := s.arrival("secret-id", "x")
		a.HideID = true
		s.admit(a)
		items, _, _ := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{Limit: 10}})
		if len(items) != 1 || items[0].EventID != "" {
			s.Fatalf("%+v", items)
		}
		if got := s.admit(a)[0]; got.Verdict != onceward.Duplicate {
			s.Fatalf("%+v", got)
		}
	},
	"a foreign cursor is refused": func(s *suite) {
		_, _, events := s.Events(ctx, onceward.EventQuery{Page: onceward.Page{After: "x", Limit: 1}})
		_, _, operations := s.Operations(ctx, onceward.OperationQuery{Page: onceward.Page{After: "x", Limit: 1}})
		_, _, audit := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{After: "x", Limit: 1}})
		for name, err := range map[string]error{"events": events, "operations": operations, "audit": audit} {
			if !errors.Is(err, onceward.ErrBadCursor) {
				s.Errorf("%s: %v", name, err)
			}
		}
	},
	"the oldest open operation is known": func(s *suite) {
		first := s.clock.Now()
		s.one("e1")
		s.clock.Advance(time.Hour)
		s.one("e2")
		if t, err := s.Oldest(ctx, "fulfil"); err != nil || !t.Equal(first) {
			s.Fatalf("%v, %v, want %v", t, err, first)
		}
		for _, l := range s.claim("w", onceward.Keyed, 2) {
			if _, err := s.Settle(ctx, l.Lease, onceward.Succeeded(""), limits); err != nil {
				s.Fatal(err)
			}
		}
		if t, err := s.Oldest(ctx, "fulfil"); err != nil || !t.IsZero() {
			s.Fatalf("%v, %v, want none", t, err)
		}
	},
	"the audit log is filtered, and pages": func(s *suite) {
		first, second := s.dead("e1"), s.dead("e2")
		if _, err := s.Retry(ctx, first, decision); err != nil {
			s.Fatal(err)
		}
		s.clock.Advance(time.Hour)
		between := s.clock.Now()
		other := onceward.Decision{Actor: "night", Reason: "not mine"}
		if _, err := s.Resolve(ctx, second, true, "r", onceward.Decision{Actor: "night", Reason: "seen", Evidence: "row 9"}); err != nil {
			s.Fatal(err)
		}
		if err := s.Pause(ctx, "billing", other); err != nil {
			s.Fatal(err)
		}
		for name, c := range map[string]struct {
			q    onceward.AuditQuery
			want string
		}{
			"all":        {onceward.AuditQuery{}, "pause T21 T20 T9+T15 T9+T15"},
			"an actor":   {onceward.AuditQuery{Actor: "night"}, "pause T21"},
			"an action":  {onceward.AuditQuery{Action: "T20"}, "T20"},
			"a prefix":   {onceward.AuditQuery{Action: "T2*"}, "T21 T20"},
			"an event":   {onceward.AuditQuery{Event: second.Event}, "T21 T9+T15"},
			"since":      {onceward.AuditQuery{Since: between}, "pause T21"},
			"until":      {onceward.AuditQuery{Until: between, Actor: "ops"}, "T20"},
			"nobody":     {onceward.AuditQuery{Actor: "nobody"}, ""},
			"everything": {onceward.AuditQuery{Actor: "night", Action: "pause", Since: between}, "pause"},
		} {
			for limit := 1; limit < 9; limit += 3 {
				got := ""
				for q := c.q; ; {
					q.Limit = limit
					page, next, err := s.Audit(ctx, q)
					if err != nil || len(page) > limit {
						s.Fatalf("%s: %d rows, %v", name, len(page), err)
					}
					for _, a := range page {
						got = strings.TrimSpace(got + " " + a.Action)
					}
					if q.After = next; next == "" {
						break
					}
				}
				if got != c.want {
					s.Errorf("%s, %d a page: %q, want %q", name, limit, got, c.want)
				}
			}
		}
		if _, _, err := s.Audit(ctx, onceward.AuditQuery{Page: onceward.Page{Limit: 1, After: "x"}}); !errors.Is(err, onceward.ErrBadCursor) {
			s.Fatalf("got %v", err)
		}
	},
}
