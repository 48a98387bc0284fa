package provider_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/onceward/onceward/provider"
)

// TestGreetings: what senders with schemes of their own ask before they send.
func TestGreetings(t *testing.T) {
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	const hook = "https://hooks.example.test/in/x"
	empty := "mandrill_events=%5B%5D"
	for _, test := range []struct {
		name, provider, secret string
		method, query, body    string
		header                 []string
		status                 int // 0: not answered
		want                   string
	}{
		{"trello's HEAD", "trello", "s", "HEAD", "", "", nil, 200, ""},
		{"trello's GET", "trello", "s", "GET", "", "", nil, 0, ""},
		{"mandrill's HEAD", "mandrill", "s", "HEAD", "", "", nil, 200, ""},
		{"mandrill's first POST", "mandrill", "s", "POST", "", empty, append(form, "X-Mandrill-Signature", sha1MAC("test-webhook", hook+"mandrill_events[]")), 200, ""},
		{"under another key", "mandrill", "s", "POST", "", empty, append(form, "X-Mandrill-Signature", sha1MAC("guess", hook+"mandrill_events[]")), 0, ""},
		{"with an event in it", "mandrill", "s", "POST", "", "mandrill_events=%5B1%5D", append(form, "X-Mandrill-Signature", sha1MAC("test-webhook", hook+"mandrill_events[1]")), 0, ""},
		{"braintree's challenge", "braintree", "integration_public_key:integration_private_key", "GET", "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", "", nil, 200, "integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4"},
		{"a challenge that is a payload", "braintree", "p:k", "GET", "?bt_challenge=PD94bWwgdmVyc2lvbj0i", "", nil, 0, ""},
		{"a challenge that is short", "braintree", "p:k", "GET", "?bt_challenge=abc", "", nil, 0, ""},
		{"a challenge in capitals", "braintree", "p:k", "GET", "?bt_challenge=20F9F8ED05F77439FE955C977E4C8A53", "", nil, 0, ""},
		{"a posted challenge", "braintree", "p:k", "POST", "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", "", nil, 0, ""},
		{"okta's challenge", "okta", "s", "GET", "", "", []string{"X-Okta-Verification-Challenge", `a "b" <c>`}, 200, `{"verification":"a \"b\" \u003cc\u003e"}`},
		{"okta's challenge by POST", "okta", "s", "POST", "", "{}", []string{"X-Okta-Verification-Challenge", "a"}, 0, ""},
		{"graph's token, decoded", "microsoft-graph", "s", "POST", "?validationToken=Validation%3A+a%2Fb%3C", "", nil, 200, "Validation: a/b<"},
		{"graph's token by GET", "microsoft-graph", "s", "GET", "?validationToken=x", "", nil, 0, ""},
		{"a consent of cloud events", "cloudevents", "s", "OPTIONS", "", "", []string{"WebHook-Request-Origin", "eventemitter.example.com"}, 200, ""},
		{"OPTIONS of a browser", "cloudevents", "s", "OPTIONS", "", "", []string{"Origin", "x"}, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, provider.Options{Provider: test.provider, Secrets: secret(test.secret)})
			r := request(test.body, test.header...)
			r.Method, r.URL = test.method, hook+test.query
			reply, ok := s.Greet(r)
			if ok != (test.status != 0) || ok && (reply.Status != test.status || string(reply.Body) != test.want) {
				t.Errorf("%v %d %q", ok, reply.Status, reply.Body)
			}
			if test.provider == "microsoft-graph" && ok && (reply.ContentType != "text/plain" || reply.Header["X-Content-Type-Options"] != "nosniff") {
				t.Errorf("a browser could take it for a page: %+v", reply)
			}
			if test.provider == "cloudevents" && ok && (reply.Header["WebHook-Allowed-Origin"] != "eventemitter.example.com" || reply.Header["WebHook-Allowed-Rate"] != "*") {
				t.Errorf("%+v", reply.Header)
			}
		})
	}
}

// TestSignedHandshakes are answered only behind a signature or a secret.
func TestSignedHandshakes(t *testing.T) {
	validation := `[{"id":"1","topic":"/t","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"c-1","validationUrl":"https://x"}}]`
	grid := mustNew(t, provider.Options{Provider: "azure-event-grid", Secrets: secret("query:code=s3cret")})
	r := request(validation, "Aeg-Event-Type", "SubscriptionValidation")
	if _, ok := grid.Greet(r); ok {
		t.Error("answered without a secret")
	}
	if got := reason(grid, r); got != "missing-header" {
		t.Error(got)
	}
	r.URL += "?code=s3cret"
	if got := reason(grid, r); got != "" {
		t.Error(got)
	}
	reply, ok := grid.Handshake(r)
	if !ok || reply.Status != 200 || string(reply.Body) != `{"validationResponse":"c-1"}` {
		t.Errorf("%+v", reply)
	}
	for _, other := range []*provider.Request{
		request(validation, "Aeg-Event-Type", "Notification"), request("[]", "Aeg-Event-Type", "SubscriptionValidation"),
		request("x", "Aeg-Event-Type", "SubscriptionValidation"), request(`[{"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent"}]`, "Aeg-Event-Type", "SubscriptionValidation"),
	} {
		if reply, ok := grid.Handshake(other); ok {
			t.Errorf("%+v", reply)
		}
	}
	discord := mustNew(t, provider.Options{Provider: "discord", Secrets: secret(keyPair("ed25519", 0)...)})
	for body, want := range map[string]int{
		`{"version":1,"application_id":"1","type":0}`:                           204,
		`{"id":"1","type":1,"token":"t"}`:                                       200,
		`{"version":1,"type":1,"event":{"type":"A","timestamp":"t","data":{}}}`: 0,
		`{"id":"1","type":2,"data":{"name":"cmd"}}`:                             0,
		`x`: 0,
	} {
		if reply, ok := discord.Handshake(request(body)); ok != (want != 0) || reply.Status != want {
			t.Errorf("%s: %+v", body, reply)
		}
	}
}

func TestTokensInOtherPlaces(t *testing.T) {
	for _, test := range []struct {
		name, provider, secret, url string
		header                      []string
		want                        string
	}{
		{"as it stands", "auth0-log-streams", "s3", "", []string{"Authorization", "s3"}, ""},
		{"behind the word Bearer", "cloudevents", "s3", "", []string{"Authorization", "Bearer s3"}, ""},
		{"okta puts nothing in front", "okta", "s3", "", []string{"Authorization", "Bearer s3"}, "token-mismatch"},
		{"in another header", "okta", "header:X-Hook-Key=s3", "", []string{"X-Hook-Key", "s3"}, ""},
		{"in the wrong one", "okta", "header:X-Hook-Key=s3", "", []string{"Authorization", "s3"}, "missing-header"},
		{"in the query", "cloudevents", "query:access_token=s3", "?access_token=s3", nil, ""},
		{"wrong in the query", "cloudevents", "query:access_token=s3", "?access_token=s4", nil, "token-mismatch"},
		{"twice in the query", "cloudevents", "query:access_token=s3", "?access_token=s4&access_token=s3", nil, "token-mismatch"},
		{"twice in the header", "telegram", "s3", "", []string{"X-Telegram-Bot-Api-Secret-Token", "s4", "X-Telegram-Bot-Api-Secret-Token", "s3"}, "token-mismatch"},
		{"as user and password", "postmark", "user:pass", "", []string{"Authorization", "Basic dXNlcjpwYXNz"}, ""},
		{"an empty one", "telegram", "s3", "", []string{"X-Telegram-Bot-Api-Secret-Token", ""}, "missing-header"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, provider.Options{Provider: test.provider, Secrets: secret(test.secret)})
			r := request("{}", test.header...)
			r.URL += test.url
			if got := reason(s, r); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	t.Run("the header with the secret is a credential", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "okta", Secrets: secret("header:X-Hook-Key=s3")})
		if list := s.Contract().Credentials; list[len(list)-1] != "X-Hook-Key" {
			t.Error(list)
		}
		if c, _ := provider.Find("okta"); len(c.Credentials) != 1 {
			t.Error("one source changed the contract of all")
		}
	})
}

// TestItemsOfSpecialSenders reads batches and the identities in them.
func TestItemsOfSpecialSenders(t *testing.T) {
	xml := func(items string) string {
		return `<e:Envelope xmlns:e="x"><e:Body><notifications><OrganizationId>00D</OrganizationId><ActionId>04k</ActionId>` + items + `</notifications></e:Body></e:Envelope>`
	}
	for _, test := range []struct {
		name, provider, secret, body string
		header                       []string
		want                         []string // shown ids, ! in front when held
	}{
		{"graph: ids, versions, lifecycles, and nothing", "microsoft-graph", "s", `{"value":[{"id":"a"},{"subscriptionId":"s1","resource":"r","changeType":"updated","resourceData":{"@odata.etag":"e1"}},` +
			`{"subscriptionId":"s1","lifecycleEvent":"missed","subscriptionExpirationDateTime":"t"},{"subscriptionId":"s1","resource":"r","changeType":"updated"}]}`, nil, []string{"a", "s1|r|updated|e1", "s1|missed|t", "!"}},
		{"adyen: two items of one payment", "adyen-standard", "aa", `{"live":"true","notificationItems":[{"NotificationRequestItem":{"pspReference":"p","eventCode":"AUTHORISATION","success":"true"}},` +
			`{"NotificationRequestItem":{"pspReference":"p","eventCode":"CAPTURE","success":"true"}}]}`, nil, []string{"p|AUTHORISATION|true", "p|CAPTURE|true"}},
		{"sendgrid: with and without an id", "sendgrid", p256PEM(), "[{\"sg_event_id\":\"a\"},{\"sg_message_id\":\"m\",\"event\":\"open\",\"timestamp\":1,\"email\":\"e\"},{\"event\":\"open\"}]\r\n", nil, []string{"a", "m|open|1|e", "!"}},
		{"okta: several log events", "okta", "s", `{"source":"o","data":{"events":[{"uuid":"a"},{"uuid":"b"}]}}`, nil, []string{"a", "b"}},
		{"mandrill: JSON in a form", "mandrill", "s", "mandrill_events=%5B%7B%22_id%22%3A%22m%22%2C%22event%22%3A%22send%22%2C%22ts%22%3A1%7D%2C%7B%22_id%22%3A%22m%22%2C%22event%22%3A%22open%22%2C%22ts%22%3A2%7D%5D", []string{"Content-Type", "application/x-www-form-urlencoded"}, []string{"m|send|1", "m|open|2"}},
		{"mandrill: a form without events", "mandrill", "s", "x=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, []string{"!"}},
		{"auth0: lines", "auth0-log-streams", "s", "{\"log_id\":\"a\"}\n\n {\"log_id\":\"b\"} \r\n", nil, []string{"a", "b"}},
		{"auth0: a list", "auth0-log-streams", "s", ` [{"log_id":"a"}]`, nil, []string{"a"}},
		{"auth0: one object in several lines", "auth0-log-streams", "s", "{\n\"log_id\":\"a\"\n}", nil, []string{"a"}},
		{"auth0: a line that is cut off", "auth0-log-streams", "s", "{\"log_id\":\"a\"}\n{\"log_id\":", nil, []string{"!"}},
		{"cloud events: a batch", "cloudevents", "s", `[{"source":"/a","id":"1","specversion":"1.0"},{"source":"/b","id":"1"}]`, []string{"Content-Type", "application/cloudevents-batch+json; charset=utf-8"}, []string{"/a|1", "/b|1"}},
		{"cloud events: one", "cloudevents", "s", `{"source":"/a","id":"1"}`, []string{"Content-Type", "application/cloudevents+json"}, []string{"/a|1"}},
		{"cloud events: in headers, whatever the body says", "cloudevents", "s", `{"source":"/evil","id":"2"}`, []string{"Content-Type", "application/json", "Ce-Id", "1", "Ce-Source", "/a%20b", "Ce-Type", "t"}, []string{"/a b|1"}},
		{"cloud events: a body that is no JSON", "cloudevents", "s", "\x00\x01", []string{"Content-Type", "image/png", "Ce-Id", "1", "Ce-Source", "/a"}, []string{"/a|1"}},
		{"cloud events: two ids", "cloudevents", "s", `{}`, []string{"Ce-Id", "1", "Ce-Id", "2", "Ce-Source", "/a"}, []string{"!"}},
		{"salesforce: two notifications", "salesforce-outbound", "query:k=v", xml("<Notification><Id>04l1</Id></Notification> <Notification><Id>04l2</Id></Notification>"), nil, []string{"04l1", "04l2"}},
		{"salesforce: one", "salesforce-outbound", "query:k=v", xml("<Notification><Id>04l1</Id></Notification>"), nil, []string{"04l1"}},
		{"salesforce: a record that has a field of that name", "salesforce-outbound", "query:k=v", xml("<Notification><Id>04l1</Id><sObject><Notification>x</Notification></sObject></Notification><Notification><Id>04l2</Id></Notification>"), nil, []string{"04l1", "04l2"}},
		{"salesforce: entities are not read", "salesforce-outbound", "query:k=v", `<!DOCTYPE a [<!ENTITY b "c">]>` + xml("<Notification><Id>&b;</Id></Notification>"), nil, []string{"!"}},
		{"salesforce: two roots", "salesforce-outbound", "query:k=v", xml("") + xml(""), nil, []string{"!"}},
		{"telegram: an update", "telegram", "s", ` {"update_id":7,"callback_query":{"id":"1"}}`, nil, []string{"7"}},
		{"telegram: no object", "telegram", "s", `[7]`, nil, []string{"!"}},
		{"postmark: a trace", "postmark", "u:p", `{"RecordType":"Open","MessageID":"m"}`, []string{"X-PM-Webhook-Trace-Id", "t"}, []string{"t"}},
		{"postmark: a bounce", "postmark", "u:p", `{"RecordType":"Bounce","MessageID":"m","BouncedAt":"b","ID":7}`, nil, []string{"Bounce|m|b"}},
		{"postmark: an id shared by several events is none", "postmark", "u:p", `{"RecordType":"Open","MessageID":"m"}`, nil, []string{"!"}},
		{"postmark: inbound", "postmark", "u:p", `{"MessageID":"m","Date":"d"}`, nil, []string{"m|d"}},
		{"docusign: a recipient", "docusign", "s", `{"event":"recipient-completed","generatedDateTime":"t","data":{"envelopeId":"e","recipientId":"1"}}`, nil, []string{"recipient-completed|e|1|t"}},
		{"docusign: an envelope", "docusign", "s", `{"event":"envelope-completed","generatedDateTime":"t","data":{"envelopeId":"e"}}`, nil, []string{"envelope-completed|e|t"}},
		{"docusign: XML", "docusign", "s", `<DocuSignEnvelopeInformation/>`, nil, []string{"!"}},
		{"mailgun: a form", "mailgun", "s", `timestamp=1&token=t&signature=x&event=opened`, []string{"Content-Type", "application/x-www-form-urlencoded"}, []string{"t"}},
		{"sns: a message", "aws-sns", "topic=arn:1", `{"Type":"Notification","MessageId":"m","TopicArn":"arn:1"}`, []string{"Content-Type", "text/plain"}, []string{"m"}},
		{"discord: an interaction", "discord", strings.Repeat("ab", 32), `{"id":"i","type":2,"application_id":"1"}`, nil, []string{"i"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, provider.Options{Provider: test.provider, Secrets: secret(test.secret)})
			list := s.Arrivals(request(test.body, test.header...))
			var got []string
			for _, a := range list {
				if a.Reason != "" {
					got = append(got, "!")
				} else {
					got = append(got, a.Shown)
				}
			}
			if strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("%q, want %q (%s)", got, test.want, list[0].Reason)
			}
		})
	}
	t.Run("telegram's type is the part of the update", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "telegram", Secrets: secret("s")})
		const body = `{"update_id":7,"message":{"date":1767355190}}`
		a := only(t, s, request(body))
		if a.Type != "message" || a.OccurredAt.Unix() != 1767355190 || string(a.Raw) != body {
			t.Errorf("%+v", a)
		}
	})
	t.Run("an item is the bytes as they stood", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "auth0-log-streams", Secrets: secret("s")})
		list := s.Arrivals(request("{\"log_id\":\"a\", \"x\":1e3}\n{\"log_id\":\"b\"}"))
		if string(list[0].Raw) != `{"log_id":"a", "x":1e3}` || list[1].Item != 2 || list[1].Of != 2 {
			t.Errorf("%s", list[0].Raw)
		}
	})
	t.Run("braintree's XML is read", func(t *testing.T) {
		s := mustNew(t, provider.Options{Provider: "braintree", Secrets: secret("p:k")})
		r := sign(t, s, s.SampleAt("sub", 1, noon))
		a := only(t, s, r)
		if a.Type != "subscription_charged_successfully" || !a.OccurredAt.Equal(noon) || a.Key.Account != "sample" || !strings.HasPrefix(a.Key.EventID, "sha256:") {
			t.Errorf("%+v", a)
		}
	})
}

func p256PEM() string { return keyPair("p256", 0)[0] }

func TestACopyOfSalesforceMaySaySomethingNewer(t *testing.T) {
	c, _ := provider.Find("salesforce-outbound")
	if !provider.Equivalent([]byte("<a/>"), []byte("<b/>"), c.Volatile) {
		t.Error("newer values under one id are a conflict")
	}
	adyen, _ := provider.Find("adyen-standard")
	a := `{"NotificationRequestItem":{"eventDate":"1","reason":"x","pspReference":"p"}}`
	if !provider.Equivalent([]byte(a), []byte(strings.Replace(a, `"1"`, `"2"`, 1)), adyen.Volatile) || provider.Equivalent([]byte(a), []byte(strings.Replace(a, `"p"`, `"q"`, 1)), adyen.Volatile) {
		t.Error("only what may differ may differ")
	}
}

// TestAdyenSignsEveryItem: one bad item makes the whole delivery invalid.
func TestAdyenSignsEveryItem(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "adyen-standard", Secrets: secret("aa11")})
	two := `{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":""},"amount":{"currency":"EUR","value":1},"eventCode":"A","merchantAccountCode":" M ","pspReference":"p1","success":"true"}},` +
		`{"NotificationRequestItem":{"additionalData":{"hmacSignature":""},"amount":{"currency":"EUR","value":1},"eventCode":"A","merchantAccountCode":" M ","pspReference":"p2","success":"true"}}]}`
	r := sign(t, s, request(two))
	if got := reason(s, r); got != "" || !json.Valid(r.Body) {
		t.Fatal(got)
	}
	if list := s.Arrivals(r); len(list) != 2 || list[0].Key.Mode != "test" || list[1].Key.EventID == list[0].Key.EventID {
		t.Errorf("%+v", list)
	}
	for _, test := range []struct{ old, new, want string }{
		{`"p2"`, `"p3"`, "signature-mismatch"},
		{`"success":"true"}}]`, `"success":"false"}}]`, "signature-mismatch"},
		{`"value":1`, `"value":10`, "signature-mismatch"},
		{`"pspReference":"p1"`, `"pspReference":"p1","pspReference":"p9"`, "malformed-body"},
		{`"notificationItems"`, `"items"`, "malformed-body"},
		{`{"live"`, `["live"`, "malformed-body"},
	} {
		changed := *r
		changed.Body = []byte(strings.Replace(string(r.Body), test.old, test.new, 1))
		if got := reason(s, &changed); got != test.want {
			t.Errorf("%s: %q, want %q", test.new, got, test.want)
		}
	}
	if got := reason(s, request(`{"notificationItems":[]}`)); got != "missing-signature" {
		t.Error(got)
	}
}

// TestSNSTopics: the signature proves Amazon, so the topic has to be ours.
func TestSNSTopics(t *testing.T) {
	key := keyPair("rsa", 0)
	sender := mustNew(t, provider.Options{Provider: "aws-sns", Secrets: secret(key...)})
	r := sign(t, sender, sender.SampleAt("m1", 1, noon))
	ours := mustNew(t, provider.Options{Provider: "aws-sns", Secrets: secret(append(key, "topic=arn:aws:sns:us-west-2:123456789012:sample")...)})
	other := mustNew(t, provider.Options{Provider: "aws-sns", Secrets: secret(append(key, "topic=arn:aws:sns:us-west-2:1:other")...)})
	if got := reason(ours, r); got != "" {
		t.Error(got)
	}
	if got := reason(other, r); got != "claim-mismatch:TopicArn" {
		t.Error(got)
	}
	for _, url := range []string{
		"https://sns.us-east-1.amazonaws.com.evil.example/x.pem", "http://sns.us-east-1.amazonaws.com/x.pem", "https://sns.us-east-1.amazonaws.com/x.txt",
		"https://user@sns.us-east-1.amazonaws.com/x.pem", "https://sns.us-east-1.amazonaws.com:8443/x.pem", "https://evil.example/sns.us-east-1.amazonaws.com/x.pem", "https://s3.amazonaws.com/x.pem", "x.pem", "",
	} {
		changed := *r
		changed.Body = []byte(strings.Replace(string(r.Body), "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-sample.pem", url, 1))
		if got := reason(ours, &changed); got != "cert-url-not-trusted" {
			t.Errorf("%s: %q", url, got)
		}
	}
	for body, want := range map[string]string{
		"raw message":                              "malformed-body",
		`{"Type":"Other"}`:                         "malformed-body",
		`{"Type":"Notification"}`:                  "missing-signature",
		`{"Type":"Notification","Signature":"AA"}`: "unsupported-version",
	} {
		if got := reason(ours, request(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestSNSVersion1 is the SHA-1 form, which most topics still send.
func TestSNSVersion1(t *testing.T) {
	block, _ := pem.Decode([]byte(keyPair("rsa", 0)[0]))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum([]byte("Message\nhello\nMessageId\nm1\nTimestamp\n2026-01-02T12:00:00.000Z\nTopicArn\narn:1\nType\nNotification\n"))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private.(*rsa.PrivateKey), crypto.SHA1, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	body := `{"Type":"Notification","MessageId":"m1","TopicArn":"arn:1","Subject":null,"Message":"hello","Timestamp":"2026-01-02T12:00:00.000Z","SignatureVersion":"1",` +
		`"SigningCertURL":"https://sns.eu-central-1.amazonaws.com/a.pem","Signature":"` + base64.StdEncoding.EncodeToString(signature) + `"}`
	s := mustNew(t, provider.Options{Provider: "aws-sns", Secrets: secret(keyPair("rsa", 0)...)})
	if got := reason(s, request(body)); got != "" {
		t.Error(got)
	}
	for old, new := range map[string]string{"hello": "hallo", `"Subject":null`: `"Subject":"x"`, `"SignatureVersion":"1"`: `"SignatureVersion":"2"`, "arn:1": "arn:2"} {
		if got := reason(s, request(strings.Replace(body, old, new, 1))); got != "signature-mismatch" {
			t.Errorf("%s: %q", new, got)
		}
	}
}

func TestXMLIsBounded(t *testing.T) {
	s := mustNew(t, provider.Options{Provider: "salesforce-outbound", Secrets: secret("query:k=v")})
	open := `<Envelope><Body><notifications><OrganizationId>o</OrganizationId><ActionId>a</ActionId>`
	for name, body := range map[string]string{
		"too deep":              open + "<Notification><Id>1</Id>" + strings.Repeat("<x>", 30) + strings.Repeat("</x>", 30) + "</Notification></notifications></Body></Envelope>",
		"too many elements":     open + "<Notification><Id>1</Id>" + strings.Repeat("<x/>", 50_001) + "</Notification></notifications></Body></Envelope>",
		"an element not closed": open + "<Notification><Id>1</Id>",
		"another character set": `<?xml version="1.0" encoding="ISO-8859-1"?>` + open + "<Notification><Id>1</Id></Notification></notifications></Body></Envelope>",
		"nothing":               "",
	} {
		a := only(t, s, request(body, "Content-Type", "text/xml"))
		if a.Reason != "body is not XML that is read here" {
			t.Errorf("%s: %s %q", name, a.Verdict, a.Reason)
		}
	}
}
