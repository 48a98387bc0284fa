package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// paging are the flags of every listing.
type paging struct {
	Limit int    `help:"How many to print." default:"50" placeholder:"N"`
	After string `help:"Go on behind this cursor." placeholder:"CURSOR"`
	All   bool   `help:"Print all pages."`
}

// maxPage is the most that the API gives at once.
const maxPage = 500

// Validate is called by the parser.
func (p *paging) Validate() error {
	if p.Limit < 1 || p.Limit > maxPage {
		return fmt.Errorf("--limit must be between 1 and %d; --all prints everything", maxPage)
	}
	return nil
}

// column is one column of a listing's text form.
type column[T any] struct {
	title string
	value func(T) string
}

type rawPage struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next"`
}

// list prints a listing, page by page, as it arrives.
func list[T any](ctx context.Context, a *app, path string, query url.Values, p paging, columns []column[T]) error {
	if p.All {
		p.Limit = maxPage
	}
	query.Set("limit", strconv.Itoa(p.Limit))
	out := newListing(a, columns)
	said, printed := time.Now(), 0
	for after := p.After; ; {
		if after != "" {
			query.Set("after", after)
		}
		var page rawPage
		if err := a.api.get(ctx, path, query, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := out.item(item); err != nil {
				return err
			}
		}
		printed += len(page.Items)
		if page.Next == "" || !p.All {
			return out.end(page.Next)
		}
		if page.Next == after {
			return fmt.Errorf("the listing does not go on behind %s", after)
		}
		after = page.Next
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			_, _ = fmt.Fprintf(a.stderr, "onceward: %d so far\n", printed) // progress is not worth failing for
		}
	}
}

// listing writes the items of a listing, as JSON or as a table.
type listing[T any] struct {
	a       *app
	columns []column[T]
	table   *tabwriter.Writer
	items   int
}

func newListing[T any](a *app, columns []column[T]) *listing[T] {
	return &listing[T]{a: a, columns: columns, table: tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)}
}

func (l *listing[T]) item(raw json.RawMessage) error {
	l.items++
	if l.a.json {
		before := ",\n"
		if l.items == 1 {
			before = "{\"items\":[\n"
		}
		_, err := fmt.Fprintf(l.a.stdout, "%s%s", before, raw)
		return err
	}
	var item T
	if err := json.Unmarshal(raw, &item); err != nil {
		return fmt.Errorf("an item of the listing cannot be read: %w", err)
	}
	titles, values := make([]string, len(l.columns)), make([]string, len(l.columns))
	for i, c := range l.columns {
		titles[i], values[i] = c.title, printable(c.value(item))
		if values[i] == "" {
			values[i] = "-"
		}
	}
	if l.items == 1 {
		if _, err := fmt.Fprintln(l.table, strings.Join(titles, "\t")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(l.table, strings.Join(values, "\t"))
	return err
}

func (l *listing[T]) end(next string) error {
	if l.a.json {
		before := "\n"
		if l.items == 0 {
			before = `{"items":[`
		}
		encoded, err := json.Marshal(next)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(l.a.stdout, "%s],\"next\":%s}\n", before, encoded)
		return err
	}
	if err := l.table.Flush(); err != nil {
		return err
	}
	switch {
	case l.items == 0:
		_, _ = fmt.Fprintln(l.a.stderr, "onceward: nothing is recorded that matches") // the empty listing is the answer
	case next != "":
		_, _ = fmt.Fprintf(l.a.stderr, "onceward: there are more; go on with --after %s, or print all with --all\n", next) // as above
	}
	return nil
}

// printJSON prints one value.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable keeps what strangers sent from steering the terminal, or from
// looking like lines of ours.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '·'
	}, text)
}

// printableLines is printable for text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// line writes one line, whatever the arguments hold.
func line(b *strings.Builder, format string, args ...any) {
	b.WriteString(printable(fmt.Sprintf(format, args...)) + "\n")
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// filters are a listing's query without what was not asked for.
func filters(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
