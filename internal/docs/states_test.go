package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestTheDiagramIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	type edge struct{ from, to onceward.State }
	var order []edge
	names := map[edge][]string{}
	for _, tr := range onceward.Transitions() {
		e := edge{tr.From, tr.To}
		if names[e] == nil {
			order = append(order, e)
		}
		names[e] = append(names[e], tr.Name)
	}
	for _, e := range order {
		from := e.from.String()
		if e.from == 0 {
			from = "[*]"
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", from, e.to, strings.Join(names[e], ", "))
	}
	b.WriteString("```\n")
	section(t, "states.md", "diagram", b.String())
}

func TestTheTransitionsAreTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| # | from | to | who | what must hold, in the same write |\n|---|---|---|---|---|\n")
	for _, tr := range onceward.Transitions() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", tr.Name, tr.From, tr.To, tr.By, tr.Guard)
	}
	section(t, "states.md", "transitions", b.String())
}

func TestEveryStateIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/states.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range onceward.States() {
		if !strings.Contains(string(text), "| `"+s.String()+"` | ") {
			t.Errorf("states.md does not explain %s", s)
		}
	}
}
