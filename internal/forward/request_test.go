package forward_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func only(t *testing.T, s *testkit.Sink) *testkit.Request {
	t.Helper()
	all := s.Requests()
	if len(all) != 1 {
		t.Fatalf("the sink saw %d requests, want 1", len(all))
	}
	return all[0]
}

func TestTheRequestThatGoesOut(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	now := time.Unix(1767225600, 0)
	c := client(t, sink.URL+"/hooks?x=1", onceward.Keyed, func(d *forward.Destination, o *forward.Options) {
		d.Header = http.Header{"x-api-key": {"k"}, "X-Shop": {"ours"}}
		o.Now = func() time.Time { return now }
	})
	body := "{\"b\" : 1,\n  \"a\":2}"
	a := do(c, func(c *forward.Call) {
		c.Attempt = 3
		c.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		c.Payload = onceward.Payload{Body: []byte(body), Header: []byte(strings.Join([]string{
			"Accept: */*", "Accept-Encoding: gzip", "Authorization: Bearer for-us", "Connection: keep-alive, X-Hop", "Content-Encoding: gzip", "Content-Length: 999",
			"Content-Type: application/json; charset=utf-8", "Cookie: session=1", "Expect: 100-continue", "Host: hooks.example.com", "Idempotency-Key: theirs", "Keep-Alive: 5",
			"Onceward-Event: forged", "Onceward-Item: 1/1", "Proxy-Authorization: x", "Te: trailers", "Traceparent: old", "Tracestate: a=b", "Transfer-Encoding: chunked", "Upgrade: h2c",
			"User-Agent: Shop/1.0", "Webhook-Id: msg_1", "Webhook-Signature: v1,abc", "Webhook-Timestamp: 5", "X-Hop: gone", "X-Hub-Signature-256: sha256=ab", "X-Many: one", "X-Many: two",
			"X-Shop: theirs", "Bad Name: x", "X-Bad: a\x01b", "no colon", "",
		}, "\n"))}
	})
	check(t, a, forward.Completed, "")
	r := only(t, sink)
	want := http.Header{
		"Accept": {"*/*"}, "Content-Encoding": {"gzip"}, "Content-Length": {fmt.Sprint(len(body))}, "Content-Type": {"application/json; charset=utf-8"},
		"Idempotency-Key": {key}, "Onceward-Attempt": {"3"}, "Onceward-Event": {onceward.EventID(1).String()}, "Onceward-Operation": {"fulfil"},
		"Onceward-Sender-Idempotency-Key": {"theirs"}, "Onceward-Sender-Webhook-Id": {"msg_1"}, "Onceward-Sender-Webhook-Signature": {"v1,abc"}, "Onceward-Sender-Webhook-Timestamp": {"5"},
		"Onceward-Source": {"shop"}, "Onceward-Type": {"order.paid"}, "Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=b"},
		"User-Agent": {"Shop/1.0"}, "Webhook-Id": {key}, "Webhook-Timestamp": {"1767225600"}, "X-Api-Key": {"k"}, "X-Hub-Signature-256": {"sha256=ab"}, "X-Many": {"one", "two"}, "X-Shop": {"ours"},
	}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if string(r.Body) != body || r.Method != "POST" || r.Path != "/hooks?x=1" || "http://"+r.Host != sink.URL {
		t.Errorf("got %s %s Host %s body %q", r.Method, r.Path, r.Host, r.Body)
	}
}

func TestABatchItemGoesOutAlone(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	do(client(t, sink.URL, onceward.Keyed), func(c *forward.Call) {
		c.Item, c.Of = 3, 40
		c.SignedHeaders = []string{"x-signature", "Webhook-Signature"}
		c.Payload.Header = []byte("Content-Digest: sha-256=:x:\nContent-Encoding: gzip\nContent-Type: application/json\nWebhook-Signature: v1,x\nX-Kept: 1\nX-Signature: abc\n")
	})
	r := only(t, sink)
	for _, name := range []string{"Content-Digest", "Content-Encoding", "X-Signature", "Onceward-Sender-Webhook-Signature"} {
		if v := r.Header.Values(name); len(v) > 0 {
			t.Errorf("%s went out with an item: %q", name, v)
		}
	}
	if r.Header.Get("Onceward-Item") != "3/40" || r.Header.Get("X-Kept") != "1" {
		t.Errorf("headers are %v", r.Header)
	}
}

func TestAnEventCannotWriteHeaders(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	do(client(t, sink.URL, onceward.Keyed), func(c *forward.Call) {
		c.Type = "a\r\nX-Injected: 1\x00é" + strings.Repeat("x", 5000)
	})
	r := only(t, sink)
	if r.Header.Get("X-Injected") != "" || !strings.HasPrefix(r.Header.Get("Onceward-Type"), "a__X-Injected: 1_é") {
		t.Errorf("headers are %v", r.Header)
	}
}

func TestCredentialsOfTheURL(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	do(client(t, strings.Replace(sink.URL, "http://", "http://user:pass@", 1), onceward.Keyed))
	if got := only(t, sink).Header.Get("Authorization"); got != "Basic dXNlcjpwYXNz" {
		t.Errorf("Authorization is %q", got)
	}
}

func TestMethodAndEmptyBody(t *testing.T) {
	for _, effect := range []onceward.Effect{onceward.Keyed, onceward.Unsafe} {
		sink := testkit.NewSink(t, nil)
		check(t, do(client(t, sink.URL, effect), func(c *forward.Call) {
			c.Method, c.Payload = http.MethodPut, onceward.Payload{}
		}), forward.Completed, "")
		r := only(t, sink)
		if r.Method != "PUT" || r.Header.Get("Content-Length") != "0" || len(r.Body) != 0 {
			t.Errorf("got %s with %v", r.Method, r.Header)
		}
	}
	a := do(client(t, testkit.RefusedURL(t), onceward.Unsafe), func(c *forward.Call) { c.Method = "NOT A WORD" })
	check(t, a, forward.NotApplied, "method")
}

func TestEveryByteValueArrivesUnchanged(t *testing.T) {
	body := make([]byte, 300<<10)
	for i := range body {
		body[i] = byte(i * 7)
	}
	sink := testkit.NewSink(t, nil)
	do(client(t, sink.URL, onceward.Unsafe), func(c *forward.Call) { c.Payload.Body = body })
	if !cmp.Equal(only(t, sink).Body, body) {
		t.Error("the body changed on its way")
	}
}

// The interoperability vector of Standard Webhooks.
const (
	vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody   = `{"test": 2432232314}`
	vectorTime   = 1614265330
	vectorSign   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func signed(t *testing.T, secrets []string, now func() time.Time) (*forward.Client, *testkit.Sink) {
	t.Helper()
	sink := testkit.NewSink(t, nil)
	return client(t, sink.URL, onceward.Keyed, func(d *forward.Destination, o *forward.Options) {
		d.Secrets, o.Now = secrets, now
	}), sink
}

func TestTheInteroperabilityVector(t *testing.T) {
	c, sink := signed(t, []string{vectorSecret}, func() time.Time { return time.Unix(vectorTime, 0) })
	do(c, func(c *forward.Call) { c.Key, c.Payload.Body = vectorID, []byte(vectorBody) })
	if got := only(t, sink).Header.Get("Webhook-Signature"); got != vectorSign {
		t.Errorf("signature is %s, want %s", got, vectorSign)
	}
}

func TestRotationVerifiesWithTheOldAndTheNewSecretAlone(t *testing.T) {
	secrets := []string{vectorSecret, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"}
	c, sink := signed(t, append(secrets, "a plain secret"), time.Now)
	do(c)
	r := only(t, sink)
	if n := len(strings.Fields(r.Header.Get("Webhook-Signature"))); n != 3 {
		t.Errorf("%d signatures, want one per secret", n)
	}
	for _, secret := range secrets {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify(r.Body, r.Header); err != nil {
			t.Errorf("a verifier with one secret refuses: %v", err)
		}
	}
	plain, err := standardwebhooks.NewWebhookRaw([]byte("a plain secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Verify(r.Body, r.Header); err != nil {
		t.Errorf("a verifier with the plain secret refuses: %v", err)
	}
	other, err := standardwebhooks.NewWebhookRaw([]byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	if other.Verify(r.Body, r.Header) == nil {
		t.Error("a verifier with another secret accepts")
	}
}

func TestARetryMinutesLaterIsSignedAfresh(t *testing.T) {
	// The verifier's clock is the real one and it tolerates five minutes: the
	// first attempt was six minutes ago, the second is now.
	now := time.Now().Add(-6 * time.Minute)
	c, sink := signed(t, []string{vectorSecret}, func() time.Time { return now })
	do(c)
	now = now.Add(6 * time.Minute)
	do(c, func(c *forward.Call) { c.Attempt = 2 })
	w, err := standardwebhooks.NewWebhook(vectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	all := sink.Requests()
	if err := w.Verify(all[1].Body, all[1].Header); err != nil {
		t.Errorf("the second attempt does not verify: %v", err)
	}
	if w.Verify(all[0].Body, all[0].Header) == nil {
		t.Error("the stale first attempt verifies, so the test proves nothing")
	}
	for _, name := range []string{"Webhook-Id", "Idempotency-Key"} {
		if all[0].Header.Get(name) != all[1].Header.Get(name) {
			t.Errorf("%s differs between attempts", name)
		}
	}
	if string(all[0].Body) != string(all[1].Body) {
		t.Error("the body differs between attempts")
	}
}

func TestWithoutASecretNothingIsSigned(t *testing.T) {
	c, sink := signed(t, nil, time.Now)
	do(c)
	h := only(t, sink).Header
	if h.Get("Webhook-Signature") != "" || h.Get("Webhook-Id") != key {
		t.Errorf("headers are %v", h)
	}
}

func FuzzSenderHeaders(f *testing.F) {
	f.Add("X-A: 1\nContent-Length: 5\n")
	f.Add("Connection: close, X-A\nX-A: \x00\n:\n: x\n")
	f.Add("Transfer-Encoding: chunked\r\nHost: a\n\n\nIdempotency-Key: x")
	sink := testkit.NewSink(f, nil)
	c, err := forward.New(forward.Destination{Name: "d", URL: sink.URL, Effect: onceward.Unsafe, AllowPrivate: true}, forward.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		if len(lines) > 32<<10 {
			t.Skip()
		}
		a := do(c, func(c *forward.Call) { c.Payload.Header = []byte(lines) })
		if a.Kind != forward.Completed {
			t.Fatalf("a kept header made the event undeliverable: %+v", a)
		}
		all := sink.Requests()
		r := all[len(all)-1]
		if r.Header.Get("Idempotency-Key") != key || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || "http://"+r.Host != sink.URL || string(r.Body) != `{"b" : 1, "a":2}` {
			t.Fatalf("%q went out as %v", lines, r.Header)
		}
	})
}
