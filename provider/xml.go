package provider

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
)

// maxElements and maxNesting bound an XML body: more than any sender has.
const (
	maxElements = 50_000
	maxNesting  = 24
)

var errXML = errors.New("body is not XML that is read here")

// xmlElement is an element while it is read. Its children are written as JSON
// at once, so that the whole costs its length.
type xmlElement struct {
	name  string
	start int64
	text  []byte
	// Children are kept by name, in the order of the first of each.
	names []string
	forms [][][]byte     // as JSON, of each name
	index map[string]int // of the names, once there are many
}

// xmlDocument writes XML as JSON: an element with elements in it is an object
// under their local names, one without is its text, and several of one name
// are a list. Attributes and name spaces are left out. Elements called items
// are a list even when there is one, and are also returned as they stand.
func xmlDocument(body []byte, items string) document {
	text, raws, err := readXML(body, items)
	if err != nil {
		return document{why: errXML.Error()}
	}
	return document{text: text, raws: raws}
}

func readXML(body []byte, items string) (text []byte, raws [][]byte, err error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errXML } // UTF-8 only
	root := xmlElement{}
	stack := []*xmlElement{&root}
	for elements := 0; ; {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && len(stack) == 1 && len(root.names) == 1 {
			return root.form(items), raws, nil
		}
		if err != nil {
			return nil, nil, errXML
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.Directive: // a document type may define entities
			return nil, nil, errXML
		case xml.StartElement:
			if elements++; elements > maxElements || len(stack) > maxNesting {
				return nil, nil, errXML
			}
			stack = append(stack, &xmlElement{name: t.Name.Local, start: before})
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].add(top.name, top.form(items))
			if top.name == items && !within(stack, items) {
				raws = append(raws, body[top.start:decoder.InputOffset()])
			}
		case xml.CharData:
			if len(stack) > 1 && top.names == nil {
				top.text = append(top.text, t...)
			}
		}
	}
}

func within(stack []*xmlElement, name string) bool {
	return slices.ContainsFunc(stack, func(e *xmlElement) bool { return e.name == name })
}

func (e *xmlElement) add(name string, form []byte) {
	at := e.find(name)
	if at < 0 {
		at = len(e.names)
		e.names, e.forms = append(e.names, name), append(e.forms, nil)
		if e.index != nil {
			e.index[name] = at
		}
	}
	e.forms[at] = append(e.forms[at], form)
}

// find returns the place of a name, or -1. Few names are looked through, so
// that most elements need no map.
func (e *xmlElement) find(name string) int {
	if len(e.names) <= 8 {
		return slices.Index(e.names, name)
	}
	if e.index == nil {
		e.index = map[string]int{}
		for i, n := range e.names {
			e.index[n] = i
		}
	}
	if at, known := e.index[name]; known {
		return at
	}
	return -1
}

// form writes the element as JSON.
func (e *xmlElement) form(items string) []byte {
	if e.names == nil {
		return appendJSON(nil, string(e.text))
	}
	out := []byte{'{'}
	for i, name := range e.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendJSON(out, name), ':')
		forms := e.forms[i]
		if len(forms) == 1 && name != items {
			out = append(out, forms[0]...)
			continue
		}
		out = append(append(append(out, '['), bytes.Join(forms, []byte{','})...), ']')
	}
	return append(out, '}')
}
