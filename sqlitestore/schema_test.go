package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestTheSchemaRefusesWhatNoRuleAllows is the third guard alone: what a mistake
// in the rules and in the UPDATE would still not get onto the disk.
func TestTheSchemaRefusesWhatNoRuleAllows(t *testing.T) {
	s := fresh(t)
	a := s.arrival("e1", "x", "fulfil")
	if _, err := s.admit(a); err != nil {
		t.Fatal(err)
	}
	try := func(sql string) (refused error) {
		t.Helper()
		_ = s.OnWriter(ctx, func(c *sqlite3.Conn) error {
			if err := c.Exec("SAVEPOINT try"); err != nil {
				return err
			}
			refused = c.Exec(sql)
			return c.Exec("ROLLBACK TO try; RELEASE try")
		})
		return refused
	}
	const processing = "UPDATE operation SET state = 2, fence = 5, attempt = 1, owner = 'w', due_at = 9; "
	const done = processing + "UPDATE operation SET state = 4, owner = NULL, due_at = NULL, result = 'r'; "
	for name, test := range map[string]struct {
		sql  string
		says string // of the refusal; empty when it must be taken
	}{
		"a lease":                           {processing, ""},
		"an intent with its time":           {processing + "UPDATE operation SET intent = 1, intent_at = 7", ""},
		"an intent without a time":          {processing + "UPDATE operation SET intent = 1", "intent_at IS NOT NULL"},
		"a question about an unknown one":   {processing + "UPDATE operation SET state = 6, effect = 3, owner = NULL, due_at = NULL, ask_at = 8, sent_by = 7", ""},
		"a question without the last send":  {processing + "UPDATE operation SET state = 6, effect = 3, owner = NULL, due_at = NULL, ask_at = 8", "ask_at IS NULL"},
		"a question to nobody":              {processing + "UPDATE operation SET state = 6, effect = 4, owner = NULL, due_at = NULL, ask_at = 8, sent_by = 7", "ask_at IS NULL"},
		"a question about what is leased":   {processing + "UPDATE operation SET effect = 3, ask_at = 8, sent_by = 7", "ask_at IS NULL"},
		"the next step":                     {processing + "UPDATE operation SET step = 1, fence = 6", ""},
		"a step back":                       {processing + "UPDATE operation SET step = 2; UPDATE operation SET step = 1", "operation_guard"},
		"a fence that falls":                {processing + "UPDATE operation SET fence = 4", "operation_guard"},
		"completed":                         {done, ""},
		"a dispute about what is completed": {done + "UPDATE operation SET flags = 2", ""},
		"completed again":                   {done + "UPDATE operation SET state = 1, due_at = 9", "operation_guard"},
		"another result":                    {done + "UPDATE operation SET result = 'other'", "operation_guard"},
		"another owner of what is done":     {done + "UPDATE operation SET fence = 6", "operation_guard"},
		"a recovery point twice": {`INSERT INTO step (event, n, generation, step, name, attempt, fence, at) VALUES (1, 1, 0, 0, 'a', 1, 1, 1);
 INSERT INTO step (event, n, generation, step, name, attempt, fence, at) VALUES (1, 1, 0, 0, 'a', 2, 2, 2)`, "UNIQUE constraint"},
		"an attempt of nobody": {`INSERT INTO attempt (event, n, fence, number, started, ended, outcome, state) VALUES (1, 1, 1, 1, 1, 1, 'lost', 6)`, "attempt.owner"},
	} {
		err := try(test.sql)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}
