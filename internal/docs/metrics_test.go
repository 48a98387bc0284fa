package docs

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/telemetry"
)

// metric is what a scrape tells of one metric.
type metric struct {
	kind, help string
	labels     []string
}

func TestTheMetricsAreThoseOfAScrape(t *testing.T) {
	all := scrape(t)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range names {
		m := all[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, m.kind, strings.Join(m.labels, ", "), m.help)
	}
	section(t, "metrics.md", "metrics", b.String())
}

func TestTheDeliveryStatusesAreListed(t *testing.T) {
	section(t, "metrics.md", "statuses", "`"+strings.Join(telemetry.DeliveryStatuses(), "` · `")+"`\n")
}

// scrape reads every metric of ours from a registry in which each has a value.
func scrape(t *testing.T) map[string]*metric {
	t.Helper()
	m := telemetry.New()
	m.Delivery("s", "accepted")
	m.Attempt("o", "completed", time.Millisecond)
	m.Observe(func(context.Context) (telemetry.Snapshot, error) {
		return telemetry.Snapshot{
			Operations: []telemetry.OperationCount{{Operation: "o", State: "unknown_outcome", N: 1}},
			Oldest:     map[string]time.Duration{"o": time.Second},
			Paused:     map[string]bool{"d": true},
		}, nil
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	all := map[string]*metric{}
	for line := range strings.Lines(w.Body.String()) {
		words := strings.Fields(line)
		switch {
		case len(words) > 3 && words[1] == "HELP" && strings.HasPrefix(words[2], "onceward_"):
			all[words[2]] = &metric{help: strings.Join(words[3:], " ")}
		case len(words) == 4 && words[1] == "TYPE" && all[words[2]] != nil:
			all[words[2]].kind = words[3]
		default:
			name, labels, found := strings.Cut(line, "{")
			if known := all[name]; found && known != nil && known.labels == nil {
				known.labels = labelNames(labels)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the scrape has no metric of ours")
	}
	return all
}

func labelNames(text string) (names []string) {
	text, _, _ = strings.Cut(text, "}")
	for pair := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, "`"+name+"`")
	}
	return names
}
