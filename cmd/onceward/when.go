package main

import (
	"time"

	"github.com/onceward/onceward/internal/config"
)

// when reads what every flag takes that names a moment: a duration, which counts
// back from now, or a time.
func when(flag, text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d <= 0 {
		return time.Time{}, misuse("%s %q is neither a duration such as 24h or 3d nor a time such as 2026-11-30T10:00:00Z", flag, text)
	}
	return now.Add(-d), nil
}

// period are the flags that bound a listing in time.
type period struct {
	Since string `help:"Only at or after this: a duration back from now such as 2h or 3d, or a time (RFC 3339)." placeholder:"WHEN"`
	Until string `help:"Only before this: a duration back from now, or a time (RFC 3339)." placeholder:"WHEN"`
}

// bounds are the two moments; nil when one is not given.
func (p period) bounds(now time.Time) (since, until *time.Time, err error) {
	for _, f := range []struct {
		flag, text string
		to         **time.Time
	}{{"--since", p.Since, &since}, {"--until", p.Until, &until}} {
		if f.text == "" {
			continue
		}
		at, err := when(f.flag, f.text, now)
		if err != nil {
			return nil, nil, err
		}
		*f.to = &at
	}
	return since, until, nil
}

// filters are the same for a listing's query.
func (p period) filters(now time.Time) ([]string, error) {
	since, until, err := p.bounds(now)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for name, at := range map[string]*time.Time{"since": since, "until": until} {
		if at != nil {
			pairs = append(pairs, name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return pairs, nil
}
