package script_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ask gets a JSON answer of the admin API.
func (w *world) ask(ts *testscript.TestScript, path string, out any) {
	req, err := http.NewRequest(http.MethodGet, w.running(ts).admin+path, nil)
	ts.Check(err)
	if token := ts.Getenv("ONCEWARD_TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // what there is of it
		ts.Fatalf("%s answered %d: %s", path, resp.StatusCode, body)
	}
	ts.Check(json.NewDecoder(resp.Body).Decode(out))
}

// states counts operations by state, all of them or those of one name.
func (w *world) states(ts *testscript.TestScript, operation string) map[string]int {
	var stats struct {
		Operations []struct {
			Name, State string
			Count       int
		}
	}
	w.ask(ts, "/v1/stats", &stats)
	all := map[string]int{}
	for _, c := range stats.Operations {
		if c.Count != 0 && (operation == "" || c.Name == operation) {
			all[c.State] += c.Count
		}
	}
	return all
}

// waitStateCommand waits until exactly so many operations stand in a state:
// wait-state state count [operation].
func waitStateCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2 || len(args) == 3, "wait-state state count [operation]")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	operation := strings.Join(args[2:], "")
	within(ts, fmt.Sprintf("%d operations in %s", want, args[0]), func() (bool, string) {
		now := of(ts).states(ts, operation)
		return now[args[0]] == want, fmt.Sprint(now)
	})
}

// settledCommand waits until automation has nothing left to do.
func settledCommand(ts *testscript.TestScript, neg bool, _ []string) {
	positive(ts, neg)
	settle(ts)
}

func settle(ts *testscript.TestScript) {
	within(ts, "the end of all operations", func() (bool, string) {
		now := of(ts).states(ts, "")
		return now["received"]+now["processing"]+now["dispatched"]+now["failed_before_effect"] == 0, fmt.Sprint(now)
	})
}

// rowsCommand prints what is recorded, by walking the whole listing.
func rowsCommand(ts *testscript.TestScript, neg bool, _ []string) {
	positive(ts, neg)
	w := of(ts)
	events, deliveries, conflicts := 0, 0, 0
	status := map[string]int{}
	for after := ""; ; {
		var page struct {
			Items []struct {
				Status                string
				Deliveries, Conflicts int
			}
			Next string
		}
		w.ask(ts, "/v1/events?limit=500&after="+url.QueryEscape(after), &page)
		for _, e := range page.Items {
			events++
			deliveries += e.Deliveries
			conflicts += e.Conflicts
			status[e.Status]++
		}
		if after = page.Next; after == "" {
			break
		}
	}
	fmt.Fprintf(ts.Stdout(), "events %d\ndeliveries %d\nconflicts %d\n", events, deliveries, conflicts)
	for _, name := range slices.Sorted(maps.Keys(status)) {
		fmt.Fprintf(ts.Stdout(), "%s %d\n", name, status[name])
	}
}

// decideCommand posts to the admin API and prints status and body:
// decide path json. `! decide` expects a refusal.
func decideCommand(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, "decide path json")
	resp, err := http.Post(of(ts).running(ts).admin+args[0], "application/json", bytes.NewReader([]byte(args[1])))
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", resp.StatusCode, body)
	if (resp.StatusCode >= 300) != neg {
		ts.Fatalf("answered %d", resp.StatusCode)
	}
}
