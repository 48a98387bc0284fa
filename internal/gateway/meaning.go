package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/intake"
)

// SourceMeaning is what a source's contract means, in sentences.
type SourceMeaning struct {
	Name       string   `json:"name"`
	Provider   string   `json:"provider"`
	Title      string   `json:"title"`
	Revision   string   `json:"revision"`
	Confidence string   `json:"confidence"`
	Lines      []string `json:"means"`
	Weaknesses []string `json:"weaknesses"`
}

// Meaning checks a configuration against the contracts and says what each
// source's means. Nothing is opened.
func Meaning(c *config.Config) ([]SourceMeaning, config.Problems, error) {
	p, err := newPlan(c, nil)
	if err != nil {
		return nil, nil, err
	}
	all := make([]SourceMeaning, 0, len(c.Sources))
	for i := range c.Sources {
		all = append(all, p.meaning(&c.Sources[i], p.sources[c.Sources[i].Name]))
	}
	return all, p.warnings, nil
}

func (p *plan) meaning(s *config.Source, source *intake.Source) SourceMeaning {
	c := source.Provider.Contract()
	m := SourceMeaning{Name: s.Name, Provider: c.Name, Title: c.Title, Revision: c.Revision, Confidence: c.Confidence, Weaknesses: c.Weaknesses()}
	say := func(format string, args ...any) { m.Lines = append(m.Lines, fmt.Sprintf(format, args...)) }
	say("posts to /in/%s, at most %d bytes", s.Name, source.MaxBody)
	switch headers := append(c.Headers[:len(c.Headers):len(c.Headers)], c.Credentials...); {
	case len(c.Headers) > 0:
		say("verified by %s in %s with %d secret(s)", c.Scheme, strings.Join(c.Headers, ", "), len(s.Secrets))
	case len(headers) > 0:
		say("verified by %s in %s with %d secret(s)", c.Scheme, strings.Join(slices.Compact(headers), ", "), len(s.Secrets))
	case len(s.Secrets) > 0:
		say("verified by %s in the body or the URL with %d secret(s)", c.Scheme, len(s.Secrets))
	}
	if c.Reads != "" {
		say("fields are read from %s", c.Reads)
	}
	if c.Tolerance > 0 {
		say("its signed time may be %s from ours", c.Tolerance)
	}
	say("an event is %s%s", strings.Join(c.ID, " and "), within(c.Scope))
	if c.IDNote != "" {
		say("because %s", c.IDNote)
	}
	if c.Items != "" || s.Items != "" {
		say("a delivery is a batch: one event for each item of %s", strings.ReplaceAll(cmp.Or(s.Items, c.Items), "|", " or "))
	}
	if source.Level != nil {
		say("an unchanged copy runs again, and those that come while one waits are merged with it (level trigger)")
	}
	if o := s.Order; o != nil {
		stuck := "what is parked (unknown, dead, quarantined) holds its object's events up until a person decides"
		if o.Stuck == "skip" {
			stuck = "what is parked is passed over"
		}
		say("its operations run in order, one at a time for each %s: %s; %s", o.Key, orderings[o.Mode], stuck)
	}
	say("remembered for %s after its last sighting, its payload for %s", days(s.Retention.Keys), days(s.Retention.Payloads))
	switch {
	case source.Provider.Ageless():
		say("a copy that comes after that is new, because nothing signed says when an event happened")
	case source.OnStale == onceward.AcceptStale:
		say("an event that happened before that and is not known is new (on_stale: accept)")
	case source.OnStale == onceward.RejectStale:
		say("an event that happened before that and is not known is refused (on_stale: reject)")
	default:
		say("an event that happened before that and is not known is held for a person")
	}
	switch {
	case source.OnConflict == onceward.NewerConflict:
		say("another content under a known id runs as a revision, unless it occurred earlier")
	case source.Level != nil:
		say("a level trigger: identical bodies run again, bursts merge")
	}
	if c.RetryHorizon > 0 {
		say("the sender repeats by itself for %s", days(c.RetryHorizon))
	}
	if c.ManualWindow > 0 {
		say("a person can have it sent again for %s", days(c.ManualWindow))
	}
	if c.Deadline > 0 {
		say("the sender waits %s for the answer; the store has %s of that", c.Deadline, min(intake.Commit, c.Deadline*3/4))
	}
	var names []string
	for _, o := range source.Operations {
		name := o.Name
		if len(o.Types) > 0 {
			name += " (" + strings.Join(o.Types, ", ") + ")"
		}
		name += p.calls(o.Name)
		names = append(names, name)
	}
	if len(names) == 0 {
		say("causes no operation: its events are recorded as ignored")
	} else {
		say("causes %s", strings.Join(names, "; "))
	}
	return m
}

// orderings say what each mode of order means.
var orderings = map[string]string{
	"latest":  "what is older than what was applied is superseded",
	"strict":  "one version after the other, without gaps",
	"refetch": "in any order, and the destination is told to read the current state",
}

// calls says where an operation's calls go, and what a repeated one means there.
func (p *plan) calls(operation string) string {
	var b strings.Builder
	for _, o := range p.operations {
		if o.Name != operation {
			continue
		}
		for i, s := range o.Steps {
			if i > 0 {
				b.WriteString(", then")
			}
			if s.Name != "" {
				b.WriteString(" " + s.Name)
			}
			fmt.Fprintf(&b, " at %s (%s)", s.Destination, p.destinations[s.Destination].Effect)
		}
	}
	return b.String()
}

func within(scope string) string {
	if scope == "" {
		return ""
	}
	return ", unique within " + scope
}

func days(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
