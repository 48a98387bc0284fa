package provider

import (
	"net/http"
	"strings"
	"time"
)

// Request is one delivery as it came from the wire.
type Request struct {
	Method string
	URL    string // the public URL, query included
	Header http.Header
	Body   []byte // the bytes on the wire, not decoded
	Now    time.Time
}

// presence tells an absent value from one that must not be used.
type presence uint8

const (
	absent presence = iota
	present
	ambiguous // sent several times with different values
)

// values returns every value of a header. Its name is in canonical form, as in
// everything that came through net/http; headers made by hand may not be.
func (r *Request) values(name string) []string {
	if v, ok := r.Header[name]; ok {
		return v
	}
	var all []string
	for key, v := range r.Header {
		if strings.EqualFold(key, name) {
			all = append(all, v...)
		}
	}
	return all
}

// header returns the one value of a header. A name that was sent twice with
// different values has none: proxies and frameworks disagree about which of
// them counts, and an attacker may have added one.
func (r *Request) header(name string) (string, presence) {
	list := r.values(name)
	if len(list) == 0 {
		return "", absent
	}
	value := strings.Trim(list[0], " \t")
	for _, other := range list[1:] {
		if strings.Trim(other, " \t") != value {
			return "", ambiguous
		}
	}
	if value == "" {
		return "", absent
	}
	return value, present
}

// must returns the one value of a header without which a request proves
// nothing. shown is the name as its sender's documents write it, missing the
// reason for a refusal when it is not there.
func (r *Request) must(name, shown, missing string) (string, *Refusal) {
	value, state := r.header(name)
	switch {
	case state == ambiguous:
		return "", refuse(MalformedHeader, "header %s was sent with different values", shown)
	case state == absent && missing == MissingSignature:
		return "", refuse(missing, "header %s is missing or empty", shown)
	case state == absent:
		return "", refuse(missing, "header %s is missing", shown)
	}
	return value, nil
}

// query returns what stands between the URL's question mark and its fragment.
func (r *Request) query() string {
	_, query, _ := strings.Cut(r.URL, "?")
	query, _, _ = strings.Cut(query, "#")
	return query
}

// isForm reports whether the body says that it is a form, whatever parameters
// follow the media type.
func (r *Request) isForm() bool {
	value, _ := r.header("Content-Type")
	media, _, _ := strings.Cut(value, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded")
}

// coding returns the content codings as one list.
func (r *Request) coding() string {
	list := r.values("Content-Encoding")
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list, ",")
}
