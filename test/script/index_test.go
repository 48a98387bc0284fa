package script_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	indexRow   = regexp.MustCompile(`(?m)^\| ([0-9]+(?:, [0-9]+)*) [^|]*\| ([^|]+) \|$`)
	quoted     = regexp.MustCompile("`([^`]+)`")
	testNames  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	groupNames = regexp.MustCompile(`"(\w+)": (\w+)Cases\b`)
)

// TestTheIndexNamesWhatExists holds the table of numbered cases in README.md
// against the tests, stories and groups that there are.
func TestTheIndexNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## The contract's numbered test cases\n")
	table, _, closed := strings.Cut(table, "\n## ")
	if !found || !closed {
		t.Fatal("README.md has no section with the numbered test cases")
	}
	known := exists(t)
	where := map[int]string{}
	for _, row := range indexRow.FindAllStringSubmatch(table, -1) {
		for number := range strings.SplitSeq(row[1], ", ") {
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			if where[n] != "" {
				t.Errorf("case %d has two rows", n)
			}
			where[n] = row[2]
		}
		names := quoted.FindAllStringSubmatch(row[2], -1)
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("case %s: there is no %s", row[1], name[1])
			}
		}
		if len(names) == 0 {
			t.Errorf("case %s names nothing that shows it", row[1])
		}
	}
	for n := 45; n <= 99; n++ {
		if where[n] == "" {
			t.Errorf("case %d has no row", n)
		}
	}
}

// exists are the names of every story, test function and group of storetest.
func exists(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			known[strings.TrimSuffix(d.Name(), ".txtar")] = true
			return nil
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range testNames.FindAllStringSubmatch(string(text), -1) {
			known[name[1]] = true
		}
		if strings.Contains(path, "internal/storetest/") {
			for _, name := range groupNames.FindAllStringSubmatch(string(text), -1) {
				known[name[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
