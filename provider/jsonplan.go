package provider

import (
	"strconv"
	"sync"
)

// maxDepth bounds how deep a body may nest before it is not read. Real
// notifications stay below 20; the bound keeps hostile ones from costing more
// than their length.
const maxDepth = 512

// pathNode is a step in the tree of the paths that are looked for.
type pathNode struct {
	key   string
	index int // the same step as a position in a list, -1 when it is no number
	slot  int // place for the value that ends here, -1 when none does
	under []int
	next  []*pathNode
}

// jsonPlan finds the values of several paths in one pass over the bytes, and
// checks the whole text on the way: grammar, depth, and that no object on the
// way to a value has the same key twice. Keys are compared exactly, after
// their escapes are read: parsers that ignore case or take the last of two
// equal keys would find another identity in the same signed bytes. Nothing is
// decoded and nothing is copied, so numbers keep their digits.
type jsonPlan struct {
	root  pathNode
	slots int
	pool  sync.Pool
}

func newPlan() *jsonPlan {
	p := &jsonPlan{root: pathNode{slot: -1, index: -1}}
	p.pool.New = func() any { return new(jsonReader) }
	return p
}

// add returns the slot in which the value of path will be found.
func (p *jsonPlan) add(path []string) int {
	node := &p.root
	way := []*pathNode{node}
	for _, key := range path {
		child := node.child(key)
		if child == nil {
			child = &pathNode{key: key, slot: -1, index: -1}
			if n, err := strconv.Atoi(key); err == nil && n >= 0 && strconv.Itoa(n) == key {
				child.index = n
			}
			node.next = append(node.next, child)
		}
		node = child
		way = append(way, node)
	}
	if node.slot < 0 {
		node.slot = p.slots
		p.slots++
		for _, n := range way {
			n.under = append(n.under, node.slot)
		}
	}
	return node.slot
}

func (n *pathNode) child(key string) *pathNode {
	for _, c := range n.next {
		if c.key == key {
			return c
		}
	}
	return nil
}

// open reads a whole document. The reader must be given back with close.
func (p *jsonPlan) open(data []byte) *jsonReader {
	r := p.start(data)
	if len(data) >= 3 && string(data[:3]) == "\uFEFF" {
		r.pos = 3
	}
	r.space()
	if r.pos == len(data) {
		r.problem = emptyText
		return r
	}
	r.value(&p.root)
	if r.problem != readable {
		return r // pos stays where it is wrong
	}
	if r.space(); r.pos != len(data) {
		r.problem = notJSON
	}
	return r
}

// openAt reads the one value that begins at pos.
func (p *jsonPlan) openAt(data []byte, pos int) *jsonReader {
	r := p.start(data)
	r.pos = pos
	r.space()
	r.from = r.pos
	r.value(&p.root)
	return r
}

func (p *jsonPlan) start(data []byte) *jsonReader {
	r := p.pool.Get().(*jsonReader)
	r.data, r.pos, r.problem, r.frames = data, 0, readable, r.frames[:0]
	r.values = append(r.values[:0], make([]jsonValue, p.slots)...)
	return r
}

func (p *jsonPlan) close(r *jsonReader) {
	r.data = nil
	p.pool.Put(r)
}
