package forward_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func TestTheStatusDecides(t *testing.T) {
	for status, kind := range map[int]forward.Kind{
		200: forward.Completed, 201: forward.Completed, 202: forward.Completed, 204: forward.Completed, 299: forward.Completed,
		300: forward.Refused, 301: forward.Refused, 302: forward.Refused, 304: forward.Refused, 307: forward.Refused, 308: forward.Refused,
		400: forward.Refused, 401: forward.Refused, 403: forward.Refused, 404: forward.Refused, 410: forward.Refused, 422: forward.Refused,
		408: forward.NotApplied, 409: forward.NotApplied, 425: forward.NotApplied, 429: forward.NotApplied, 503: forward.NotApplied,
		500: forward.Ambiguous, 501: forward.Ambiguous, 502: forward.Ambiguous, 504: forward.Ambiguous, 599: forward.Ambiguous,
		600: forward.Ambiguous, 999: forward.Ambiguous,
	} {
		t.Run(fmt.Sprintf("%d is %s", status, kind), func(t *testing.T) {
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Status: status} })
			a := do(client(t, sink.URL, onceward.Unsafe))
			check(t, a, kind, "")
			if a.Status != status || !a.Sent || a.Sends != 1 || a.Pause != (status == 410) {
				t.Errorf("got %+v", a)
			}
			if kind != forward.Completed && !strings.Contains(a.Reason, fmt.Sprint("answered ", status)) {
				t.Errorf("reason %q does not name the status", a.Reason)
			}
			if n := len(sink.Requests()); n != 1 {
				t.Errorf("the sink saw %d requests, want 1", n)
			}
		})
	}
}

func TestTheDestinationMaySayWhatHappened(t *testing.T) {
	for _, test := range []struct {
		status int
		effect string
		kind   forward.Kind
		pause  bool
	}{
		{200, "none", forward.NotApplied, false},
		{200, "unknown", forward.Ambiguous, false},
		{200, "done", forward.Completed, false},
		{302, "none", forward.Refused, false},
		{404, "none", forward.Refused, false},
		{404, "done", forward.Completed, false},
		{404, "unknown", forward.Ambiguous, false},
		{409, "done", forward.Completed, false},
		{409, "none", forward.NotApplied, false},
		{410, "none", forward.Refused, true},
		{500, "none", forward.NotApplied, false},
		{500, "done", forward.Completed, false},
		{503, "unknown", forward.Ambiguous, false},
		{500, " NONE ", forward.NotApplied, false},
		{500, "perhaps", forward.Ambiguous, false},
		{200, "perhaps", forward.Completed, false},
	} {
		t.Run(fmt.Sprintf("%d with %q is %s", test.status, test.effect, test.kind), func(t *testing.T) {
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
				return testkit.Answer{Status: test.status, Header: map[string]string{"Onceward-Effect": test.effect}}
			})
			a := do(client(t, sink.URL, onceward.Lookup))
			check(t, a, test.kind, "")
			if a.Pause != test.pause {
				t.Errorf("pause is %v, want %v", a.Pause, test.pause)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	landing := testkit.NewSink(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
			return testkit.Answer{Status: status, Header: map[string]string{"Location": landing.URL + "/SECRET"}}
		})
		a := do(client(t, sink.URL, onceward.Keyed))
		check(t, a, forward.Refused, "redirects are not followed")
		if strings.Contains(a.Reason+a.Proof, "SECRET") {
			t.Errorf("reason %q repeats the location", a.Reason)
		}
	}
	if n := len(landing.Requests()); n != 0 {
		t.Errorf("the landing page saw %d requests, want 0", n)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		value string
		want  time.Duration
	}{
		{"3", 3 * time.Second},
		{" 120 ", 2 * time.Minute},
		{"0", 0},
		{"", 0},
		{"-5", 0},
		{"3.5", 0},
		{"soon", 0},
		{"7200", time.Hour},
		{"99999999999999999999999999", time.Hour},
		{now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{now.AddDate(10, 0, 0).Format(http.TimeFormat), time.Hour},
		{now.Add(time.Minute).Format(time.ANSIC), time.Minute},
	} {
		for _, status := range []int{429, 503, 500} {
			t.Run(fmt.Sprintf("%d with %q", status, test.value), func(t *testing.T) {
				sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
					return testkit.Answer{Status: status, Header: map[string]string{"Retry-After": test.value}}
				})
				c := client(t, sink.URL, onceward.Unsafe, func(d *forward.Destination, o *forward.Options) {
					d.MaxRetryAfter = time.Hour
					o.Now = func() time.Time { return now }
				})
				if got := do(c).RetryAfter; got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		}
	}
}

func TestTheResultReference(t *testing.T) {
	long := strings.Repeat("é", 600)
	for name, test := range map[string]struct {
		rule, header, body string
		want, reason       string
	}{
		"no rule gives none":                 {"", "ref", `{"id":"x"}`, "", ""},
		"a header":                           {"header:onceward-result", "re_1", "", "re_1", ""},
		"a missing header":                   {"header:Other", "re_1", "", "", ""},
		"a member of the body":               {"body:id", "", `{"id":"re_2"}`, "re_2", ""},
		"a nested member":                    {"body:data.0.id", "", `{"data":[{"id":"re_3"}]}`, "re_3", ""},
		"a number keeps all its digits":      {"body:id", "", `{"id":820982911946154508}`, "820982911946154508", ""},
		"a truth value":                      {"body:ok", "", `{"ok":true}`, "true", ""},
		"null is none":                       {"body:id", "", `{"id":null}`, "", ""},
		"an object is none":                  {"body:id", "", `{"id":{"secret":1}}`, "", ""},
		"a missing member is none":           {"body:id", "", `{}`, "", ""},
		"an index out of range is none":      {"body:3", "", `[1]`, "", ""},
		"a body that is not JSON is none":    {"body:id", "", `<id>1</id>`, "", ""},
		"an empty body is none":              {"body:id", "", ``, "", ""},
		"a bad encoding is mended":           {"body:id", "", "{\"id\":\"a\xffb\"}", "a\ufffdb", ""},
		"a long one is cut between letters":  {"body:id", "", `{"id":"` + long + `"}`, onceward.CutResult(long), "1200 bytes and was cut to 1024"},
		"a body far too long is cut to none": {"body:id", "", `{"pad":"` + strings.Repeat("x", 70<<10) + `","id":"re"}`, "", ""},
		"a million brackets are none":        {"body:id", "", strings.Repeat("[", 1_000_000), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sink := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
				return testkit.Answer{Status: 201, Header: map[string]string{"Onceward-Result": test.header}, Body: test.body}
			})
			c := client(t, sink.URL, onceward.Keyed, func(d *forward.Destination, _ *forward.Options) { d.Result = test.rule })
			a := do(c)
			check(t, a, forward.Completed, test.reason)
			if a.Result != test.want {
				t.Errorf("result is %q, want %q", a.Result, test.want)
			}
			if test.reason == "" && a.Reason != "" {
				t.Errorf("reason is %q, want none", a.Reason)
			}
		})
	}
}

func TestNothingOfTheAnswerOrTheAddressGetsIntoReasons(t *testing.T) {
	const sentinel = "SENTINEL-133"
	paths := "/" + sentinel + "?token=" + sentinel
	answers := func(status int) string {
		return testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer {
			return testkit.Answer{Status: status, Body: sentinel, Header: map[string]string{"X-Error": sentinel}}
		}).URL
	}
	for name, base := range map[string]string{
		"refused":   "http://user:" + sentinel + "@" + strings.TrimPrefix(testkit.RefusedURL(t), "http://"),
		"port one":  "http://127.0.0.1:1/x?token=" + sentinel + "&",
		"malformed": testkit.NewPeer(t, always(testkit.Malformed)).URL,
		"reset":     testkit.NewPeer(t, always(testkit.ResetAfterRequest)).URL,
		"not TLS":   "https" + strings.TrimPrefix(testkit.NewPeer(t, always(testkit.Malformed)).URL, "http"),
		"400":       answers(400),
		"500":       answers(500),
		"302":       answers(302),
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, base+paths, onceward.Unsafe, func(d *forward.Destination, _ *forward.Options) {
				d.Secrets = []string{sentinel}
				d.Header = http.Header{"X-Api-Key": {sentinel}}
			})
			a := do(c)
			if a.Kind == forward.Completed {
				t.Fatalf("got %+v, want a failure", a)
			}
			if text := fmt.Sprintf("%+v", a); strings.Contains(text, sentinel) || strings.Contains(text, "SECRET") {
				t.Errorf("the answer repeats a secret: %s", text)
			}
		})
	}
}

func TestConfigurationErrorsNameTheRuleOnly(t *testing.T) {
	const sentinel = "SENTINEL"
	for name, test := range map[string]struct {
		change func(*forward.Destination)
		want   string
	}{
		"no effect":         {func(d *forward.Destination) { d.Effect = 0 }, "effect must be"},
		"local effect":      {func(d *forward.Destination) { d.Effect = onceward.Local }, "effect must be"},
		"no host":           {func(d *forward.Destination) { d.URL = "http:///" + sentinel }, "url must begin"},
		"other scheme":      {func(d *forward.Destination) { d.URL = "file:///" + sentinel }, "url must begin"},
		"not a url":         {func(d *forward.Destination) { d.URL = "http://[" + sentinel }, "url must begin"},
		"bad secret":        {func(d *forward.Destination) { d.Secrets = []string{"whsec_" + sentinel + "!"} }, "secret 1 begins with whsec_"},
		"empty secret":      {func(d *forward.Destination) { d.Secrets = []string{"a", ""} }, "secret 2 is empty"},
		"result":            {func(d *forward.Destination) { d.Result = "cookie:x" }, "result must be"},
		"result no name":    {func(d *forward.Destination) { d.Result = "header:" }, "result must be"},
		"own header":        {func(d *forward.Destination) { d.Header = http.Header{"webhook-id": {sentinel}} }, "set by Onceward itself"},
		"header framing":    {func(d *forward.Destination) { d.Header = http.Header{"Content-Length": {"5"}} }, "set by Onceward itself"},
		"header name":       {func(d *forward.Destination) { d.Header = http.Header{"a b": {sentinel}} }, "not a header name"},
		"header with break": {func(d *forward.Destination) { d.Header = http.Header{"A": {sentinel + "\r\nB: c"}} }, "control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			d := forward.Destination{Name: "billing", URL: "http://127.0.0.1:1/", Effect: onceward.Keyed}
			test.change(&d)
			_, err := forward.New(d, forward.Options{})
			if err == nil {
				t.Fatal("it was accepted")
			}
			if s := err.Error(); !strings.Contains(s, test.want) || !strings.Contains(s, "destination billing") || strings.Contains(s, sentinel) {
				t.Errorf("the error is %q", s)
			}
		})
	}
}

func TestAnAnswerSettlesAsItsOutcome(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, test := range []struct {
		kind forward.Kind
		want string
	}{
		{forward.Completed, "completed"}, {forward.NotApplied, "not_applied"}, {forward.Refused, "refused"}, {forward.Ambiguous, "ambiguous"},
	} {
		o := forward.Answer{Kind: test.kind, Status: 207, Reason: "why", Result: "ref"}.Outcome(at)
		if o.String() != test.want || test.kind.String() != test.want || o.Status != 207 || o.Reason != "why" {
			t.Errorf("%s settles as %s: %+v", test.kind, o, o)
		}
		if waits := test.kind == forward.NotApplied || test.kind == forward.Ambiguous; waits != o.RetryAt.Equal(at) {
			t.Errorf("%s retries at %s", test.kind, o.RetryAt)
		}
	}
	var zero forward.Answer
	if o := zero.Outcome(at); o.String() != "ambiguous" {
		t.Error(errors.New("an answer that nobody filled in must not prove anything"), o)
	}
}
