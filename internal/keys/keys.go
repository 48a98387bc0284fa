// Package keys fetches what senders publish: key sets (JWKS) and certificates.
// It owns the cache and every bound on it. Which URLs may be asked is decided
// before, by the sender's contract or the configuration; here nothing is
// followed anywhere else.
//
// It keeps these promises. A sender's key is fetched once an hour, however many
// deliveries need it. An unknown key id asks anew, at most once a minute. While
// the other side fails, what was fetched before counts for a day, and it is not
// asked more often than every ten seconds. One fetch takes five seconds and 256
// KiB at most. Addresses that a stranger chose (within the pinned hosts) are
// asked for at a bounded rate, and a bounded number of them is kept.
package keys

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

const (
	fresh      = time.Hour        // how long nothing is asked
	keep       = 24 * time.Hour   // how long it counts while the other side fails
	again      = time.Minute      // between two questions for an unknown key id
	pause      = 10 * time.Second // between two questions to a side that fails
	timeout    = 5 * time.Second
	maxBytes   = 256 << 10
	maxEntries = 64
	maxKeys    = 128
)

// Options configure a [Fetcher]; the zero value is for production.
type Options struct {
	Transport http.RoundTripper // the default takes TLS 1.2 and later
	Roots     *x509.CertPool    // of certificates that are checked; nil is the system's
	Now       func() time.Time
}

// Fetcher fetches and remembers. It is safe for concurrent use.
type Fetcher struct {
	client *http.Client
	roots  *x509.CertPool
	now    func() time.Time
	sets   shelf[map[string]jose.JSONWebKey]
	certs  shelf[*x509.Certificate]
}

// New returns a fetcher that has fetched nothing.
func New(o Options) *Fetcher {
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 1, 30*time.Second
		o.Transport = transport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Fetcher{
		client: &http.Client{Transport: o.Transport, Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		roots:  o.Roots, now: o.Now,
		sets:  newShelf[map[string]jose.JSONWebKey](),
		certs: newShelf[*x509.Certificate](),
	}
}

// Key returns the key of this id in the set at a URL. found is false when the
// sender does not publish it; an error means that this is not known.
func (f *Fetcher) Key(url, kid string) (key jose.JSONWebKey, found bool, err error) {
	has := func(set map[string]jose.JSONWebKey) bool { _, ok := set[kid]; return ok }
	set, err := f.sets.get(url, f.now(), has, func() (map[string]jose.JSONWebKey, error) { return f.fetchSet(url) })
	if err != nil {
		return key, false, err
	}
	key, found = set[kid]
	return key, found, nil
}

// Certificate returns the certificate at a URL, if it is valid today. With
// names it also has to lead to a trusted root, and to be for one of them; a name
// that begins with a dot is every name that ends so.
func (f *Fetcher) Certificate(url string, names []string) (*x509.Certificate, error) {
	valid := func(c *x509.Certificate) bool {
		now := f.now()
		return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
	}
	cert, err := f.certs.get(url, f.now(), valid, func() (*x509.Certificate, error) { return f.fetchCertificate(url, names) })
	if err == nil && !valid(cert) {
		return nil, errors.New("the certificate is not valid today")
	}
	return cert, err
}

// Visit asks for a URL and does nothing with the answer: it confirms.
func (f *Fetcher) Visit(url string) error {
	_, err := f.get(url)
	return err
}

// get fetches a URL. Nothing of the answer is in an error.
func (f *Fetcher) get(address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return nil, errors.New("only https is asked")
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	request.Header.Set("User-Agent", "Onceward")
	response, err := f.client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // which holds the address with what may be a token
			err = wrapped.Err
		}
		return nil, fmt.Errorf("ask %s: %w", u.Hostname(), err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask %s: answered %d", u.Hostname(), response.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", u.Hostname(), err)
	case len(body) > maxBytes:
		return nil, fmt.Errorf("ask %s: the answer is larger than %d bytes", u.Hostname(), maxBytes)
	}
	return body, nil
}

// fetchSet reads a key set. Keys that are not read here, such as those of new
// kinds, are left out; they must not take the others with them.
func (f *Fetcher) fetchSet(url string) (map[string]jose.JSONWebKey, error) {
	body, err := f.get(url)
	if err != nil {
		return nil, err
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the answer is not a key set")
	}
	keys := map[string]jose.JSONWebKey{}
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.KeyID != "" && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys[key.KeyID] = key
		}
	}
	return keys, nil
}

func (f *Fetcher) fetchCertificate(url string, names []string) (*x509.Certificate, error) {
	body, err := f.get(url)
	if err != nil {
		return nil, err
	}
	var chain []*x509.Certificate
	for len(chain) < 10 {
		var block *pem.Block
		if block, body = pem.Decode(body); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, errors.New("the answer is not a certificate")
		}
		chain = append(chain, cert)
	}
	if len(chain) == 0 {
		return nil, errors.New("the answer is not a certificate")
	}
	leaf := chain[0]
	if names == nil {
		return leaf, nil
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: f.roots, Intermediates: between, CurrentTime: f.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return nil, errors.New("the certificate does not lead to a trusted root, or is not valid today")
	}
	for _, have := range append(leaf.DNSNames, leaf.Subject.CommonName) {
		for _, want := range names {
			if have == want || strings.HasPrefix(want, ".") && strings.HasSuffix(have, want) {
				return leaf, nil
			}
		}
	}
	return nil, errors.New("the certificate is not for one of the sender's names")
}

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
