package intake_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// zipped compresses a text; another level gives other bytes.
func zipped(t *testing.T, text string, level int) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCopiesAreComparedAsTheyReadHoweverTheyWereSent(t *testing.T) {
	long := `{"id":"e1","type":"order.paid","note":"` + strings.Repeat("abcdefgh", 200) + `"}`
	quick, small := zipped(t, long, gzip.BestSpeed), zipped(t, long, gzip.HuffmanOnly)
	if quick == small {
		t.Fatal("both levels give the same bytes: the test would prove nothing")
	}
	gz := []string{"Content-Encoding", "gzip"}
	for name, test := range map[string]struct {
		first, then     string
		header, another []string
		want            string
	}{
		"compressed twice, differently": {quick, small, gz, gz, "duplicate"},
		"first compressed, then plain":  {quick, long, gz, nil, "duplicate"},
		"first plain, then compressed":  {long, small, nil, gz, "duplicate"},
		"other content, compressed":     {quick, zipped(t, strings.Replace(long, "abc", "abd", 1), 9), gz, gz, "conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop())
			r.deliver(test.first, test.header...).want(t, 200, "accepted")
			r.deliver(test.then, test.another...).want(t, 200, test.want)
			if copies := map[string]int{"duplicate": 1}[test.want]; r.store.copies != copies || len(r.store.conflicts) != 1-copies {
				t.Errorf("%d copies and %d conflicts are on record", r.store.copies, len(r.store.conflicts))
			}
		})
	}
}

func TestWhatIsSignedAsPlainTextIsVerifiedSo(t *testing.T) {
	o := shop()
	o.Signature.Decoded = true
	wire := zipped(t, paid, gzip.BestSpeed)
	for name, test := range map[string]struct {
		options provider.Options
		code    int
	}{"where the source says so": {o, 200}, "and refused where it does not": {shop(), 401}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.options)
			plain := newRig(t, shop()).signed(paid)
			q := httptest.NewRequest(http.MethodPost, "/in/shop", strings.NewReader(wire))
			q.Header = plain.Header
			q.Header.Set("Content-Encoding", "gzip")
			if a := r.send(q); a.StatusCode != test.code {
				t.Fatalf("answered %d %s", a.StatusCode, a.text)
			}
			if test.code == 200 && string(r.store.admissions[0].Arrivals[0].Raw) != wire {
				t.Error("what is kept is not what was on the wire")
			}
		})
	}
}

func TestTheExactBytesAreKept(t *testing.T) {
	every := make([]byte, 4096)
	for i := range every {
		every[i] = byte(i)
	}
	o := shop()
	o.ID, o.Type = []string{"header:X-Id"}, "header:X-Type"
	for name, body := range map[string]string{
		"odd spaces and order": "{\"b\" : 1,\n  \"a\":2}", "every value of a byte": string(every), "nothing": "", "a byte order mark": "\ufeff{}",
		"half of a surrogate pair": `{"note":"\ud800"}`, "line separators": `{"id":820982911946154508,"note":"\u2028\u2028724812-22"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, o)
			r.deliver(body, "X-Id", "d1", "X-Type", "order.paid").want(t, 200, "accepted")
			if a := r.store.admissions[0].Arrivals[0]; string(a.Raw) != body || a.Key.EventID != "d1" {
				t.Errorf("kept %q as %+v", a.Raw, a.Key)
			}
		})
	}
}

func TestHeadersOfTheConnectionAreNotKept(t *testing.T) {
	r := newRig(t, shop())
	q := r.signed(paid, "Connection", "keep-alive, X-Hop", "Connection", "x-other", "X-Hop", "1", "X-Other", "2", "X-Kept", "3")
	r.send(q).want(t, 200, "accepted")
	kept := string(r.store.admissions[0].Header)
	if strings.Contains(kept, "X-Hop") || strings.Contains(kept, "X-Other") || !strings.Contains(kept, "X-Kept: 3\n") || !strings.Contains(kept, "X-Signature: ") {
		t.Errorf("kept %q", kept)
	}
}

func TestBothVersionsOfHTTPAndAnyCaseOfNames(t *testing.T) {
	o := provider.Options{Provider: "github", SourceID: "shop", Secrets: []provider.Secret{{Label: "secret 1", Value: sharedSecret}}}
	for _, version := range []int{1, 2} {
		r := newRig(t, o)
		s := httptest.NewUnstartedServer(r.handler)
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(version == 1)
		s.Config.Protocols.SetUnencryptedHTTP2(version == 2)
		s.Start()
		transport := &http.Transport{Protocols: s.Config.Protocols}
		for i, id := range []string{"x-github-delivery", "X-GITHUB-DELIVERY"} {
			signed := r.signed("{}", "X-GitHub-Event", "order.made")
			q, err := http.NewRequest(http.MethodPost, s.URL+"/in/shop", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			q.Header = http.Header{"x-hub-signature-256": signed.Header["X-Hub-Signature-256"], "X-GITHUB-EVENT": {"order.made"}, id: {"d-26"}}
			w, err := transport.RoundTrip(q)
			if err != nil {
				t.Fatal(err)
			}
			if w.ProtoMajor != version {
				t.Errorf("spoke HTTP/%d, want %d", w.ProtoMajor, version)
			}
			read(t, w).want(t, 200, []string{"accepted", "duplicate"}[i])
		}
		transport.CloseIdleConnections()
		s.Close()
	}
}

func TestNeitherAnAnswerNorTheLogHoldsASecret(t *testing.T) {
	gitlab := provider.Options{Provider: "gitlab", SourceID: "shop", Secrets: []provider.Secret{{Label: "secret 1", Value: sharedSecret}}}
	for _, o := range []provider.Options{shop(), gitlab} {
		for _, body := range []string{paid, `{"id":"SENTINEL`, ``, `{"id":"e1","type":"order.paid","amount":"SENTINEL"}`} {
			r := newRig(t, o, func(r *rig) { r.source.Strict, r.source.OnConflict = true, onceward.RejectConflict })
			seen := ""
			try := func(q *http.Request) {
				a := r.send(q)
				seen += a.text
				for name, values := range a.Header {
					seen += name + strings.Join(values, " ")
				}
			}
			q := r.signed(body, "Idempotency-Key", "k1", "Authorization", "Bearer SENTINEL-token", "Cookie", "SENTINEL-cookie")
			secrets := []string{sharedSecret, "SENTINEL"}
			if sig := q.Header.Get("X-Signature"); sig != "" {
				secrets = append(secrets, strings.TrimPrefix(sig, "sha256="))
			}
			try(r.signed(paid, "Idempotency-Key", "k1"))
			try(q)
			forged := r.signed(body, "Idempotency-Key", "k1")
			forged.Body, forged.ContentLength = io.NopCloser(strings.NewReader(body+"!")), int64(len(body)+1)
			forged.Header.Set("X-Gitlab-Token", "SENTINEL-guess")
			try(forged)
			seen += r.log.String()
			for _, s := range secrets {
				if strings.Contains(seen, s) {
					t.Errorf("%s, body %q: an answer or the log holds %q", o.Provider, body, s)
				}
			}
		}
	}
}

func TestAKnownKeyUnderAnOlderPepperIsLookedUpToo(t *testing.T) {
	older := onceward.Pepper{Name: "p0", Secret: []byte("an older secret of the installation")}
	r := newRig(t, shop(), func(r *rig) { r.options.Peppers = append(r.options.Peppers, older) })
	r.deliver(paid).want(t, 200, "accepted")
	a := r.store.admissions[0].Arrivals[0]
	if len(a.Aliases) != 1 || a.Aliases[0] != older.Digest(a.Key) || a.Digest != r.options.Peppers[0].Digest(a.Key) {
		t.Errorf("digest %s, aliases %v", a.Digest, a.Aliases)
	}
}

func TestAnIDThatIsNotSignedIsBoundToItsBody(t *testing.T) {
	o := shop()
	o.ID = []string{"header:X-Id"}
	r := newRig(t, o)
	r.deliver(paid, "X-Id", "a").want(t, 200, "accepted")
	r.deliver(paid, "X-Id", "b").want(t, 200, "accepted") // the store decides; here it only records
	first, second := r.store.admissions[0].Arrivals[0], r.store.admissions[1].Arrivals[0]
	if first.Body.IsZero() || first.Body != second.Body || first.Digest == second.Digest {
		t.Errorf("bodies %s and %s, keys %s and %s", first.Body, second.Body, first.Digest, second.Digest)
	}
	signed := newRig(t, shop())
	signed.deliver(paid)
	if !signed.store.admissions[0].Arrivals[0].Body.IsZero() {
		t.Error("the body of an event with a signed id is remembered for nothing")
	}
}
