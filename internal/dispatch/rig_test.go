package dispatch_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a dispatcher over a store in memory and what stands around it.
type rig struct {
	*dispatch.Dispatcher
	store *memory
	log   *testkit.Log

	mu        sync.Mutex
	outcomes  []string
	recovered int
	stop      func()
}

// setup is what a test changes before the dispatcher starts.
type setup struct {
	dispatch.Options
	store *memory
	Wrap  dispatch.Store // replaces the store for the dispatcher alone
}

// to is a destination with sensible settings for a test.
func to(t testing.TB, url string, effect onceward.Effect, change ...func(*dispatch.Destination)) dispatch.Destination {
	t.Helper()
	d := dispatch.Destination{
		Effect: effect, Timeout: 10 * time.Second, Concurrency: 8,
		Backoff: forward.Backoff{Attempts: 3, First: time.Millisecond, Max: time.Hour},
	}
	for _, c := range change {
		c(&d)
	}
	client, err := forward.New(forward.Destination{
		Name: "billing", URL: url, Effect: effect, Timeout: d.Timeout, AllowPrivate: true, MaxRetryAfter: d.Backoff.Max, Concurrency: d.Concurrency, Result: "header:Onceward-Result",
	}, forward.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.Client = client
	return d
}

// prepare makes a dispatcher with one operation, fulfil, at one destination.
func prepare(t testing.TB, destination dispatch.Destination, change ...func(*setup)) *rig {
	t.Helper()
	r := &rig{log: &testkit.Log{}}
	s := &setup{store: newMemory(t), Options: dispatch.Options{
		Owner: "node-1", Workers: 64,
		Destinations: map[string]dispatch.Destination{"billing": destination},
		Operations:   []dispatch.Operation{{Name: "fulfil", Steps: []dispatch.Step{{Destination: "billing", Lease: time.Minute}}}},
		Log:          slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnAttempt: func(_, outcome string, _ time.Duration) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.outcomes = append(r.outcomes, outcome)
		},
		OnRecovered: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.recovered++
		},
	}}
	for _, c := range change {
		c(s)
	}
	r.store = s.store
	s.Options.Store, s.Options.Now = s.store, s.store.now
	if s.Wrap != nil {
		s.Options.Store = s.Wrap
	}
	var err error
	if r.Dispatcher, err = dispatch.New(s.Options); err != nil {
		t.Fatal(err)
	}
	return r
}

// run starts the dispatcher; it ends with the test or with stop.
func (r *rig) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(r.stop)
}

// start is prepare and run.
func start(t testing.TB, destination dispatch.Destination, change ...func(*setup)) *rig {
	t.Helper()
	r := prepare(t, destination, change...)
	r.run(t)
	return r
}

func (r *rig) told() (outcomes []string, recovered int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.outcomes), r.recovered
}

// give records an operation and wakes its claim loop.
func (r *rig) give(effect onceward.Effect, change ...func(*record)) onceward.OperationID {
	id := r.store.add("fulfil", effect, change...)
	r.Wake("fulfil")
	return id
}

func with(store *memory) func(*setup) { return func(s *setup) { s.store = store } }

// at makes the clock of store and dispatcher stand where the test puts it.
func at(c *clock) func(*setup) { return func(s *setup) { s.store.now = c.Now } }

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// gate holds answers back until it is opened.
func gate(t testing.TB) (hold <-chan struct{}, open func()) {
	c := make(chan struct{})
	open = sync.OnceFunc(func() { close(c) })
	t.Cleanup(open)
	return c, open
}

func always(a testkit.Answer) func(int, *testkit.Request) testkit.Answer {
	return func(int, *testkit.Request) testkit.Answer { return a }
}

// first answers the first n requests with one answer and the rest with 200.
func first(n int, a testkit.Answer) func(int, *testkit.Request) testkit.Answer {
	return func(k int, _ *testkit.Request) testkit.Answer {
		if k <= n {
			return a
		}
		return testkit.Answer{}
	}
}

func arrived(n int) func([]*testkit.Request) bool {
	return func(all []*testkit.Request) bool { return len(all) >= n }
}
