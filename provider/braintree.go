package provider

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// braintree posts a form: base64 of XML, and one signature for each key pair.
func braintree() Contract {
	return completed(Contract{
		Name: "braintree", Title: "Braintree", Category: "payments", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"Braintree Docs: Webhooks parse / verify", "braintree_ruby lib/braintree/webhook_notification_gateway.rb"},
		Scheme:     "braintree", BodySigned: true,
		Rotation: "a signature for each key pair of the account: write a secret as PUBLIC_KEY:PRIVATE_KEY, and configure those that are in use",
		Reads:    "the XML in the form's field bt_payload, as JSON: notification.kind",
		ID:       []string{"sha256:form:bt_payload"}, IDSigned: true, Scope: "one merchant and environment", Account: "body:notification.source-merchant-id",
		IDNote: "there is no event id: the digest of bt_payload, in which kind, subject and time are", Type: "body:notification.kind", OccurredAt: "body:notification.timestamp",
		Handshake: "GET with bt_challenge, which is answered with its HMAC", greet: braintreeChallenge, Deadline: 30 * time.Second,
		RetryOn: "anything but 2xx, hourly", RetryHorizon: day, Memory: 7 * day,
		trial: []string{"onceward-dev:secret-not-real"}, document: braintreeDocument, newScheme: newBraintree, material: braintreeMaterial, sample: braintreeSample,
	})
}

// braintreeKey is a key pair; the HMAC's key is the digest of the private one.
type braintreeKey struct {
	public string
	*key
}

type braintreeScheme struct{ keys []braintreeKey }

func newBraintree(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	b := &braintreeScheme{}
	for _, s := range list {
		k, err := newBraintreeKey(s)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, k)
	}
	return b, nil
}

func newBraintreeKey(s Secret) (braintreeKey, error) {
	public, private, found := strings.Cut(s.Value, ":")
	if !found || public == "" || private == "" || strings.ContainsAny(public, "|&") {
		return braintreeKey{}, wrong("secrets", "%s is not a key pair; write it as PUBLIC_KEY:PRIVATE_KEY", s.Label)
	}
	sum := sha1.Sum([]byte(private))
	return braintreeKey{public, newKey(s.Label, "sha1", sum[:])}, nil
}

// braintreeMaterial joins a vector's two keys.
func braintreeMaterial(v *Vector) []Secret {
	if v.Secret == "" || v.PublicKey == "" {
		return nil
	}
	return []Secret{{Value: v.PublicKey + ":" + v.Secret}}
}

func (b *braintreeScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	list, refusal := formPairs(body)
	if refusal != nil {
		return verified{}, refusal
	}
	sent, state1 := formValue(list, "bt_signature")
	payload, state2 := formValue(list, "bt_payload")
	switch {
	case state1 == ambiguous || state2 == ambiguous:
		return verified{}, refuse(MalformedBody, "bt_signature or bt_payload was sent with different values")
	case sent == "":
		return verified{}, refuse(MissingSignature, "the form has no bt_signature")
	case payload == "":
		return verified{}, refuse(MalformedBody, "the form has no bt_payload")
	case strings.ContainsFunc(payload, notBase64):
		return verified{}, refuse(IllegalCharacters, "bt_payload has characters that base64 does not; a + that was not escaped became a space")
	}
	known := false
	for n := 0; sent != "" && n < maxGroups; n++ {
		var one string
		one, sent, _ = strings.Cut(sent, "&")
		public, sum, _ := strings.Cut(one, "|")
		for _, k := range b.keys {
			if k.public != public {
				continue
			}
			known = true
			if k.fits(payload, sum) || k.fits(payload+"\n", sum) {
				return verified{label: k.label}, nil
			}
		}
	}
	if !known {
		return verified{}, refuse(NoMatchingKey, "bt_signature is of another key pair than the %d configured", len(b.keys))
	}
	return verified{}, mismatch("bt_signature", len(b.keys))
}

func notBase64(c rune) bool {
	return !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' || c == '\n')
}

func (k braintreeKey) fits(payload, sum string) bool {
	m := k.open()
	defer k.close(m)
	m.buf = append(m.buf, payload...)
	m.finish()
	return m.matches(sum, "hex")
}

// sign wraps a body that is XML; the payload of one that is a form already is
// signed anew.
func (b *braintreeScheme) sign(r *Request, body []byte) error {
	payload := base64.StdEncoding.EncodeToString(body)
	if r.isForm() {
		list, refusal := formPairs(body)
		if refusal != nil {
			return refusal
		}
		var state presence
		if payload, state = formValue(list, "bt_payload"); state != present {
			return refuse(MalformedBody, "the form has no bt_payload")
		}
	}
	k := b.keys[0]
	m := k.open()
	defer k.close(m)
	m.buf = append(m.buf, payload...)
	m.finish()
	d := draft{head: r.Header}
	d.form("bt_signature", k.public+"|"+m.spell("hex"), "bt_payload", payload)
	r.Body = []byte(d.body)
	return nil
}

func (b *braintreeScheme) covers(e *expression) bool {
	return e.kind != fromHeader && e.kind != fromQuery
}

func (b *braintreeScheme) idHeader(*Request) string { return "" }

// braintreeChallenge proves that the URL is ours. Only what looks like a
// challenge is signed: anything else would make this an oracle.
func braintreeChallenge(r *Request, secrets []Secret) (Reply, bool) {
	if r.Method != "GET" || len(secrets) == 0 {
		return Reply{}, false
	}
	challenge := field(&expression{kind: fromQuery, name: "bt_challenge"}, r.query()).text
	if len(challenge) < 20 || len(challenge) > 32 || strings.ToLower(challenge) != challenge || strings.Trim(challenge, "0123456789abcdef") != "" {
		return Reply{}, false
	}
	k, err := newBraintreeKey(secrets[0])
	if err != nil {
		return Reply{}, false
	}
	m := k.open()
	m.buf = append(m.buf, challenge...)
	m.finish()
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(k.public + "|" + hex.EncodeToString(m.sum))}, true
}

func braintreeDocument(_ *Request, body []byte) document {
	found := field(&expression{kind: fromForm, name: "bt_payload", text: "form:bt_payload"}, string(body))
	if found.state != present {
		return document{why: "form:bt_payload is missing"}
	}
	text, err := base64.StdEncoding.DecodeString(found.text) // it skips newlines
	if err != nil {
		return document{why: "form:bt_payload is not base64"}
	}
	return xmlDocument(text, "")
}

func braintreeSample(d *draft) {
	d.kind = "subscription_charged_successfully"
	d.header("Content-Type", "text/xml")
	d.json(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<notification>\n  <kind>" + d.kind + `</kind>` + "\n  <timestamp type=\"datetime\">{rfc3339}</timestamp>\n  <source-merchant-id>sample</source-merchant-id>\n  <subject><subscription><id>{id}</id><price>{amount}.00</price></subscription></subject>\n</notification>\n")
}
