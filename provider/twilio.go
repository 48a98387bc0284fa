package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// twilio signs the URL and the fields of the form, sorted. Any other body is
// only bound if the URL carries its digest.
func twilio() Contract {
	return completed(Contract{
		Name: "twilio", Title: "Twilio (voice and SMS webhooks, status callbacks)", Category: "messaging", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"twilio-go client/request_validator.go", "twilio-go client/request_validator_test.go", "Twilio Docs: Webhook connection overrides"},
		Scheme:     "twilio", Headers: []string{twilioHeader}, BodySigned: true,
		Rotation: "the signature moves from the primary to the secondary auth token at once: configure both",
		ID:       []string{"header:I-Twilio-Idempotency-Token"},
		OtherIDs: [][]string{
			{"form:MessageSid", "form:MessageStatus"},
			{"form:SmsSid", "form:SmsStatus"},
			{"form:CallSid", "form:CallStatus", "form:SequenceNumber?"},
			{"form:MessageSid"},
		},
		Scope: "one account", Account: "form:AccountSid",
		IDNote: "the request's idempotency token, the same when it is sent again; without it, message or call and its status: the sid alone would merge queued, sent and delivered",
		Type:   "form:MessageStatus|form:CallStatus|form:SmsStatus", OccurredAt: "form:Timestamp", Deadline: 15 * time.Second,
		RetryOn: "connection errors, once and at once, unless the URL's fragment says otherwise (#rc=5)", RetryHorizon: time.Minute, Memory: 2 * day,
		notes: []string{
			"the public URL is signed: intake.public_url must be what Twilio was given; both spellings of the port are tried, as the sender's own libraries do",
			"a body that is no form is only bound by bodySHA256 in the URL; without it the request is refused",
			"a gateway cannot answer with TwiML: use it for callbacks, and let calls be answered by their application",
		},
		newScheme: newTwilio,
		sample:    twilioSample,
	})
}

// twilioEventStreams posts batches of CloudEvents, bound by their digest.
func twilioEventStreams() Contract {
	return completed(Contract{
		Name: "twilio-event-streams", Title: "Twilio Event Streams (webhook sink)", Category: "messaging", Confidence: "verified-from-docs",
		SourceDocs: []string{"Twilio Docs: Event delivery retries and event duplication", "Twilio Docs: Event Streams webhook quickstart"},
		Scheme:     "twilio", Headers: []string{twilioHeader}, BodySigned: true, Rotation: "as twilio: configure both auth tokens",
		Items: "body", ID: []string{"item:id"}, IDSigned: true, Scope: "one sink", IDNote: "the event's id (EZ…): each sink gets a copy of its own under it",
		Type: "item:type", OccurredAt: "item:time", Version: "item:specversion", Handshake: "a test event, which is an event like the others",
		Deadline: 5 * time.Second, RetryOn: "anything but 2xx, ever more slowly", RetryHorizon: 4 * hour, Memory: 2 * day,
		notes:     []string{"the public URL is signed, with the body's digest in it (bodySHA256)"},
		newScheme: newTwilio,
		sample: sampled("com.twilio.messaging.message.delivered", `[{"specversion":"1.0","type":"com.twilio.messaging.message.delivered","source":"/v1/Accounts/AC1/Messages/SM{n}","id":"{id}",`+
			`{at:"time":"{rfc3339}",}"datacontenttype":"application/json","data":{"accountSid":"AC1","messageSid":"SM{n}"}}]`),
	})
}

const twilioHeader = "X-Twilio-Signature"

type twilioScheme struct{ keys []*key }

func newTwilio(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha1")
	return &twilioScheme{keys}, err
}

func (t *twilioScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	sent, refusal := r.must(twilioHeader, "X-Twilio-Signature", MissingSignature)
	if refusal != nil {
		return verified{}, refusal
	}
	fields, refusal := twilioFields(r, body)
	if refusal != nil {
		return verified{}, refusal
	}
	bound := digestInURL(r)
	if fields == nil && len(body) > 0 && bound == "" {
		return verified{}, refuse(BodyNotBound, "the body is no form, and the URL has no bodySHA256: the signature would not cover the body")
	}
	urls := withAndWithoutPort(r.URL)
	for _, k := range t.keys {
		m := k.open()
		matched := false
		for _, url := range urls {
			m.Reset()
			m.Write([]byte(url))
			for _, p := range fields {
				m.buf = append(append(m.buf, p.name...), p.value...)
			}
			m.finish()
			matched = matched || m.matches(sent, "base64")
			m.buf = m.buf[:0]
		}
		k.close(m)
		if !matched {
			continue
		}
		if fields == nil && len(body) > 0 && !sameDigest(body, bound) {
			return verified{}, refuse(BodyHashMismatch, "the body's digest is not the bodySHA256 of the signed URL: it was changed on the way")
		}
		return verified{label: k.label}, nil
	}
	return verified{}, refuse(SignatureMismatch, "no signature in X-Twilio-Signature fits: %d secret(s) were tried; either the secret is another one, the body was changed, or the public URL is not the one that Twilio was given", len(t.keys))
}

// twilioFields are the fields that are signed; nil when the body is no form.
func twilioFields(r *Request, body []byte) ([]pair, *Refusal) {
	if !r.isForm() {
		return nil, nil
	}
	list, refusal := formPairs(body)
	if refusal != nil {
		return nil, refusal
	}
	list = sortedPairs(list)
	if list == nil {
		list = []pair{}
	}
	return list, nil
}

// digestInURL is the bodySHA256 of the URL, empty when it has none.
func digestInURL(r *Request) string {
	return field(&expression{kind: fromQuery, name: "bodySHA256"}, r.query()).text
}

func sameDigest(body []byte, said string) bool {
	sum := sha256.Sum256(body)
	claimed, err := hex.DecodeString(said)
	return err == nil && hmac.Equal(sum[:], claimed)
}

// withAndWithoutPort spells a URL in the two ways in which Twilio may have
// signed it: it adds the scheme's own port to some, and takes one off others.
func withAndWithoutPort(url string) []string {
	url, _, _ = strings.Cut(url, "#")
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return []string{url}
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		return []string{url, scheme + "://" + host[:colon] + path}
	}
	port := ":443"
	if strings.EqualFold(scheme, "http") {
		port = ":80"
	}
	return []string{url, scheme + "://" + host + port + path}
}

func (t *twilioScheme) sign(r *Request, body []byte) error {
	fields, refusal := twilioFields(r, body)
	if refusal != nil {
		return refusal
	}
	if fields == nil && len(body) > 0 {
		sum := sha256.Sum256(body)
		url, _, _ := strings.Cut(r.URL, "#")
		base, query, _ := strings.Cut(url, "?")
		var kept []string
		for one := range strings.SplitSeq(query, "&") {
			if one != "" && !strings.HasPrefix(one, "bodySHA256=") {
				kept = append(kept, one)
			}
		}
		r.URL = base + "?" + strings.Join(append(kept, "bodySHA256="+hex.EncodeToString(sum[:])), "&")
	}
	k := t.keys[0]
	m := k.open()
	defer k.close(m)
	url, _, _ := strings.Cut(r.URL, "#")
	m.Write([]byte(url))
	for _, p := range fields {
		m.buf = append(append(m.buf, p.name...), p.value...)
	}
	m.finish()
	r.Header.Set(twilioHeader, m.spell("base64"))
	return nil
}

func (t *twilioScheme) covers(e *expression) bool { return e.kind != fromHeader }

func (t *twilioScheme) idHeader(*Request) string { return "" }

func twilioSample(d *draft) {
	d.kind = "delivered"
	d.header("Content-Type", "application/x-www-form-urlencoded")
	d.header("I-Twilio-Idempotency-Token", d.id)
	d.json("AccountSid=AC1&ApiVersion=2010-04-01&From=%2B14155550100&MessageSid=SM{sha}&MessageStatus=delivered&SmsSid=SM{sha}&SmsStatus=delivered&To=%2B14155550{n}")
}
