// Package archtest holds the import rules of CONTRIBUTING.md as a test: who may
// know whom. An edge that the table lacks fails the build.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

const module = "github.com/onceward/onceward"

// allowed says which of our packages a package may import, by path below the
// module. Packages that it lacks may not exist.
var allowed = map[string][]string{
	"":                     {},
	"provider":             {""},
	"sqlitestore":          {"", "internal/batch"},
	"internal/batch":       {},
	"internal/config":      {},
	"internal/telemetry":   {},
	"internal/intake":      {"", "provider", "internal/batch", "internal/telemetry"},
	"internal/forward":     {"", "internal/telemetry"},
	"internal/dispatch":    {"", "internal/forward", "internal/telemetry"},
	"internal/reconcile":   {"", "internal/telemetry"},
	"internal/sweep":       {"", "internal/telemetry"},
	"internal/bulk":        {"", "internal/telemetry"},
	"internal/api":         {"", "internal/telemetry"},
	"internal/poll":        {"internal/telemetry"},
	"internal/backfill":    {},
	"internal/keys":        {},
	"internal/storetest":   {""},
	"internal/explore":     {""},
	"internal/testkit":     {""},
	"internal/gateway":     anything,
	"cmd/onceward":         anything,
	"bench":                anything,
	"bench/load":           {"bench/event"},
	"bench/event":          {},
	"bench/report":         {},
	"internal/archtest":    {},
	"test/script":          anything,
	"test/torture":         anything,
	"internal/docs":        anything,
	"internal/gateway/try": anything,
}

var anything = []string{"*"}

// testOnly packages are never imported by anything that ends in a binary.
var testOnly = []string{"testing", module + "/internal/storetest", module + "/internal/testkit", module + "/internal/explore"}

// maxFanOut is how many of our packages one may know; the wiring is excepted.
const maxFanOut = 6

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, known := allowed[from]
		if !known {
			t.Errorf("%s has no place in the table of internal/archtest; give it one, with its imports", from)
			continue
		}
		ours := 0
		for _, i := range p.Imports {
			if slices.Contains(testOnly, i) && !slices.Contains(testOnly, p.ImportPath) {
				t.Errorf("%s imports %s, which is for tests", from, i)
			}
			to, mine := strings.CutPrefix(i, module)
			if from == "" && !mine && strings.Contains(strings.Split(i, "/")[0], ".") {
				t.Errorf("the root imports %s; it may import the standard library only", i)
			}
			if !mine {
				continue
			}
			ours++
			to = strings.TrimPrefix(to, "/")
			if !slices.Contains(may, "*") && !slices.Contains(may, to) {
				t.Errorf("%s imports %s; rooms do not import each other (CONTRIBUTING.md has the table)", from, to)
			}
		}
		if ours > maxFanOut && !slices.Contains(may, "*") {
			t.Errorf("%s knows %d of our packages, more than %d", from, ours, maxFanOut)
		}
	}
}

func TestRootDocumentation(t *testing.T) {
	const golden = "testdata/root.txt"
	out, err := exec.Command("go", "doc", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, want) {
		t.Errorf("the root's go doc changed; look at it, then: go test ./internal/archtest -update\n%s", out)
	}
	if lines := bytes.Count(out, []byte("\n")); lines > 120 {
		t.Errorf("the root's go doc has %d lines; three screens hold 120", lines)
	}
}
