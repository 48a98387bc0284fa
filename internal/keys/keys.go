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
	"bytes"
	"context"
	"crypto/sha256"
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
	"time"

	"github.com/go-jose/go-jose/v4"
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
	asked  shelf[*jose.JSONWebKey] // nil: there is none of that id
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
		asked: newShelf[*jose.JSONWebKey](),
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

// Ask posts a body to a URL that answers with one key, as Plaid does, and
// remembers the answer by the key's id. A key that its owner calls expired is
// not found, and neither is one that the other side does not know (400, 404).
func (f *Fetcher) Ask(url, kid string, body []byte) (key jose.JSONWebKey, found bool, err error) {
	always := func(*jose.JSONWebKey) bool { return true }
	sum := sha256.Sum256(body) // other credentials may know other keys
	answer, err := f.asked.get(url+" "+kid+" "+string(sum[:8]), f.now(), always, func() (*jose.JSONWebKey, error) { return f.fetchKey(url, kid, body) })
	if err != nil || answer == nil {
		return key, false, err
	}
	return *answer, true, nil
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

// get fetches a URL.
func (f *Fetcher) get(address string) ([]byte, error) {
	return f.do(http.MethodGet, address, nil)
}

// errUnknown is the answer of a side that does not have what was asked for.
var errUnknown = errors.New("the other side does not know it")

// do asks one question. Nothing of it or of the answer is in an error.
func (f *Fetcher) do(method, address string, question []byte) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return nil, errors.New("only https is asked")
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(question))
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	request.Header.Set("User-Agent", "Onceward")
	if question != nil {
		request.Header.Set("Content-Type", "application/json")
	}
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
	case question != nil && (response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusNotFound):
		return nil, errUnknown
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

func (f *Fetcher) fetchKey(url, kid string, body []byte) (*jose.JSONWebKey, error) {
	answer, err := f.do(http.MethodPost, url, body)
	if errors.Is(err, errUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Key struct {
			ExpiredAt *json.Number `json:"expired_at"`
		}
	}
	var raw struct{ Key json.RawMessage }
	var key jose.JSONWebKey
	if json.Unmarshal(answer, &raw) != nil || json.Unmarshal(answer, &said) != nil || json.Unmarshal(raw.Key, &key) != nil {
		return nil, errors.New("the answer is not a key")
	}
	if said.Key.ExpiredAt != nil || key.KeyID != kid || !key.IsPublic() {
		return nil, nil
	}
	return &key, nil
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
