package keys

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// shelf keeps what was fetched, by URL.
type shelf[T any] struct {
	mu      sync.Mutex
	entries map[string]*entry[T]
	strange *rate.Limiter // of URLs that were not asked for before
}

func newShelf[T any]() shelf[T] {
	return shelf[T]{entries: map[string]*entry[T]{}, strange: rate.NewLimiter(rate.Every(6*time.Second), 10)}
}

// entry is what one URL said.
type entry[T any] struct {
	mu      sync.Mutex // held while it is being asked
	state   sync.RWMutex
	value   T
	has     bool
	fetched time.Time
	tried   time.Time
	err     error // of the last try
}

// find returns the entry of a URL, and makes one if there may be another.
func (s *shelf[T]) find(url string, now time.Time) (*entry[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[url]; e != nil {
		return e, nil
	}
	if !s.strange.AllowN(now, 1) {
		return nil, errors.New("too many different addresses were asked for; try again")
	}
	if len(s.entries) >= maxEntries {
		s.forget()
	}
	e := &entry[T]{}
	s.entries[url] = e
	return e, nil
}

// forget drops the entry that is worth least: one that holds nothing, or else
// the one that was fetched first.
func (s *shelf[T]) forget() {
	worst, least := "", time.Time{}
	for url, e := range s.entries {
		e.state.RLock()
		at := e.fetched
		e.state.RUnlock()
		if worst == "" || at.Before(least) {
			worst, least = url, at
		}
	}
	delete(s.entries, worst)
}

// get returns the value of a URL: from the shelf if it is fresh and serves, and
// otherwise fetched.
func (s *shelf[T]) get(url string, now time.Time, serves func(T) bool, fetch func() (T, error)) (T, error) {
	e, err := s.find(url, now)
	if err != nil {
		var none T
		return none, err
	}
	value, ok := e.read(now, fresh)
	if ok && serves(value) {
		return value, nil
	}
	// Somebody has to ask. Who can be served with what there is does not wait
	// for it.
	if stale, ok := e.read(now, keep); ok && serves(stale) {
		if !e.mu.TryLock() {
			return stale, nil
		}
	} else {
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	return e.ask(now, serves, fetch)
}

// read returns the value if it is not older than age.
func (e *entry[T]) read(now time.Time, age time.Duration) (value T, ok bool) {
	e.state.RLock()
	defer e.state.RUnlock()
	return e.value, e.has && now.Sub(e.fetched) < age
}

// ask fetches, unless that was done a moment ago.
func (e *entry[T]) ask(now time.Time, serves func(T) bool, fetch func() (T, error)) (T, error) {
	if value, ok := e.read(now, fresh); ok && (serves(value) || now.Sub(e.fetched) < again) {
		return value, nil // another delivery asked while this one waited, or just before
	}
	if e.err == nil || now.Sub(e.tried) >= pause {
		value, err := fetch()
		e.state.Lock()
		e.tried, e.err = now, err
		if err == nil {
			e.value, e.has, e.fetched = value, true, now
		}
		e.state.Unlock()
		if err == nil {
			return value, nil
		}
	}
	if value, ok := e.read(now, keep); ok && serves(value) {
		return value, nil
	}
	var none T
	return none, e.err
}
