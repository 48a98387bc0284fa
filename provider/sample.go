package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// draft is a sample event while a contract writes it.
type draft struct {
	id   string
	n    int
	at   time.Time // zero when the sample is to have no time of its own
	kind string    // the event's type
	head http.Header
	body string
}

func (d *draft) header(name, value string) { d.head.Set(name, value) }

// when is the sample's time, for senders whose events always have one.
func (d *draft) when() time.Time {
	if d.at.IsZero() {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	return d.at
}

// form writes the body as a form of pairs of names and values.
func (d *draft) form(pairs ...string) {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	d.header("Content-Type", "application/x-www-form-urlencoded")
	d.body = strings.Join(parts, "&")
}

// json fills a template: {id}, {n}, {amount}, {sha}, {unix}, {rfc3339}, and
// {at:…} around what is left out without a time.
func (d *draft) json(template string) {
	if start := strings.Index(template, "{at:"); start >= 0 {
		end, depth := start+len("{at:"), 1
		for ; depth > 0; end++ {
			switch template[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		inside := template[start+len("{at:") : end-1]
		if d.at.IsZero() {
			inside = ""
		}
		template = template[:start] + inside + template[end:]
	}
	quoted, _ := json.Marshal(d.id) // a string always has a form
	sum := sha256.Sum256([]byte(d.id + " " + strconv.Itoa(d.n)))
	d.body = strings.NewReplacer(
		"{id}", string(quoted[1:len(quoted)-1]),
		"{n}", strconv.Itoa(d.n),
		"{amount}", strconv.Itoa(1000+d.n%9000),
		"{sha}", hex.EncodeToString(sum[:20]),
		"{unix}", strconv.FormatInt(d.when().Unix(), 10),
		"{rfc3339}", d.when().UTC().Format(time.RFC3339),
	).Replace(template)
}

// Sample returns a realistic event of this sender under an event id, ready to
// be signed. It has no time of occurrence, because there is no clock here. The
// same arguments give the same bytes; n varies what the event is about.
func (s *Source) Sample(id string, n int) *Request { return s.SampleAt(id, n, time.Time{}) }

// SampleAt is [Source.Sample] for an event that occurred at a time.
func (s *Source) SampleAt(id string, n int, at time.Time) *Request {
	d := &draft{id: id, n: n, at: at, head: http.Header{}}
	d.header("Content-Type", "application/json")
	s.contract.sample(d)
	r := &Request{Method: http.MethodPost, Header: d.head, Body: []byte(d.body)}
	p := &placement{r: r}
	s.place(p, d)
	p.finish()
	return r
}

// placement puts values where a source's own expressions look for them.
type placement struct {
	r        *Request
	document any // the decoded body, once a path is set in it
	item     any
	form     url.Values
}

// place writes what the options changed; a source as its contract has it keeps
// the sample's own bytes.
func (s *Source) place(p *placement, d *draft) {
	f := &s.fields
	if f.items != nil {
		p.item = p.decoded()
		p.document = map[string]any{}
	}
	if !f.byScheme {
		s.placeID(p, d)
	}
	if f.typed {
		p.set(f.kind, d.kind)
	}
	if f.versioned {
		p.set(f.version, strings.ReplaceAll(s.versions[0], "*", "1"))
	}
	if f.mode != nil && s.mode != "" {
		for marker, name := range s.contract.ModeNames {
			if name == s.mode {
				p.set(f.mode, json.RawMessage(marker))
			}
		}
	}
	if f.timed && !d.at.IsZero() {
		p.set(f.occurred, d.at.UTC().Format(time.RFC3339))
	}
	if f.items != nil {
		p.document = setPath(p.document, f.items.path, []any{p.item})
	}
}

// placeID puts the id into the last part that can hold it; the others are what
// they are for every event.
func (s *Source) placeID(p *placement, d *draft) {
	placed := false
	for i, e := range slices.Backward(s.fields.id) {
		switch {
		case e.same(s.fields.kind):
			p.set(e, d.kind)
		case e.kind == fromDigest:
		case !placed:
			p.set(e, d.id)
			placed = true
		default:
			p.set(e, "part-"+strconv.Itoa(i))
		}
	}
}

func (p *placement) decoded() any {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(p.r.Body))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return map[string]any{}
	}
	return v
}

func (p *placement) set(e *expression, value any) {
	text, _ := value.(string)
	switch e.kind {
	case fromHeader:
		p.r.Header.Set(e.name, text)
	case fromBody:
		if p.document == nil {
			p.document = p.decoded()
		}
		p.document = setPath(p.document, e.path, value)
	case fromItem:
		p.item = setPath(p.item, e.path, value)
	case fromForm:
		if p.form == nil {
			p.form = url.Values{}
		}
		p.form.Set(e.name, text)
	case fromQuery:
		separator := "?"
		if strings.Contains(p.r.URL, "?") {
			separator = "&"
		}
		p.r.URL += separator + url.QueryEscape(e.name) + "=" + url.QueryEscape(text)
	}
}

// setPath sets a value in a decoded document, and makes the objects on the way.
func setPath(document any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if list, ok := document.([]any); ok {
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) {
			list[i] = setPath(list[i], path[1:], value)
			return list
		}
	}
	object, ok := document.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[path[0]] = setPath(object[path[0]], path[1:], value)
	return object
}

// finish writes the body if anything in it was placed.
func (p *placement) finish() {
	switch {
	case p.form != nil:
		p.form.Set("note", hex.EncodeToString(p.r.Body[:min(len(p.r.Body), 16)]))
		p.r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		p.r.Body = []byte(p.form.Encode())
	case p.document != nil:
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if encoder.Encode(p.document) == nil {
			p.r.Body = bytes.TrimRight(b.Bytes(), "\n")
		}
	}
}
