package provider

import (
	"bytes"
	"encoding/json"
)

// document is what the expressions of a contract read, for senders whose body
// is not one JSON text: XML, a token, a form with JSON in it, lines of JSON. The
// event keeps the bytes as they came.
type document struct {
	text []byte   // JSON
	raws [][]byte // the exact bytes of the items, where text does not have them
	why  string   // why there is none; the event is held for a person
}

// withMember writes a member in front of those of an object. A member of the
// same name inside makes the value ambiguous, as any other that is repeated.
func withMember(object []byte, members ...string) []byte {
	object = bytes.TrimLeft(bytes.TrimPrefix(object, []byte("\uFEFF")), " \t\r\n")
	if len(object) < 2 || object[0] != '{' {
		return object
	}
	out := append(make([]byte, 0, len(object)+64), '{')
	for i := 0; i+1 < len(members); i += 2 {
		out = appendJSON(out, members[i])
		out = append(out, ':')
		out = append(appendJSON(out, members[i+1]), ',')
	}
	rest := bytes.TrimLeft(object[1:], " \t\r\n")
	if len(rest) > 0 && rest[0] == '}' {
		out = out[:len(out)-1]
	}
	return append(out, rest...)
}

// jsonLines makes one list of a body that is a list, one object, or an object
// in each line. The lines keep their bytes.
func jsonLines(_ *Request, body []byte) document {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	first := bytes.TrimLeft(body, " \t\r\n")
	if len(first) == 0 || first[0] == '[' {
		return document{text: body}
	}
	if json.Valid(body) { // one object, in any layout
		return document{text: append(append([]byte("["), body...), ']')}
	}
	out := append(make([]byte, 0, len(body)+2), '[')
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !json.Valid(line) { // two halves must not become a whole
			return document{why: "body has a line that is not JSON"}
		}
		out = append(append(out, line...), ',')
	}
	return document{text: append(out[:len(out)-1], ']')}
}
