package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

var hookPath = regexp.MustCompile(`^(repos/[\w.-]+/[\w.-]+|orgs/[\w.-]+)/hooks/[0-9]+$`)

// github looks through a hook's deliveries (GitHub Docs: Repository webhook
// deliveries; kept for three days) and asks for another attempt of every event
// that no delivery of which was answered with success. GitHub sends it again,
// signed and under the same id.
func github(ctx context.Context, o *Options, r *Report) error {
	if !hookPath.MatchString(o.Hook) {
		return errors.New("backfill.hook must be repos/OWNER/NAME/hooks/ID or orgs/NAME/hooks/ID; the id is in the address of the hook's settings")
	}
	a, err := newAPI(o, "https://api.github.com")
	if err != nil {
		return err
	}
	a.header.Set("Accept", "application/vnd.github+json")
	a.header.Set("X-GitHub-Api-Version", "2022-11-28")
	missed, order, err := a.missed(ctx, r)
	if err != nil {
		return err
	}
	for _, guid := range order { // oldest first
		id, open := missed[guid]
		if !open {
			continue
		}
		if o.DryRun {
			r.Outcomes["would be sent again"]++
			continue
		}
		if _, _, err := a.call(ctx, "POST", "/"+o.Hook+"/deliveries/"+strconv.FormatInt(id, 10)+"/attempts"); err != nil {
			return fmt.Errorf("ask for %s again: %w", guid, err)
		}
		r.Outcomes["asked to be sent again"]++
		o.Progress(*r)
	}
	return nil
}

// missed returns a delivery of every event without a success, by the event's
// id, and those ids from the oldest on.
func (a *api) missed(ctx context.Context, r *Report) (missed map[string]int64, order []string, err error) {
	missed = map[string]int64{}
	taken := map[string]bool{}
	next := "/" + a.o.Hook + "/deliveries?per_page=100"
	for page := 0; next != ""; page++ {
		if page == maxPages {
			return nil, nil, errors.New("list github's deliveries: the list does not end")
		}
		body, header, err := a.call(ctx, "GET", next)
		if err != nil {
			return nil, nil, fmt.Errorf("list github's deliveries: %w", err)
		}
		var list []struct {
			ID     int64     `json:"id"`
			GUID   string    `json:"guid"`
			At     time.Time `json:"delivered_at"`
			Status int       `json:"status_code"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, nil, fmt.Errorf("list github's deliveries: the answer is not the list that is documented: %w", err)
		}
		next = nextPage(header)
		for _, d := range list { // newest first
			if d.At.Before(a.o.Since) {
				next = ""
				break
			}
			r.Seen++
			if d.Status >= 200 && d.Status < 300 {
				taken[d.GUID] = true
				delete(missed, d.GUID)
				continue
			}
			if !taken[d.GUID] {
				missed[d.GUID] = d.ID
			}
			order = append(order, d.GUID)
		}
		a.o.Progress(*r)
	}
	r.Outcomes["received"] = len(taken)
	slices.Reverse(order)
	return missed, unique(order), nil
}

func unique(list []string) []string {
	seen := map[string]bool{}
	kept := list[:0]
	for _, s := range list {
		if !seen[s] {
			kept = append(kept, s)
		}
		seen[s] = true
	}
	return kept
}
