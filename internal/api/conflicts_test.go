package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/api"
)

// contradicted is a store with one conflict about a held event.
func contradicted(t *testing.T, first, second string) (s *store, conflict string) {
	t.Helper()
	s = newStore()
	id := s.add(start, "guid", onceward.Quarantined)
	e := s.histories[id].Event
	e.Operations[0].Reason = onceward.Contradicted
	const number = 77
	s.conflicts = map[int64]onceward.Conflict{number: {
		Evidence: onceward.Evidence{ID: number, Event: id, At: start, Count: 2, Type: "push", Payload: onceward.Payload{Body: []byte(second)}},
		Of:       e, First: onceward.Payload{Body: []byte(first)}, KeptFirst: true, KeptSecond: true,
	}}
	return s, "/v1/conflicts/" + onceward.ConflictName(number)
}

func TestAConflictShowsWhereItsBodiesDiffer(t *testing.T) {
	s, path := contradicted(
		t,
		`{"id":"1","amount":10000000000000000001,"note":"a","gone":true,"lines":[{"n":1},{"n":2}],"deep":{"same":[1,2]}}`,
		`{"amount":10000000000000000002,"id":"1","note":"a","new":null,"lines":[{"n":1},{"n":3},4],"deep":{"same":[1,2]}}`,
	)
	got := decode[api.ConflictPage](t, call(api.New(api.Options{Store: s}), "GET", path, ""))
	want := []api.Difference{
		{Path: "amount", Change: "changed", First: "10000000000000000001", Second: "10000000000000000002"},
		{Path: "gone", Change: "removed", First: "true"},
		{Path: "lines[1].n", Change: "changed", First: "2", Second: "3"},
		{Path: "lines[2]", Change: "added", Second: "4"},
		{Path: "new", Change: "added", Second: "null"},
	}
	if diff := cmp.Diff(want, got.Diff); diff != "" || !got.JSON || got.First.Payload == nil {
		t.Errorf("%s json %t", diff, got.JSON)
	}
}

func TestAConflictOfBodiesThatAreNoJSONShowsSizesAndHashes(t *testing.T) {
	s, path := contradicted(t, "a=1", "a=2&b=3")
	got := decode[api.ConflictPage](t, call(api.New(api.Options{Store: s}), "GET", path, ""))
	if got.JSON || len(got.Diff) != 0 || got.First.Bytes != 3 || got.Second.Bytes != 7 || len(got.First.SHA256) != 64 {
		t.Errorf("%+v", got)
	}
}

func TestViewersSeeConflictsWithoutBodies(t *testing.T) {
	s, path := contradicted(t, `{"a":"private"}`, `{"a":"personal"}`)
	h := api.New(api.Options{Store: s, Tokens: []api.Token{{Name: "wall", Role: api.Viewer, Secret: "viewer-token"}}})
	w := call(h, "GET", path, "", "Authorization", "Bearer viewer-token")
	got := decode[api.ConflictPage](t, w)
	if w.Code != 200 || got.First.Payload != nil || got.Second.Payload != nil || len(got.Diff) != 0 || !got.JSON {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	refused(t, call(h, "POST", path+"/resolve", `{"keep":"first","reason":"x"}`, "Authorization", "Bearer viewer-token"), 403, "operator")
}

func TestAConflictIsResolvedEitherWay(t *testing.T) {
	for _, c := range []struct{ keep, did, state string }{
		{"first", "retried", "received"},
		{"second", "superseded", "completed"},
		{"neither", "given_up", "dead_lettered"},
	} {
		t.Run(c.keep, func(t *testing.T) {
			s, path := contradicted(t, `{"a":1}`, `{"a":2}`)
			woken := 0
			h := api.New(api.Options{
				Store: s, Wake: func() { woken++ },
				RereadBody: func(_ onceward.Event, p onceward.Payload) *onceward.Arrival {
					return &onceward.Arrival{Raw: p.Body, Operations: []onceward.Planned{{Name: "work1", Effect: onceward.Keyed}}}
				},
			})
			w := call(h, "POST", path+"/resolve", `{"keep":"`+c.keep+`","reason":"they said so"}`)
			got := decode[api.ReplayAnswer](t, w)
			if w.Code != 200 || got.Items[0].Did != c.did || got.Items[0].State != c.state || woken != 1 {
				t.Errorf("%d %s, woken %d", w.Code, w.Body, woken)
			}
			if c.keep == "second" && (len(got.Items) != 2 || got.Items[1].Did != "revised" || got.Items[1].Key == got.Items[0].Key) {
				t.Errorf("%s", w.Body)
			}
			if diff := cmp.Diff([]onceward.Decision{{Actor: api.Local, Reason: "they said so"}}, s.decided); diff != "" {
				t.Error(diff)
			}
		})
	}
	s, path := contradicted(t, `{"a":1}`, `{"a":2}`)
	h := api.New(api.Options{Store: s})
	refused(t, call(h, "POST", path+"/resolve", `{"keep":"second","reason":"x"}`), 409, "nobody can say")
	refused(t, call(h, "POST", path+"/resolve", `{"keep":"both","reason":"x"}`), 422, "keep")
	refused(t, call(h, "GET", "/v1/conflicts/con_0000000000000", ""), 404, "not found")
	refused(t, call(h, "GET", "/v1/conflicts/7", ""), 422, "con_")
}
