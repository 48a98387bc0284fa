package report_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/bench/report"
)

func TestReached(t *testing.T) {
	half := []float64{1000, 1000, 1000}
	for _, c := range []struct {
		name   string
		row    report.Row
		figure float64
		want   string
	}{
		{"the ratio keeps the aim", report.Row{Baseline: half, Own: []float64{600, 500, 700}, Must: report.AtLeast(0.4), Aim: report.AtLeast(0.55)}, 0.6, "aim"},
		{"the ratio keeps the must alone", report.Row{Baseline: half, Own: []float64{450, 400, 500}, Must: report.AtLeast(0.4), Aim: report.AtLeast(0.55)}, 0.45, "must"},
		{"the ratio keeps neither", report.Row{Baseline: half, Own: []float64{350, 300, 900}, Must: report.AtLeast(0.4), Aim: report.AtLeast(0.55)}, 0.35, "**no**"},
		{"each run is compared with its own baseline", report.Row{Baseline: []float64{100, 200, 400}, Own: []float64{50, 100, 200}, Must: report.AtLeast(0.5)}, 0.5, "must"},
		{"an upper bound", report.Row{Own: []float64{70, 60, 65}, Must: report.AtMost(96), Aim: report.AtMost(64)}, 65, "must"},
		{"the worst run is judged where that was said", report.Row{Own: []float64{0, 0, 1}, Must: report.AtMost(0), Worst: true}, 1, "**no**"},
		{"the worst of a lower bound is the smallest", report.Row{Own: []float64{3, 2, 9}, Must: report.AtLeast(2), Worst: true}, 2, "must"},
		{"two runs have a median between them", report.Row{Own: []float64{1, 2}, Must: report.AtMost(1.5)}, 1.5, "must"},
		{"no goal", report.Row{Own: []float64{1}}, 1, "–"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.row.Figure(); got != c.figure {
				t.Errorf("figure %v, want %v", got, c.figure)
			}
			if got := c.row.Reached(); got != c.want {
				t.Errorf("reached %q, want %q", got, c.want)
			}
		})
	}
	if got := (&report.Row{Must: report.AtLeast(1)}).Reached(); got != "not measured" {
		t.Errorf("without a run: %q", got)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

func page() *report.Page {
	return &report.Page{
		Date: time.Date(2026, 3, 1, 23, 0, 0, 0, time.FixedZone("", -3*3600)), Took: 9*time.Minute + 12_400*time.Millisecond,
		Machine: "2 cores, Linux 6.18, ext4", Versions: []string{"onceward 1.0", "go1.26"}, Method: []string{"One.", "Two."},
		Rows: []report.Row{
			{ID: "P1", What: "intake", Baseline: []float64{30_000, 31_234.4, 29_000}, Own: []float64{15_000, 15_500, 15_200}, Must: report.AtLeast(0.4), Aim: report.AtLeast(0.55), Note: "1.9 cores"},
			{ID: "P5", What: "p99", Baseline: []float64{127}, Own: []float64{2.345}, Unit: report.Milliseconds, Must: report.AtMost(1), Aim: report.AtMost(0.5)},
			{ID: "P6", What: "ids without one effect", Own: []float64{0, 0, 0}, Unit: report.Number, Must: report.AtMost(0), Worst: true},
			{ID: "P8", What: "memory", Own: []float64{61.23, 75.5}, Unit: report.Megabytes, Must: report.AtMost(96), Aim: report.AtMost(64), Worst: true},
			{ID: "P9", What: "on disk", Baseline: []float64{1024}, Own: []float64{512.4}, Unit: report.Bytes, Must: report.AtMost(1.6)},
			{ID: "P0", What: "nothing came back", Own: nil, Must: report.AtMost(1)},
		},
	}
}

func TestMarkdown(t *testing.T) {
	const golden = "testdata/page.md"
	got := page().Markdown()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the page changed; look at it, then: go test ./bench/report -update\n%s", diff)
	}
}

func TestRewrite(t *testing.T) {
	fresh := page().Markdown()
	for _, c := range []struct{ name, old, want string }{
		{"there was no page", "", fresh},
		{"nobody wrote anything", fresh, fresh},
		{"what stands below the marker stays", strings.Replace(fresh, "P1", "P7", 1) + "\n## Tried\n\n- pages of 8 KiB: slower\n", fresh + "\n## Tried\n\n- pages of 8 KiB: slower\n"},
		{"a page without a marker stays as a whole", "# Notes\n\nby hand\n", fresh + "\n# Notes\n\nby hand\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := report.Rewrite(c.old, fresh)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if again := report.Rewrite(got, fresh); again != got {
				t.Errorf("a second time changes it:\n%s", cmp.Diff(got, again))
			}
		})
	}
}
