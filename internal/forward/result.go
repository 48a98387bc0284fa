package forward

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// resultRule says where in an answer the other side's reference stands.
type resultRule struct {
	header string
	path   []string
}

func parseResult(rule string) (resultRule, error) {
	where, name, _ := strings.Cut(rule, ":")
	switch {
	case rule == "":
		return resultRule{}, nil
	case where == "header" && name != "":
		return resultRule{header: textproto.CanonicalMIMEHeaderKey(name)}, nil
	case where == "body" && name != "":
		return resultRule{path: strings.Split(name, ".")}, nil
	}
	return resultRule{}, fmt.Errorf("result must be header:NAME or body:PATH")
}

// from returns the reference, and a note when it had to be cut.
func (r resultRule) from(h http.Header, body []byte) (result, note string) {
	switch {
	case r.header != "":
		result = h.Get(r.header)
	case r.path != nil:
		result = textAt(body, r.path)
	}
	result = strings.ToValidUTF8(result, "\ufffd")
	if len(result) > onceward.MaxResult {
		note = fmt.Sprintf("the result has %d bytes and was cut to %d, so no later step can use it", len(result), onceward.MaxResult)
	}
	return onceward.CutResult(result), note
}

// textAt returns the string, number or truth value at a path of member names
// and array indexes; empty when there is none.
func textAt(body []byte, path []string) string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // an id of 18 digits must not become a float
	var v any
	if d.Decode(&v) != nil {
		return ""
	}
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return ""
			}
			v = at[i]
		default:
			return ""
		}
	}
	switch leaf := v.(type) {
	case string:
		return leaf
	case json.Number:
		return leaf.String()
	case bool:
		return strconv.FormatBool(leaf)
	}
	return ""
}
