package config

import (
	"fmt"
	"strings"
	"unicode"
)

const filePrefix = "file:"

// maxSecret bounds a secret's file; more is a wrong path.
const maxSecret = 64 << 10

// refs resolves what a value refers to outside of the file.
type refs struct {
	env      func(string) (string, bool)
	readFile func(string) ([]byte, error)
}

// expand replaces each ${NAME} by the variable's value; $${ stands for a
// literal ${. expanded reports whether a variable was used, because such a
// value may be secret and must not be shown.
func (r refs) expand(text string) (value string, expanded bool, err error) {
	if !strings.Contains(text, "${") {
		return text, false, nil
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), expanded, nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(escaped + "${")
			text = after
			continue
		}
		b.WriteString(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", expanded, fmt.Errorf("${ is not closed with }; write $${ for a literal ${")
		}
		if !isVariable(name) {
			return "", expanded, fmt.Errorf("between ${ and } only the name of a variable may stand: letters, digits and _")
		}
		v, ok := r.env(name)
		if !ok {
			return "", expanded, fmt.Errorf("the environment variable %s is not set", name)
		}
		b.WriteString(v)
		expanded = true
		text = rest
	}
}

func isVariable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

// secret resolves a secret written as ${NAME}, file:PATH or literally. All
// three are treated alike: editors and shells leave one newline at the end of
// a file, so exactly one is removed; any other white space around a secret is
// a slip of the hand that would make every signature fail, and is refused.
func (r refs) secret(text string) (Secret, error) {
	value, expanded, err := r.expand(text)
	if err != nil {
		return Secret{}, err
	}
	label := "literal"
	if expanded {
		label = text // names of variables, no values
		if before, _, _ := strings.Cut(text, "${"); before != "" || strings.Count(text, "${") > 1 || !strings.HasSuffix(text, "}") {
			label = "literal with variables"
		}
	}
	if path, ok := strings.CutPrefix(value, filePrefix); ok {
		// The path is shown as it was written: a variable in it may be private.
		label = filePrefix + strings.TrimPrefix(text, filePrefix)
		if expanded && !strings.HasPrefix(text, filePrefix) {
			label = text
		}
		content, err := r.readFile(path)
		if err != nil {
			return Secret{}, fmt.Errorf("%s cannot be read: %s", label, reason(err))
		}
		if len(content) > maxSecret {
			return Secret{}, fmt.Errorf("%s has %d bytes, more than a secret can have (%d)", label, len(content), maxSecret)
		}
		value = string(content)
	}
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case value == "":
		return Secret{}, fmt.Errorf("the secret from %s is empty", label)
	case strings.TrimFunc(value, isBlank) != value:
		return Secret{}, fmt.Errorf("the secret from %s begins or ends with whitespace; one newline at the end is removed, anything else must be taken away", label)
	}
	return Secret{value, label}, nil
}

func isBlank(c rune) bool { return unicode.IsSpace(c) || c == 0 || c == '\ufeff' }
