package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/internal/testkit"
	"github.com/onceward/onceward/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const sharedSecret = "not-to-be-seen-anywhere-0123456789"

// memoryStore records what intake asks of a store. It knows events by digest,
// as a store does, and can fail or hang.
type memoryStore struct {
	mu         sync.Mutex
	ids        onceward.EventIDs
	known      map[onceward.Digest]*onceward.Admitted
	payloads   map[onceward.EventID]onceward.Payload
	content    map[onceward.EventID][32]byte
	admissions []*onceward.Admission
	calls      int // of any method
	copies     int
	conflicts  []onceward.OnConflict // the policy, of each
	contents   [][32]byte            // under which content each was recorded
	rivals     []onceward.Evidence
	err        error
	copyErr    error // of what is recorded about known events
	hang       bool
	lost       bool            // payloads are no longer kept
	late       func(time.Time) // told the deadline of a delivery, while it waits
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		known: map[onceward.Digest]*onceward.Admitted{}, payloads: map[onceward.EventID]onceward.Payload{}, content: map[onceward.EventID][32]byte{},
	}
}

func (s *memoryStore) Admit(ctx context.Context, a *onceward.Admission) ([]onceward.Admitted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	if s.late != nil {
		until, _ := ctx.Deadline()
		s.late(until)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	s.admissions = append(s.admissions, a)
	results := make([]onceward.Admitted, len(a.Arrivals))
	for i := range a.Arrivals {
		results[i] = s.admit(a, &a.Arrivals[i])
	}
	return results, nil
}

func (s *memoryStore) admit(a *onceward.Admission, r *onceward.Arrival) onceward.Admitted {
	if known := s.known[r.Digest]; known != nil {
		m := *known
		if m.Verdict = onceward.Duplicate; s.content[m.Event] != r.Content {
			m.Verdict, m.Differs, m.Operations = onceward.Conflicting, true, nil
		}
		return m
	}
	m := onceward.Admitted{Event: s.ids.Next(a.At), Verdict: r.Verdict, Reason: r.Reason, FirstSeen: a.At}
	for i, p := range r.Operations {
		o := onceward.Operation{ID: onceward.OperationID{Event: m.Event, N: i + 1}, Name: p.Name, State: onceward.Received, Effect: p.Effect}
		if p.Owner != "" {
			o.State, o.Owner, o.Fence, o.Attempt, o.DueAt = onceward.Processing, p.Owner, 1, 1, a.At.Add(p.Lease)
		}
		m.Operations = append(m.Operations, o)
	}
	s.known[r.Digest], s.content[m.Event] = &m, r.Content
	s.payloads[m.Event] = onceward.Payload{Header: a.Header, Body: bytes.Clone(r.Raw)}
	return m
}

func (s *memoryStore) Payload(_ context.Context, id onceward.EventID) (onceward.Payload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	p, ok := s.payloads[id]
	if !ok || s.lost {
		return p, onceward.ErrNotFound
	}
	return p, nil
}

func (s *memoryStore) RecordCopy(_ context.Context, id onceward.EventID, _ *onceward.Admission, _ *onceward.Arrival) (onceward.Admitted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.copyErr != nil {
		return onceward.Admitted{}, s.copyErr
	}
	s.copies++
	return onceward.Admitted{Event: id, Verdict: onceward.Duplicate}, nil
}

func (s *memoryStore) Rivals(context.Context, onceward.EventID, int) ([]onceward.Evidence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rivals, nil
}

func (s *memoryStore) RecordConflict(_ context.Context, id onceward.EventID, _ *onceward.Admission, r *onceward.Arrival, policy onceward.OnConflict) (onceward.Admitted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.copyErr != nil {
		return onceward.Admitted{}, s.copyErr
	}
	s.conflicts = append(s.conflicts, policy)
	s.contents = append(s.contents, r.Content)
	return onceward.Admitted{Event: id, Verdict: onceward.Conflicting, FirstSeen: id.Time()}, nil
}

func (s *memoryStore) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// places is a handoff with room for a number of operations, which it counts.
type places struct {
	mu                                 sync.Mutex
	free                               int
	reserved, started, released, waked int
	leased                             []onceward.Leased
}

func (p *places) Reserve(_ string, planned *onceward.Planned) intake.Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == 0 {
		return nil
	}
	p.free--
	p.reserved++
	planned.Owner, planned.Lease = "worker", time.Minute
	return &place{p: p}
}

func (p *places) Wake(string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waked++
}

// want checks how many places were reserved, started and released, and how
// often a loop was woken instead.
func (p *places) want(t *testing.T, reserved, started, released, waked int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, want := [4]int{p.reserved, p.started, p.released, p.waked}, [4]int{reserved, started, released, waked}; got != want {
		t.Errorf("reserved, started, released, woken: %v, want %v", got, want)
	}
}

type place struct {
	p    *places
	done bool
}

func (l *place) end(n *int) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.done {
		panic("a place was ended twice")
	}
	l.done = true
	*n++
}

func (l *place) Start(o onceward.Leased) {
	l.end(&l.p.started)
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.leased = append(l.p.leased, o)
}

func (l *place) Release() { l.end(&l.p.released) }

// rig is a handler with one source, "shop", and everything around it recorded.
type rig struct {
	*testing.T
	store   *memoryStore
	places  *places
	handler *intake.Handler
	source  *intake.Source
	log     *testkit.Log
	options intake.Options

	mu       sync.Mutex
	statuses []string
	now      time.Time
}

// shop is an hmac source: sha256 over the body, id and type in it.
func shop() provider.Options {
	return provider.Options{
		Provider: "hmac", SourceID: "shop", Secrets: []provider.Secret{{Label: "secret 1", Value: sharedSecret}},
		Signature: provider.Signature{Header: "X-Signature", Prefix: "sha256="}, ID: []string{"body:id"}, Type: "body:type",
	}
}

// newRig makes a rig; change may alter what it is made of.
func newRig(t *testing.T, o provider.Options, change ...func(*rig)) *rig {
	t.Helper()
	sender, err := provider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, store: newMemoryStore(), places: &places{}, log: &testkit.Log{}, now: noon}
	r.source = &intake.Source{
		Name: "shop", Provider: sender, Payloads: time.Hour, Keys: 24 * time.Hour, MaxBody: 1 << 20,
		Operations: []intake.Operation{{Name: "fulfil", Types: []string{"order.*"}, Effect: onceward.Keyed}},
	}
	r.options = intake.Options{
		Store: r.store, Handoff: r.places, Peppers: []onceward.Pepper{{Name: "p1", Secret: []byte("0123456789abcdef0123456789abcdef")}},
		Log: slog.New(slog.NewJSONHandler(r.log, nil)), Now: r.clock,
		OnDelivery: func(source, status string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.statuses = append(r.statuses, status)
		},
	}
	for _, c := range change {
		c(r)
	}
	r.handler = intake.New(r.options)
	r.handler.SetSources(map[string]*intake.Source{"shop": r.source})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// counted checks the statuses that were counted.
func (r *rig) counted(want ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.statuses) != len(want) {
		r.Errorf("counted %q, want %q", r.statuses, want)
		return
	}
	for i := range want {
		if r.statuses[i] != want[i] {
			r.Errorf("counted %q, want %q", r.statuses, want)
			return
		}
	}
}

// signed is a delivery that the sender signed.
func (r *rig) signed(body string, header ...string) *http.Request {
	r.Helper()
	q := httptest.NewRequest(http.MethodPost, "/in/shop", bytes.NewReader([]byte(body)))
	for i := 0; i < len(header); i += 2 {
		q.Header.Add(header[i], header[i+1])
	}
	if err := r.source.Provider.Sign(&provider.Request{Method: q.Method, URL: "http://" + q.Host + "/in/shop", Header: q.Header, Body: []byte(body), Now: r.clock()}); err != nil {
		r.Fatal(err)
	}
	return q
}

// answer is a response with its JSON body.
type answer struct {
	*http.Response
	text string
	json map[string]any
}

// send gives a request to the handler.
func (r *rig) send(q *http.Request) answer {
	r.Helper()
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	return read(r.T, w.Result())
}

func read(t *testing.T, w *http.Response) answer {
	t.Helper()
	defer func() { _ = w.Body.Close() }()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Response: w, text: string(body)}
	_ = json.Unmarshal(body, &a.json) // not every answer is JSON
	return a
}

// deliver sends a signed body.
func (r *rig) deliver(body string, header ...string) answer {
	r.Helper()
	return r.send(r.signed(body, header...))
}

// want checks status and verdict of a recorded delivery.
func (a answer) want(t *testing.T, code int, status string) {
	t.Helper()
	if a.StatusCode != code || a.json["status"] != status || a.Header.Get("Onceward-Status") != status {
		t.Errorf("answered %d %s (Onceward-Status %s), want %d %s", a.StatusCode, a.text, a.Header.Get("Onceward-Status"), code, status)
	}
}

// refused checks that the answer is a problem of that kind.
func (a answer) refused(t *testing.T, code int, kind string) {
	t.Helper()
	if a.StatusCode != code || a.Header.Get("Content-Type") != "application/problem+json" || a.json["type"] != "urn:onceward:problem:"+kind ||
		a.json["status"] != float64(code) || a.json["title"] != http.StatusText(code) || a.json["detail"] == "" {
		t.Errorf("answered %d %s %s, want problem %d %s", a.StatusCode, a.Header.Get("Content-Type"), a.text, code, kind)
	}
}

func prefixes(list []string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

const paid = `{"id":"e1","type":"order.paid","amount":5}`
