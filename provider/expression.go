package provider

import (
	"net/textproto"
	"slices"
	"strings"
)

type sourceKind uint8

const (
	fromHeader sourceKind = iota
	fromBody
	fromItem
	fromForm
	fromQuery
	fromDigest
	fromOuter // of the item of the list before, in a list of lists
)

// expression says where a value is: header:NAME, body:PATH, item:PATH,
// form:NAME, query:NAME or body-sha256.
type expression struct {
	kind sourceKind
	text string   // as written
	name string   // canonical header, or name of the form or query field
	path []string // exact keys from the root; empty is the root itself
	slot int      // place of the path in its plan
	// digest is true when the SHA-256 of the value counts, not the value.
	digest bool
	// or is read when this one finds nothing; only contracts have it.
	or *expression
	// maybe is true of a part that may be missing from an identity.
	maybe bool
}

// parseExpression reads one expression of a field.
func parseExpression(field, text string) (*expression, error) {
	if inner, ok := strings.CutPrefix(text, "sha256:"); ok {
		e, err := parseExpression(field, inner)
		if err != nil {
			return nil, err
		}
		if e.digest || e.kind != fromBody && e.kind != fromItem && e.kind != fromForm {
			return nil, wrong(field, "%q: sha256: is for body:PATH, item:PATH and form:NAME", text)
		}
		e.text, e.digest = text, true
		return e, nil
	}
	kind, rest, found := strings.Cut(text, ":")
	e := &expression{text: text, name: rest}
	switch {
	case text == "body-sha256":
		e.kind = fromDigest
		return e, nil
	case kind == "header" && validHeader(rest):
		e.kind = fromHeader
		e.name = textproto.CanonicalMIMEHeaderKey(rest)
		return e, nil
	case kind == "form" && rest != "":
		e.kind = fromForm
		return e, nil
	case kind == "query" && rest != "":
		e.kind = fromQuery
		return e, nil
	case kind == "body" && found, kind == "item" && found, kind == "outer" && found:
		e.kind = map[string]sourceKind{"body": fromBody, "item": fromItem, "outer": fromOuter}[kind]
		var rule string
		if e.path, rule = parsePath(rest); rule != "" {
			return nil, wrong(field, "%q: %s", text, rule)
		}
		return e, nil
	}
	return nil, wrong(field, "%q is not an expression; use header:NAME, body:PATH, form:NAME, query:NAME, body-sha256, or item:PATH for the items of a batch", text)
}

// parsePath splits a dotted path. A backslash takes the next character as it
// is, for keys that contain a dot. Patterns and modifiers of other path
// languages are refused rather than taken for keys, because they would only
// ever be missing.
func parsePath(text string) (path []string, rule string) {
	var key []byte
	escaped := false
	end := func() {
		switch {
		case len(key) == 0:
			rule = "a path has no empty steps"
		case !escaped && slices.Contains([]string{"#", "*", "$"}, string(key)) || !escaped && key[0] == '@':
			rule = "a path is made of exact keys and list positions (event.id, items.0.id); write a backslash before a key that really begins so"
		}
		path = append(path, string(key))
		key, escaped = nil, false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			escaped = escaped || len(key) == 0
			key = append(key, text[i])
		case c == '.':
			end()
		default:
			key = append(key, c)
		}
	}
	end()
	if rule == "" && len(path) > maxDepth {
		rule = "the path is too long"
	}
	return path, rule
}

// parseItems reads where the items of a batch are: body:PATH, or body when the
// body itself is the list.
func parseItems(text string) (*expression, error) {
	if text == "body" || text == "body:" {
		return &expression{kind: fromBody, text: text}, nil
	}
	e, err := parseExpression("items", text)
	if err != nil {
		return nil, err
	}
	if e.kind != fromBody {
		return nil, wrong("items", "%q: the items of a batch are in the body; use body:PATH, or body when the body itself is the list", text)
	}
	return e, nil
}

func (e *expression) same(other *expression) bool {
	return other != nil && e.digest == other.digest && e.kind == other.kind && e.name == other.name && slices.Equal(e.path, other.path)
}

// display names the value for people.
func (e *expression) display() string {
	if e.kind == fromHeader {
		return "header " + strings.TrimPrefix(e.text, "header:")
	}
	return e.text
}
