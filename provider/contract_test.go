package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

func TestContractsAreComplete(t *testing.T) {
	list := provider.Contracts()
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.Name] {
			t.Errorf("there are two contracts called %s", c.Name)
		}
		seen[c.Name] = true
		if c.Title == "" || c.Revision == "" || c.Category == "" || c.Confidence == "" || c.Scheme == "" || c.Handshake == "" ||
			c.IDNote == "" || c.Deadline == 0 || c.Memory == 0 || c.Success.Status < 200 || c.Success.Status > 299 {
			t.Errorf("%s lacks something: %+v", c.Name, c)
		}
		if generic := c.Category == "generic"; !generic && (len(c.SourceDocs) == 0 || len(c.ID) == 0 || c.Scope == "" || c.Rotation == "" || c.RetryOn == "") {
			t.Errorf("%s lacks something: %+v", c.Name, c)
		}
		found, ok := provider.Find(c.Name)
		if !ok || found.Title != c.Title {
			t.Errorf("%s is not found", c.Name)
		}
	}
	if _, ok := provider.Find("Stripe"); ok {
		t.Error("names are exact")
	}
	if c, _ := provider.Find("github"); c.MaxBody != 25<<20 {
		t.Error("the sender's own limit is 25 MB")
	}
}

// TestScopesAreSigned: an account or a marker out of an unsigned header would
// let a forged one move a captured request into a scope where it looks new.
func TestScopesAreSigned(t *testing.T) {
	for _, c := range provider.Contracts() {
		for _, text := range []string{c.Account, c.Mode} {
			if strings.HasPrefix(text, "header:") || strings.HasPrefix(text, "query:") {
				t.Errorf("%s: %s", c.Name, text)
			}
		}
	}
}

func TestWeaknessesAreSaid(t *testing.T) {
	for _, test := range []struct {
		name string
		want []string // a part of each
	}{
		{"stripe", []string{"two event objects"}},
		{"github", []string{"not inside the signature", "no signed time", "unsigned header"}},
		{"shopify", []string{"not inside the signature", "no signed time", "topic stands in an unsigned header"}},
		{"slack", nil},
		{"standard-webhooks", nil},
		{"svix", nil},
		{"none", []string{"body's digest", "NOTHING IS AUTHENTICATED"}},
	} {
		o := provider.Options{Provider: test.name, Secrets: secret(stdSecret)}
		if test.name == "none" {
			o.Secrets = nil
		}
		list := mustNew(t, o).Contract().Weaknesses()
		if len(list) != len(test.want) {
			t.Errorf("%s: %q", test.name, list)
			continue
		}
		for i, part := range test.want {
			if !strings.Contains(list[i], part) {
				t.Errorf("%s: %q does not say %q", test.name, list[i], part)
			}
		}
	}
}

func TestTheContractFollowsTheOptions(t *testing.T) {
	minute := time.Minute
	c := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret("s"), ID: []string{"header:X-Id"}, Type: "header:X-Type", Tolerance: &minute}).Contract()
	if c.ID[0] != "header:X-Id" || c.Type != "header:X-Type" || c.Tolerance != time.Minute || c.IDSigned {
		t.Errorf("%+v", c)
	}
	h := mustNew(t, provider.Options{Provider: "hmac", Secrets: secret("s"), ID: []string{"body:id"}, Signature: provider.Signature{Header: "X-Sig"}}).Contract()
	if h.Signature.Header != "X-Sig" || h.Signature.Content != "{body}" || h.Tolerance != 0 || !h.IDSigned || !h.BodySigned || h.Headers[0] != "X-Sig" {
		t.Errorf("%+v", h)
	}
	if again, _ := provider.Find("stripe"); again.ID[0] != "body:id" {
		t.Error("one source changed the contract of all")
	}
}

// TestSamples: every sender's sample is authentic when signed, is accepted, and
// has the id that was asked for, wherever the source looks for it.
func TestSamples(t *testing.T) {
	for _, test := range []struct {
		name string
		o    provider.Options
		id   string
		kind string
	}{
		{"stripe", provider.Options{Provider: "stripe"}, "e-1", "checkout.session.completed"},
		{"stripe in live mode", provider.Options{Provider: "stripe", Mode: "live", Versions: []string{"2025-*"}}, "e-1", "checkout.session.completed"},
		{"stripe with another id", provider.Options{Provider: "stripe", ID: []string{"body:data.object.id"}}, "e-1", "checkout.session.completed"},
		{"github", provider.Options{Provider: "github"}, "e-1", "push"},
		{"github with an id in the body", provider.Options{Provider: "github", ID: []string{"body:id"}}, "e-1", "push"},
		{"shopify", provider.Options{Provider: "shopify"}, "13:orders/create,3:e-1,", "orders/create"},
		{"slack", provider.Options{Provider: "slack"}, "e-1", "app_mention"},
		{"gitlab", provider.Options{Provider: "gitlab"}, "e-1", "Push Hook"},
		{"gitlab with a token", provider.Options{Provider: "gitlab", Secrets: secret("tok")}, "e-1", "Push Hook"},
		{"standard-webhooks", provider.Options{Provider: "standard-webhooks"}, "e-1", "invoice.paid"},
		{"svix", provider.Options{Provider: "svix"}, "e-1", "invoice.paid"},
		{"hmac", provider.Options{Provider: "hmac", ID: []string{"header:X-Shop", "body:event.id"}, Type: "header:X-Event", Signature: provider.Signature{Header: "X-Sig"}}, "6:part-0,3:e-1,", "order.paid"},
		{"hmac with the type in the id", provider.Options{Provider: "hmac", ID: []string{"header:X-Id", "header:X-Event"}, Type: "header:X-Event", Signature: provider.Signature{Header: "X-Sig"}}, "3:e-1,10:order.paid,", "order.paid"},
		{"a form", provider.Options{Provider: "hmac", ID: []string{"form:id"}, Type: "form:type", Signature: provider.Signature{Header: "X-Sig"}}, "e-1", "order.paid"},
		{"a query", provider.Options{Provider: "hmac", ID: []string{"query:id"}, Signature: provider.Signature{Header: "X-Sig", Content: "{url}{body}"}}, "e-1", ""},
		{"a batch", provider.Options{Provider: "hmac", Items: "body:events", ID: []string{"item:id"}, Type: "item:kind", Signature: provider.Signature{Header: "X-Sig"}}, "e-1", "order.paid"},
		{"a batch that is the body", provider.Options{Provider: "hmac", Items: "body", ID: []string{"item:a.b"}, Signature: provider.Signature{Header: "X-Sig"}}, "e-1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.o.Secrets == nil {
				test.o.Secrets = secret(stdSecret)
			}
			s := mustNew(t, test.o)
			r := s.SampleAt("e-1", 7, noon)
			r.Now = noon
			sign(t, s, r)
			if got := reason(s, r); got != "" {
				t.Fatal(got)
			}
			a := only(t, s, r)
			accepted(t, a, test.id)
			if a.Type != test.kind {
				t.Errorf("type %q, want %q", a.Type, test.kind)
			}
			again := s.SampleAt("e-1", 7, noon)
			if string(again.Body) != string(r.Body) {
				t.Error("the same arguments give other bytes")
			}
			if plain := only(t, s, s.Sample("e-1", 7)); plain.Verdict != onceward.Accepted || !plain.OccurredAt.IsZero() {
				t.Errorf("without a time: %s %q, %s", plain.Verdict, plain.Reason, plain.OccurredAt)
			}
		})
	}
	t.Run("without authentication, the body tells them apart", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "none"})
		one, two := only(t, s, s.Sample("a", 1)), only(t, s, s.Sample("b", 1))
		if one.Key == two.Key || one.Verdict != onceward.Accepted {
			t.Error(one.Key, two.Key)
		}
	})
	t.Run("an id is quoted as JSON wants it", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret("s")})
		accepted(t, only(t, s, s.Sample(`e"\<é`, 1)), `e"\<é`)
	})
	t.Run("a time is where the sender says it", func(t *testing.T) {
		for name, occurred := range map[string]string{"stripe": "", "shopify": "", "slack": "", "standard-webhooks": "", "svix": "body:when", "github": "header:X-When", "gitlab": "query:when"} {
			s := mustNew(t, provider.Options{Provider: name, Secrets: secret(stdSecret), OccurredAt: occurred})
			if a := only(t, s, s.SampleAt("e", 1, noon)); !a.OccurredAt.Equal(noon) {
				t.Errorf("%s: %s", name, a.OccurredAt)
			}
		}
	})
}

func TestSigningAgainIsFresh(t *testing.T) {
	for _, name := range []string{"stripe", "slack", "standard-webhooks", "svix", "gitlab"} {
		s := mustNew(t, provider.Options{Provider: name, Secrets: secret(stdSecret)})
		r := sign(t, s, request(`{"id":"e","event_id":"e"}`))
		first := only(t, s, r)
		r.Now = noon.Add(time.Hour)
		if got := reason(s, sign(t, s, r)); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if again := only(t, s, r); again.Key != first.Key || again.Verdict != onceward.Accepted {
			t.Errorf("%s: signing again made another event: %v, %v %s", name, first.Key, again.Key, again.Reason)
		}
	}
}

func TestDecodeBody(t *testing.T) {
	for _, coding := range []string{"", "identity", " Identity "} {
		if body, err := provider.DecodeBody(coding, []byte("x"), 0); err != nil || string(body) != "x" {
			t.Error(coding, err)
		}
	}
	for _, coding := range []string{"br", "deflate", "gzip, gzip", "gzip,identity", "\x00"} {
		if _, err := provider.DecodeBody(coding, nil, 100); err != provider.ErrUnknownCoding {
			t.Error(coding, err)
		}
	}
}
