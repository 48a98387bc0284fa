package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validator holds the rules that go beyond one field's type, and fills in the
// defaults that depend on other fields.
type validator struct {
	report
	config *Config
}

func (v *validator) everything() {
	c := v.config
	v.store()
	v.listen("intake.listen", c.Intake.Listen)
	v.listen("admin.listen", c.Admin.Listen)
	if u := c.Intake.PublicURL; u != "" {
		v.url("intake.public_url", u)
	}
	v.admin()
	stable := map[string]string{}
	for i := range c.Sources {
		v.source(&c.Sources[i])
		v.distinct(stable, &c.Sources[i])
	}
	for i := range c.Destinations {
		v.destination(&c.Destinations[i])
	}
	for i := range c.Operations {
		v.operation(&c.Operations[i])
	}
}

func (v *validator) store() {
	scheme, rest, _ := strings.Cut(v.config.Store, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		v.add("store", "not yet: PostgreSQL; use sqlite:PATH")
	case scheme != "sqlite":
		v.add("store", "must be sqlite:PATH") // the value may hold a password
	case rest == "":
		v.add("store", "names no file; write sqlite:PATH")
	}
}

func (v *validator) listen(field, address string) {
	host, port, err := net.SplitHostPort(address)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || n > 65535 || strings.ContainsAny(host, "/ ") {
		v.add(field, "must be HOST:PORT, such as 127.0.0.1:8080 or :8080")
	}
}

func (v *validator) admin() {
	a := v.config.Admin
	if host, _, err := net.SplitHostPort(a.Listen); err == nil && len(a.Tokens) == 0 && !IsLoopback(host) {
		v.add("admin.listen", "is reachable from other machines; configure admin.tokens, or listen on 127.0.0.1")
	}
	for i, t := range a.Tokens {
		field := fmt.Sprintf("admin.tokens[%d]", i)
		if !isName(t.Name) {
			v.add(field+".name", "is not a name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit")
		}
		for _, earlier := range a.Tokens[:i] {
			if earlier.Name == t.Name {
				v.add(field+".name", "is the name of an earlier token; the audit log could not tell them apart")
			}
			if earlier.Token.Equal(t.Token) {
				v.add(field+".token", "has the value of an earlier token; the audit log could not tell them apart")
			}
		}
	}
}

// IsLoopback reports whether a host name or address stays on this machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// url checks an http or https URL. It never shows the URL, which may hold a
// password or a token.
func (v *validator) url(field, text string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		v.add(field, "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		v.add(field, "must begin with http:// or https://")
	case u.Hostname() == "":
		v.add(field, "has no host")
	case u.User != nil:
		v.add(field, "has a user or password in it, which is never sent; take them away")
	case u.Fragment != "":
		v.add(field, "has a fragment (#…), which is never sent; take it away")
	case u.Port() != "" && !isPort(u.Port()):
		v.add(field, "has an impossible port")
	default:
		return u
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func (v *validator) destination(d *Destination) {
	field := "destinations." + d.Name
	v.url(field+".url", d.URL)
	if d.Retry.First > d.Retry.Max {
		v.add(field+".retry.first", "%s is more than max, %s", formatDuration(d.Retry.First), formatDuration(d.Retry.Max))
	}
	if d.Result != "" {
		v.locator(field+".result", d.Result, "header", "body")
	}
	switch {
	case d.Effect == effectLookup && d.Lookup == nil:
		v.add(field+".lookup", "is missing; effect lookup means that the destination can be asked by our key, so say how")
	case d.Effect != effectLookup && d.Lookup != nil:
		v.add(field+".lookup", "would be ignored: effect %s is never asked about; say effect: lookup", d.Effect)
	case d.Lookup != nil:
		v.lookup(field+".lookup", d.Lookup)
	}
	if d.KeyMemory != 0 && d.Effect != effectKeyed {
		v.add(field+".key_memory", "would be ignored: only effect keyed relies on the destination's memory of keys")
	}
}

const (
	effectKeyed  = "keyed"
	effectLookup = "lookup"
)

// lookup checks how a destination is asked, and fills in what usual APIs answer.
func (v *validator) lookup(field string, l *Lookup) {
	if u := v.url(field+".url", l.URL); u != nil && !strings.Contains(l.URL, "{key}") {
		v.add(field+".url", "has no {key}; without our key the destination cannot be asked about one call")
	}
	if l.Present == nil {
		l.Present = []int{200}
	}
	if l.Absent == nil {
		l.Absent = []int{404}
	}
	for _, list := range []struct {
		name     string
		statuses []int
	}{{"present", l.Present}, {"absent", l.Absent}} {
		if len(list.statuses) == 0 {
			v.add(field+"."+list.name, "is an empty list; leave it out to mean what is usual")
		}
		for i, status := range list.statuses {
			at := fmt.Sprintf("%s.%s[%d]", field, list.name, i)
			if status < 200 || status > 599 {
				v.add(at, "%d is not the status of an answer (200–599)", status)
			} else if list.name == "absent" && slices.Contains(l.Present, status) {
				v.add(at, "%d already means present; one answer cannot mean both", status)
			}
		}
	}
	if l.Result != "" {
		v.locator(field+".result", l.Result, "header", "body")
	}
	if l.First > l.Max {
		v.add(field+".first", "%s is more than max, %s", formatDuration(l.First), formatDuration(l.Max))
	}
	if l.GiveUp <= l.Settle {
		v.add(field+".give_up", "%s is no more than settle, %s; an absence would never be believed", formatDuration(l.GiveUp), formatDuration(l.Settle))
	}
}

func (v *validator) operation(o *Operation) {
	field := "operations." + o.Name
	var sources []string
	for _, s := range v.config.Sources {
		sources = append(sources, s.Name)
	}
	if len(o.Sources) == 0 {
		v.add(field+".source", "is an empty list; say whose events cause it")
	}
	for i, s := range o.Sources {
		v.reference(indexed(field+".source", i, v.at), s, "source", sources)
		for _, earlier := range o.Sources[:i] {
			if earlier == s {
				v.add(indexed(field+".source", i, v.at), "%q stands here a second time", s)
			}
		}
	}
	v.patterns(field+".types", o.Types)
	_, listed := v.at[field+".steps"]
	switch {
	case o.Destination != "" && listed:
		v.add(field+".steps", "stands beside destination; an operation has either one destination or steps")
	case o.Destination == "" && !listed:
		v.add(field+".destination", "is missing; say where its effect happens, or list steps")
	case listed && len(o.Steps) == 0:
		v.add(field+".steps", "is an empty list; an operation has either one destination or steps")
	case listed:
		for i := range o.Steps {
			v.step(fmt.Sprintf("%s.steps[%d]", field, i), o, i)
		}
	default:
		o.Lease = v.lease(field+".destination", o.Destination, o.Lease)
	}
}

// step checks one of an operation's steps against the ones before it. What its
// texts may hold is checked where they are filled in.
func (v *validator) step(field string, o *Operation, i int) {
	s := &o.Steps[i]
	if !isName(s.Name) {
		v.add(field+".name", "is not a name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit")
	}
	for _, earlier := range o.Steps[:i] {
		if earlier.Name == s.Name {
			v.add(field+".name", "%q is the name of an earlier step; keys and results could not be told apart", shorten(s.Name))
		}
	}
	s.Lease = v.lease(field+".destination", s.Destination, o.Lease)
}

// lease is how long a silent owner keeps a call to a destination, which must be
// configured.
func (v *validator) lease(field, destination string, said time.Duration) time.Duration {
	var names []string
	for _, d := range v.config.Destinations {
		names = append(names, d.Name)
		if d.Name == destination && said == 0 {
			said = d.Timeout + 30*time.Second
		}
	}
	v.reference(field, destination, "destination", names)
	return said
}

// indexed names a list's element, or the list when it was written as one value.
func indexed(field string, i int, at map[string]position) string {
	name := fmt.Sprintf("%s[%d]", field, i)
	if _, ok := at[name]; ok {
		return name
	}
	return field
}

func (v *validator) reference(field, name, kind string, known []string) {
	for _, k := range known {
		if k == name {
			return
		}
	}
	if len(known) == 0 {
		v.add(field, "%q is not a %s; none is configured", shorten(name), kind)
		return
	}
	v.add(field, "%q is not a configured %s%s", shorten(name), kind, nearest(name, known))
}

func (v *validator) patterns(field string, patterns []string) {
	if _, given := v.at[field]; given && len(patterns) == 0 {
		v.add(field, "is an empty list; leave it out to mean all of them")
	}
	for i, p := range patterns {
		if strings.Contains(strings.TrimSuffix(p, "*"), "*") {
			v.add(fmt.Sprintf("%s[%d]", field, i), "%q has a * in the middle; it may only end a pattern", shorten(p))
		}
	}
}
