package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// JSONSchema describes the file for editors. It is read off the same tags as
// the decoder, so the two cannot differ.
func JSONSchema() []byte {
	s := sectionSchema(reflect.TypeFor[Config]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "onceward.yaml"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // strings and maps always encode
	}
	return append(out, '\n')
}

type schema = map[string]any

const namePattern = "^[a-z0-9][a-z0-9_-]{0,63}$"

func sectionSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range fieldsOf(t) {
		if f.later != "" {
			continue
		}
		s := f.schema()
		s["description"] = f.doc
		if f.standard != "" {
			s["default"] = f.standardValue()
		}
		properties[f.name] = s
		if f.required != "" {
			required = append(required, f.name)
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (f field) schema() schema {
	t := f.structType
	switch {
	case f.named:
		return schema{"type": "object", "propertyNames": schema{"pattern": namePattern}, "additionalProperties": sectionSchema(t.Elem())}
	case f.pairs:
		return schema{"type": "object", "additionalProperties": f.leafSchema(reflect.TypeFor[string]())}
	case t.Kind() == reflect.Slice:
		element := f.leafSchema(t.Elem())
		list := schema{"type": "array", "items": element}
		if f.one {
			return schema{"anyOf": []any{element, list}}
		}
		return list
	case t.Kind() == reflect.Pointer:
		return sectionSchema(t.Elem())
	case isSection(t):
		return sectionSchema(t)
	}
	return f.leafSchema(t)
}

// leafSchema describes one value; a variable may stand for any of them.
func (f field) leafSchema(t reflect.Type) schema {
	if isSection(t) {
		return sectionSchema(t)
	}
	pattern := ""
	switch t {
	case reflect.TypeFor[time.Duration]():
		pattern = "([0-9]+(ms|s|m|h|d|w))+"
	case reflect.TypeFor[Size]():
		return orVariable(schema{"type": []any{"integer", "string"}, "pattern": "^[0-9]+(B|KiB|MiB|GiB|KB|MB|GB)?$"})
	case reflect.TypeFor[Rate]():
		pattern = "[0-9]+/(s|m|h)"
	}
	switch {
	case pattern != "":
		return orVariable(schema{"type": "string", "pattern": "^" + pattern + "$"})
	case len(f.enum) > 0:
		return orVariable(schema{"enum": f.enum})
	case t.Kind() == reflect.Bool:
		return orVariable(schema{"type": "boolean"})
	case t.Kind() == reflect.Int:
		s := schema{"type": "integer"}
		if f.least != "" {
			s["minimum"] = json.Number(f.least)
		}
		return orVariable(s)
	}
	return schema{"type": []any{"string", "number", "boolean"}}
}

func orVariable(s schema) schema {
	return schema{"anyOf": []any{s, schema{"type": "string", "pattern": `\$\{`}}}
}

// standardValue is the default in the type that it has in the file.
func (f field) standardValue() any {
	if f.structType.Kind() == reflect.Int {
		return json.Number(f.standard)
	}
	return f.standard
}

// Reference is docs/reference/config.md, generated from the same tags.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	referenceSection(&b, "", reflect.TypeFor[Config]())
	return []byte(b.String())
}

const referenceHead = "# Configuration: `onceward.yaml`\n" + `
This page is generated from the code that reads the file; do not edit it.

The file is read strictly. An unknown field, a field without a value, an unset variable, an unreadable file, a reference to
something that is not configured: each is an error that names file, line, column, field and rule, and all of them are
reported together. Fields whose part of Onceward does not exist yet are refused with "not yet", never ignored.
` + "`onceward check -c onceward.yaml`" + ` says what is wrong without starting anything.

- **Names** of sources, destinations, operations and tokens: a–z, 0–9, ` + "`-` and `_`" + `, at most 64, beginning with a letter or digit.
- **Durations**: whole numbers with a unit, ` + "`500ms`, `10s`, `5m`, `24h`, `90d`, `1h30m`" + `. **Sizes**: ` + "`64KiB`, `5MiB` (1024), `1KB`, `1MB` (1000)" + `, or bytes. **Rates**: ` + "`100/s`, `10/m`, `5/h`" + `.
- **Variables**: ` + "`${NAME}`" + ` in any value is the environment variable; unset is an error, ` + "`$${`" + ` is a literal ` + "`${`" + `.
- **Secrets** may also be ` + "`file:PATH`" + `, relative to the configuration file. However a secret is given, exactly one newline at its
  end is removed, because editors write it; any other white space around it is refused. No output ever shows a secret.
- Anchors, aliases, tags and merge keys are not supported.
`

func referenceSection(b *strings.Builder, path string, t reflect.Type) {
	title := "The file"
	if path != "" {
		title = "`" + path + "`"
	}
	fmt.Fprintf(b, "\n## %s\n\n| field | value | default | meaning |\n|---|---|---|---|\n", title)
	fields := fieldsOf(t)
	for _, f := range fields {
		if f.later != "" {
			fmt.Fprintf(b, "| `%s` | | | Not yet: %s. |\n", f.name, f.later)
			continue
		}
		standard := ""
		switch {
		case f.standard != "":
			standard = "`" + f.standard + "`"
		case f.required != "":
			standard = "**required**"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s%s |\n", f.name, f.kind(), standard, f.doc, f.notYet())
	}
	for _, f := range fields {
		switch element := f.section(); {
		case element == nil || f.later != "":
		case f.named:
			referenceSection(b, join(path, f.name)+".NAME", element)
		case f.structType.Kind() == reflect.Slice:
			referenceSection(b, join(path, f.name)+"[]", element)
		default:
			referenceSection(b, join(path, f.name), element)
		}
	}
}

// section is the type of the fields below this one; nil for a value.
func (f field) section() reflect.Type {
	t := f.structType
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[netip.Prefix]() || !isSection(t) {
		return nil
	}
	return t
}

func (f field) notYet() string {
	if len(f.enumLater) == 0 {
		return ""
	}
	return " Not yet: " + strings.Join(f.enumLater, ", ") + "."
}

func (f field) kind() string {
	switch {
	case len(f.enum) > 0:
		return "`" + strings.Join(f.enum, "`, `") + "`"
	case f.named:
		return "a mapping of names"
	case f.pairs:
		return "a mapping of texts"
	case f.structType.Kind() == reflect.Slice && f.one:
		return "one or a list of: " + strings.TrimPrefix(kindOf(f.structType.Elem()), "a ")
	case f.structType.Kind() == reflect.Slice:
		return "a list of: " + strings.TrimPrefix(kindOf(f.structType.Elem()), "a ")
	case f.least != "":
		return kindOf(f.structType) + ", at least " + f.least
	}
	return kindOf(f.structType)
}
