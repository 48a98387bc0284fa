package forward_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func certificate(t *testing.T, names []string, until time.Time) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

func TestHandshakesThatFailAreProof(t *testing.T) {
	good, pool := certificate(t, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	other, otherPool := certificate(t, []string{"elsewhere.example"}, time.Now().Add(time.Hour))
	expired, expiredPool := certificate(t, []string{"127.0.0.1"}, time.Now().Add(-time.Hour))
	clientCert := good.Clone()
	clientCert.MinVersion, clientCert.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for name, test := range map[string]struct {
		server *tls.Config
		roots  *x509.CertPool
		reason string
	}{
		"unknown authority": {good, x509.NewCertPool(), "signed by an unknown authority"},
		"another name":      {other, otherPool, "for another name"},
		"expired":           {expired, expiredPool, "expired"},
		"old protocol":      {clientCert, pool, "tls: "},
		"not TLS":           {nil, pool, "does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			var peer *testkit.Peer
			if test.server != nil {
				peer = testkit.NewTLSPeer(t, test.server, always(testkit.AnswerOK))
			} else {
				sink := testkit.NewSink(t, nil)
				peer = &testkit.Peer{URL: sink.URL}
			}
			c := client(t, "https"+strings.TrimPrefix(strings.TrimPrefix(peer.URL, "https"), "http"), onceward.Unsafe,
				func(_ *forward.Destination, o *forward.Options) { o.RootCAs = test.roots })
			a := do(c)
			check(t, a, forward.NotApplied, test.reason)
			if a.Sent || peer.Requests() != 0 {
				t.Errorf("got %+v and the peer saw %d requests", a, peer.Requests())
			}
		})
	}
}

func TestTheHandshakeThatHangsIsProof(t *testing.T) {
	peer := testkit.NewPeer(t, always(testkit.NeverRead))
	c := client(t, strings.Replace(peer.URL, "http", "https", 1), onceward.Unsafe, func(d *forward.Destination, _ *forward.Options) { d.Timeout = 50 * time.Millisecond })
	check(t, do(c), forward.NotApplied, "timeout")
}

func TestTheSameProofsHoldBehindTLS(t *testing.T) {
	config, pool := certificate(t, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	roots := func(_ *forward.Destination, o *forward.Options) { o.RootCAs = pool }
	for _, test := range []struct {
		fault testkit.Fault
		kind  forward.Kind
	}{
		{testkit.AnswerOK, forward.Completed},
		{testkit.ResetAfterRequest, forward.Ambiguous},
		{testkit.CloseAfterRequest, forward.Ambiguous},
		{testkit.ResetInBody, forward.Completed},
		{testkit.Malformed, forward.Ambiguous},
	} {
		peer := testkit.NewTLSPeer(t, config, always(test.fault))
		a := do(client(t, peer.URL, onceward.Unsafe, roots))
		check(t, a, test.kind, "")
		if a.Sends != 1 {
			t.Errorf("fault %d: %d sends", test.fault, a.Sends)
		}
	}
	for effect, requests := range map[onceward.Effect]int{onceward.Keyed: 3, onceward.Unsafe: 2} {
		peer := testkit.NewTLSPeer(t, config, func(n int) testkit.Fault {
			if n == 2 {
				return testkit.ResetAfterRequest
			}
			return testkit.AnswerOK
		})
		c := client(t, peer.URL, effect, roots)
		do(c)
		a := do(c)
		if peer.Requests() != requests || a.Sends != requests-1 {
			t.Errorf("%s: the peer saw %d requests, want %d; the second call counts %d", effect, peer.Requests(), requests, a.Sends)
		}
	}
	t.Run("too late behind TLS", func(t *testing.T) {
		peer := testkit.NewTLSPeer(t, config, always(testkit.AnswerOK))
		a := do(client(t, peer.URL, onceward.Unsafe, roots), func(c *forward.Call) { c.SendBefore = time.Now().Add(-time.Second) })
		check(t, a, forward.NotApplied, "the moment to send had passed")
		if a.Sent || peer.Requests() != 0 {
			t.Errorf("got %+v and the peer saw %d requests", a, peer.Requests())
		}
	})
}
