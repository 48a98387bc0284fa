package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile bounds a configuration; more is a wrong path.
const maxFile = 4 << 20

// decoder walks the syntax tree beside the Go types. It is our own walk rather
// than the library's decoder, because every field's position is kept for later
// rules, all problems are reported together, and the library's messages quote
// the file, which may hold secrets.
type decoder struct {
	report
	refs
	broken bool // there is no document to hold against the rules
}

func (d *decoder) document(content []byte, into *Config) {
	d.broken = true
	if len(content) > maxFile {
		d.addAt(position{1, 1}, "", "the file has %d bytes, more than %d", len(content), maxFile)
		return
	}
	file, err := parse(content)
	if err != nil {
		d.syntax(err)
		return
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.addAt(at(doc.Body), "", "a second document begins here; a configuration is one document")
			return
		}
		body = doc.Body
	}
	d.broken = false
	d.mapping(body, "", reflect.ValueOf(into).Elem())
}

// parse reads the syntax. The library may panic on what no person would write;
// for a reader of files that is one more syntax error.
func parse(content []byte) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is not YAML")
		}
	}()
	return parser.ParseBytes(content, 0)
}

func (d *decoder) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil || e.GetToken().Position == nil {
		d.addAt(position{1, 1}, "", "the file cannot be read as YAML")
		return
	}
	// Quoted parts of the message come from the file and may be secret.
	message, _, _ := strings.Cut(e.GetMessage(), `"`)
	p := e.GetToken().Position
	d.addAt(position{p.Line, p.Column}, "", "the file cannot be read as YAML: %s", strings.TrimSpace(message))
}

func at(n ast.Node) position {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{t.Position.Line, t.Position.Column}
	}
	return position{1, 1}
}

// mapping decodes a mapping's fields into a struct; a nil node is an empty one.
func (d *decoder) mapping(n ast.Node, path string, into reflect.Value) {
	given := map[string]*ast.MappingValueNode{}
	for _, entry := range d.entries(n, path) {
		given[entry.Key.GetToken().Value] = entry
	}
	for _, f := range fieldsOf(into.Type()) {
		entry, ok := given[f.name]
		delete(given, f.name)
		field := join(path, f.name)
		switch {
		case !ok && f.later == "":
			d.absent(f, path, field, into)
		case !ok:
		case f.later != "":
			d.addAt(at(entry.Key), field, "not yet: %s", f.later)
		default:
			d.at[field] = at(entry.Key)
			d.value(entry.Value, field, f, into.Field(f.index))
		}
	}
	for name, entry := range given {
		d.addAt(at(entry.Key), join(path, shorten(name)), "is not a known field%s", nearest(name, namesOf(into.Type())))
	}
}

func (d *decoder) absent(f field, path, name string, into reflect.Value) {
	v := into.Field(f.index)
	switch {
	case f.required != "":
		d.add(path+"."+f.name, "is missing; %s", f.required)
	case f.standard != "":
		if err := d.scalar(f.standard, f, v); err != nil {
			panic("config: default of " + name + " " + err.Error())
		}
	case v.Kind() == reflect.Struct && isSection(v.Type()):
		d.mapping(nil, name, v)
	}
}

// entries lists a mapping's pairs with plain, distinct names as keys.
func (d *decoder) entries(n ast.Node, path string) []*ast.MappingValueNode {
	if n == nil {
		return nil
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		d.addAt(at(n), path, "must be a mapping of fields%s", hint(n))
		return nil
	}
	var all []*ast.MappingValueNode
	seen := map[string]bool{}
	for i := m.MapRange(); i.Next(); {
		entry := i.KeyValue()
		if _, plain := entry.Key.(ast.ScalarNode); !plain || entry.Key.GetToken() == nil || entry.Key.Type() == ast.MergeKeyType {
			d.addAt(at(entry.Key), path, "a field's name must be a plain word; merge keys and composed keys are not supported")
			continue
		}
		name := entry.Key.GetToken().Value
		if seen[name] {
			d.addAt(at(entry.Key), join(path, shorten(name)), "stands here a second time")
			continue
		}
		seen[name] = true
		all = append(all, entry)
	}
	return all
}

func (d *decoder) value(n ast.Node, path string, f field, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.mapping(n, path, v.Elem())
	case f.named:
		d.named(n, path, v)
	case f.pairs:
		d.pairs(n, path, f, v)
	case v.Kind() == reflect.Slice:
		d.list(n, path, f, v)
	case isSection(v.Type()):
		d.mapping(n, path, v)
	default:
		d.leaf(n, path, f, v)
	}
}

// named decodes a mapping of names into a slice, in the order of the file.
func (d *decoder) named(n ast.Node, path string, v reflect.Value) {
	for _, entry := range d.entries(n, path) {
		name := entry.Key.GetToken().Value
		if !isName(name) {
			d.addAt(at(entry.Key), path, "%q is not a name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit", shorten(name))
			continue
		}
		d.at[join(path, name)] = at(entry.Key)
		element := reflect.New(v.Type().Elem()).Elem()
		element.FieldByName("Name").SetString(name)
		d.mapping(entry.Value, join(path, name), element)
		v.Set(reflect.Append(v, element))
	}
}

// pairs decodes a mapping of free names to texts into a slice of Name and Value.
func (d *decoder) pairs(n ast.Node, path string, f field, v reflect.Value) {
	for _, entry := range d.entries(n, path) {
		name := entry.Key.GetToken().Value
		element := reflect.New(v.Type().Elem()).Elem()
		element.FieldByName("Name").SetString(name)
		d.leaf(entry.Value, join(path, name), f, element.FieldByName("Value"))
		v.Set(reflect.Append(v, element))
	}
}

func (d *decoder) list(n ast.Node, path string, f field, v reflect.Value) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok && !f.one {
		d.addAt(at(n), path, "must be a list%s", hint(n))
		return
	}
	items := []ast.Node{n}
	if ok {
		items = sequence.Values
	}
	for i, item := range items {
		element := reflect.New(v.Type().Elem()).Elem()
		name := path
		if ok {
			name = fmt.Sprintf("%s[%d]", path, i)
		}
		d.at[name] = at(item)
		if isSection(element.Type()) {
			d.mapping(item, name, element)
		} else {
			d.leaf(item, name, f, element)
		}
		v.Set(reflect.Append(v, element))
	}
}

// hint says what stands at a place instead of what is wanted.
func hint(n ast.Node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "; it has no value"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "; anchors, aliases and tags are not supported, write the value out"
	}
	if t := n.GetToken(); t != nil && t.Type == token.MappingValueType {
		return ", not a mapping"
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func shorten(text string) string {
	if len(text) > 64 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// isName is the grammar of every name in the file: [a-z0-9][a-z0-9-_]{0,63}.
func isName(name string) bool {
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
