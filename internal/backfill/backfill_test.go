package backfill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/backfill"
)

var now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func options(t *testing.T, server *httptest.Server) (backfill.Options, *[]time.Duration) {
	t.Helper()
	t.Cleanup(server.Close)
	var waits []time.Duration
	return backfill.Options{
		API: server.URL, Token: "sekrit-token", Hook: "repos/example/shop/hooks/42", Since: now.Add(-48 * time.Hour), Log: slog.New(slog.DiscardHandler),
		Now:  func() time.Time { return now },
		Wait: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
	}, &waits
}

// fakeStripe lists n events, newest first, and says once that it is asked too
// often.
func fakeStripe(t *testing.T, n int) *httptest.Server {
	limited := false
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sekrit-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		q := r.URL.Query()
		if r.URL.Path != "/v1/events" || q.Get("created[gte]") != fmt.Sprint(now.Add(-48*time.Hour).Unix()) {
			t.Errorf("asked for %s", r.URL)
		}
		if q.Get("starting_after") != "" && !limited {
			limited = true
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		first := n
		if after := q.Get("starting_after"); after != "" {
			fmt.Sscanf(after, "evt_%d", &first)
			first--
		}
		var data []json.RawMessage
		for i := first; i > max(first-100, 0); i-- {
			data = append(data, json.RawMessage(fmt.Sprintf(`{"id":"evt_%d","object":"event"}`, i)))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "has_more": first > 100})
	}))
}

func TestStripesEventsAreAllBroughtIn(t *testing.T) {
	o, waits := options(t, fakeStripe(t, 250))
	got := map[string]int{}
	o.Deliver = func(_ context.Context, body []byte) (string, error) {
		got[string(body)]++
		if len(got)%2 == 0 {
			return "duplicate", nil
		}
		return "accepted", nil
	}
	r, err := backfill.Run(context.Background(), "stripe", o)
	if err != nil || r.Seen != 250 || len(got) != 250 || r.Outcomes["accepted"] != 125 || r.Outcomes["duplicate"] != 125 {
		t.Fatalf("%v, %v; %d brought in", r, err, len(got))
	}
	for body, n := range got {
		if n != 1 {
			t.Errorf("%s came %d times", body, n)
		}
	}
	if !slices.Equal(*waits, []time.Duration{3 * time.Second}) {
		t.Errorf("waited %v for the rate limit", *waits)
	}
}

func TestADryRunBringsNothingIn(t *testing.T) {
	o, _ := options(t, fakeStripe(t, 7))
	o.DryRun = true
	o.Deliver = func(context.Context, []byte) (string, error) {
		t.Error("something was brought in")
		return "", nil
	}
	if r, err := backfill.Run(context.Background(), "stripe", o); err != nil || r.Seen != 7 {
		t.Fatalf("%v, %v", r, err)
	}
}

func TestAWrongTokenIsSaidWithoutShowingIt(t *testing.T) {
	o, _ := options(t, fakeStripe(t, 7))
	o.Token = "guessed-token"
	o.Deliver = func(context.Context, []byte) (string, error) { return "", nil }
	_, err := backfill.Run(context.Background(), "stripe", o)
	if err == nil || !strings.Contains(err.Error(), "backfill.token") || strings.Contains(err.Error(), "guessed") {
		t.Fatal(err)
	}
}

// The token is for the configured address only, whatever that answers.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other++ }))
	defer elsewhere.Close()
	o, _ := options(t, httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/events", http.StatusTemporaryRedirect)))
	o.Deliver = func(context.Context, []byte) (string, error) { return "accepted", nil }
	_, err := backfill.Run(context.Background(), "stripe", o)
	if err == nil || !strings.Contains(err.Error(), "redirects are not followed") || other != 0 {
		t.Errorf("%v; the other address was asked %d times", err, other)
	}
}

// A list that gives the same page for ever is given up, not read for ever.
func TestAListThatDoesNotMoveOnIsGivenUp(t *testing.T) {
	asked := 0
	o, _ := options(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"data": [{"id": "evt_1"}], "has_more": true}`))
	})))
	o.Deliver = func(context.Context, []byte) (string, error) { return "accepted", nil }
	_, err := backfill.Run(context.Background(), "stripe", o)
	if err == nil || !strings.Contains(err.Error(), "does not end") || asked != 2 {
		t.Errorf("%v after %d pages", err, asked)
	}
}

type delivery struct {
	ID     int64     `json:"id"`
	GUID   string    `json:"guid"`
	At     time.Time `json:"delivered_at"`
	Status int       `json:"status_code"`
}

// fakeGitHub lists deliveries two to a page and counts what it is asked to send
// again.
func fakeGitHub(list []delivery, again map[string]int) *httptest.Server {
	limited := false
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const base = "/repos/example/shop/hooks/42/deliveries"
		if r.Method == http.MethodPost {
			again[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, base+"/"), "/attempts")]++
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !limited {
			limited = true
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", fmt.Sprint(now.Add(30*time.Second).Unix()))
			w.WriteHeader(http.StatusForbidden)
			return
		}
		from := 0
		fmt.Sscan(r.URL.Query().Get("cursor"), &from)
		to := min(from+2, len(list))
		if to < len(list) {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?per_page=100&cursor=%d>; rel="next"`, server.URL, base, to))
		}
		_ = json.NewEncoder(w).Encode(list[from:to])
	}))
	return server
}

func TestGitHubIsAskedForWhatNoDeliveryOfSucceeded(t *testing.T) {
	again := map[string]int{}
	ago := func(h time.Duration) time.Time { return now.Add(-h * time.Hour) }
	o, waits := options(t, fakeGitHub([]delivery{
		{10, "e", ago(1), 200},  // e failed first, then came
		{9, "d", ago(2), 503},   // d failed twice: the last is asked for
		{8, "d", ago(3), 0},     //
		{7, "c", ago(4), 200},   // c came
		{6, "e", ago(5), 500},   //
		{5, "b", ago(6), 404},   // b never came
		{4, "a", ago(100), 500}, // too long ago
	}, again))
	r, err := backfill.Run(context.Background(), "github", o)
	if err != nil || r.Seen != 6 || r.Outcomes["asked to be sent again"] != 2 || r.Outcomes["received"] != 2 {
		t.Fatalf("%v, %v", r, err)
	}
	if len(again) != 2 || again["5"] != 1 || again["8"]+again["9"] != 1 {
		t.Errorf("asked for %v", again)
	}
	if !slices.Equal(*waits, []time.Duration{30 * time.Second}) {
		t.Errorf("waited %v for the rate limit", *waits)
	}
}

func TestANextPageOnAnotherHostIsNotFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `<https://elsewhere.example.com/page2>; rel="next"`)
		fmt.Fprint(w, `[]`)
	}))
	o, _ := options(t, server)
	if _, err := backfill.Run(context.Background(), "github", o); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Fatal(err)
	}
}

func TestOthersAreRefused(t *testing.T) {
	if _, err := backfill.Run(context.Background(), "fax", backfill.Options{}); err == nil {
		t.Fatal(err)
	}
}
