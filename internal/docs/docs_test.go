// Package docs keeps the reference pages true. What can be derived from the
// code is a section between two marks in its page; the tests fail when code and
// page differ, and write the section anew with -update. What stands around a
// section is written by hand.
package docs

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the derived sections")

// section compares what stands between the marks of that name in a page below
// docs/reference with what the code says.
func section(t *testing.T, page, name, want string) {
	t.Helper()
	path := "../../docs/reference/" + page
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- derived: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no section between %q and %q", path, begin, end)
	}
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("%s: section %s differs from the code; look at it, then: go test ./internal/docs -update\n%s", path, name, want)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
