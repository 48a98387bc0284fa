package provider_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// The tests in this file are faults that receivers of webhooks reported in
// public, as small inputs with the right outcome.

const (
	ghSecret   = "test-secret-not-real-01"
	shopSecret = "test-secret-not-real-02"
	paySecret  = "test-secret-not-real-03"
	stdSecret  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

	ghBody = "{\"b\" : 1,\n  \"a\":2}" // 18 bytes: odd spaces, a newline, keys out of order
	ghSum  = "sha256=4743cfdc77450eb5258dbe6664f2011597bf19356bc241b800e862c9c74c5d70"
)

func gh(tb testing.TB) *provider.Source {
	return mustNew(tb, provider.Options{Provider: "github", Secrets: secret(ghSecret)})
}

func TestBytesAreVerifiedAsTheyCame(t *testing.T) {
	s := gh(t)
	r := request(ghBody, "X-Hub-Signature-256", ghSum, "X-GitHub-Delivery", "d-1")
	if why := reason(s, r); why != "" {
		t.Error(why)
	}
	a := only(t, s, r)
	accepted(t, a, "d-1")
	if string(a.Raw) != ghBody {
		t.Errorf("raw %q", a.Raw)
	}
}

func TestEscapesAndLongNumbersSurvive(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "shopify", Secrets: secret(shopSecret), ID: []string{"body:id"}})
	r := request(`{"id":820982911946154508,"note":"\u2028\u2028724812-22"}`, "X-Shopify-Hmac-Sha256", "q4cksFJlqM1+SeWyy9KmSafofwEqBT5H2/CiljHX1hg=")
	if why := reason(s, r); why != "" {
		t.Error(why)
	}
	accepted(t, only(t, s, r), "820982911946154508")
}

func TestCompressedBodies(t *testing.T) {
	wire, err := base64.StdEncoding.DecodeString("H4sIAAAAAAAC/6tWykxRslJKLSuJT6+KN1SqBQCYXh0KEQAAAA==")
	if err != nil {
		t.Fatal(err)
	}
	const plainSum = "sha256=092bb4000e00c93f9ec76cc36fb67c297cffd023cbb75e38188f14e54f773652"
	r := request(string(wire), "X-Hub-Signature-256", plainSum, "Content-Encoding", "gzip", "X-GitHub-Delivery", "d")
	on := mustNew(t, provider.Options{Provider: "github", Secrets: secret(ghSecret), ID: []string{"body:id"}, Signature: provider.Signature{Decoded: true}})

	t.Run("a signature over the plain text fits when the source says so", func(t *testing.T) {
		if why := reason(on, r); why != "" {
			t.Error(why)
		}
		a := only(t, on, r)
		accepted(t, a, "evt_gz_1")
		if !bytes.Equal(a.Raw, wire) {
			t.Error("the bytes on the wire are what is kept")
		}
	})
	t.Run("and does not fit otherwise", func(t *testing.T) {
		if why := reason(gh(t), r); why != "signature-mismatch" {
			t.Error(why)
		}
	})
	t.Run("an unknown coding is told apart", func(t *testing.T) {
		other := request(string(wire), "X-Hub-Signature-256", plainSum, "Content-Encoding", "br, foo")
		if _, err := on.Verify(other); !errors.Is(err, provider.ErrUnknownCoding) {
			t.Error(err)
		}
		held(t, only(t, on, other), "body cannot be read: "+provider.ErrUnknownCoding.Error())
	})
	t.Run("a bomb is held at the limit", func(t *testing.T) {
		small := mustNew(t, provider.Options{Provider: "none", ID: []string{"body:id"}, MaxBody: 16})
		held(t, only(t, small, r), "body cannot be read: "+provider.ErrDecodedTooLarge.Error())
	})
	t.Run("what is not gzip is held", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "none", ID: []string{"body:id"}})
		a := only(t, s, request("{}", "Content-Encoding", "gzip"))
		if a.Verdict != onceward.QuarantinedBy || !strings.HasPrefix(a.Reason, "body cannot be read: read gzip") {
			t.Error(a.Verdict, a.Reason)
		}
	})
}

func TestEmptyAndBinaryBodies(t *testing.T) {
	std := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(stdSecret)})
	t.Run("an empty body with its identity in a header is an event", func(t *testing.T) {
		r := sign(t, std, request("", "webhook-id", "msg_empty"))
		if why := reason(std, r); why != "" {
			t.Fatal(why)
		}
		accepted(t, only(t, std, r), "msg_empty")
	})
	t.Run("an unsigned console check is refused", func(t *testing.T) {
		if why := reason(std, request(`{"events":[]}`)); why != "missing-header" {
			t.Error(why)
		}
	})
	t.Run("every byte value survives", func(t *testing.T) {
		var all []byte
		for i := range 16 * 256 {
			all = append(all, byte(i))
		}
		s := gh(t)
		r := sign(t, s, request(string(all), "Content-Type", "application/pdf", "X-GitHub-Delivery", "d-pdf"))
		if why := reason(s, r); why != "" {
			t.Fatal(why)
		}
		a := only(t, s, r)
		accepted(t, a, "d-pdf")
		if !bytes.Equal(a.Raw, all) {
			t.Error("bytes changed")
		}
	})
}

func TestMediaTypeParameters(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "github", Secrets: secret(ghSecret), ID: []string{"body:id"}})
	for _, media := range []string{"application/json; charset=UTF-8", "application/x-www-form-urlencoded; charset=utf-8", "APPLICATION/JSON", ""} {
		r := sign(t, s, request(`{"id":"evt_13"}`, "Content-Type", media))
		if why := reason(s, r); why != "" {
			t.Error(media, why)
		}
		accepted(t, only(t, s, r), "evt_13")
	}
}

func TestRotation(t *testing.T) {
	newest := mustNew(t, provider.Options{Provider: "github", Secrets: secret("new")})
	oldest := mustNew(t, provider.Options{Provider: "github", Secrets: secret("old")})
	both := mustNew(t, provider.Options{Provider: "github", Secrets: []provider.Secret{{Label: "this year", Value: "new"}, {Label: "last year", Value: "old"}}})
	byNew := sign(t, newest, request("{}")).Header.Get("X-Hub-Signature-256")
	byOld := sign(t, oldest, request("{}")).Header.Get("X-Hub-Signature-256")
	for _, test := range []struct{ name, header, label string }{
		{"new before old, by comma", byNew + "," + byOld, "this year"},
		{"new before old, by comma and space", byNew + ", " + byOld, "this year"},
		{"unreadable entries are skipped", "sha256=zz sha1=00 " + byOld, "last year"},
		{"the older secret alone", byOld, "last year"},
		{"the newer secret alone", byNew, "this year"},
	} {
		t.Run(test.name, func(t *testing.T) {
			label, err := both.Verify(request("{}", "X-Hub-Signature-256", test.header))
			if err != nil || label != test.label {
				t.Errorf("%q, %v; want %q", label, err, test.label)
			}
		})
	}
	t.Run("in two lines of the header", func(t *testing.T) {
		if why := reason(oldest, request("{}", "X-Hub-Signature-256", byNew, "X-Hub-Signature-256", byOld)); why != "" {
			t.Error(why)
		}
	})
	t.Run("a secret that is not configured does not fit", func(t *testing.T) {
		if why := reason(newest, request("{}", "X-Hub-Signature-256", byOld)); why != "signature-mismatch" {
			t.Error(why)
		}
	})
}

func TestHeaderNamesInAnyCase(t *testing.T) {
	s := gh(t)
	for _, names := range [][2]string{{"x-hub-signature-256", "x-github-delivery"}, {"X-HUB-SIGNATURE-256", "X-GITHUB-DELIVERY"}} {
		r := request(ghBody)
		r.Header[names[0]] = []string{ghSum} // as a map made by hand has it
		r.Header[names[1]] = []string{"d-26"}
		if why := reason(s, r); why != "" {
			t.Error(names, why)
		}
		accepted(t, only(t, s, r), "d-26")
	}
}

func TestClockSkew(t *testing.T) {
	slow := time.Minute
	off := time.Duration(0)
	for _, test := range []struct {
		name      string
		tolerance *time.Duration
		age       time.Duration
		want      string
	}{
		{"290 s old", nil, 290 * time.Second, ""},
		{"300 s old is still inside", nil, 300 * time.Second, ""},
		{"a microsecond more is not", nil, 300*time.Second + time.Microsecond, "timestamp-outside-tolerance"},
		{"310 s old", nil, 310 * time.Second, "timestamp-outside-tolerance"},
		{"290 s ahead", nil, -290 * time.Second, ""},
		{"300 s ahead is still inside", nil, -300 * time.Second, ""},
		{"310 s ahead", nil, -310 * time.Second, "timestamp-outside-tolerance"},
		{"the source's own tolerance", &slow, 61 * time.Second, "timestamp-outside-tolerance"},
		{"no freshness", &off, 1e6 * time.Second, ""},
	} {
		for _, name := range []string{"stripe", "slack", "standard-webhooks", "svix", "gitlab"} {
			t.Run(name+" "+test.name, func(t *testing.T) {
				s := mustNew(t, provider.Options{Provider: name, Secrets: secret(stdSecret), Tolerance: test.tolerance})
				r := sign(t, s, request(`{"id":"evt_28"}`))
				r.Now = noon.Add(test.age)
				_, err := s.Verify(r)
				if got := reason(s, r); got != test.want {
					t.Fatalf("%q, want %q", got, test.want)
				}
				if test.want != "" && !strings.Contains(err.Error(), test.age.Abs().Round(time.Millisecond).String()) {
					t.Errorf("%v does not say the measured skew", err)
				}
			})
		}
	}
	t.Run("an old stamp with a wrong signature is a mismatch", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret(paySecret)})
		r := sign(t, s, request("{}"))
		r.Now, r.Body = noon.Add(time.Hour), []byte("{ }")
		if why := reason(s, r); why != "signature-mismatch" {
			t.Error(why)
		}
	})
	t.Run("a stamp beyond every clock is outside", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret(paySecret)})
		r := request("{}")
		r.Now = time.Unix(99999999999, 0)
		sign(t, s, r).Now = noon
		if why := reason(s, r); why != "timestamp-outside-tolerance" {
			t.Error(why)
		}
	})
}

func TestHostileHeadersAreAMismatch(t *testing.T) {
	s := gh(t)
	for _, header := range []string{
		"sha256=\xe9" + strings.Repeat("0", 63), "sha256=\x00", "sha256=", "sha256", "=", ",,,", "sha256=" + strings.Repeat("f", 100_000),
		"sha256=" + strings.Repeat("é", 32),
	} {
		got := reason(s, request(ghBody, "X-Hub-Signature-256", header))
		if got != "signature-mismatch" && got != "missing-signature" {
			t.Errorf("%.20q: %q", header, got)
		}
	}
}

func TestRefusalsAreNoOracle(t *testing.T) {
	body := `{"id":"evt_oracle"}`
	good := sign(t, gh(t), request(body)).Header.Get("X-Hub-Signature-256")
	other := mustNew(t, provider.Options{Provider: "github", Secrets: secret("another-secret")})
	_, wrongSecret := other.Verify(request(body, "X-Hub-Signature-256", good))
	_, wrongBody := gh(t).Verify(request(body+" ", "X-Hub-Signature-256", good))
	if wrongSecret == nil || wrongBody == nil || wrongSecret.Error() != wrongBody.Error() {
		t.Errorf("%v\n%v\nshould be one sentence", wrongSecret, wrongBody)
	}
	for _, name := range []string{"stripe", "github", "shopify", "slack", "gitlab", "standard-webhooks", "svix"} {
		s := mustNew(t, provider.Options{Provider: name, Secrets: secret(stdSecret)})
		right := sign(t, s, request(body))
		forged := sign(t, s, request(body+" "))
		forged.Body = []byte(body)
		_, err := s.Verify(forged)
		if name != "gitlab" && err == nil {
			t.Errorf("%s accepts another body", name)
		}
		text := fmt.Sprint(err)
		for _, values := range right.Header {
			for _, v := range values {
				if _, sum, _ := strings.Cut(v, "="); len(sum) > 20 && strings.Contains(text, sum) {
					t.Errorf("%s: %s", name, text)
				}
			}
		}
		if strings.Contains(text, stdSecret) || strings.Contains(text, stdSecret[6:]) {
			t.Errorf("%s: the secret is in %s", name, text)
		}
	}
}

func TestIdentityIsTheEventNotTheAttempt(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "standard-webhooks", Secrets: secret(stdSecret), ID: []string{"body:event.id"}})
	for i := range 3 {
		r := request(`{"event":{"id":"evt_40"}}`, "webhook-id", fmt.Sprintf("attempt-%d", i))
		r.Now = noon.Add(time.Duration(i) * time.Minute)
		sign(t, s, r)
		if why := reason(s, r); why != "" {
			t.Fatal(why)
		}
		accepted(t, only(t, s, r), "evt_40")
	}
}

func TestOneActionTwoTopics(t *testing.T) {
	deliveries := func(s *provider.Source) [2]onceward.Arrival {
		var two [2]onceward.Arrival
		for i, topic := range []string{"orders/create", "orders/paid"} {
			two[i] = only(t, s, request("{}", "X-Shopify-Event-Id", "e-42", "X-Shopify-Webhook-Id", fmt.Sprint("w", i), "X-Shopify-Topic", topic))
		}
		return two
	}
	t.Run("with the event id alone it is one event", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "shopify", Secrets: secret(shopSecret), ID: []string{"header:X-Shopify-Event-Id"}})
		if two := deliveries(s); two[0].Key != two[1].Key || two[0].Key.EventID != "e-42" {
			t.Error(two[0].Key, two[1].Key)
		}
	})
	t.Run("with the topic it is two, and one body may come under both", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "shopify", Secrets: secret(shopSecret)})
		two := deliveries(s)
		if two[0].Key == two[1].Key {
			t.Error("one key for two topics")
		}
		for i, want := range []string{"orders/create", "orders/paid"} {
			if part, remember := s.BodyPart(two[i]); part != want || !remember {
				t.Error(part, remember)
			}
		}
	})
}

func TestConsoleTestEvents(t *testing.T) {
	body := `{"id":"evt_00000000000000","livemode":false}`
	deliver := func(s *provider.Source) map[onceward.Key]bool {
		keys := map[onceward.Key]bool{}
		for i := range 5 {
			r := request(body)
			r.Now = noon.Add(time.Duration(i) * 12 * time.Second)
			a := only(t, s, r)
			if a.Verdict != onceward.Accepted {
				t.Fatal(a.Reason)
			}
			keys[a.Key] = true
			if _, remember := s.BodyPart(a); remember {
				t.Error("the body of a repeated id must not be remembered")
			}
		}
		return keys
	}
	t.Run("are one event by default", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret(paySecret)})
		if keys := deliver(s); len(keys) != 1 {
			t.Error(keys)
		}
	})
	t.Run("are an event each when their id is never deduplicated", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "stripe", Secrets: secret(paySecret), RepeatIDs: []string{"evt_00000000000000"}})
		if keys := deliver(s); len(keys) != 5 {
			t.Error(keys)
		}
		if !s.Repeats(only(t, s, request(body))) {
			t.Error("the arrival is not said to repeat")
		}
		a := only(t, s, request(`{"id":"evt_1","livemode":false}`))
		accepted(t, a, "evt_1")
		if s.Repeats(a) {
			t.Error("other ids are deduplicated as ever")
		}
	})
}

func TestMissingIdentity(t *testing.T) {
	s := gh(t)
	keys := map[onceward.Key]int{}
	for range 2 {
		for i := range 10 {
			r := request(fmt.Sprintf(`{"n":%d}`, i))
			r.Now = noon.Add(time.Duration(len(keys)) * time.Second)
			a := only(t, s, r)
			held(t, a, "id: header X-GitHub-Delivery is missing")
			keys[a.Key]++
			if _, remember := s.BodyPart(a); remember {
				t.Error("an event without identity must not reserve its body for others")
			}
		}
	}
	if len(keys) != 10 {
		t.Errorf("%d identities for ten bodies sent twice", len(keys))
	}
	for key := range keys {
		if !strings.HasPrefix(key.EventID, "sha256:") || key.Validate() != nil {
			t.Error(key)
		}
	}
}

func TestBatches(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "github", Secrets: secret(ghSecret), Items: "body", ID: []string{"item:sg_event_id"}, Type: "item:event"})
	t.Run("each item has its own identity and bytes", func(t *testing.T) {
		list := s.Arrivals(request(` [ {"sg_event_id":"b1", "event":"open"} , {"event":"click","sg_event_id":"b2"} ] `))
		if len(list) != 2 {
			t.Fatal(len(list))
		}
		accepted(t, list[0], "b1")
		accepted(t, list[1], "b2")
		if string(list[0].Raw) != `{"sg_event_id":"b1", "event":"open"}` || list[0].Item != 1 || list[1].Item != 2 || list[1].Of != 2 || list[1].Type != "click" {
			t.Errorf("%+v", list)
		}
	})
	t.Run("a bad item is held alone", func(t *testing.T) {
		list := s.Arrivals(request(`[{"sg_event_id":"b1","event":"e"},{"sg_event_id":"b2","event":"e"},"not-an-object"]`))
		accepted(t, list[0], "b1")
		accepted(t, list[1], "b2")
		held(t, list[2], "id: item:sg_event_id is missing")
		if string(list[2].Raw) != `"not-an-object"` {
			t.Errorf("%q", list[2].Raw)
		}
	})
	for _, test := range []struct{ name, body, why string }{
		{"no list", `{"sg_event_id":"b1"}`, "items: body is not a list"},
		{"not JSON", `[{"sg_event_id":"b1"},]`, "body is not JSON (at byte 22)"},
		{"too many", "[" + strings.Repeat("1,", 10_000) + "1]", "items: body has more than 10000 items"},
	} {
		t.Run(test.name+" is held as a whole", func(t *testing.T) { held(t, only(t, s, request(test.body)), test.why) })
	}
	t.Run("an empty batch is ignored, once", func(t *testing.T) {
		a := only(t, s, request(`[]`))
		if a.Verdict != onceward.Ignored || a.Key.Validate() != nil || a.Reason != "the batch is empty" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("items below a path, with parts of the envelope", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "none", Items: "body:data.events", ID: []string{"body:tenant", "item:id"}})
		list := s.Arrivals(request(`{"data":{"events":[{"id":1},{"id":2}]},"tenant":"acme"}`))
		if len(list) != 2 {
			t.Fatal(list[0].Reason)
		}
		accepted(t, list[1], "4:acme,1:2,")
		held(t, only(t, s, request(`{"data":{}}`)), "items: body:data.events is missing")
		held(t, only(t, s, request(`{"data":{"events":[]},"data":{"events":[]}}`)), "items: body:data.events stands twice in the body")
	})
}

func TestMemoryOutlastsTheSender(t *testing.T) {
	for _, c := range provider.Contracts() {
		if c.Memory <= c.RetryHorizon || c.Memory < c.ManualWindow {
			t.Errorf("%s: memory %s, retries for %s, by hand for %s", c.Name, c.Memory, c.RetryHorizon, c.ManualWindow)
		}
	}
}

func TestAContentTypeOfAFormTakesNothingFromAJSONSender(t *testing.T) {
	s, err := provider.New(provider.Options{Provider: "stripe", SourceID: "pay", Secrets: []provider.Secret{{Label: "s", Value: "whsec_x"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Sample("evt_1", 1)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	a := s.Arrivals(r)[0]
	if a.Key.EventID != "evt_1" || a.Type != "checkout.session.completed" || a.Verdict != onceward.Accepted {
		t.Errorf("got %q of type %q, %s", a.Key.EventID, a.Type, a.Verdict)
	}
}
