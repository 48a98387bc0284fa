package forward_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func asking(t *testing.T, url string, change ...func(*forward.Destination, *forward.Options)) *forward.Client {
	t.Helper()
	return client(t, url, onceward.Lookup, append([]func(*forward.Destination, *forward.Options){func(d *forward.Destination, _ *forward.Options) {
		d.Lookup = &forward.Lookup{URL: url + "/by-key/{key}?token=s3cret", Present: []int{200, 201}, Absent: []int{404}, Result: "body:charge.id"}
	}}, change...)...)
}

func TestWhatTheOtherSideSaysAboutAKey(t *testing.T) {
	for name, test := range map[string]struct {
		answer   testkit.Answer
		presence onceward.Presence
		result   string
		says     string
	}{
		"it has it":                         {testkit.Answer{Status: 200, Body: `{"charge":{"id":"ch_9"}}`}, onceward.Present, "ch_9", "answered 200 OK"},
		"it has it, without a reference":    {testkit.Answer{Status: 201, Body: `{}`}, onceward.Present, "", "answered 201"},
		"it does not have it":               {testkit.Answer{Status: 404}, onceward.Absent, "", "answered 404 Not Found"},
		"a success that was not named":      {testkit.Answer{Status: 204}, onceward.Unclear, "", "answered 204"},
		"an error":                          {testkit.Answer{Status: 500}, onceward.Unclear, "", "answered 500"},
		"not allowed to ask":                {testkit.Answer{Status: 401}, onceward.Unclear, "", "answered 401"},
		"another place, which is not asked": {testkit.Answer{Status: 302, Header: map[string]string{"Location": "/elsewhere"}}, onceward.Unclear, "", "answered 302"},
	} {
		t.Run(name, func(t *testing.T) {
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return test.answer })
			f := asking(t, sink.URL).Ask(context.Background(), key)
			if f.Presence != test.presence || f.Result != test.result || !strings.Contains(f.Evidence, test.says) || !strings.Contains(f.Evidence, key) {
				t.Errorf("%+v", f)
			}
			if strings.Contains(f.Evidence, "s3cret") || strings.Contains(f.Evidence, "127.0.0.1") {
				t.Errorf("the evidence shows the address: %q", f.Evidence)
			}
			all := sink.Requests()
			if len(all) != 1 || all[0].Method != "GET" || all[0].Path != "/by-key/"+key+"?token=s3cret" || len(all[0].Body) != 0 {
				t.Errorf("%d questions, the first %s %s", len(all), all[0].Method, all[0].Path)
			}
		})
	}
}

func TestAQuestionIsSigned(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	secret := []byte("a secret of theirs")
	asking(t, sink.URL, func(d *forward.Destination, o *forward.Options) {
		d.Secrets = []string{"whsec_" + base64.StdEncoding.EncodeToString(secret)}
		o.Now = func() time.Time { return time.Unix(1796118264, 0) }
	}).Ask(context.Background(), key)
	h := sink.Requests()[0].Header
	if h.Get("Webhook-Id") != key || h.Get("Webhook-Timestamp") != "1796118264" || !strings.HasPrefix(h.Get("Webhook-Signature"), "v1,") {
		t.Errorf("%v", h)
	}
	if h.Get("Idempotency-Key") != "" {
		t.Error("a question looks like a call")
	}
}

func TestAnAnswerThatIsLostSaysNothing(t *testing.T) {
	for name, fault := range map[string]testkit.Fault{"reset": testkit.ResetAfterRequest, "closed": testkit.CloseAfterRequest, "unread": testkit.ResetUnread, "malformed": testkit.Malformed, "silent": testkit.NeverAnswer} {
		peer := testkit.NewPeer(t, always(fault))
		f := asking(t, peer.URL, func(d *forward.Destination, _ *forward.Options) { d.Timeout = 300 * time.Millisecond }).Ask(context.Background(), key)
		if f.Presence != onceward.Unclear || f.Evidence == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	f := asking(t, testkit.RefusedURL(t)).Ask(context.Background(), key)
	if f.Presence != onceward.Unclear || !strings.Contains(f.Evidence, "connection refused") {
		t.Errorf("%+v", f)
	}
}

// TestAQuestionFollowsTheCallsConnection: a connection that carried a call holds
// back what the call has no right to send any more, but not the question.
func TestAQuestionFollowsTheCallsConnection(t *testing.T) {
	sink := testkit.NewSink(t, func(_ int, r *testkit.Request) testkit.Answer { return testkit.Answer{Status: 200} })
	c := asking(t, sink.URL)
	check(t, do(c), forward.Completed, "")
	if f := c.Ask(context.Background(), key); f.Presence != onceward.Present {
		t.Errorf("%+v", f)
	}
	check(t, do(c), forward.Completed, "")
}

func TestAQuestionIsNotAskedAtPrivateAddresses(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := asking(t, sink.URL, func(d *forward.Destination, _ *forward.Options) { d.AllowPrivate = false })
	if f := c.Ask(context.Background(), key); f.Presence != onceward.Unclear || !strings.Contains(f.Evidence, "private") {
		t.Errorf("%+v", f)
	}
	if n := len(sink.Requests()); n != 0 {
		t.Errorf("%d requests reached a private address", n)
	}
}

func TestALookupNeedsItsKey(t *testing.T) {
	for _, url := range []string{"https://bank.example.com/by-key", "https://{key}.example.com/", "ftp://bank.example.com/{key}", "bank.example.com/{key}"} {
		_, err := forward.New(forward.Destination{Name: "bank", URL: "https://bank.example.com/", Effect: onceward.Lookup, Lookup: &forward.Lookup{URL: url}}, forward.Options{})
		if err == nil || !strings.Contains(err.Error(), "destination bank: lookup:") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if f := client(t, "https://bank.example.com/", onceward.Unsafe).Ask(context.Background(), key); f.Presence != onceward.Unclear {
		t.Errorf("%+v", f)
	}
}
