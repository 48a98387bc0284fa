package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Filter says which events a bulk is about; at least one field must be given.
type Filter struct {
	Source  string     `json:"source,omitempty" maxLength:"200"`
	Account string     `json:"account,omitempty" maxLength:"600" doc:"The sender's sub-account."`
	Type    string     `json:"type,omitempty" maxLength:"600" doc:"A * may end it."`
	Status  string     `json:"status,omitempty" doc:"A state, or a verdict of an event without operations. Only quarantined lets go what is held."`
	Q       string     `json:"q,omitempty" maxLength:"600" doc:"Any id."`
	Since   *time.Time `json:"since,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
}

// BulkReplay asks for a replay of every event that a filter finds.
type BulkReplay struct {
	Replay
	Filter Filter `json:"filter"`
	Expect *int   `json:"expect,omitempty" minimum:"0" doc:"How many events the filter finds, as a dry run said; required to begin."`
}

// Bulk is a bulk replay or erasure as it stands, or in a dry run would begin.
type Bulk struct {
	ID        string         `json:"id" doc:"Empty in a dry run."`
	State     string         `json:"state" enum:"dry_run,running,done,cancelled"`
	Mode      string         `json:"mode"`
	Filter    Filter         `json:"filter"`
	Actor     string         `json:"actor"`
	Reason    string         `json:"reason"`
	Events    int            `json:"events" doc:"How many the filter found."`
	Would     map[string]int `json:"would,omitempty" doc:"In a dry run: how many operations would be retried, redelivered, …, left, and how many events refused."`
	Seen      int            `json:"seen"`
	Changed   int            `json:"changed"`
	Left      int            `json:"left" doc:"Events with nothing to do."`
	Refused   int            `json:"refused" doc:"Events that may not be done so."`
	Refusal   string         `json:"refusal,omitempty" doc:"Why the last of these was refused."`
	Refusals  map[string]int `json:"refusals,omitempty" doc:"In a dry run: why, and how many events for each reason."`
	Note      string         `json:"note,omitempty" doc:"What is odd about the filter."`
	CreatedAt *time.Time     `json:"created_at"`
	EndedAt   *time.Time     `json:"ended_at"`
}

func (s *server) bulkShape(b onceward.Bulk) Bulk {
	f := b.Filter
	return Bulk{
		ID: b.String(), State: b.State(), Mode: b.Mode.String(), Actor: b.Decision.Actor, Reason: b.Decision.Reason,
		Filter: Filter{Source: f.Source, Account: f.Account, Type: f.Type, Status: f.Status, Q: f.Search, Since: moment(f.Since), Until: moment(f.Until)},
		Events: b.Expect, Seen: b.Seen, Changed: b.Changed, Left: b.Left, Refused: b.Refused, Refusal: b.Refusal,
		CreatedAt: moment(b.At), EndedAt: moment(b.Ended),
	}
}

func (f Filter) query() (q onceward.EventQuery, err error) {
	q = onceward.EventQuery{Source: f.Source, Account: f.Account, Type: f.Type, Status: f.Status, Search: strings.TrimSpace(f.Q)}
	if f.Since != nil {
		q.Since = *f.Since
	}
	if f.Until != nil {
		q.Until = *f.Until
	}
	if q == (onceward.EventQuery{}) {
		return q, invalid("the filter is empty; name at least one of source, account, type, status, q, since and until")
	}
	if q.Status != "" && !isStatus(q.Status) {
		return q, notAStatus()
	}
	return q, nil
}

type bulkReplayRequest struct {
	Credential
	Once
	Body BulkReplay
}

func (s *server) beginReplay(ctx context.Context, in *bulkReplayRequest) (*answer[Bulk], error) {
	mode, err := onceward.ParseMode(in.Body.Mode)
	if err != nil {
		return nil, invalid(err.Error())
	}
	d, err := s.decision(in.Credential, in.Body.Reason, "", in.Body.AcceptDuplicateRisk)
	if err != nil {
		return nil, err
	}
	d.Once = in.IdempotencyKey
	q, err := in.Body.Filter.query()
	if err != nil {
		return nil, err
	}
	b := onceward.Bulk{Mode: mode, Decision: d, Filter: q, Operations: in.Body.Operations}
	for _, name := range b.Operations {
		if name == "" || strings.Contains(name, ",") {
			return nil, invalid(fmt.Sprintf("%q is not an operation's name", name))
		}
	}
	return s.begin(ctx, b, in.Body.Expect, in.Body.DryRun)
}

// Erasure asks for the erasure of what every event carried that a filter finds.
type Erasure struct {
	Filter Filter `json:"filter"`
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
	DryRun bool   `json:"dry_run,omitempty" doc:"Count, and change nothing."`
	Expect *int   `json:"expect,omitempty" minimum:"0" doc:"How many events the filter finds, as a dry run said; required to begin."`
}

type erasureRequest struct {
	Credential
	Body Erasure
}

func (s *server) beginErasure(ctx context.Context, in *erasureRequest) (*answer[Bulk], error) {
	d, err := s.decision(in.Credential, in.Body.Reason, "", false)
	if err != nil {
		return nil, err
	}
	q, err := in.Body.Filter.query()
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, onceward.Bulk{Mode: onceward.Erase, Decision: d, Filter: q}, in.Body.Expect, in.Body.DryRun)
}

// begin counts what a bulk is about and, when that is what the person expects,
// records it.
func (s *server) begin(ctx context.Context, b onceward.Bulk, expect *int, dry bool) (*answer[Bulk], error) {
	const doing = "begin a bulk"
	if expect == nil && !dry {
		return nil, invalid("expect is missing: how many events the filter finds; a dry run (dry_run: true) counts them")
	}
	would, refusals := map[string]int{}, map[string]int{}
	err := s.each(ctx, b.Filter, func(e onceward.Event) error {
		b.Expect++
		refused, err := s.foresee(ctx, b, e, would)
		if refused != nil {
			would["refused"]++
			refusals[reasonOf(refused, refusals)]++
		}
		return err
	})
	if err != nil {
		return nil, s.fail(doing, err)
	}
	if dry {
		out := s.bulkShape(b)
		out.ID, out.State, out.Would, out.Refusals, out.CreatedAt = "", "dry_run", would, refusals, nil
		out.Note = s.oddity(b)
		return &answer[Bulk]{out}, nil
	}
	if b.Expect != *expect {
		return nil, huma.NewError(http.StatusConflict, fmt.Sprintf("the filter finds %d events, not %d; look at them again, and expect what you mean", b.Expect, *expect))
	}
	if b, err = s.Store.BeginBulk(ctx, b); err != nil {
		return nil, s.fail(doing, err)
	}
	s.Begun()
	return &answer[Bulk]{s.bulkShape(b)}, nil
}

// maxReasons bounds how many different reasons a dry run tells.
const maxReasons = 20

func reasonOf(refused error, known map[string]int) string {
	reason := refused.Error()
	if known[reason] == 0 && len(known) >= maxReasons {
		return "other reasons"
	}
	return reason
}

// oddity is what a person who counts should know about a filter that finds nothing.
func (s *server) oddity(b onceward.Bulk) string {
	source := b.Filter.Source
	if b.Expect > 0 || source == "" || len(s.Sources) == 0 || slices.Contains(s.Sources, source) {
		return ""
	}
	return fmt.Sprintf("no source %q is configured, and nothing is recorded of one; configured are %s", source, strings.Join(s.Sources, ", "))
}

// foresee adds what would happen to an event to the sums of a dry run, or says
// why it would be refused.
func (s *server) foresee(ctx context.Context, b onceward.Bulk, e onceward.Event, would map[string]int) (refused, err error) {
	if b.Mode == onceward.Erase {
		if refused := e.Erase(b.Decision); refused != nil {
			return refused, nil
		}
		would["erased"]++
		return nil, nil
	}
	r := onceward.Replay{Decision: b.Decision, Mode: b.Mode, Operations: b.Operations, Held: b.Held(), KeyMemory: s.KeyMemory}
	if b.Held() && e.Verdict == onceward.QuarantinedBy || len(b.Operations) > 0 {
		if r.Reading, err = s.Reread(ctx, e); err != nil {
			return nil, err
		}
	}
	all, refused := e.Replay(r, time.Now())
	if refused == nil {
		refused = onceward.Refusal(all)
	}
	if refused != nil {
		return refused, nil
	}
	for _, step := range all {
		would[step.Did]++
	}
	return nil, nil
}

// each visits every event that a filter finds, page by page.
func (s *server) each(ctx context.Context, q onceward.EventQuery, visit func(onceward.Event) error) error {
	q.Limit = 500
	for {
		found, next, err := s.Store.Events(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range found {
			if err := visit(e); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		q.After = next
	}
}

type bulkQuery struct{ Paging }

func (s *server) listBulks(ctx context.Context, in *bulkQuery) (*answer[List[Bulk]], error) {
	found, next, err := s.Store.Bulks(ctx, in.page())
	if err != nil {
		return nil, s.fail("list bulk replays", err)
	}
	items := make([]Bulk, len(found))
	for i, b := range found {
		items[i] = s.bulkShape(b)
	}
	return page(items, next), nil
}

// BulkRequest names a bulk.
type BulkRequest struct {
	Credential
	ID string `path:"id" maxLength:"40" doc:"bulk_…"`
}

func (s *server) getBulk(ctx context.Context, in *BulkRequest) (*answer[Bulk], error) {
	return s.oneBulk("show a bulk replay", in.ID, func(id int64) (onceward.Bulk, error) { return s.Store.Bulk(ctx, id) })
}

type cancelRequest struct {
	BulkRequest
	Body Rejection
}

func (s *server) cancelBulk(ctx context.Context, in *cancelRequest) (*answer[Bulk], error) {
	d, err := s.decision(in.Credential, in.Body.Reason, "", false)
	if err != nil {
		return nil, err
	}
	return s.oneBulk("cancel a bulk replay", in.ID, func(id int64) (onceward.Bulk, error) { return s.Store.CancelBulk(ctx, id, d) })
}

func (s *server) oneBulk(doing, id string, do func(int64) (onceward.Bulk, error)) (*answer[Bulk], error) {
	n, err := onceward.ParseBulk(id)
	if err != nil {
		return nil, invalid(err.Error())
	}
	b, err := do(n)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	return &answer[Bulk]{s.bulkShape(b)}, nil
}
