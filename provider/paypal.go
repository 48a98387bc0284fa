package provider

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// paypal signs "{id}|{time}|{webhook id}|{crc32 of the body}" with a
// certificate that a header names.
func paypal() Contract {
	return completed(Contract{
		Name: "paypal", Title: "PayPal REST webhooks", Category: "payments", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"PayPal Developer: Integrate webhooks", "PayPal Developer: verify-webhook-signature", "paypal/PayPal-Python-SDK paypalrestsdk/notifications.py"},
		Scheme:     "paypal-cert", Headers: []string{paypalSignature, paypalID, paypalTime, paypalCert, paypalAlgorithm}, BodySigned: true,
		Rotation: "PayPal's: a header names the certificate, which is only fetched from PayPal's own hosts. The secret is the webhook's id, written as webhook-id=…; a certificate (PEM) beside it is trusted without fetching",
		ID:       []string{"body:id"}, IDSigned: true, Scope: "one app's webhook", IDNote: "the event's id (WH-…): the transmission's is of the attempt", Type: "body:event_type", OccurredAt: "body:create_time",
		Version: "body:event_version", RetryOn: "anything but 2xx; 25 times", RetryHorizon: 3 * day, ManualWindow: 30 * day, Memory: 30 * day,
		notes: []string{
			"the body is bound by a CRC-32 alone, which whoever has seen one delivery can meet with another body; no time is enforced, so the memory of ids is what stops that",
			"events of PayPal's simulator cannot be verified",
		},
		trial: []string{trialRSA, "webhook-id=onceward-dev"}, newScheme: newPaypal, sample: sampled("PAYMENT.CAPTURE.COMPLETED", `{"id":"{id}","event_version":"1.0",{at:"create_time":"{rfc3339}",}"resource_type":"capture","event_type":"PAYMENT.CAPTURE.COMPLETED",`+
			`"summary":"Payment completed","resource":{"id":"capture{n}","status":"COMPLETED","amount":{"currency_code":"EUR","value":"{amount}.00"}}}`),
	})
}

const (
	paypalID        = "Paypal-Transmission-Id"
	paypalTime      = "Paypal-Transmission-Time"
	paypalSignature = "Paypal-Transmission-Sig"
	paypalCert      = "Paypal-Cert-Url"
	paypalAlgorithm = "Paypal-Auth-Algo"
)

type paypalScheme struct {
	*material
	published Keys
}

func newPaypal(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil, "webhook-id")
	if err != nil {
		return nil, err
	}
	if len(m.settings["webhook-id"]) == 0 {
		return nil, wrong("secrets", "lack the webhook's id, which is signed; write it as webhook-id=…")
	}
	if len(m.rsaKeys()) != len(m.keys) {
		return nil, wrong("secrets", "hold a key that is not RSA, as this sender's are")
	}
	return &paypalScheme{m, o.Keys}, nil
}

func paypalHost(host string) bool { return strings.HasSuffix(host, ".paypal.com") }

func (p *paypalScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	var sent [5]string
	for i, name := range [...]string{paypalSignature, paypalID, paypalTime, paypalCert, paypalAlgorithm} {
		missing := MissingHeader
		if i == 0 {
			missing = MissingSignature
		}
		var refusal *Refusal
		if sent[i], refusal = r.must(name, strings.ToUpper(name), missing); refusal != nil {
			return verified{}, refusal
		}
	}
	signature, id, stamp, at, algorithm := sent[0], sent[1], sent[2], sent[3], sent[4]
	if algorithm != "SHA256withRSA" {
		return verified{}, refuse(AlgNotAllowed, "header PAYPAL-AUTH-ALGO does not say SHA256withRSA, and nothing else is accepted")
	}
	if !trustedURL(at, paypalHost) {
		return verified{}, refuse(CertNotTrusted, "header PAYPAL-CERT-URL is not at paypal.com, over https")
	}
	v := verified{timed: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header PAYPAL-TRANSMISSION-TIME is not a time")
	}
	keys := p.keys
	if len(keys) == 0 {
		var refusal *Refusal
		if keys, refusal = fetchedCertificate(p.published, at, []string{".paypal.com"}); refusal != nil {
			return v, refusal
		}
	}
	raw, _ := decoded(signature, "base64")
	for _, webhook := range p.settings["webhook-id"] {
		sum := paypalSum(id, stamp, webhook, body)
		if v.label, ok = verifyRSA(keys, crypto.SHA256, sum[:], raw); ok {
			return v, nil
		}
	}
	return v, mismatch("PAYPAL-TRANSMISSION-SIG", len(keys))
}

func paypalSum(id, stamp, webhook string, body []byte) [32]byte {
	checksum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	return sha256.Sum256([]byte(id + "|" + stamp + "|" + webhook + "|" + checksum))
}

func (p *paypalScheme) timed() bool { return true }

func (p *paypalScheme) sign(r *Request, body []byte) error {
	k, err := p.signer()
	if err != nil {
		return err
	}
	private, is := k.private.(*rsa.PrivateKey)
	if !is {
		return wrong("secrets", "%s is not an RSA key, as this sender's is", k.label)
	}
	id, state := r.header(paypalID)
	if state != present {
		id = messageID(body)
	}
	stamp := r.Now.UTC().Format(time.RFC3339)
	sum := paypalSum(id, stamp, p.settings["webhook-id"][0], body)
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	if err != nil {
		return wrong("secrets", "%s cannot sign", k.label)
	}
	r.Header.Set(paypalID, id)
	r.Header.Set(paypalTime, stamp)
	r.Header.Set(paypalCert, "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-sample")
	r.Header.Set(paypalAlgorithm, "SHA256withRSA")
	r.Header.Set(paypalSignature, base64.StdEncoding.EncodeToString(signature))
	return nil
}

func (p *paypalScheme) covers(e *expression) bool {
	return e.kind != fromQuery && (e.kind != fromHeader || e.name == paypalID || e.name == paypalTime)
}

func (p *paypalScheme) idHeader(*Request) string { return "" }
