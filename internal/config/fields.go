package config

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	secretType = reflect.TypeFor[Secret]()
	laterType  = reflect.TypeFor[later]()
)

// field is what a struct's tags say about one field of the file.
type field struct {
	index      int
	name       string
	named      bool // a mapping of names, kept as a slice
	one        bool // a list that may be written as its only element
	text       bool // may have several lines
	pairs      bool // a mapping of free names to texts, kept as a slice
	doc        string
	standard   string // default, as it would be written
	required   string // why it must be there
	later      string // the whole field is refused: what it waits for
	enum       []string
	enumLater  []string // values that are refused for now
	least      string
	structType reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		s := t.Field(i)
		name, option, _ := strings.Cut(s.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		f := field{
			index: i, name: name, named: option == "named", one: option == "one", pairs: option == "pairs", text: option == "text",
			doc: s.Tag.Get("doc"), standard: s.Tag.Get("default"), required: s.Tag.Get("required"),
			enum: words(s.Tag.Get("enum")), least: s.Tag.Get("min"), structType: s.Type,
		}
		if s.Type == laterType {
			f.later = s.Tag.Get("later")
		} else {
			f.enumLater = words(s.Tag.Get("later"))
		}
		all = append(all, f)
	}
	return all
}

func namesOf(t reflect.Type) []string {
	var all []string
	for _, f := range fieldsOf(t) {
		all = append(all, f.name)
	}
	return all
}

func words(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// check holds a text against the field's list of values.
func (f field) check(text string) error {
	switch {
	case slices.Contains(f.enumLater, text):
		return fmt.Errorf("is for later, not yet: use %s", strings.Join(f.enum, " or "))
	case f.enum != nil && !slices.Contains(f.enum, text):
		return fmt.Errorf("is none of %s%s", strings.Join(f.enum, ", "), nearest(text, f.enum))
	case text == "":
		return errors.New("is empty; leave the field out instead")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && !(f.text && (c == '\n' || c == '\t')) || c == 0x7f }):
		return errors.New("contains a control character")
	}
	return nil
}

func (f field) atLeast(v reflect.Value) error {
	least, err := strconv.ParseInt(f.least, 10, 64)
	if v.Type() == reflect.TypeFor[time.Duration]() {
		var d time.Duration
		d, err = parseDuration(f.least)
		least = int64(d)
	}
	if err != nil {
		panic("config: minimum " + f.least + " of " + f.name + " cannot be read")
	}
	if v.Int() < least {
		return fmt.Errorf("is less than %s", f.least)
	}
	return nil
}

// isSection reports whether a type is a mapping of fields in the file.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0
}

// kindOf names a type for people.
func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration"
	case reflect.TypeFor[Size]():
		return "a size"
	case reflect.TypeFor[Rate]():
		return "a rate"
	case reflect.TypeFor[netip.Prefix]():
		return "an address or range"
	case secretType:
		return "a secret"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Pointer:
		return "a mapping"
	}
	return "a text"
}
