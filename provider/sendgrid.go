package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"strconv"
)

// sendgrid signs "{timestamp}{body}" with a key pair of the webhook.
func sendgrid() Contract {
	return completed(Contract{
		Name: "sendgrid", Title: "Twilio SendGrid Event Webhook", Category: "email", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"sendgrid-go helpers/eventwebhook/eventwebhook_test.go", "SendGrid Docs: Event Webhook", "sendgrid/docs issue 2933"},
		Scheme:     "sendgrid-ecdsa", Headers: []string{sendgridHeader, sendgridTime}, BodySigned: true,
		Rotation: "a toggle makes a new key pair at once: configure both verification keys (base64) while you do it",
		Items:    "body", ID: []string{"item:sg_event_id"}, OtherIDs: [][]string{{"item:sg_message_id", "item:event", "item:timestamp", "item:email"}}, IDSigned: true, Scope: "one account or subuser",
		IDNote: "the event's id: sg_message_id is shared by all that happens to a message; old events without one are known by message, event, time and address",
		Type:   "item:event", OccurredAt: "item:timestamp", RetryOn: "anything but 2xx", RetryHorizon: day, Memory: 7 * day,
		notes: []string{"copies are common with this sender, also a day later"},
		trial: []string{trialP256}, newScheme: newSendgrid,
		sample: sampled("delivered", `[{"email":"buyer{n}@example.com","timestamp":{unix},"smtp-id":"<{n}@example.com>","event":"delivered","category":["sample"],"sg_event_id":"{id}",`+
			`"sg_message_id":"message-{n}"}]`),
	})
}

const (
	sendgridHeader = "X-Twilio-Email-Event-Webhook-Signature"
	sendgridTime   = "X-Twilio-Email-Event-Webhook-Timestamp"
)

type sendgridScheme struct{ *material }

func newSendgrid(o *Options) (scheme, error) {
	m, err := readMaterial(o, func(text string) (crypto.PublicKey, bool) {
		der, ok := decoded(text, "base64")
		if !ok {
			return nil, false
		}
		key, err := x509.ParsePKIXPublicKey(der)
		return key, err == nil
	})
	if err != nil {
		return nil, err
	}
	for _, k := range m.keys {
		if public, is := k.public.(*ecdsa.PublicKey); !is || public.Curve != elliptic.P256() {
			return nil, wrong("secrets", "%s is not a key of the curve P-256, as this sender's is", k.label)
		}
	}
	return &sendgridScheme{m}, nil
}

// verify takes the time as it stands: it is signed, whatever it says, and only
// enforced where a tolerance is configured.
func (s *sendgridScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	sent, refusal := r.must(sendgridHeader, sendgridHeader, MissingSignature)
	if refusal != nil {
		return verified{}, refusal
	}
	if len(r.values(sendgridTime)) == 0 {
		return verified{}, refuse(MissingHeader, "header %s is missing", sendgridTime)
	}
	stamp, state := r.header(sendgridTime)
	if state == ambiguous {
		return verified{}, refuse(MalformedHeader, "header %s was sent with different values", sendgridTime)
	}
	signature, ok := decoded(sent, "base64")
	var parts struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(signature, &parts); !ok || err != nil || len(rest) > 0 {
		return verified{}, refuse(MalformedSignature, "header %s is not a signature in base64", sendgridHeader)
	}
	sum := sendgridSum(stamp, body)
	for _, k := range s.keys[:min(len(s.keys), maxPublicTries)] {
		if ecdsa.VerifyASN1(k.public.(*ecdsa.PublicKey), sum, signature) {
			v := verified{label: k.label}
			v.signed, v.timed = instant(stamp)
			return v, nil
		}
	}
	return verified{}, mismatch(sendgridHeader, len(s.keys))
}

func sendgridSum(stamp string, body []byte) []byte {
	d := sha256.New()
	d.Write([]byte(stamp))
	d.Write(body)
	return d.Sum(nil)
}

func (s *sendgridScheme) timed() bool { return true }

func (s *sendgridScheme) sign(r *Request, body []byte) error {
	k, err := s.signer()
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(r.Now.Unix(), 10)
	signature, err := k.private.Sign(rand.Reader, sendgridSum(stamp, body), crypto.SHA256)
	if err != nil {
		return wrong("secrets", "%s cannot sign", k.label)
	}
	r.Header.Set(sendgridTime, stamp)
	r.Header.Set(sendgridHeader, base64.StdEncoding.EncodeToString(signature))
	return nil
}

func (s *sendgridScheme) covers(e *expression) bool {
	return e.kind != fromQuery && (e.kind != fromHeader || e.name == sendgridTime)
}

func (s *sendgridScheme) idHeader(*Request) string { return "" }
