package main

import (
	"context"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func (s *store) Audit(_ context.Context, q onceward.AuditQuery) ([]onceward.Audit, string, error) {
	s.calls = append(s.calls, "audit "+q.Actor+" "+q.Action+" "+q.Event.String())
	return []onceward.Audit{{ID: 1, At: start, Actor: "ops", Action: "T20", Target: "op_1", From: "dead_lettered", To: "received", Reason: "mended\n\x1b[31m"}}, "", nil
}

func TestWhatCannotBeMeantIsMisuse(t *testing.T) {
	for _, c := range []struct {
		name, args string
		advice     string
	}{
		{"no decision", "conflicts resolve con_0000000000000 --reason x", "--keep"},
		{"a decision that is none", "conflicts resolve con_0000000000000 --keep both --reason x", "--keep"},
		{"a conflict's id that is none", "conflicts show 7", "con_"},
		{"a bulk's id that is none", "replays show 7", "bulk_"},
		{"a mode that is none", "events replay EVENT --mode again --reason x", "--mode"},
		{"a time that is none", "events replay --since yesterday --reason x --expect 1", "--since \"yesterday\" is neither a duration such as 24h"},
		{"nothing to erase", "events erase --reason x", "say which event"},
		{"an erasure without a count", "events erase --account a --reason x", "--expect is missing"},
		{"an event and a count", "events erase EVENT --reason x --expect 1", "cannot be meant"},
		{"a mark and none", "restored --clear --at 2026-12-01T09:00:00Z --reason x", "--at cannot be meant"},
		{"a mark at no time", "restored --at noon --reason x", "--at must be a time"},
		{"no reason to mark", "restored", "--reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, id := newStore(onceward.Completed)
			status, _, stderr := s.onceward(t, strings.Fields(strings.ReplaceAll(c.args, "EVENT", id.String()))...)
			if status != exitUsage || !strings.Contains(stderr, c.advice) {
				t.Errorf("status %d: %s", status, stderr)
			}
			if len(s.calls) > 0 {
				t.Errorf("calls %v", s.calls)
			}
		})
	}
}

func TestAuditIsListedWithItsFilters(t *testing.T) {
	s, id := newStore(onceward.Completed)
	status, stdout, stderr := s.onceward(t, "audit", "--actor", "ops", "--action", "T2*", "--event", id.String())
	if status != exitDone || !strings.Contains(stdout, "ops") || !strings.Contains(stdout, "dead_lettered") || strings.ContainsAny(stdout, "\x1b") {
		t.Errorf("%d %q %s", status, stdout, stderr)
	}
	if want := "audit ops T2* " + id.String(); len(s.calls) != 1 || s.calls[0] != want {
		t.Errorf("calls %v, want %s", s.calls, want)
	}
}

func TestADryRunSaysThatItIsOne(t *testing.T) {
	s, id := newStore(onceward.DeadLettered)
	status, stdout, stderr := s.onceward(t, "events", "replay", id.String(), "--reason", "mended", "--dry-run")
	if status != exitDone || !strings.Contains(stdout, "dry run: nothing was changed") || !strings.Contains(stdout, "fulfil retried") || len(s.decided) != 0 {
		t.Errorf("%d %s %s, decided %v", status, stdout, stderr, s.decided)
	}
	status, stdout, _ = s.onceward(t, "events", "explain", id.String())
	if status != exitDone || !strings.Contains(stdout, "was it once, and how do we know?") || !strings.Contains(stdout, "next") {
		t.Errorf("%d %s", status, stdout)
	}
}
