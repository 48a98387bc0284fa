package provider

import (
	"net/url"
	"slices"
	"strings"
)

// pair is a field of a form, decoded.
type pair struct{ name, value string }

// maxFields bounds the fields of a form that is sorted to verify it.
const maxFields = 5000

// formPairs reads every field of a form in the order in which they stand.
func formPairs(body []byte) ([]pair, *Refusal) {
	var list []pair
	for rest := string(body); rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, "&")
		if one == "" {
			continue
		}
		name, value, _ := strings.Cut(one, "=")
		var p pair
		var err1, err2 error
		p.name, err1 = url.QueryUnescape(name)
		p.value, err2 = url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return nil, refuse(MalformedBody, "the body is not encoded as a form is")
		}
		if len(list) == maxFields {
			return nil, refuse(MalformedBody, "the form has more than %d fields", maxFields)
		}
		list = append(list, p)
	}
	return list, nil
}

// sortedPairs are the fields by name, then by value, each distinct one once: the
// order in which Twilio and Mandrill sign them.
func sortedPairs(list []pair) []pair {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b pair) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	return slices.Compact(list)
}

// formValue returns the one value of a field; several different ones are none.
func formValue(list []pair, name string) (string, presence) {
	value, state := "", absent
	for _, p := range list {
		if p.name != name {
			continue
		}
		if state == present && p.value != value {
			return "", ambiguous
		}
		value, state = p.value, present
	}
	return value, state
}
