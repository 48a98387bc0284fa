package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// hubspot signs method, URL, body and time (v3); its older schemes are plain
// digests with the secret in front.
func hubspot() Contract {
	return completed(Contract{
		Name: "hubspot", Title: "HubSpot", Category: "crm", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"hubspot-api-nodejs test/unit/signature.spec.ts", "HubSpot Developers: Webhooks / Validating requests"},
		Scheme:     "hubspot", Headers: []string{hubspotV3, hubspotTime, hubspotOld, hubspotVersion}, Tolerance: 5 * time.Minute, BodySigned: true,
		Rotation: "none: the app's client secret; configure the old and the new one while you change it",
		Items:    "body", ID: []string{"item:portalId", "item:eventId", "item:subscriptionId", "item:objectId", "item:occurredAt"}, IDSigned: true,
		Scope: "one portal and app", Account: "item:portalId",
		IDNote: "eventId is not promised to be unique, so portal, subscription, object and time are part of it; attemptNumber is left out",
		Type:   "item:subscriptionType", OccurredAt: "item:occurredAt", Deadline: 5 * time.Second,
		RetryOn: "anything but 2xx; 10 times, as a whole batch or another one", StopOn: "some products: 4xx other than 429", RetryHorizon: day, Memory: 3 * day,
		Volatile: []string{"attemptNumber"},
		notes: []string{
			"the public URL is signed: intake.public_url must be the app's target URL",
			"the schemes v1 and v2 sign no time; they are only looked at where a request has no v3 signature",
		},
		newScheme: newHubspot,
		sample: sampled("contact.creation", `[{"eventId":"{id}","subscriptionId":12345,"portalId":62515,"appId":54321,"occurredAt":{unix}000,"subscriptionType":"contact.creation","attemptNumber":0,`+
			`"objectId":{n},"changeSource":"CRM","changeFlag":"NEW"}]`),
	})
}

const (
	hubspotV3      = "X-Hubspot-Signature-V3"
	hubspotTime    = "X-Hubspot-Request-Timestamp"
	hubspotOld     = "X-Hubspot-Signature"
	hubspotVersion = "X-Hubspot-Signature-Version"
)

type hubspotScheme struct {
	keys    []*key
	secrets []Secret
}

func newHubspot(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	h := &hubspotScheme{secrets: list}
	for _, s := range list {
		h.keys = append(h.keys, newKey(s.Label, "sha256", []byte(s.Value)))
	}
	return h, nil
}

func (h *hubspotScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	if len(r.values(hubspotV3)) > 0 {
		return h.verifyV3(r, body)
	}
	sent, state := r.header(hubspotOld)
	switch state {
	case absent:
		return verified{}, refuse(MissingSignature, "headers X-HubSpot-Signature-v3 and X-HubSpot-Signature are missing or empty")
	case ambiguous:
		return verified{}, refuse(MalformedHeader, "header X-HubSpot-Signature was sent with different values")
	}
	version, _ := r.header(hubspotVersion)
	middle := ""
	switch version {
	case "", "v1":
	case "v2":
		middle = r.Method + r.URL
	default:
		return verified{}, refuse(UnsupportedVersion, "header X-HubSpot-Signature-Version says neither v1 nor v2")
	}
	claimed, err := hex.DecodeString(sent)
	for _, s := range h.secrets {
		d := sha256.New()
		d.Write([]byte(s.Value + middle))
		d.Write(body)
		if err == nil && subtle.ConstantTimeCompare(d.Sum(nil), claimed) == 1 {
			return verified{label: s.Label}, nil
		}
	}
	return verified{}, mismatch("X-HubSpot-Signature", len(h.secrets))
}

func (h *hubspotScheme) verifyV3(r *Request, body []byte) (verified, *Refusal) {
	sent, state := r.header(hubspotV3)
	switch state {
	case absent:
		return verified{}, refuse(MissingSignature, "header X-HubSpot-Signature-v3 is empty")
	case ambiguous:
		return verified{}, refuse(MalformedHeader, "header X-HubSpot-Signature-v3 was sent with different values")
	}
	stamp, refusal := r.must(hubspotTime, "X-HubSpot-Request-Timestamp", MissingHeader)
	if refusal != nil {
		return verified{}, refusal
	}
	v := verified{timed: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header X-HubSpot-Request-Timestamp is not a time")
	}
	for _, k := range h.keys {
		m := k.open()
		hubspotMessage(m, r, body, stamp)
		matched := m.matches(sent, "base64")
		k.close(m)
		if matched {
			v.label = k.label
			return v, nil
		}
	}
	return v, mismatch("X-HubSpot-Signature-v3", len(h.keys))
}

// hubspotDecoded are the escapes that the sender undoes before it signs a URL;
// all others stay.
var hubspotDecoded = strings.NewReplacer(
	"%3A", ":", "%3a", ":", "%2F", "/", "%2f", "/", "%3F", "?", "%3f", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'",
	"%28", "(", "%29", ")", "%2A", "*", "%2a", "*", "%2C", ",", "%2c", ",", "%3B", ";", "%3b", ";",
)

func hubspotMessage(m *mac, r *Request, body []byte, stamp string) {
	m.buf = append(append(m.buf, r.Method...), hubspotDecoded.Replace(r.URL)...)
	m.flush()
	m.Write(body)
	m.buf = append(m.buf, stamp...)
	m.finish()
}

func (h *hubspotScheme) sign(r *Request, body []byte) error {
	stamp := strconv.FormatInt(r.Now.UnixMilli(), 10)
	m := h.keys[0].open()
	defer h.keys[0].close(m)
	hubspotMessage(m, r, body, stamp)
	r.Header.Set(hubspotTime, stamp)
	r.Header.Set(hubspotV3, m.spell("base64"))
	return nil
}

// covers leaves the URL out: v1 does not sign it.
func (h *hubspotScheme) covers(e *expression) bool {
	return e.kind != fromHeader && e.kind != fromQuery
}

func (h *hubspotScheme) idHeader(*Request) string { return "" }
