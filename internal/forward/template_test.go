package forward_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

const crm = "https://crm.example.com/accounts"

func TestATemplateIsCheckedWhenItIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		url     string
		headers [][2]string
		body    string
		field   string // that is wrong; empty when nothing is
		rule    string
	}{
		"nothing":                     {},
		"all of it":                   {url: "https://crm.example.com/{account}?e={event}", headers: [][2]string{{"X-Account", "{account}/{type}"}}, body: `{"id": "{account}"}`},
		"its port written out":        {url: "https://crm.example.com:8443/x", field: "url", rule: "scheme, host and port"},
		"another host":                {url: "https://evil.example.com/{account}", field: "url", rule: "scheme, host and port"},
		"another scheme":              {url: "http://crm.example.com/{account}", field: "url", rule: "scheme, host and port"},
		"a user before the host":      {url: "https://crm.example.com@evil.example.com/", field: "url", rule: "scheme, host and port"},
		"a result as host":            {url: "https://{account}/x", field: "url", rule: "only in its path and query"},
		"no URL":                      {url: "{account}", field: "url", rule: "only in its path and query"},
		"a path alone":                {url: "/accounts/x", field: "url", rule: "must begin with http"},
		"a later step":                {url: "https://crm.example.com/{welcome}", field: "url", rule: "{welcome}, which is no earlier step; there are {event}, {type}, {account}"},
		"a header of ours":            {headers: [][2]string{{"Idempotency-Key", "mine"}}, field: "headers.Idempotency-Key", rule: "set by Onceward itself"},
		"a header that is none":       {headers: [][2]string{{"X Account", "1"}}, field: "headers.X Account", rule: "not a header name"},
		"an unknown name in a header": {headers: [][2]string{{"X-Account", "{acount}"}}, field: "headers.X-Account", rule: "no earlier step"},
		"a body that is not JSON":     {body: `{"id": }`, field: "body", rule: "is not JSON"},
		"a body of text":              {body: `hello {account}`, field: "body", rule: "is not JSON"},
		"a result outside of quotes":  {body: `{"id": {account}}`, field: "body", rule: "put it in quotes"},
		"a result as a member's name": {body: `{"{account}": 1}`, field: "body", rule: "in a member's name"},
		"a result within a deep name": {body: `[{"a": [{"b": "{account}", "c": {"x-{type}": []}}]}]`, field: "body", rule: `"x-{type}"`},
		"results as values only":      {body: `[{"a": ["{account}", {"b": {}, "c": "{account}"}, "{type}"], "d": "{event}"}, "{account}"]`},
		"an unknown name in a body":   {body: `{"id": "{nobody}"}`, field: "body", rule: "no earlier step"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := forward.NewTemplate(crm, test.url, test.headers, test.body, []string{"account"})
			var wrong *forward.TemplateError
			switch {
			case test.field == "" && err != nil:
				t.Fatal(err)
			case test.field == "":
			case !errors.As(err, &wrong) || wrong.Field != test.field || !strings.Contains(wrong.Rule, test.rule):
				t.Fatalf("got %v, want %s: %s", err, test.field, test.rule)
			}
		})
	}
}

// TestAResultStaysWhatItIs fills results in that would like to be more.
func TestAResultStaysWhatItIs(t *testing.T) {
	tpl, err := forward.NewTemplate(crm, crm+"/{account}/mail?of={account}#x", [][2]string{{"X-Account", "id={account}"}}, `{"id": "{account}", "e": "{event}", "t": ["{type}"]}`, []string{"account"})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range []string{`acc_1`, `a/../../admin`, `../x`, `a b+c&of=2#f`, `"}, {"admin": true`, `\`, `{event}`, `{account}`, "é\u2028<", `%2e%2e`, `?x`} {
		r, err := tpl.Render(forward.Values{Event: "evt_1", Type: "customer.created", Results: map[string]string{"account": result}})
		if err != nil {
			t.Fatalf("%q: %v", result, err)
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(u.EscapedPath(), "/")
		if got, _ := url.PathUnescape(parts[2]); len(parts) != 4 || got != result || u.Host != "crm.example.com" || len(u.Query()["of"]) != 1 {
			t.Errorf("%q became the URL %s", result, r.URL)
		}
		if got := r.Header.Get("X-Account"); got != "id="+result {
			t.Errorf("%q became the header %q", result, got)
		}
		var body struct {
			ID string   `json:"id"`
			E  string   `json:"e"`
			T  []string `json:"t"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || body.ID != result || body.E != "evt_1" || body.T[0] != "customer.created" {
			t.Errorf("%q became the body %s", result, r.Body)
		}
		if r.Header.Get("Content-Type") != "application/json" {
			t.Error("a body of its own without its type")
		}
	}
}

func TestAResultThatCannotStandThereIsRefused(t *testing.T) {
	path, _ := forward.NewTemplate(crm, crm+"/{account}", nil, "", []string{"account"})
	header, _ := forward.NewTemplate(crm, "", [][2]string{{"X-Account", "{account}"}}, "", []string{"account"})
	body, _ := forward.NewTemplate(crm, "", nil, `["{account}"]`, []string{"account"})
	cut := onceward.CutResult(strings.Repeat("x", onceward.MaxResult+1))
	for name, test := range map[string]struct {
		tpl    *forward.Template
		result map[string]string
		says   string
	}{
		"no result of that step":  {path, nil, "no result of step account"},
		"an empty segment":        {path, map[string]string{"account": ""}, "empty or only dots"},
		"the directory above":     {path, map[string]string{"account": ".."}, "empty or only dots"},
		"a second header":         {header, map[string]string{"account": "1\r\nX-Admin: yes"}, "control characters"},
		"a zero byte in a header": {header, map[string]string{"account": "\x00"}, "control characters"},
		"a part of one in a path": {path, map[string]string{"account": cut}, "more than 1024 bytes and was cut"},
		"a part of one in a body": {body, map[string]string{"account": cut}, "more than 1024 bytes and was cut"},
		"and in a header":         {header, map[string]string{"account": cut}, "more than 1024 bytes and was cut"},
	} {
		if _, err := test.tpl.Render(forward.Values{Results: test.result}); err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "X-Admin") {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	if r, err := (*forward.Template)(nil).Render(forward.Values{}); err != nil || r.URL != "" || r.Body != nil || r.Header != nil {
		t.Errorf("without a template it became %+v, %v", r, err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("https://crm.example.com/{account}", `{"id": "{account}"}`, "acc_1")
	f.Add("https://crm.example.com/a?b={account}", `["{account}", "{event}"]`, `"`)
	f.Fuzz(func(t *testing.T, target, body, result string) {
		tpl, err := forward.NewTemplate(crm, target, nil, body, []string{"account"})
		if err != nil || tpl == nil {
			return
		}
		r, err := tpl.Render(forward.Values{Event: "evt_1", Results: map[string]string{"account": result}})
		if err != nil {
			return
		}
		if r.Body != nil && !json.Valid(r.Body) {
			t.Errorf("%q with %q became %s", body, result, r.Body)
		}
		if r.URL != "" {
			if u, err := url.Parse(r.URL); err != nil || u.Host != "crm.example.com" && !strings.EqualFold(u.Host, "crm.example.com") || u.User != nil {
				t.Errorf("%q with %q became %s (%v)", target, result, r.URL, err)
			}
		}
	})
}

// TestAStepsCallGoesOutAsItsTemplateSays: the sender's signature covers a body
// that does not go out, so it stays behind.
func TestAStepsCallGoesOutAsItsTemplateSays(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := client(t, sink.URL+"/hooks", onceward.Keyed, func(d *forward.Destination, _ *forward.Options) {
		d.Secrets = []string{"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"}
	})
	check(t, do(c, func(c *forward.Call) {
		c.Step = "welcome"
		c.SignedHeaders = []string{"X-Theirs"}
		c.Payload.Header = []byte("Content-Digest: sha-256=:x:\nContent-Encoding: gzip\nContent-Type: text/plain\nX-Other: 1\nX-Theirs: sig\n")
		c.Rendered = forward.Rendered{URL: sink.URL + "/a%2Fb/mail", Header: map[string][]string{"Content-Type": {"application/json"}}, Body: []byte(`{"id":"a/b"}`)}
	}), forward.Completed, "")
	r := sink.Requests()[0]
	if r.Path != "/a%2Fb/mail" || string(r.Body) != `{"id":"a/b"}` || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Onceward-Step") != "welcome" || r.Header.Get("X-Other") != "1" {
		t.Errorf("got %s %q %v", r.Path, r.Body, r.Header)
	}
	for _, name := range []string{"X-Theirs", "Content-Digest", "Content-Encoding"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s went out, and speaks of another body", name)
		}
	}
	if r.Header.Get("Webhook-Signature") == "" {
		t.Error("not signed")
	}
}
