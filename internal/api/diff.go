package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Difference is one place in which two JSON bodies differ.
type Difference struct {
	Path   string `json:"path" doc:"Where, as a.b[0]; empty for the whole body."`
	Change string `json:"change" enum:"added,removed,changed"`
	First  string `json:"first,omitempty" doc:"As JSON, cut when it is long."`
	Second string `json:"second,omitempty" doc:"As JSON, cut when it is long."`
}

const (
	maxDifferences = 200
	maxShown       = 200
	maxDecoded     = 32 << 20
	maxDepth       = 100
)

// differences lists where two bodies differ; ok is false when one of them is
// not JSON, so that only sizes and hashes can be compared.
func differences(first, second []byte) (all []Difference, ok bool) {
	a, okA := parsed(first)
	b, okB := parsed(second)
	if !okA || !okB {
		return nil, false
	}
	d := differ{}
	d.compare("", a, b, 0)
	return d.found, true
}

// parsed reads JSON with its numbers as they are written.
func parsed(body []byte) (v any, ok bool) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, false
		}
		if body, err = io.ReadAll(io.LimitReader(r, maxDecoded)); err != nil {
			return nil, false
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

type differ struct{ found []Difference }

func (d *differ) add(path, change string, first, second any) {
	if len(d.found) >= maxDifferences {
		return
	}
	one := Difference{Path: path, Change: change}
	if change != "added" {
		one.First = shown(first)
	}
	if change != "removed" {
		one.Second = shown(second)
	}
	d.found = append(d.found, one)
}

func (d *differ) compare(path string, a, b any, depth int) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok && depth < maxDepth {
			d.objects(path, a, b, depth)
			return
		}
	case []any:
		if b, ok := b.([]any); ok && depth < maxDepth {
			d.lists(path, a, b, depth)
			return
		}
	}
	if shownWhole(a) != shownWhole(b) {
		d.add(path, "changed", a, b)
	}
}

func (d *differ) objects(path string, a, b map[string]any, depth int) {
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := strings.TrimPrefix(path+"."+name, ".")
		first, inA := a[name]
		second, inB := b[name]
		switch {
		case !inA:
			d.add(at, "added", nil, second)
		case !inB:
			d.add(at, "removed", first, nil)
		default:
			d.compare(at, first, second, depth+1)
		}
	}
}

func (d *differ) lists(path string, a, b []any, depth int) {
	for i := range max(len(a), len(b)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= len(a):
			d.add(at, "added", nil, b[i])
		case i >= len(b):
			d.add(at, "removed", a[i], nil)
		default:
			d.compare(at, a[i], b[i], depth+1)
		}
	}
}

func shownWhole(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // what was read can be written
		return ""
	}
	return string(text)
}

func shown(v any) string {
	text := shownWhole(v)
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
