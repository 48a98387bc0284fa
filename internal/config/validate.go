package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
}

func (v *validator) operation(o *Operation) {
	field := "operations." + o.Name
	var sources, destinations []string
	for _, s := range v.config.Sources {
		sources = append(sources, s.Name)
	}
	destination := Destination{}
	for _, d := range v.config.Destinations {
		destinations = append(destinations, d.Name)
		if d.Name == o.Destination {
			destination = d
		}
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
	v.reference(field+".destination", o.Destination, "destination", destinations)
	if o.Lease == 0 {
		o.Lease = destination.Timeout + 30*time.Second
	}
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
