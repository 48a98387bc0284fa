// Package backfill asks a sender's public API for what was missed, and brings
// it in through the same door as everything else. Where the sender can send a
// delivery again by itself (GitHub), it is asked to; where it can only be read
// (Stripe), the event is signed with the source's own secret and posted to the
// intake. What is known already is a duplicate there, so asking for too much
// does no harm.
package backfill

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sort"
	"time"
)

// Options say whom to ask, and since when.
type Options struct {
	API    string // base URL; the sender's own when empty
	Token  string
	Hook   string // GitHub: repos/OWNER/NAME/hooks/ID or orgs/NAME/hooks/ID
	Since  time.Time
	DryRun bool

	// Deliver brings one event in and returns what became of it: accepted,
	// duplicate and so on. Senders that send again by themselves need it not.
	Deliver func(ctx context.Context, body []byte) (status string, err error)

	Client *http.Client
	Log    *slog.Logger
	Now    func() time.Time
	// Wait waits when the API says that it is asked too often.
	Wait func(context.Context, time.Duration) error
	// Progress is told after every page.
	Progress func(Report)
}

// Report is what came of it so far.
type Report struct {
	Seen     int            `json:"seen"`     // events, or deliveries, that the sender lists
	Outcomes map[string]int `json:"outcomes"` // by what became of them
}

// String lists the outcomes, most frequent first.
func (r Report) String() string {
	names := make([]string, 0, len(r.Outcomes))
	for name := range r.Outcomes {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := r.Outcomes[names[i]], r.Outcomes[names[j]]
		return a > b || a == b && names[i] < names[j]
	})
	text := fmt.Sprintf("%d seen", r.Seen)
	for _, name := range names {
		text += fmt.Sprintf(", %d %s", r.Outcomes[name], name)
	}
	return text
}

// Run asks the provider for everything since Options.Since.
func Run(ctx context.Context, provider string, o Options) (Report, error) {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 30 * time.Second}
	}
	client := *o.Client
	// The token is for the address that was configured, and for no other one.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Progress == nil {
		o.Progress = func(Report) {}
	}
	r := Report{Outcomes: map[string]int{}}
	switch provider {
	case "stripe":
		return r, stripe(ctx, &o, &r)
	case "github":
		return r, github(ctx, &o, &r)
	}
	return r, fmt.Errorf("backfill knows the APIs of github and stripe, not of %s; send again from the sender's console", provider)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
