package torture

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is a destination with a ledger of its own, which is what the audits go
// by. A keyed one deduplicates by key, and may forget; one that can be asked
// answers from the ledger; of an unsafe one every call that it acts on is an
// effect.
type peer struct {
	name  string
	class string
	url   string

	// before, acted and answered are told of the moments of a call; before may
	// say that it is never acted on. All may block.
	before          func(r *http.Request) (lost bool)
	acted, answered func(r *http.Request)
	question, told  func()        // asked by key, and answered
	forgets         time.Duration // keyed: how long it knows a key; 0 is for ever

	mu       sync.Mutex
	known    map[string]time.Time // keys, and since when
	effects  map[string]int       // by key
	requests map[string]int       // by key
	keys     map[string]string    // event: key
	changed  int                  // events that came under a second key
	asked    int
}

func newPeer(t *testing.T, name, class string) *peer {
	t.Helper()
	p := &peer{
		name: name, class: class, known: map[string]time.Time{}, effects: map[string]int{}, requests: map[string]int{}, keys: map[string]string{},
		before: func(*http.Request) bool { return false }, acted: func(*http.Request) {}, answered: func(*http.Request) {},
		question: func() {}, told: func() {},
	}
	server := httptest.NewServer(p)
	p.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		p.question()
		p.answerQuestion(w, strings.TrimPrefix(r.URL.Path, "/by-key/"))
		_ = http.NewResponseController(w).Flush()
		p.told()
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // it was cut before it was whole
	}
	key := r.Header.Get("Idempotency-Key")
	p.arrived(key, r.Header.Get("Onceward-Event"))
	if p.before(r) {
		panic(http.ErrAbortHandler)
	}
	p.act(key)
	p.acted(r)
	w.Header().Set("Onceward-Result", "r-"+key)
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	p.answered(r)
}

func (p *peer) arrived(key, event string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[key]++
	if first, known := p.keys[event]; known && first != key {
		p.changed++
	}
	p.keys[event] = key
}

func (p *peer) act(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since, known := p.known[key]; p.class == "keyed" && known && (p.forgets == 0 || time.Since(since) < p.forgets) {
		return
	}
	p.known[key] = time.Now()
	p.effects[key]++
}

func (p *peer) answerQuestion(w http.ResponseWriter, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.effects[key] == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Onceward-Result", "r-"+key)
	w.WriteHeader(http.StatusOK)
}

// audit counts keys with an effect, and effects beyond the first of a key. A
// second key for one event is a second effect, too.
func (p *peer) audit() (effects, repeated int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.effects {
		repeated += n - 1
	}
	return len(p.effects), repeated + p.changed
}

// without counts events that had no effect here.
func (p *peer) without(events []string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		if p.effects[p.keys[event]] == 0 {
			n++
		}
	}
	return n
}

// mostRequests is how often the most frequent key came.
func (p *peer) mostRequests() (most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.requests {
		most = max(most, n)
	}
	return most
}

func (p *peer) total() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.requests {
		n += times
	}
	return n
}
