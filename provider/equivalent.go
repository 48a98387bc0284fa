package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Equivalent reports whether two bodies say the same, apart from the volatile
// paths: the same keys, exact in case, with the same values. The order of
// keys, white space and the spelling of escapes do not matter; numbers are the
// same only digit for digit. A body that is not JSON, nests too deep, has a key
// twice or half of a surrogate pair is equivalent to nothing. The path * is
// everything: the sender may send other content under one id.
func Equivalent(a, b []byte, volatile []string) bool {
	if slices.Contains(volatile, "*") {
		return true // the sender may say something else under the same id
	}
	plan := newPlan()
	for _, text := range volatile {
		path, rule := parsePath(text)
		if rule != "" {
			return false
		}
		plan.add(path)
	}
	first, ok := canonical(plan, a)
	if !ok {
		return false
	}
	second, ok := canonical(plan, b)
	return ok && bytes.Equal(first, second)
}

// Equivalent reports whether two bodies of this sender say the same; see
// [Equivalent]. What is read from a body is compared where the body is no JSON:
// a token that was signed anew is the same token. An item of a batch is
// compared as it stands.
func (s *Source) Equivalent(a, b []byte, item bool) bool {
	if read := s.contract.document; read != nil && !item {
		first, second := read(&Request{}, a), read(&Request{}, b)
		if first.why == "" && second.why == "" {
			a, b = first.text, second.text
		}
	}
	return Equivalent(a, b, s.contract.Volatile)
}

// canonical writes a document in one form. The plan has checked the grammar
// and the depth before, so the writer may recurse and trust every byte.
func canonical(plan *jsonPlan, data []byte) ([]byte, bool) {
	r := plan.open(data)
	problem := r.problem
	plan.close(r)
	if problem != readable {
		return nil, false
	}
	w := &canonicalWriter{jsonReader: jsonReader{data: data}, sound: true}
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		w.pos = 3
	}
	out := w.write(make([]byte, 0, len(data)), &plan.root)
	return out, w.sound
}

type canonicalWriter struct {
	jsonReader
	sound bool // no key twice in an object, no half of a surrogate pair
}

// write appends the canonical form of the next value. Strings are written
// behind a tag and their length, so that no two values look alike.
func (w *canonicalWriter) write(out []byte, node *pathNode) []byte {
	w.space()
	start := w.pos
	switch w.data[start] {
	case '{':
		return w.object(out, node)
	case '[':
		return w.list(out, node)
	case '"':
		w.text()
		return w.quote(out, w.data[start+1:w.pos-1])
	case 't', 'n':
		w.pos += 4
	case 'f':
		w.pos += 5
	default:
		w.number()
	}
	return appendPart(append(out, '0'), w.data[start:w.pos])
}

// appendPart appends a text behind its length.
func appendPart(out, text []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

func (w *canonicalWriter) quote(out, inside []byte) []byte {
	return appendPart(append(out, '"'), w.plain(inside))
}

// plain reads a string's escapes. Half of a surrogate pair has no text, and so
// nothing that it could be compared with.
func (w *canonicalWriter) plain(inside []byte) []byte {
	var whole bool
	w.scratch, whole = unescape(w.scratch[:0], inside)
	w.sound = w.sound && whole
	return w.scratch
}

func (w *canonicalWriter) list(out []byte, node *pathNode) []byte {
	w.pos++
	out = append(out, '[')
	for index := 0; ; index++ {
		if w.space(); w.data[w.pos] == ']' {
			w.pos++
			return append(out, ']')
		}
		child := childAt(node, index)
		if before := len(out); child != nil && child.slot >= 0 {
			out = append(w.write(out, nil)[:before], '~')
		} else {
			out = w.write(append(out, ','), child)
		}
		if w.space(); w.data[w.pos] == ',' {
			w.pos++
		}
	}
}

func childAt(node *pathNode, index int) *pathNode {
	if node != nil {
		for _, c := range node.next {
			if c.index == index {
				return c
			}
		}
	}
	return nil
}

// object sorts the members by key; the volatile ones are left out. Its form is
// a digest, so that deep nesting does not copy the same bytes at every level.
func (w *canonicalWriter) object(out []byte, node *pathNode) []byte {
	type member struct {
		key  string
		form []byte
	}
	var members []member
	w.pos++
	for {
		if w.space(); w.data[w.pos] == '}' {
			w.pos++
			break
		}
		start := w.pos
		w.text()
		key := string(w.plain(w.data[start+1 : w.pos-1]))
		w.space()
		w.pos++ // the colon
		var child *pathNode
		if node != nil {
			child = node.child(key)
		}
		form := w.write(nil, child)
		if child == nil || child.slot < 0 {
			members = append(members, member{key, form})
		}
		if w.space(); w.data[w.pos] == ',' {
			w.pos++
		}
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	sum := sha256.New()
	for i, m := range members {
		w.sound = w.sound && (i == 0 || members[i-1].key != m.key)
		sum.Write(appendPart(nil, []byte(m.key)))
		sum.Write(m.form)
	}
	return sum.Sum(append(out, '{'))
}
