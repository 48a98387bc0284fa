package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The providers that are no preset: they have no contract but what the file says.
const (
	providerHMAC = "hmac"
	providerNone = "none"
	// Mollie's classic notifications are not signed, its newer ones are.
	providerMollie = "mollie"
)

func (v *validator) source(s *Source) {
	field := "sources." + s.Name
	if s.StableID == "" {
		s.StableID = s.Name
	} else if !isName(s.StableID) {
		v.add(field+".stable_id", "is not a name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit")
	}
	v.contract(field, s)
	v.locators(field, s)
	v.patterns(field+".versions", s.Versions)
	if len(s.Versions) > 0 && s.Version == "" {
		v.add(field+".versions", "needs version, which says where an event's version is")
	}
	for _, part := range []struct{ name, value string }{{"environment", s.Environment}, {"tenant", s.Tenant}} {
		if len(part.value) > 128 {
			v.add(field+"."+part.name, "has %d bytes, more than 128", len(part.value))
		}
	}
	v.order(field, s)
	v.backfill(field, s)
	if p := s.Poll; p != nil {
		v.url(field+".poll.url", p.URL)
		if s.Provider != "rfc8935-set-push" {
			v.add(field+".poll", "is for provider rfc8935-set-push: only Security Event Tokens are polled")
		}
	}
	v.retention(field, &s.Retention)
	if s.Tolerance > s.Retention.Keys && s.Retention.Keys > 0 {
		v.add(field+".tolerance", "%s is longer than retention.keys, %s: a captured delivery would be accepted when its event is forgotten", formatDuration(s.Tolerance), formatDuration(s.Retention.Keys))
	}
	if s.Repeat == "coalesce" && s.OnConflict == "newer" {
		v.add(field+".repeat", "coalesce cannot go with on_conflict newer: a level trigger says only that something changed, so its body has no revisions")
	}
	if s.Repeat == "coalesce" && s.Order != nil {
		v.add(field+".repeat", "coalesce cannot go with order: a level trigger has no versions; its destination reads the current state")
	}
}

// contract checks what the generic providers need and presets do not allow.
func (v *validator) contract(field string, s *Source) {
	switch {
	case s.Provider == providerNone && len(s.Secrets) > 0:
		v.add(field+".secrets", "would be ignored: provider none checks no signature")
	case s.Provider != providerNone && s.Provider != providerMollie && len(s.Secrets) == 0:
		v.add(field+".secrets", "is missing; without a secret no signature can be checked")
	}
	if s.Provider == providerHMAC && s.Signature == nil {
		v.add(field+".signature", "is missing; provider hmac has no signature scheme of its own")
	}
	if s.Provider == providerHMAC && len(s.Identity) == 0 {
		v.add(field+".id", "is missing; provider hmac does not know where an event's identity is")
	}
	if s.SecretLiteral && (s.Provider == providerHMAC || s.Provider == providerNone) {
		v.add(field+".secret_literal", "is for Standard Webhooks secrets; provider %s takes secrets literally anyway", s.Provider)
	}
	switch {
	case s.Signature == nil:
	case s.Provider == providerHMAC:
		v.signature(field+".signature", s.Signature)
	default:
		v.presetSignature(field+".signature", s.Provider)
	}
}

// presetSignature lets only decoded pass: whether the body is compressed after
// it was signed is a fact of the sender's set-up and not of its contract.
func (v *validator) presetSignature(field, provider string) {
	for _, name := range []string{"header", "algorithm", "encoding", "prefix", "content", "timestamp", "tolerance"} {
		if _, given := v.at[field+"."+name]; given {
			v.add(field+"."+name, "belongs to provider hmac; provider %s has its own signature, and only decoded may be set", shorten(provider))
		}
	}
}

func (v *validator) signature(field string, s *Signature) {
	if s.Header == "" {
		v.add(field+".header", "is missing; say which header carries the signature")
	} else if !isToken(s.Header) {
		v.add(field+".header", "%q is not a header's name", shorten(s.Header))
	}
	if s.Timestamp != "" {
		v.locator(field+".timestamp", s.Timestamp, "header")
	}
	used, err := placeholders(s.Content)
	switch {
	case err != nil:
		v.add(field+".content", "%v", err)
	case !slices.Contains(used, "body"):
		v.add(field+".content", "does not contain {body}; a signature that does not cover the body proves nothing about it")
	case slices.Contains(used, "timestamp") && s.Timestamp == "":
		v.add(field+".content", "has {timestamp}; say in timestamp which header carries it")
	case !slices.Contains(used, "timestamp") && s.Timestamp != "":
		v.add(field+".timestamp", "is not covered by the signature: content has no {timestamp}")
	case slices.Contains(used, "url") && v.config.Intake.PublicURL == "":
		v.add(field+".content", "has {url}; say in intake.public_url how senders reach this listener")
	}
}

// placeholders lists the names between braces in a content template.
func placeholders(content string) ([]string, error) {
	var used []string
	for rest := content; ; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") || !found {
			if strings.Contains(before, "}") {
				return nil, fmt.Errorf("has a } without its {")
			}
			return used, nil
		}
		name, tail, closed := strings.Cut(after, "}")
		header, isHeader := strings.CutPrefix(name, "header:")
		switch {
		case !closed:
			return nil, fmt.Errorf("has a { without its }")
		case isHeader && isToken(header):
		case !slices.Contains([]string{"body", "timestamp", "id", "url", "method"}, name):
			return nil, fmt.Errorf("{%s} is not known; use {body}, {timestamp}, {id}, {url}, {method} or {header:NAME}", shorten(name))
		}
		used, rest = append(used, name), tail
	}
}

// locators checks every field that says where something is in a delivery.
func (v *validator) locators(field string, s *Source) {
	kinds := []string{"header", "body", "form", "query"}
	if s.Items != "" {
		kinds = append(kinds, "item")
		if s.Items != "body" {
			v.locator(field+".items", s.Items, "body")
		}
	}
	if _, given := v.at[field+".id"]; given && len(s.Identity) == 0 {
		v.add(field+".id", "is an empty list")
	}
	for i, id := range s.Identity {
		name := indexed(field+".id", i, v.at)
		if isName(id) && id != "body-sha256" {
			v.add(name, "%q says no place; write header:NAME, body:PATH, form:NAME, query:NAME or body-sha256 (what the source is called in keys is stable_id)", id)
			continue
		}
		if id != "body-sha256" {
			v.locator(name, id, kinds...)
		}
	}
	located := []struct{ name, value string }{{"type", s.Type}, {"occurred_at", s.OccurredAt}, {"version", s.Version}}
	if o := s.Order; o != nil {
		located = append(located, []struct{ name, value string }{{"order.key", o.Key}, {"order.version", o.Version}, {"order.epoch", o.Epoch}}...)
	}
	for _, l := range located {
		if l.value != "" {
			v.locator(field+"."+l.name, l.value, kinds...)
		}
	}
}

// order checks what a source's order needs, and refuses what it would ignore.
func (v *validator) order(field string, s *Source) {
	o := s.Order
	if o == nil {
		return
	}
	field += ".order"
	if !slices.Contains([]string{"latest", "strict", "refetch"}, o.Mode) {
		return // that is said already
	}
	if o.Mode != "refetch" && o.Version == "" {
		v.add(field+".version", "is missing; mode %s compares versions", o.Mode)
	}
	if o.Hold > maxHold {
		v.add(field+".hold", "is more than %d, which is the most that one look at an object reads", maxHold)
	}
	for _, only := range []struct {
		name  string
		modes []string
	}{{"version", []string{"latest", "strict"}}, {"epoch", []string{"latest", "strict"}}, {"tie", []string{"latest"}}, {"gap", []string{"strict"}}, {"on_gap", []string{"strict"}}} {
		if _, given := v.at[field+"."+only.name]; given && !slices.Contains(only.modes, o.Mode) {
			v.add(field+"."+only.name, "means nothing with mode %s; leave it out", o.Mode)
		}
	}
}

func (v *validator) backfill(field string, s *Source) {
	b := s.Backfill
	if b == nil {
		return
	}
	field += ".backfill"
	switch {
	case s.Provider != "github" && s.Provider != "stripe":
		v.add(field, "is for github and stripe; of %s no list of events is known, send again from its console", shorten(s.Provider))
	case s.Provider == "github" && b.Hook == "":
		v.add(field+".hook", "is missing: repos/OWNER/NAME/hooks/ID or orgs/NAME/hooks/ID")
	case s.Provider != "github" && b.Hook != "":
		v.add(field+".hook", "is for github only")
	}
	if b.URL != "" {
		v.url(field+".url", b.URL)
	}
}

const maxHold = 4000

func (v *validator) locator(field, text string, kinds ...string) {
	kind, name, _ := strings.Cut(text, ":")
	switch {
	case !slices.Contains(kinds, kind) && kind == "item":
		v.add(field, "item:PATH needs items, which says where the batch's list is")
	case !slices.Contains(kinds, kind):
		v.add(field, "%q says no place; write %s", shorten(text), places(kinds))
	case name == "":
		v.add(field, "%q names nothing behind the colon", shorten(text))
	case kind == "header" && !isToken(name):
		v.add(field, "%q is not a header's name", shorten(name))
	}
}

func places(kinds []string) string {
	all := make([]string, len(kinds))
	for i, k := range kinds {
		all[i] = k + ":NAME"
		if k == "body" || k == "item" {
			all[i] = k + ":PATH"
		}
	}
	return strings.Join(all, " or ")
}

func isToken(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

func (v *validator) retention(field string, r *Retention) {
	if r.Keys == 0 {
		v.add(field+".retention.keys", "must be longer than nothing")
	}
	if r.Longest != 0 && r.Longest < r.Keys {
		v.add(field+".retention.longest", "%s is shorter than keys, %s, which is how long an event must be known", formatDuration(r.Longest), formatDuration(r.Keys))
	}
	if r.Payloads <= r.Keys {
		return
	}
	if _, given := v.at[field+".retention.payloads"]; given {
		v.add(field+".retention.payloads", "%s is longer than keys, %s: a body would outlive the event it belongs to", formatDuration(r.Payloads), formatDuration(r.Keys))
	}
	r.Payloads = r.Keys
}

// distinct refuses two sources whose keys would be the same.
func (v *validator) distinct(stable map[string]string, s *Source) {
	if other, taken := stable[s.StableID]; taken {
		field := "sources." + s.Name
		if _, given := v.at[field+".stable_id"]; given {
			field += ".stable_id"
		}
		v.add(field, "is called %q in keys, as source %s is; their events would be taken for copies of each other", s.StableID, other)
	}
	stable[s.StableID] = s.Name
}

// Check holds every source against its sender's contract, which this package
// does not know: providers are the names there are, and horizon tells, for a provider, how long it retries by itself,
// how far back a person can have it send again, and how long a memory its
// contract recommends; ok is false for an unknown provider. The error, if any,
// is of type [Problems]; warnings are about what works but forgets early.
func (c *Config) Check(providers []string, horizon func(provider string) (retry, manual, memory time.Duration, ok bool)) (warnings Problems, err error) {
	errs, warns := report{file: c.file, at: c.at}, report{file: c.file, at: c.at}
	if len(c.Sources) == 0 {
		warns.add("sources", "there is none, so that no delivery is taken")
	}
	for _, s := range c.Sources {
		field := "sources." + s.Name
		retry, manual, memory, ok := horizon(s.Provider)
		keys := s.Retention.Keys
		switch {
		case !ok:
			errs.add(field+".provider", "%q is not a provider; onceward providers list names them%s", shorten(s.Provider), nearest(s.Provider, providers))
		case keys < retry:
			errs.add(field+".retention.keys", "%s is shorter than %s, for which %s repeats a delivery by itself; a late copy would run again", formatDuration(keys), formatDuration(retry), s.Provider)
		case keys < manual:
			errs.add(field+".retention.keys", "%s is shorter than %s, for which a delivery can be sent again at %s; such a copy would run again", formatDuration(keys), formatDuration(manual), s.Provider)
		case keys < memory:
			warns.add(field+".retention.keys", "%s is shorter than %s, which is recommended for %s", formatDuration(keys), formatDuration(memory), s.Provider)
		}
	}
	if len(errs.problems) > 0 {
		return warns.sorted(), errs.sorted()
	}
	return warns.sorted(), nil
}
