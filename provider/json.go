package provider

import (
	"encoding/binary"
	"math/bits"
)

// jsonValue is a value found in the text: data[start:end]. A kind of 0 means
// that it is absent.
type jsonValue struct {
	start, end int
	kind       byte // its first character, '0' for numbers
	repeated   bool // a key on the way stands twice: there are two answers
}

type jsonProblem uint8

const (
	readable jsonProblem = iota
	notJSON
	emptyText
	tooDeep
)

// frame is a container that is being read.
type frame struct {
	node  *pathNode // nil away from every path
	seen  uint64    // which of node.next stood in it already
	index int
	list  bool
}

// jsonReader walks over one text without recursion.
type jsonReader struct {
	data    []byte
	from    int // where the value begins
	pos     int
	problem jsonProblem
	values  []jsonValue
	frames  []frame
	scratch []byte
}

// value reads one value and everything in it.
func (r *jsonReader) value(node *pathNode) {
	for r.problem == readable {
		more := r.begin(node)
		if more {
			node, more = r.first()
		}
		for !more && r.problem == readable {
			if len(r.frames) == 0 {
				return
			}
			node, more = r.next()
		}
	}
}

// begin reads a scalar, or the opening of a container and returns true.
func (r *jsonReader) begin(node *pathNode) bool {
	start := r.pos
	if start >= len(r.data) {
		r.problem = notJSON
		return false
	}
	kind := r.data[start]
	switch kind {
	case '{', '[':
		if len(r.frames) == maxDepth {
			r.problem = tooDeep
			return false
		}
		r.frames = append(r.frames, frame{node: node, list: kind == '['})
		r.pos++
	case '"':
		r.text()
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		kind = '0'
		r.number()
	}
	if node != nil && node.slot >= 0 {
		v := &r.values[node.slot]
		v.start, v.end, v.kind = start, r.pos, kind
	}
	return kind == '{' || kind == '['
}

// first moves to the first member of the container just opened; false when it
// is empty, and then it is closed.
func (r *jsonReader) first() (*pathNode, bool) {
	r.space()
	f := &r.frames[len(r.frames)-1]
	if r.closed(f) {
		return nil, false
	}
	return r.member(f), true
}

// next moves behind a value: to the next member, or out of the container.
func (r *jsonReader) next() (*pathNode, bool) {
	r.space()
	f := &r.frames[len(r.frames)-1]
	if r.closed(f) {
		return nil, false
	}
	if r.pos >= len(r.data) || r.data[r.pos] != ',' {
		r.problem = notJSON
		return nil, false
	}
	r.pos++
	r.space()
	f.index++
	return r.member(f), true
}

// closed leaves the container if it ends here.
func (r *jsonReader) closed(f *frame) bool {
	end := byte('}')
	if f.list {
		end = ']'
	}
	if r.pos >= len(r.data) || r.data[r.pos] != end {
		return false
	}
	r.pos++
	if f.node != nil && f.node.slot >= 0 {
		r.values[f.node.slot].end = r.pos
	}
	r.frames = r.frames[:len(r.frames)-1]
	return true
}

// member reads an object's key, and returns the step that it leads to.
func (r *jsonReader) member(f *frame) *pathNode {
	if f.list {
		if f.node != nil {
			for i, c := range f.node.next {
				if c.index == f.index {
					return f.node.next[i]
				}
			}
		}
		return nil
	}
	start := r.pos
	if start >= len(r.data) || r.data[start] != '"' {
		r.problem = notJSON
		return nil
	}
	plain := r.text()
	end := r.pos
	r.space()
	if r.problem != readable || r.pos >= len(r.data) || r.data[r.pos] != ':' {
		r.problem = notJSON
		return nil
	}
	r.pos++
	r.space()
	if f.node == nil || len(f.node.next) == 0 {
		return nil
	}
	return r.step(f, r.data[start+1:end-1], plain)
}

// step finds the key among the steps that are looked for.
func (r *jsonReader) step(f *frame, key []byte, plain bool) *pathNode {
	if !plain {
		r.scratch, _ = unescape(r.scratch[:0], key)
		key = r.scratch
	}
	for i, c := range f.node.next {
		if string(key) != c.key {
			continue
		}
		if f.seen&(1<<i) != 0 {
			for _, slot := range c.under {
				r.values[slot].repeated = true
			}
		}
		f.seen |= 1 << i
		return c
	}
	return nil
}

// space passes over white space, of which there usually is none.
func (r *jsonReader) space() {
	if r.pos < len(r.data) && r.data[r.pos] <= ' ' {
		r.blanks()
	}
}

func (r *jsonReader) blanks() {
	data, i := r.data, r.pos
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	r.pos = i
}

func (r *jsonReader) word(w string) {
	if len(r.data)-r.pos < len(w) || string(r.data[r.pos:r.pos+len(w)]) != w {
		r.problem = notJSON
		return
	}
	r.pos += len(w)
}

// text reads a string and reports whether it has no escapes.
func (r *jsonReader) text() (plain bool) {
	plain = true
	data, i := r.data, r.pos+1
	for {
		i += ordinary(data[i:])
		if i >= len(data) || data[i] < ' ' {
			break
		}
		if data[i] == '"' {
			r.pos = i + 1
			return plain
		}
		plain = false
		n := escapeLength(data[i:])
		if n == 0 {
			break
		}
		i += n
	}
	r.pos, r.problem = i, notJSON
	return plain
}

// ordinary counts the bytes before the first quote, backslash or control
// character, eight at a time: strings are most of a body.
func ordinary(data []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(data)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= ' ' {
		i++
	}
	return i
}

// number reads a number strictly: no plus, no leading zero, digits on both
// sides of the point.
func (r *jsonReader) number() {
	i := r.pos
	if i < len(r.data) && r.data[i] == '-' {
		i++
	}
	whole := i
	i = r.digits(i)
	ok := i > whole && (r.data[whole] != '0' || i == whole+1)
	if i < len(r.data) && r.data[i] == '.' {
		from := i + 1
		i = r.digits(from)
		ok = ok && i > from
	}
	if i < len(r.data) && (r.data[i]|0x20) == 'e' {
		i++
		if i < len(r.data) && (r.data[i] == '+' || r.data[i] == '-') {
			i++
		}
		from := i
		i = r.digits(from)
		ok = ok && i > from
	}
	if !ok {
		r.problem = notJSON
		return
	}
	r.pos = i
}

func (r *jsonReader) digits(i int) int {
	for i < len(r.data) && r.data[i]-'0' <= 9 {
		i++
	}
	return i
}
