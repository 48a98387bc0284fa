package provider

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// input is one authentic request while its fields are read.
type input struct {
	r       *Request
	body    []byte   // decoded; the contract's document, where it has one
	form    []byte   // decoded
	raws    [][]byte // of the items, where they are not parts of the document
	coding  string   // why the body could not be decoded
	reader  *jsonReader
	item    *jsonReader // of the item being read, in a batch
	outer   *jsonReader // of the item of the list before it
	digests [32]byte    // SHA-256 of the event's own bytes
}

// reading is what an expression found.
type reading struct {
	text  string
	state presence
	why   string // why it is ambiguous; or absent although it may be there
}

func unusable(e *expression, format string, args ...any) reading {
	return reading{state: ambiguous, why: e.display() + " " + fmt.Sprintf(format, args...)}
}

// read evaluates an expression, and what is to be read instead when it finds
// nothing.
func (in *input) read(e *expression) reading {
	found := in.readOne(e)
	for found.state == absent && e.or != nil {
		e = e.or
		found = in.readOne(e)
	}
	return found
}

// readOne evaluates one expression. What is there but must not be used (two
// different values, a list, half a character) is ambiguous and never absent.
func (in *input) readOne(e *expression) reading {
	if e.digest {
		return in.digest(e)
	}
	switch e.kind {
	case fromHeader:
		value, state := in.r.header(e.name)
		if state == ambiguous {
			return unusable(e, "was sent with different values")
		}
		return e.checked(value)
	case fromBody:
		return in.json(in.reader, e)
	case fromItem:
		return in.json(in.item, e)
	case fromOuter:
		return in.json(in.outer, e)
	case fromForm:
		if in.coding != "" {
			return reading{why: in.coding}
		}
		return field(e, string(in.form))
	case fromQuery:
		return field(e, in.r.query())
	}
	return reading{text: contentID(in.digests), state: present}
}

// digest is the SHA-256 of the bytes of a value, whatever it is.
func (in *input) digest(e *expression) reading {
	plain := *e
	plain.digest = false
	var value []byte
	switch {
	case e.kind == fromForm && in.coding == "":
		found := field(&plain, string(in.form))
		if found.state != present {
			return found
		}
		value = []byte(found.text)
	case in.coding != "":
		return reading{why: in.coding}
	default:
		r := in.reader
		if e.kind == fromItem {
			r = in.item
		}
		v, not := r.single(e)
		if v.kind == 0 {
			return not
		}
		value = r.data[v.start:v.end]
	}
	return reading{text: contentID(sha256.Sum256(value)), state: present}
}

// checked accepts a value as text. Only UTF-8 without NUL is: anything else
// cannot be kept and shown the same way in every store.
func (e *expression) checked(value string) reading {
	switch {
	case strings.TrimSpace(value) == "":
		return reading{}
	case !utf8.ValidString(value):
		return unusable(e, "is not UTF-8 text")
	case strings.IndexByte(value, 0) >= 0:
		return unusable(e, "contains a NUL")
	}
	return reading{text: value, state: present}
}

// json reads a value that the reader found.
func (in *input) json(r *jsonReader, e *expression) reading {
	if in.coding != "" {
		return reading{why: in.coding}
	}
	v, not := r.single(e)
	switch v.kind {
	case 0:
		return not
	case 'n':
		return reading{}
	case '{':
		return unusable(e, "is an object, not a value")
	case '[':
		return unusable(e, "is a list, not a value")
	case '"':
		inside := r.data[v.start+1 : v.end-1]
		if bytes.IndexByte(inside, '\\') < 0 {
			return e.checked(string(inside))
		}
		text, whole := unescape(nil, inside)
		if !whole {
			return unusable(e, "has half of a surrogate pair in it")
		}
		return e.checked(string(text))
	}
	return e.checked(string(r.data[v.start:v.end]))
}

// single returns the one value of an expression. Without one, whose kind is 0,
// it says why. r is nil for an item where the body is not a batch.
func (r *jsonReader) single(e *expression) (v jsonValue, not reading) {
	if r == nil {
		return v, reading{}
	}
	if r.problem != readable {
		return v, reading{why: r.explain()}
	}
	if v = r.values[e.slot]; v.repeated {
		return jsonValue{}, unusable(e, "stands twice in the body, so it has two answers")
	}
	return v, reading{}
}

// explain says why a body is not read.
func (r *jsonReader) explain() string {
	switch r.problem {
	case emptyText:
		return "body is not JSON: it is empty"
	case tooDeep:
		return "body is nested deeper than " + strconv.Itoa(maxDepth)
	}
	return "body is not JSON (at byte " + strconv.Itoa(r.pos) + ")"
}

// field reads a field of a form or a query. The pairs are walked over one by
// one, and only names are decoded, so a long form costs its length.
func field(e *expression, pairs string) reading {
	found := reading{}
	for pairs != "" {
		var pair string
		pair, pairs, _ = strings.Cut(pairs, "&")
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err != nil || decoded != e.name {
			continue
		}
		decoded, err := url.QueryUnescape(value)
		if err != nil {
			return unusable(e, "is not encoded as a form is")
		}
		next := e.checked(decoded)
		if found.state == present && next != found {
			return unusable(e, "was sent with different values")
		}
		if found = next; found.state == ambiguous {
			return found
		}
	}
	return found
}

// contentID is the identity of an event that has no other.
func contentID(sum [32]byte) string {
	var b [7 + 64]byte
	copy(b[:], "sha256:")
	const digits = "0123456789abcdef"
	for i, c := range sum {
		b[7+2*i], b[8+2*i] = digits[c>>4], digits[c&15]
	}
	return string(b[:])
}

// required reads a value that must be there; why says what is wrong otherwise.
func (in *input) required(name string, e *expression) (text, why string) {
	found := in.read(e)
	switch {
	case found.state == present && len(found.text) <= onceward.MaxKeyPart:
		return found.text, ""
	case found.state == present:
		return "", tooLong(name, len(found.text))
	case found.state == ambiguous:
		return "", name + ": " + found.why
	case found.why != "":
		return "", found.why
	}
	return "", name + ": " + e.display() + " is missing"
}

func tooLong(name string, length int) string {
	if name == "id" {
		name = "event id"
	}
	return fmt.Sprintf("%s has %d bytes, more than %d", name, length, onceward.MaxKeyPart)
}

// optional reads a value that may be absent, also because the body is none
// that it could be in.
func (in *input) optional(name string, e *expression) (text, why string) {
	if e == nil {
		return "", ""
	}
	found := in.read(e)
	if found.state == absent {
		return "", ""
	}
	if found.state == present && len(found.text) <= onceward.MaxKeyPart {
		return found.text, ""
	}
	return in.required(name, e)
}

// id reads the event id. Several parts are joined, each behind its length, so
// that "a" and "bc" are not "ab" and "c".
func (in *input) id(list []*expression) (id, why string) {
	if len(list) == 1 {
		return in.required("id", list[0])
	}
	joined := make([]byte, 0, 128)
	last := len(list)
	for ; last > 1 && list[last-1].maybe; last-- { // what is missing at the end leaves no trace
		if in.read(list[last-1]).state != absent {
			break
		}
	}
	if last == 1 {
		return in.required("id", list[0])
	}
	for _, e := range list[:last] {
		part := ""
		if e.maybe {
			part, why = in.optional("id", e)
		} else {
			part, why = in.required("id", e)
		}
		if why != "" {
			return "", why
		}
		joined = strconv.AppendInt(joined, int64(len(part)), 10)
		joined = append(append(append(joined, ':'), part...), ',')
	}
	if len(joined) > onceward.MaxKeyPart {
		return "", tooLong("id", len(joined))
	}
	return string(joined), ""
}
