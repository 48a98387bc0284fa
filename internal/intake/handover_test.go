package intake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/provider"
	"github.com/onceward/onceward/sqlitestore"
)

func TestPlacesAreStartedForNewEventsAndReleasedOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		first, body       string
		free              int
		reserved, started int
		released, waked   int
	}{
		"a new event":                 {"", paid, 1, 1, 1, 0, 0},
		"a new event without a place": {"", paid, 0, 0, 0, 0, 1},
		"a duplicate":                 {paid, paid, 2, 2, 1, 1, 0},
		"a duplicate without a place": {paid, paid, 0, 0, 0, 0, 1},
		"a copy written anew":         {paid, paid + " ", 2, 2, 1, 1, 0},
		"a conflict":                  {paid, strings.Replace(paid, "5", "6", 1), 2, 2, 1, 1, 0},
		"quarantined":                 {"", "hello", 1, 0, 0, 0, 0},
		"an event that nobody wants":  {"", `{"id":"e1","type":"user.made"}`, 1, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) { r.places.free = c.free })
			if c.first != "" {
				r.deliver(c.first).want(t, 200, "accepted")
			}
			r.deliver(c.body)
			r.places.want(t, c.reserved, c.started, c.released, c.waked)
		})
	}
}

func TestAWorkerIsGivenTheWholeEvent(t *testing.T) {
	r := newRig(t, shop(), func(r *rig) { r.places.free = 1 })
	a := r.deliver(paid, "Content-Type", "application/json")
	l := r.places.leased[0]
	if l.Event.ID.String() != a.json["event"] || l.Event.EventID != "e1" || l.Event.Type != "order.paid" || l.Event.Source != "shop" || l.Event.Key.IsZero() {
		t.Errorf("event %+v", l.Event)
	}
	if string(l.Payload.Body) != paid || !strings.Contains(string(l.Payload.Header), "Content-Type: application/json\n") {
		t.Errorf("payload %s", l.Payload.Header)
	}
	if l.Lease.Owner != "worker" || l.Lease.Fence != 1 || l.Lease.Attempt != 1 || !l.Lease.Until.Equal(noon.Add(time.Minute)) || l.Lease.Operation != l.Operation.ID {
		t.Errorf("lease %+v of %+v", l.Lease, l.Operation)
	}
}

func TestSeveralOperationsAndWhatTheyWant(t *testing.T) {
	r := newRig(t, shop(), func(r *rig) {
		r.source.Operations = []intake.Operation{
			{Name: "exact", Types: []string{"order.paid"}, Effect: onceward.Keyed},
			{Name: "all", Effect: onceward.Keyed},
			{Name: "other", Types: []string{"order.pai", "order.paid.*", "user.*"}, Effect: onceward.Keyed},
			{Name: "prefix", Types: []string{"x", "ord*"}, Effect: onceward.Unsafe},
		}
		r.places.free = 2
	})
	a := r.deliver(paid)
	var names []string
	for _, o := range a.json["operations"].([]any) {
		names = append(names, fmt.Sprint(o.(map[string]any)["name"], " ", o.(map[string]any)["state"]))
	}
	if got := strings.Join(names, ", "); got != "exact processing, all processing, prefix received" {
		t.Errorf("operations %s", got)
	}
	r.places.want(t, 2, 2, 0, 1)
}

func TestWhenTheStoreDoesNotAnswer(t *testing.T) {
	for name, fail := range map[string]func(*rig){
		"it fails":                            func(r *rig) { r.store.err = fmt.Errorf("%w: disk", onceward.ErrUnavailable) },
		"it fails in a way that nobody knows": func(r *rig) { r.store.err = errors.New("what") },
		"it hangs":                            func(r *rig) { r.store.hang = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) {
				fail(r)
				r.places.free = 1
				r.options.Commit = 10 * time.Millisecond
				r.options.MaxRequests = 1
			})
			a := r.deliver(paid)
			a.refused(t, http.StatusServiceUnavailable, "store-unavailable")
			if a.Header.Get("Retry-After") == "" || a.Header.Get("Onceward-Event") != "" {
				t.Errorf("headers %v", a.Header)
			}
			r.counted("unavailable")
			r.places.want(t, 1, 0, 1, 0)
			r.store.err, r.store.hang = nil, false
			r.deliver(paid).want(t, 200, "accepted") // and the sender's next attempt is the first
		})
	}
	t.Run("while it decides about other content", func(t *testing.T) {
		r := newRig(t, shop())
		r.deliver(paid)
		r.store.copyErr = onceward.ErrUnavailable
		r.deliver(paid+" ").refused(t, 503, "store-unavailable")
		r.deliver(strings.Replace(paid, "5", "6", 1)).refused(t, 503, "store-unavailable")
	})
}

func TestWhatASenderSentIsRecordedWhenItHangsUp(t *testing.T) {
	r := newRig(t, shop())
	ctx, cancel := context.WithCancel(context.Background())
	r.store.late = func(until time.Time) {
		cancel() // the sender goes while its delivery is on the way
		if until.IsZero() {
			t.Error("the store may take as long as it likes")
		}
	}
	r.send(r.signed(paid).WithContext(ctx))
	if len(r.store.admissions) != 1 {
		t.Error("the delivery was not recorded")
	}
	r.counted("accepted")
}

func TestKeptHeaders(t *testing.T) {
	header := []string{
		"X-Two", "b", "X-Two", "a", "X-Gitlab-Event", "Push Hook", "Cookie", "session=hidden-1", "Authorization", "Bearer hidden-2",
		"Proxy-Authorization", "hidden-3", "Connection", "close", "Te", "trailers", "Upgrade", "h2c", "Content-Type", "application/json",
	}
	r := newRig(t, provider.Options{Provider: "gitlab", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}})
	q := r.signed(`{"object_kind":"push"}`, header...)
	q.Header.Set("X-Gitlab-Event-Uuid", "u1")
	q.Header.Set("Idempotency-Key", "k1")
	if q.Header.Get("X-Gitlab-Token") != sharedSecret {
		t.Fatal("this test is about a token that travels")
	}
	if a := r.send(q); a.StatusCode != 200 {
		t.Fatalf("answered %d %s", a.StatusCode, a.text)
	}
	got := string(r.store.admissions[0].Header)
	for _, gone := range []string{"hidden", sharedSecret, "Connection", "Te:", "Upgrade", "Gitlab-Token"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s was kept:\n%s", gone, got)
		}
	}
	for _, kept := range []string{"X-Two: b\nX-Two: a\n", "X-Gitlab-Event: Push Hook\n", "Content-Type: application/json\n"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q was not kept:\n%s", kept, got)
		}
	}
}

func TestTheAddressThatADeliveryCameFrom(t *testing.T) {
	trusted := []string{"10.0.0.0/8", "fd00::/8"}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		trusted   []string
		want      string
	}{
		"no proxies are trusted":             {"10.0.0.1:9", []string{"192.0.2.7"}, nil, "10.0.0.1"},
		"the peer is not a proxy":            {"198.51.100.4:9", []string{"192.0.2.7"}, trusted, "198.51.100.4"},
		"the peer is a proxy":                {"10.0.0.1:9", []string{"192.0.2.7"}, trusted, "192.0.2.7"},
		"the sender invents a hop":           {"10.0.0.1:9", []string{"203.0.113.1, 192.0.2.7"}, trusted, "192.0.2.7"},
		"the sender invents a header":        {"10.0.0.1:9", []string{"203.0.113.1", "192.0.2.7"}, trusted, "192.0.2.7"},
		"two proxies":                        {"10.0.0.1:9", []string{"192.0.2.7, 10.0.0.2"}, trusted, "192.0.2.7"},
		"the sender invents a trusted proxy": {"10.0.0.1:9", []string{"10.9.9.9, 192.0.2.7"}, trusted, "192.0.2.7"},
		"a hop that is no address":           {"10.0.0.1:9", []string{"evil\x01"}, trusted, "10.0.0.1"},
		"no header":                          {"10.0.0.1:9", nil, trusted, "10.0.0.1"},
		"IPv6":                               {"[fd00::1]:9", []string{"2001:db8::5"}, trusted, "2001:db8::5"},
		"IPv4 inside IPv6":                   {"[::ffff:10.0.0.1]:9", []string{"192.0.2.7"}, trusted, "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop(), func(r *rig) { r.options.TrustedProxies = prefixes(c.trusted) })
			q := r.signed(paid)
			q.RemoteAddr = c.peer
			q.Header["X-Forwarded-For"] = c.forwarded
			r.send(q)
			if got := r.store.admissions[0].Remote; got != c.want {
				t.Errorf("from %q, want %q", got, c.want)
			}
		})
	}
}

func TestIntakeOnTheRealStore(t *testing.T) {
	store, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "onceward.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	r := newRig(t, shop(), func(r *rig) {
		r.options.Store, r.options.Peppers = store, store.Peppers()
		r.options.Now, r.places.free = time.Now, 1
	})
	server := httptest.NewServer(r.handler)
	defer server.Close()
	post := func(body string) answer {
		q := r.signed(body)
		out, err := http.NewRequest(http.MethodPost, server.URL+"/in/shop", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		out.Header = q.Header
		response, err := server.Client().Do(out)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, response)
	}
	first := post(paid)
	first.want(t, 200, "accepted")
	for _, c := range [][2]string{
		{paid, "duplicate"},
		{paid + "\n", "duplicate"},
		{strings.Replace(paid, "5", "6", 1), "conflict"},
		{"hello", "quarantined"},
		{"hello", "duplicate"},
		{`{"id":"e2","type":"user.made"}`, "ignored"},
	} {
		post(c[0]).want(t, 200, c[1])
	}
	id, err := onceward.ParseEventID(first.Header.Get("Onceward-Event"))
	if err != nil {
		t.Fatal(err)
	}
	history, err := store.History(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if e := history.Event; e.Deliveries != 4 || e.Conflicts != 1 || len(e.Operations) != 1 || len(history.Conflicts) != 1 {
		t.Errorf("event %+v with %d pieces of evidence", e, len(history.Conflicts))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	post(`{"id":"e3","type":"order.paid"}`).refused(t, 503, "store-unavailable")
	r.places.want(t, 1, 1, 0, 0)
}
