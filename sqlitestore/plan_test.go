package sqlitestore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
)

// plans are what each statement must do with each table it reads: words that
// its plan has to hold.
var plans = map[string][]string{
	"selectDue":           {"SEARCH o USING INDEX operation_due (label=? AND step=? AND due_at<?)"},
	"selectNextDue":       {"SEARCH operation USING COVERING INDEX operation_due (label=? AND step=? AND due_at>?)"},
	"selectSilent":        {"SEARCH o USING INDEX operation_due (label=? AND step=? AND due_at<?)"},
	"selectUnclaimed":     {"SEARCH o USING INDEX operation_due (label=? AND step=? AND due_at<?)"},
	"selectNextStep":      {"SEARCH operation USING COVERING INDEX operation_due (label=? AND step>?)"},
	"selectAsk":           {"SEARCH o USING INDEX operation_ask (label=? AND step=? AND ask_at<?)"},
	"selectNextAsk":       {"SEARCH operation USING COVERING INDEX operation_ask (label=? AND step=? AND ask_at>?)"},
	"selectSteps":         {"SEARCH step USING PRIMARY KEY (event=?)"},
	"endLeases":           {"SEARCH operation USING INDEX operation_due (label=? AND step=? AND due_at>?)"},
	"selectKey":           {"SEARCH ledger USING PRIMARY KEY (key=?)"},
	"selectKnown":         {"SEARCH event USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectOperation":     {"SEARCH o USING PRIMARY KEY (event=? AND n=?)"},
	"selectOperations":    {"SEARCH o USING PRIMARY KEY (event=?)"},
	"updateOperation":     {"SEARCH operation USING PRIMARY KEY (event=? AND n=?)"},
	"selectForWork":       {"SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectSegment":       {"SEARCH segment USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectEvents":        {"SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectEvent":         {"SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectParkedEvents":  {"SEARCH operation USING COVERING INDEX operation_parked (state=? AND event>? AND event<?)"},
	"selectQuarantined":   {"SEARCH event USING COVERING INDEX event_quarantined (id>? AND id<?)"},
	"selectParked":        {"SEARCH o USING INDEX operation_parked (state=?", "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectAllOperations": {"SEARCH o USING PRIMARY KEY (", "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectAudit":         {"SEARCH audit USING INTEGER PRIMARY KEY (rowid<?)"},
	"selectEventAudit":    {"SEARCH audit USING INDEX audit_event (event=?)"},
	"selectExpired":       {"SEARCH segment USING INDEX segment_expires (expires<?)"},
	"selectOld":           {"SEARCH event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "SEARCH o USING PRIMARY KEY (event=?)"},
	"needsPayload":        {"SEARCH operation USING PRIMARY KEY (event>? AND event<?)"},
	"selectConflicts":     {"SEARCH v USING INTEGER PRIMARY KEY (rowid<?)"},
	"selectOpen":          {"SEARCH v USING INDEX evidence_open (id<?)"},
	"selectConflict":      {"SEARCH v USING INTEGER PRIMARY KEY (rowid=?)"},
	"selectRevision":      {"SEARCH v USING INDEX sqlite_autoindex_evidence_1 (event=? AND content=?)"},
	"selectBulks":         {"SEARCH bulk USING INTEGER PRIMARY KEY (rowid<?)"},
	"selectLastOperation": {"SEARCH operation USING"},
	"releaseFollower":     {"SEARCH operation USING PRIMARY KEY (event=?)"},
	"loadKeys":            {"SEARCH event USING INTEGER PRIMARY KEY (rowid>?)"},
	"selectReference":     {"SEARCH reference USING PRIMARY KEY (hash=?)"},
	"selectTail":          {"SEARCH event USING INTEGER PRIMARY KEY (rowid>?)"},
	"selectWaiting":       {"SEARCH o USING INDEX operation_waiting (stream=?)"},
	"selectActive":        {"SEARCH o USING INDEX operation_waiting (stream=? AND place>?)"},
	"selectAhead":         {"USING INDEX operation_waiting (stream=? AND place<?)"},
	"selectSeen":          {"SEARCH o USING INDEX operation_stream (stream=? AND place=?)"},
	"selectUnindexed":     {"SEARCH event USING INTEGER PRIMARY KEY (rowid>?)"},
	"selectOldest":        {"SEARCH o USING COVERING INDEX operation_due (label=?)"},
}

func TestEveryHotStatementUsesItsIndex(t *testing.T) {
	s := fresh(t)
	check := func(t *testing.T) {
		for name, sql := range sqlitestore.Statements() {
			plan := s.plan(sql)
			for _, part := range plans[name] {
				if !strings.Contains(plan, part) {
					t.Errorf("%s does not %s:\n%s", name, part, plan)
				}
			}
			if plans[name] == nil {
				t.Errorf("%s has no plan to keep to:\n%s", name, plan)
			}
			for line := range strings.Lines(plan) {
				if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN CONSTANT ROW") && !strings.HasPrefix(line, "SCAN (") ||
					strings.Contains(line, "AUTOMATIC") || strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY") {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
	}
	t.Run("in an empty store", check)
	s.fill(400)
	t.Run("with rows", check)
	s.number("ANALYZE")
	t.Run("with statistics", check)
}

// plan is how SQLite means to run a statement.
func (s *file) plan(sql string) string {
	s.Helper()
	var lines strings.Builder
	if err := s.OnWriter(ctx, func(c *sqlite3.Conn) error {
		lines.Reset()
		q, _, err := c.Prepare("EXPLAIN QUERY PLAN " + sql)
		if err != nil {
			return err
		}
		defer func() { _ = q.Close() }()
		for q.Step() {
			lines.WriteString(q.ColumnText(3) + "\n")
		}
		return q.Err()
	}); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return lines.String()
}

// fill records n events, of which a tenth is left in each of some states.
func (s *file) fill(n int) {
	s.Helper()
	all := make([]onceward.Arrival, n)
	for i := range all {
		all[i] = s.arrival(fmt.Sprint("fill-", i), fmt.Sprint("body ", i), "fulfil", "mail")
		all[i].Key.Source = fmt.Sprint("source-", i%50)
		all[i].Digest = s.Peppers()[0].Digest(all[i].Key)
		if i%10 == 0 {
			all[i].Verdict, all[i].Operations, all[i].Reason = onceward.QuarantinedBy, nil, "not JSON"
		}
	}
	if _, err := s.admit(all...); err != nil {
		s.Fatal(err)
	}
	leased, _, err := s.Claim(ctx, claim(n/2))
	if err != nil {
		s.Fatal(err)
	}
	for i, l := range leased {
		out := onceward.Succeeded("r")
		if i%3 == 0 {
			out = onceward.Refused("no")
		}
		if _, err := s.Settle(ctx, l.Lease, out, limits); err != nil {
			s.Fatal(err)
		}
	}
}

var limits = onceward.Limits{Attempts: 3, Lease: time.Minute}

func claim(n int) onceward.ClaimRequest {
	return onceward.ClaimRequest{Name: "fulfil", Owner: "w", Effect: onceward.Keyed, Limits: limits, Intend: true, Limit: n}
}

func TestTheHotPathAndAPruneWithNothingToDoScanNoTable(t *testing.T) {
	s := fresh(t)
	s.fill(300)
	if _, err := s.ScannedRows(ctx); err != nil { // what opening did
		t.Fatal(err)
	}
	s.fill(300)
	s.verdict(s.arrival("known", "x"))
	s.verdict(s.arrival("known", "x"))
	if n, err := s.PrunePayloads(ctx, 100); n != 0 || err != nil {
		t.Errorf("pruned %d payloads: %v", n, err)
	}
	if next, n, err := s.PruneKeys(ctx, 0, 24*time.Hour, 100); next != 0 || n != 0 || err != nil {
		t.Errorf("pruned %d keys: %v", n, err)
	}
	if n, err := s.Recover(ctx, map[string][]onceward.Limits{"fulfil": {limits}}, 100); n != 0 || err != nil {
		t.Errorf("recovered %d: %v", n, err)
	}
	scanned, err := s.ScannedRows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for sql, n := range scanned {
		t.Errorf("%d rows scanned by %s", n, sql)
	}
}

func TestTimesAreIntegers(t *testing.T) {
	s := fresh(t)
	for table, columns := range map[string]string{
		"event": "occurred_at last_seen keep", "operation": "due_at changed", "attempt": "started ended", "delivery": "at",
		"evidence": "at", "audit": "at", "segment": "expires", "pause": "at", "pepper": "created",
	} {
		for column := range strings.FieldsSeq(columns) {
			if n := s.number(fmt.Sprintf("SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s' AND type = 'INTEGER'", table, column)); n != 1 {
				t.Errorf("%s.%s is no integer", table, column)
			}
		}
	}
	a := s.arrival("e1", "x")
	a.OccurredAt = time.Date(2026, 3, 29, 2, 30, 0, 123_456_789, time.FixedZone("odd", 5400))
	s.verdict(a)
	if got := s.number("SELECT occurred_at FROM event"); got != a.OccurredAt.UnixMicro() {
		t.Errorf("stored %d, want UTC microseconds %d", got, a.OccurredAt.UnixMicro())
	}
}
