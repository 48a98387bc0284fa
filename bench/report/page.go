package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Page is everything that one measurement found.
type Page struct {
	Date     time.Time
	Took     time.Duration
	Machine  string
	Versions []string
	Method   []string // paragraphs
	Rows     []Row
}

// marker divides what is generated from what people wrote.
const marker = "<!-- below this line: written by hand -->"

// Markdown is the page as it is kept in the documentation, without the part
// that people write.
func (p *Page) Markdown() string {
	var b strings.Builder
	b.WriteString("# Performance\n\nWritten by `make bench` or `make bench-memory`; what stands above the last line is overwritten, what stands below it is kept.\n\n")
	fmt.Fprintf(&b, "- **Date:** %s, %s in all\n", p.Date.UTC().Format(time.DateOnly), p.Took.Round(time.Second))
	fmt.Fprintf(&b, "- **Machine:** %s\n", p.Machine)
	fmt.Fprintf(&b, "- **Versions:** %s\n\n", strings.Join(p.Versions, "; "))
	for _, paragraph := range p.Method {
		b.WriteString(paragraph + "\n\n")
	}
	b.WriteString(Table(p.Rows))
	for _, r := range p.Rows {
		if r.Note != "" {
			fmt.Fprintf(&b, "\n- %s, %s: %s", r.ID, r.What, r.Note)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n\n" + marker + "\n"
}

// Table shows rows with their baselines, spreads and goals.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| # | what | baseline | own | ratio | from–to over the runs | must | aim | reached |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		base, ratio := "–", "–"
		if r.Baseline != nil {
			base, ratio = amount(median(r.Baseline), r.Unit), short(median(r.figures()))
		}
		own := median(r.Own)
		if r.Worst && r.Baseline == nil {
			own = r.Figure()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.ID, r.What, base, amount(own, r.Unit), ratio, r.spread(), r.Must, r.Aim, r.Reached())
	}
	return b.String()
}

func (r *Row) spread() string {
	all := r.figures()
	if len(all) == 0 {
		return "–"
	}
	low, high := all[0], all[0]
	for _, f := range all {
		low, high = min(low, f), max(high, f)
	}
	if r.Baseline == nil {
		return amount(low, r.Unit) + " – " + amount(high, r.Unit)
	}
	return short(low) + " – " + short(high)
}

// Rewrite puts a new page in the place of an old one and keeps what people
// wrote. An old page without a marker was written by people as a whole.
func Rewrite(old, page string) string {
	kept := old
	if _, below, found := strings.Cut(old, marker); found {
		kept = below
	}
	if kept = strings.Trim(kept, "\n"); kept == "" {
		return page
	}
	return page + "\n" + kept + "\n"
}

func amount(f float64, u Unit) string {
	switch {
	case math.IsNaN(f):
		return "–"
	case u == PerSecond:
		return grouped(f) + "/s"
	case u == Milliseconds:
		return short(f) + " ms"
	case u == Megabytes:
		return short(f) + " MB"
	case u == Bytes:
		return grouped(f) + " B"
	}
	return grouped(f)
}

// grouped writes a whole number with a comma at every thousand.
func grouped(f float64) string {
	text := strconv.FormatInt(int64(math.Round(f)), 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// short writes a number with as many places as carry something.
func short(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f):
		return "–"
	case f == math.Trunc(f) || size >= 100:
		return grouped(f)
	case size >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}
