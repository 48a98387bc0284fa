package forward

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// Template is how a step's call differs from the event as it came: its URL, its
// headers, its body. In each of them {NAME} stands for the result of an earlier
// step, {event} for the event's id and {type} for its type. What is filled in
// is escaped for its place, so that a result can never become another path,
// another header or another member. The nil Template changes nothing.
type Template struct {
	url, body string
	header    [][2]string
}

// Rendered is what a template makes for one call; empty parts change nothing.
type Rendered struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Values are what can be filled in.
type Values struct {
	Event, Type string
	Results     map[string]string // of earlier steps, by name
}

// TemplateError says which field of a template breaks which rule.
type TemplateError struct{ Field, Rule string }

func (e *TemplateError) Error() string { return e.Field + " " + e.Rule }

var placeholder = regexp.MustCompile(`\{[a-z0-9_-]+\}`)

// reserved are the names that are no step's.
var reserved = []string{"event", "type", "key"}

// Reserved reports whether a step cannot have the name, because it means
// something else in a template.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// NewTemplate checks a step's own URL, headers (pairs of name and value) and
// body against the destination's URL and the names of the earlier steps. All
// empty is the nil template. Errors are of type [*TemplateError] and never hold
// a value.
func NewTemplate(destination, target string, headers [][2]string, body string, earlier []string) (*Template, error) {
	if target == "" && body == "" && len(headers) == 0 {
		return nil, nil
	}
	known := append([]string{"event", "type"}, earlier...)
	if err := checkTarget(destination, target, known); err != nil {
		return nil, &TemplateError{"url", err.Error()}
	}
	t := &Template{url: target, body: body}
	for _, h := range headers {
		name, err := ownName(h[0])
		if err == nil && !validValue(h[1]) {
			err = fmt.Errorf("header %s has a value with control characters", name)
		}
		if err == nil {
			err = checkNames(h[1], known)
		}
		if err != nil {
			return nil, &TemplateError{"headers." + h[0], err.Error()}
		}
		t.header = append(t.header, [2]string{name, h[1]})
	}
	if body != "" {
		if err := checkBody(body, known); err != nil {
			return nil, &TemplateError{"body", err.Error()}
		}
	}
	return t, nil
}

func checkNames(text string, known []string) error {
	for _, p := range placeholder.FindAllString(text, -1) {
		if name := strings.Trim(p, "{}"); !slices.Contains(known, name) {
			return fmt.Errorf("names {%s}, which is no earlier step; there are {%s}", name, strings.Join(known, "}, {"))
		}
	}
	return nil
}

func checkTarget(destination, target string, known []string) error {
	if target == "" {
		return nil
	}
	if err := checkNames(target, known); err != nil {
		return err
	}
	origin, path := splitTarget(target)
	if placeholder.MatchString(origin) {
		return errors.New("may have placeholders only in its path and query")
	}
	u, err := parseURL(origin + placeholder.ReplaceAllString(path, "x"))
	if err != nil {
		return errors.New("must begin with http:// or https:// and name a host")
	}
	d, err := parseURL(destination)
	if err != nil {
		return nil // the destination's own fault is reported there
	}
	if u.Scheme != d.Scheme || !strings.EqualFold(u.Host, d.Host) || u.User != nil {
		return errors.New("must have its destination's scheme, host and port: a step goes where its destination is, by its rules")
	}
	return nil
}

// splitTarget cuts a URL behind its authority.
func splitTarget(target string) (origin, path string) {
	start := strings.Index(target, "://")
	if start < 0 {
		return target, ""
	}
	end := strings.IndexAny(target[start+3:], "/?#")
	if end < 0 {
		return target, ""
	}
	return target[:start+3+end], target[start+3+end:]
}

func checkBody(body string, known []string) error {
	if err := checkNames(body, known); err != nil {
		return err
	}
	if !json.Valid([]byte(placeholder.ReplaceAllString(body, "x"))) {
		if json.Valid([]byte(placeholder.ReplaceAllString(body, "1"))) {
			return errors.New("has a placeholder outside of a string; put it in quotes, so that a result cannot become anything but text")
		}
		return errors.New("is not JSON")
	}
	if name := nameWithPlaceholder(body); name != "" {
		return fmt.Errorf("has a placeholder in a member's name (%q); a result may be a value, never the name of one", name)
	}
	return nil
}

// nameWithPlaceholder returns the first member's name of a JSON text that has a
// placeholder in it; empty when there is none.
func nameWithPlaceholder(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	var objects []bool // what is open: an object, or a list
	name := false      // what comes next is a member's name
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		text, isText := token.(string)
		if name && isText {
			if placeholder.MatchString(text) {
				return text
			}
			name = false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			objects = append(objects, token == json.Delim('{'))
		case json.Delim('}'), json.Delim(']'):
			objects = objects[:len(objects)-1]
		}
		name = len(objects) > 0 && objects[len(objects)-1]
	}
}

// UsedIn names the field in which a template fills in the result of a step;
// empty when it does not.
func (t *Template) UsedIn(step string) string {
	if t == nil {
		return ""
	}
	p := "{" + step + "}"
	if strings.Contains(t.url, p) {
		return "url"
	}
	for _, h := range t.header {
		if strings.Contains(h[1], p) {
			return "headers." + h[0]
		}
	}
	if strings.Contains(t.body, p) {
		return "body"
	}
	return ""
}

// Render fills the values in. The error says which step's result cannot stand
// where the template puts it; it does not show the result.
func (t *Template) Render(v Values) (r Rendered, err error) {
	if t == nil {
		return Rendered{}, nil
	}
	if t.url != "" {
		if r.URL, err = t.target(v); err != nil {
			return Rendered{}, err
		}
	}
	for _, h := range t.header {
		value, err := v.fill(h[1], func(name, value string) (string, error) {
			if !validValue(value) {
				return "", fmt.Errorf("the result of step %s has control characters and cannot stand in header %s", name, h[0])
			}
			return value, nil
		})
		if err != nil {
			return Rendered{}, err
		}
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header[h[0]] = append(r.Header[h[0]], value)
	}
	if t.body != "" {
		body, err := v.fill(t.body, func(_, value string) (string, error) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return "", err
			}
			return string(quoted[1 : len(quoted)-1]), nil
		})
		if err != nil {
			return Rendered{}, err
		}
		r.Body = []byte(body)
		if r.Header == nil {
			r.Header = http.Header{}
		}
		if r.Header["Content-Type"] == nil {
			r.Header["Content-Type"] = []string{"application/json"}
		}
	}
	return r, nil
}

// target fills a URL. A result that is empty or consists of dots would change
// which resource the path names, so it is refused there.
func (t *Template) target(v Values) (string, error) {
	origin, rest := splitTarget(t.url)
	path, query, hasQuery := strings.Cut(rest, "?")
	path, err := v.fill(path, func(name, value string) (string, error) {
		if strings.Trim(value, ".") == "" {
			return "", fmt.Errorf("the result of step %s is empty or only dots and cannot stand in the path of a URL; does its destination say where the result is?", name)
		}
		return url.PathEscape(value), nil
	})
	if err != nil || !hasQuery {
		return origin + path, err
	}
	query, err = v.fill(query, func(_, value string) (string, error) { return url.QueryEscape(value), nil })
	return origin + path + "?" + query, err
}

// fill replaces every placeholder by its escaped value. A result that is not
// there is an error: the step that should have given it may have been another.
func (v Values) fill(text string, escape func(name, value string) (string, error)) (string, error) {
	var failed error
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name := strings.Trim(p, "{}")
		value, ok := v.Results[name]
		switch {
		case name == "event":
			value, ok = v.Event, true
		case name == "type":
			value, ok = v.Type, true
		}
		switch {
		case !ok:
			failed = errors.Join(failed, fmt.Errorf("there is no result of step %s", name))
			return ""
		case name != "event" && name != "type" && onceward.ResultCut(value):
			failed = errors.Join(failed, fmt.Errorf("the result of step %s has more than %d bytes and was cut, so it names nothing; let its destination's result be a shorter reference", name, onceward.MaxResult))
			return ""
		}
		escaped, err := escape(name, value)
		failed = errors.Join(failed, err)
		return escaped
	})
	return out, failed
}
