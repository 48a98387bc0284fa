package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

var tokens = []api.Token{
	{Name: "wall", Role: api.Viewer, Secret: "viewer-token"},
	{Name: "ops", Role: api.Operator, Secret: "operator-token"},
	{Name: "root", Role: api.Admin, Secret: "admin-token"},
	{Name: "broken", Role: api.Admin, Secret: ""},
}

func TestRolesDecideWhatATokenMayDo(t *testing.T) {
	for _, c := range []struct {
		name, authorization, method, path, body string
		status                                  int
	}{
		{"nobody reads nothing", "", "GET", "/v1/events", "", 401},
		{"a wrong token reads nothing", "Bearer viewer-toke", "GET", "/v1/events", "", 401},
		{"an empty token reads nothing", "Bearer ", "GET", "/v1/events", "", 401},
		{"another scheme reads nothing", "Basic viewer-token", "GET", "/v1/events", "", 401},
		{"nobody reads no metrics", "", "GET", "/metrics", "", 401},
		{"a viewer reads", "Bearer viewer-token", "GET", "/v1/events", "", 200},
		{"the scheme's case does not matter", "bearer viewer-token", "GET", "/v1/events", "", 200},
		{"a viewer reads metrics", "Bearer viewer-token", "GET", "/metrics", "", 200},
		{"a viewer does not decide", "Bearer viewer-token", "POST", "/v1/operations/OP/retry", `{"reason":"x"}`, 403},
		{"a viewer's bad request is refused as the viewer's", "Bearer viewer-token", "POST", "/v1/operations/OP/retry", `{`, 403},
		{"a viewer does not pause", "Bearer viewer-token", "POST", "/v1/destinations/billing/pause", `{"reason":"x"}`, 403},
		{"an operator decides", "Bearer operator-token", "POST", "/v1/operations/OP/retry", `{"reason":"x"}`, 200},
		{"an admin decides", "Bearer admin-token", "POST", "/v1/operations/OP/retry", `{"reason":"x"}`, 200},
		{"a viewer does not replay", "Bearer viewer-token", "POST", "/v1/events/EVENT/replay", `{"mode":"resume","reason":"x"}`, 403},
		{"a viewer does not even try a replay", "Bearer viewer-token", "POST", "/v1/events/EVENT/replay", `{"mode":"resume","reason":"x","dry_run":true}`, 403},
		{"a viewer does not replay many", "Bearer viewer-token", "POST", "/v1/replays", `{"mode":"resume","reason":"x","filter":{"source":"gh"},"expect":1}`, 403},
		{"a viewer does not reject", "Bearer viewer-token", "POST", "/v1/events/EVENT/reject", `{"reason":"x"}`, 403},
		{"a viewer sees an explanation", "Bearer viewer-token", "GET", "/v1/events/EVENT/explain", "", 200},
		{"an operator does not erase", "Bearer operator-token", "POST", "/v1/events/EVENT/erase", `{"reason":"x"}`, 403},
		{"an operator does not erase many", "Bearer operator-token", "POST", "/v1/erasures", `{"reason":"x","filter":{"source":"gh"},"expect":1}`, 403},
		{"an operator replays", "Bearer operator-token", "POST", "/v1/events/EVENT/replay", `{"mode":"resume","reason":"x"}`, 200},
		{"an admin begins an erasure", "Bearer admin-token", "POST", "/v1/erasures", `{"reason":"x","filter":{"source":"gh"},"expect":1}`, 200},
		{"nobody sees that it is alive", "", "GET", "/healthz", "", 200},
		{"nobody sees that it is ready", "", "GET", "/readyz", "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore()
			op := onceward.OperationID{Event: s.add(start, "guid", onceward.DeadLettered), N: 1}
			h := api.New(api.Options{Store: s, Tokens: tokens, Destinations: []string{"billing"}, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("onceward_up 1\n"))
			})})
			w := call(h, c.method, strings.NewReplacer("OP", op.String(), "EVENT", op.Event.String()).Replace(c.path), c.body, "Authorization", c.authorization)
			if c.status != 200 {
				refused(t, w, c.status, "token")
				if len(s.calls) > 0 {
					t.Errorf("calls %v", s.calls)
				}
			} else if w.Code != 200 {
				t.Errorf("answer %d %s", w.Code, w.Body)
			}
			if (c.status == 401) != (w.Header().Get("WWW-Authenticate") == "Bearer") {
				t.Errorf("challenge %q", w.Header().Get("WWW-Authenticate"))
			}
			if strings.Contains(w.Body.String(), "-token") {
				t.Errorf("a token is in the answer: %s", w.Body)
			}
		})
	}
}

func TestPayloadsAreForOperators(t *testing.T) {
	s := newStore()
	id := s.add(start, "guid", onceward.Completed)
	s.payloads[id] = onceward.Payload{Header: []byte("Content-Type: application/json\nX-Github-Event: push\nX-Two: a\nX-Two: b: c\n"), Body: []byte("{\x00}")}
	h := api.New(api.Options{Store: s, Tokens: tokens})
	get := func(token string) api.EventPage {
		return decode[api.EventPage](t, call(h, "GET", "/v1/events/"+id.String(), "", "Authorization", "Bearer "+token))
	}
	if got := get("viewer-token"); got.Payload != nil || got.Headers != nil {
		t.Errorf("a viewer sees %v %v", got.Payload, got.Headers)
	}
	got := get("operator-token")
	if got.Payload == nil || *got.Payload != "ewB9" || len(got.Headers["X-Two"]) != 2 || got.Headers["X-Two"][1] != "b: c" {
		t.Errorf("an operator sees %v %v", got.Payload, got.Headers)
	}
	delete(s.payloads, id)
	if got := get("operator-token"); got.Payload != nil || got.ID != id.String() {
		t.Errorf("a forgotten payload shows as %v", got.Payload)
	}
}

func TestOtherSitesPagesAreKeptOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		tokens  []api.Token
		listen  string
		headers []string
		status  int
	}{
		{"a program on this machine", nil, "127.0.0.1:8081", nil, 200},
		{"localhost by name", nil, "127.0.0.1:8081", []string{"Host", "localhost:8081"}, 200},
		{"loopback of the other family", nil, "127.0.0.1:8081", []string{"Host", "[::1]:8081"}, 200},
		{"the address that is listened on", nil, "admin.test:8081", []string{"Host", "admin.test:8081"}, 200},
		{"a name that was made to point here", nil, "127.0.0.1:8081", []string{"Host", "evil.example:8081"}, 403},
		{"a name that begins like loopback", nil, "127.0.0.1:8081", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"no listen address at all", nil, "", []string{"Host", ""}, 403},
		{"another name, with tokens", tokens, "0.0.0.0:8081", []string{"Host", "ops.example", "Authorization", "Bearer operator-token"}, 200},
		{"a page of another site", nil, "127.0.0.1:8081", []string{"Origin", "https://evil.example"}, 403},
		{"a page of another site that is told by the browser", nil, "127.0.0.1:8081", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page without an origin", nil, "127.0.0.1:8081", []string{"Origin", "null"}, 403},
		{"our own page", nil, "127.0.0.1:8081", []string{"Origin", "http://127.0.0.1:8081"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore()
			op := onceward.OperationID{Event: s.add(start, "guid", onceward.DeadLettered), N: 1}
			h := api.New(api.Options{Store: s, Tokens: c.tokens, Listen: c.listen})
			w := call(h, "POST", "/v1/operations/"+op.String()+"/retry", `{"reason":"x"}`, c.headers...)
			if c.status == 200 && (w.Code != 200 || len(s.calls) != 1) {
				t.Errorf("answer %d %s, calls %v", w.Code, w.Body, s.calls)
			}
			if c.status != 200 {
				refused(t, w, c.status, "")
				if len(s.calls) > 0 {
					t.Errorf("calls %v", s.calls)
				}
			}
		})
	}
}

func TestRoleNames(t *testing.T) {
	for _, role := range []api.Role{api.Viewer, api.Operator, api.Admin} {
		if got, err := api.ParseRole(role.String()); got != role || err != nil {
			t.Errorf("%s: %v %v", role, got, err)
		}
	}
	for _, name := range []string{"nobody", "", "root"} {
		if got, err := api.ParseRole(name); err == nil {
			t.Errorf("%q is %v", name, got)
		}
	}
}
