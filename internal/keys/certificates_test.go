package keys_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	ca := authority(t)
	for _, test := range []struct {
		name  string
		body  []byte
		names []string
		want  string
	}{
		{"for a name", ca.issue("certs.paypal.com", noon.Add(time.Hour)), []string{".paypal.com"}, ""},
		{"for another", ca.issue("paypal.com.evil.example", noon.Add(time.Hour)), []string{".paypal.com"}, "names"},
		{"that nobody vouches for", newAuthority(t).issue("certs.paypal.com", noon.Add(time.Hour)), []string{".paypal.com"}, "trusted root"},
		{"that is over", ca.issue("certs.paypal.com", noon.Add(-time.Minute)), []string{".paypal.com"}, "today"},
		{"that is over, of a pinned host", ca.issue("sns.amazonaws.com", noon.Add(-time.Minute)), nil, "today"},
		{"of a pinned host", newAuthority(t).issue("sns.amazonaws.com", noon.Add(time.Hour)), nil, ""},
		{"that is none", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), nil, "not a certificate"},
		{"of another kind", []byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), nil, "not a certificate"},
		{"nothing", nil, nil, "not a certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			s.answers(200, test.body)
			_, err := s.fetcher.Certificate(s.URL+"/c.pem", test.names)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	t.Run("one that ends is fetched anew", func(t *testing.T) {
		s := newSite(t)
		s.answers(200, ca.issue("certs.paypal.com", noon.Add(10*time.Minute)))
		for range 3 {
			if _, err := s.fetcher.Certificate(s.URL+"/c.pem", []string{".paypal.com"}); err != nil {
				t.Fatal(err)
			}
		}
		s.want(1)
		s.advance(11 * time.Minute)
		s.answers(200, ca.issue("certs.paypal.com", noon.Add(time.Hour)))
		if _, err := s.fetcher.Certificate(s.URL+"/c.pem", []string{".paypal.com"}); err != nil {
			t.Error(err)
		}
		s.want(2)
	})
}

// issuer is a certificate authority of a test.
type issuer struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var shared struct {
	once sync.Once
	*issuer
}

// authority is the one that sites trust.
func authority(t *testing.T) *issuer {
	shared.once.Do(func() { shared.issuer = newAuthority(t) })
	return &issuer{t, shared.cert, shared.key}
}

func newAuthority(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test's authority"}, NotBefore: noon.Add(-240 * time.Hour), NotAfter: noon.Add(2400 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, cert, key}
}

// issue makes a certificate as PEM.
func (i *issuer) issue(name string, until time.Time) []byte {
	i.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: noon.Add(-24 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &i.key.PublicKey, i.key)
	if err != nil {
		i.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
