package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// stripe reads the list of events (Stripe Docs: List all events; it reaches
// back 30 days) and brings each one in. The list is newest first;
// within a page they are brought in oldest first. Where the order matters, the
// source's order sees to it.
func stripe(ctx context.Context, o *Options, r *Report) error {
	a, err := newAPI(o, "https://api.stripe.com")
	if err != nil {
		return err
	}
	if o.Deliver == nil && !o.DryRun {
		return errors.New("stripe's events are brought in by us, and there is no intake to bring them to")
	}
	query := url.Values{"limit": {"100"}, "created[gte]": {strconv.FormatInt(o.Since.Unix(), 10)}}
	for page := 0; ; page++ {
		body, _, err := a.call(ctx, "GET", "/v1/events?"+query.Encode())
		if err != nil {
			return fmt.Errorf("list stripe's events: %w", err)
		}
		var list struct {
			Data []json.RawMessage `json:"data"`
			More bool              `json:"has_more"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return fmt.Errorf("list stripe's events: the answer is not the list that is documented: %w", err)
		}
		last := ""
		for i := len(list.Data) - 1; i >= 0; i-- {
			var event struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(list.Data[i], &event) != nil || event.ID == "" {
				return errors.New("list stripe's events: one has no id")
			}
			if i == len(list.Data)-1 {
				last = event.ID
			}
			r.Seen++
			if o.DryRun {
				r.Outcomes["would be brought in"]++
				continue
			}
			status, err := o.Deliver(ctx, list.Data[i])
			if err != nil {
				return fmt.Errorf("bring %s in: %w", event.ID, err)
			}
			r.Outcomes[status]++
		}
		o.Progress(*r)
		if !list.More || last == "" {
			return nil
		}
		if page == maxPages || last == query.Get("starting_after") {
			return errors.New("list stripe's events: the list does not end")
		}
		query.Set("starting_after", last)
	}
}
