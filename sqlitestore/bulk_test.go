package sqlitestore_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
)

// One event at which the store fails stops neither its bulk nor the next one.
func TestABulkGoesOnBehindAnEventAtWhichTheStoreFails(t *testing.T) {
	s := fresh(t)
	var steps []onceward.Step
	for _, name := range []string{"e1", "e2", "e3"} {
		id, err := s.admit(s.arrival(name, name, "fulfil"))
		if err != nil {
			t.Fatal(err)
		}
		event := id[0].Event
		if _, err := s.Abandon(ctx, onceward.OperationID{Event: event, N: 1}, onceward.Decision{Actor: "ops", Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, onceward.Step{Event: event})
	}
	if err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
		return c.Exec("CREATE TRIGGER poison BEFORE UPDATE ON operation WHEN new.event = " + strconv.FormatInt(int64(steps[1].Event), 10) + " AND new.state = 1 BEGIN SELECT RAISE(ABORT, 'poisonous'); END")
	}); err != nil {
		t.Fatal(err)
	}
	d := onceward.Decision{Actor: "ops", Reason: "test"}
	b, err := s.BeginBulk(ctx, onceward.Bulk{Mode: onceward.Resume, Decision: d, Expect: 3})
	if err != nil {
		t.Fatal(err)
	}
	steps[2].Fault = "it could not be read"
	b, err = s.StepBulk(ctx, b, steps, "", true)
	if err != nil || b.Seen != 3 || b.Changed != 1 || b.Refused != 2 || b.State() != "done" || !strings.Contains(b.Refusal, "could not be read") {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := s.number("SELECT count(*) FROM operation WHERE state = 1"); got != 1 {
		t.Errorf("%d were taken up", got)
	}
	for state, n := range map[string]int64{"1": 1, "7": 2} {
		if got := s.number("SELECT sum(n) FROM counter WHERE state = " + state); got != n {
			t.Errorf("the counters say %d in state %s, want %d", got, state, n)
		}
	}
	if b, err = s.BeginBulk(ctx, onceward.Bulk{Mode: onceward.Resume, Decision: d, Expect: 1}); err != nil {
		t.Fatal(err)
	}
	b, err = s.StepBulk(ctx, b, steps[1:2], "", true)
	if err != nil || b.Refused != 1 || !strings.Contains(b.Refusal, steps[1].Event.String()) || !strings.Contains(b.Refusal, "poisonous") {
		t.Fatalf("%+v, %v", b, err)
	}
}
