package provider

import (
	"time"
)

// box signs "{body}{timestamp}" with two keys at once, in a header each.
func box() Contract {
	return completed(Contract{
		Name: "box", Title: "Box", Category: "storage", SourceDocs: []string{"box-node-sdk tests/lib/managers/webhooks-test.js"}, Confidence: "verified-from-sdk-code",
		Scheme: "box", Headers: []string{boxPrimary, boxSecondary, boxTime, "Box-Signature-Version", "Box-Signature-Algorithm"}, Tolerance: 10 * time.Minute, BodySigned: true,
		Rotation: "a primary and a secondary key sign at once, and either is enough: configure both, and change one at a time",
		ID:       []string{"header:box-delivery-id"}, Scope: "one webhook", Account: "body:webhook.id",
		IDNote: "the delivery's id, the same on every retry: the body's id is shared by the webhooks on every parent folder",
		Type:   "body:trigger", OccurredAt: "body:created_at", Deadline: 30 * time.Second,
		RetryOn: "anything but 2xx; 10 times, ever more slowly", Unsubs: "410 deletes the webhook", RetryHorizon: 2 * hour, Memory: 3 * day,
		newScheme: newBox,
		sample: sampled("FILE.UPLOADED", `{"type":"webhook_event","id":"event-{n}",{at:"created_at":"{rfc3339}",}"trigger":"FILE.UPLOADED","webhook":{"id":"1234567890","type":"webhook"},`+
			`"source":{"id":"{n}","type":"file","name":"sample {n}.txt"}}`, "Box-Delivery-Id", "{id}"),
	})
}

const (
	boxPrimary   = "Box-Signature-Primary"
	boxSecondary = "Box-Signature-Secondary"
	boxTime      = "Box-Delivery-Timestamp"
)

type boxScheme struct{ keys []*key }

func newBox(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha256")
	return &boxScheme{keys}, err
}

func (b *boxScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	if version, _ := r.header("Box-Signature-Version"); version != "1" {
		return verified{}, refuse(UnsupportedVersion, "header box-signature-version does not say 1, the only version that is known")
	}
	if algorithm, _ := r.header("Box-Signature-Algorithm"); algorithm != "HmacSHA256" {
		return verified{}, refuse(UnsupportedAlgorithm, "header box-signature-algorithm does not say HmacSHA256, and nothing else is accepted")
	}
	stamp, refusal := r.must(boxTime, "box-delivery-timestamp", MissingHeader)
	if refusal != nil {
		return verified{}, refusal
	}
	var sent []string
	for _, name := range [...]string{boxPrimary, boxSecondary} {
		if value, state := r.header(name); state == present {
			sent = append(sent, value)
		}
	}
	if len(sent) == 0 {
		return verified{}, refuse(MissingSignature, "headers box-signature-primary and box-signature-secondary are missing or empty")
	}
	v := verified{timed: true, future: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header box-delivery-timestamp is not a time")
	}
	for _, k := range b.keys {
		m := k.open()
		boxMessage(m, body, stamp)
		matched := false
		for _, value := range sent {
			matched = m.matches(value, "base64") || matched
		}
		k.close(m)
		if matched {
			v.label = k.label
			return v, nil
		}
	}
	return v, mismatch("box-signature-primary", len(b.keys))
}

func boxMessage(m *mac, body []byte, stamp string) {
	m.Write(body)
	m.buf = append(m.buf, stamp...)
	m.finish()
}

func (b *boxScheme) sign(r *Request, body []byte) error {
	stamp := r.Now.UTC().Format(time.RFC3339)
	r.Header.Set(boxTime, stamp)
	r.Header.Set("Box-Signature-Version", "1")
	r.Header.Set("Box-Signature-Algorithm", "HmacSHA256")
	for i, name := range [...]string{boxPrimary, boxSecondary} {
		r.Header.Del(name)
		if i < len(b.keys) {
			m := b.keys[i].open()
			boxMessage(m, body, stamp)
			r.Header.Set(name, m.spell("base64"))
			b.keys[i].close(m)
		}
	}
	return nil
}

func (b *boxScheme) covers(e *expression) bool {
	return e.kind != fromQuery && (e.kind != fromHeader || e.name == boxTime)
}

func (b *boxScheme) idHeader(*Request) string { return "" }
