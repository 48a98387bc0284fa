package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func (s *store) Conflicts(_ context.Context, q onceward.ConflictQuery) ([]onceward.Conflict, string, error) {
	s.calls = append(s.calls, "conflicts "+q.Event.String())
	return nil, "", nil
}

// Every listing takes what backfill takes: a duration back from now, or a time.
func TestEveryListingTakesADurationOrATime(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"2h": now.Add(-2 * time.Hour), "3d": now.Add(-72 * time.Hour), "2026-11-30T10:00:00Z": time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)} {
		if got, err := when("--since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	s, _ := newStore(onceward.Completed)
	for _, listing := range []string{"events list", "operations list", "audit"} {
		if status, _, stderr := s.onceward(t, strings.Fields(listing+" --since 2h --until 1h")...); status != exitDone {
			t.Errorf("%s: %d %s", listing, status, stderr)
		}
		for _, bad := range []string{"--since", "--until"} {
			status, _, stderr := s.onceward(t, append(strings.Fields(listing), bad, "yesterday")...)
			if status != exitUsage || !strings.Contains(stderr, bad+` "yesterday" is neither a duration such as 24h or 3d nor a time such as`) || strings.Contains(stderr, "2006") {
				t.Errorf("%s %s: %d %s", listing, bad, status, stderr)
			}
		}
	}
}

func TestConflictsAreListedByAnyID(t *testing.T) {
	s, id := newStore(onceward.Completed)
	for _, any := range []string{"guid-1", id.String(), onceward.OperationID{Event: id, N: 1}.String()} {
		if status, _, stderr := s.onceward(t, "conflicts", "list", "--event", any); status != exitDone || s.calls[len(s.calls)-1] != "conflicts "+id.String() {
			t.Errorf("%s: %d %s, %v", any, status, stderr, s.calls)
		}
	}
}

func TestAnEventsIDIsSentToItsStory(t *testing.T) {
	s, id := newStore(onceward.Completed)
	status, _, stderr := s.onceward(t, "operations", "show", id.String())
	if status != exitUsage || !strings.Contains(stderr, "onceward events show "+id.String()) {
		t.Errorf("%d %s", status, stderr)
	}
}

// What completed without its effect, what a person rejected and what was never
// tried do not look like the rest.
func TestListingsTellApartWhatHadNoEffect(t *testing.T) {
	s, id := newStore(onceward.Completed)
	o := &s.events[id].Event.Operations[0]
	o.Superseded, o.Attempt, o.Reason = true, 0, "version 1 is older than 2"
	rejected := s.add(start.Add(time.Hour), "guid-2")
	h := s.events[rejected]
	h.Event.Verdict, h.Event.Reason = onceward.Ignored, "no id"
	s.events[rejected] = h
	_, stdout, _ := s.onceward(t, "events", "list")
	if !strings.Contains(stdout, "completed (superseded)") || !strings.Contains(stdout, "ignored (rejected)") {
		t.Error(stdout)
	}
	if _, stdout, _ = s.onceward(t, "operations", "list"); !strings.Contains(stdout, "completed (superseded)") {
		t.Error(stdout)
	}
	if _, stdout, _ = s.onceward(t, "operations", "show", o.ID.String()); !strings.Contains(stdout, "completed (superseded), not attempted, effect") {
		t.Error(stdout)
	}
}
