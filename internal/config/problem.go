package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Problem is one thing wrong with a configuration, and the rule it breaks.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
	Rule   string `json:"rule"`
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Rule)
	return b.String()
}

// Problems is everything wrong with a configuration, in the order of its lines.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

type position struct{ line, column int }

// report collects problems and knows where each field stands in the file.
type report struct {
	file     string
	at       map[string]position
	problems Problems
}

// add reports a broken rule at a field, or at the nearest thing around it that
// the file does have.
func (r *report) add(field, format string, args ...any) {
	r.addAt(r.near(field), field, format, args...)
}

func (r *report) addAt(p position, field, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, p.line, p.column, field, fmt.Sprintf(format, args...)})
}

func (r *report) near(field string) position {
	for ; field != ""; field = parent(field) {
		if p, ok := r.at[field]; ok {
			return p
		}
	}
	return position{1, 1}
}

func parent(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

// besides returns the problems that are not about what others are about
// already: a field that could not be read breaks rules, too, which says nothing
// new.
func (r *report) besides(others Problems) (rest Problems) {
	related := func(a, b string) bool {
		return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[")
	}
	for _, p := range r.problems {
		if !slices.ContainsFunc(others, func(o Problem) bool { return related(p.Field, o.Field) || related(o.Field, p.Field) }) {
			rest = append(rest, p)
		}
	}
	return rest
}

func (r *report) sorted() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.problems
}

// reason is why a file cannot be read, without its path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// nearest finds the candidate that a misspelt name most likely meant, as a
// question to put behind a message; empty when none is close.
func nearest(name string, candidates []string) string {
	best, distance := "", max(len(name)/3, 1)+1
	for _, c := range candidates {
		if d := edits(name, c); d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits is the Levenshtein distance, for names only: longer texts are far.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Wrong reports a rule about a field that only the caller knows, at the
// field's place in the file.
func (c *Config) Wrong(field, rule string) Problem {
	r := report{file: c.file, at: c.at}
	r.add(field, "%s", rule)
	return r.problems[0]
}
