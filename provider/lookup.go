package provider

import (
	"encoding/json"
	"unicode/utf8"
)

// lookup reads values of a body that a scheme needs to verify it. Unlike an
// expression it takes a text as it stands, blank or not: these are the bytes
// that are signed.
type lookup struct {
	plan  *jsonPlan
	slots map[string]int
}

func lookFor(paths ...string) *lookup {
	l := &lookup{plan: newPlan(), slots: map[string]int{}}
	for _, text := range paths {
		path, rule := parsePath(text)
		if rule != "" {
			panic(text + ": " + rule)
		}
		l.slots[text] = l.plan.add(path)
	}
	return l
}

// found are the values that a lookup found. Give it back with close.
type found struct {
	*lookup
	r *jsonReader
}

// read reads a whole body; ok is false when it is not JSON.
func (l *lookup) read(body []byte) (f found, ok bool) {
	f = found{l, l.plan.open(body)}
	return f, f.r.problem == readable
}

// at reads the value that begins at pos of a text that is known to be JSON.
func (l *lookup) at(body []byte, pos int) found { return found{l, l.plan.openAt(body, pos)} }

func (f found) close() { f.plan.close(f.r) }

func (f found) value(path string) jsonValue { return f.r.values[f.slots[path]] }

// text returns a scalar as text; a value that stands twice, is a container, or
// holds half a character is ambiguous.
func (f found) text(path string) (string, presence) {
	v := f.value(path)
	switch {
	case v.repeated:
		return "", ambiguous
	case v.kind == 0 || v.kind == 'n':
		return "", absent
	case v.kind == '{' || v.kind == '[':
		return "", ambiguous
	case v.kind != '"':
		return string(f.r.data[v.start:v.end]), present
	}
	text, whole := unescape(nil, f.r.data[v.start+1:v.end-1])
	if !whole || !utf8.Valid(text) {
		return "", ambiguous
	}
	return string(text), present
}

// edit is a value in a body, and the text that it is to become.
type edit struct {
	jsonValue
	text string
}

// spliced returns the body with several values replaced, in order, in one pass.
func spliced(body []byte, edits []edit) []byte {
	out := make([]byte, 0, len(body)+64*len(edits))
	at := 0
	for _, e := range edits {
		out = appendJSON(append(out, body[at:e.start]...), e.text)
		at = e.end
	}
	return append(out, body[at:]...)
}

// splice returns the body with the value of a path replaced by a string.
func (f found) splice(body []byte, path, text string) ([]byte, bool) {
	v := f.value(path)
	if v.kind == 0 || v.repeated {
		return nil, false
	}
	out := append(make([]byte, 0, len(body)+len(text)), body[:v.start]...)
	return append(appendJSON(out, text), body[v.end:]...), true
}

// appendJSON appends a text as JSON writes it.
func appendJSON(out []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has a form
		return out
	}
	return append(out, quoted...)
}
