package provider

import (
	"strconv"
)

// mailgun signs a time and a token, and nothing of the event beside them.
func mailgun() Contract {
	return completed(Contract{
		Name: "mailgun", Title: "Mailgun", Category: "email", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"mailgun-go webhooks.go VerifyWebhookSignature", "Mailgun Docs: Webhook automatic retries"},
		Scheme:     "mailgun-body", Rotation: "of a subaccount, the parent's key signs as well (parent-signature): configure the keys you have",
		ID: []string{`body:event-data.id`}, OtherIDs: [][]string{{"form:token"}}, Scope: "one domain and account",
		IDNote: "the event's id; the token is of the request", Type: "body:event-data.event|form:event", OccurredAt: "body:event-data.timestamp|form:timestamp",
		RetryOn: "anything but 200; after 5, 10 and 15 minutes, 1, 2 and 4 hours", StopOn: "406; a delivery notification is never sent again", RetryHorizon: 8 * hour, Memory: 3 * day,
		notes: []string{
			"only a time and a token are signed, NOT THE EVENT: whoever sees one request can put its signature beside any other event; keep the URL secret, and look the event up before anything expensive",
			"older hooks post multipart forms, which are refused; choose JSON webhooks",
		},
		newScheme: newMailgun,
		sample: sampled("delivered", `{"signature":{"timestamp":"","token":"{sha}aabbccddee","signature":""},"event-data":{"event":"delivered","id":"{id}",{at:"timestamp":{unix}.0,}"recipient":"buyer{n}@example.com",`+
			`"recipient-domain":"example.com","message":{"headers":{"message-id":"{n}@example.com"}}}}`),
	})
}

type mailgunScheme struct {
	keys []*key
	body *lookup
}

func newMailgun(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha256")
	return &mailgunScheme{keys: keys, body: lookFor("signature.timestamp", "signature.token", "signature.signature",
		"parent-signature.timestamp", "parent-signature.token", "parent-signature.signature")}, err
}

// mailgunProof is one signature of a request.
type mailgunProof struct{ timestamp, token, signature string }

// proofs reads the signatures of a body, of which there are one or two.
func (g *mailgunScheme) proofs(r *Request, body []byte) ([]mailgunProof, *Refusal) {
	if r.isForm() {
		list, refusal := formPairs(body)
		if refusal != nil {
			return nil, refusal
		}
		var p mailgunProof
		for name, to := range map[string]*string{"timestamp": &p.timestamp, "token": &p.token, "signature": &p.signature} {
			var state presence
			if *to, state = formValue(list, name); state == ambiguous {
				return nil, refuse(MalformedBody, "the form has %s several times", name)
			}
		}
		return []mailgunProof{p}, nil
	}
	f, ok := g.body.read(body)
	defer f.close()
	if !ok {
		return nil, refuse(MalformedBody, "the body is neither JSON nor a form, and the signature is inside it")
	}
	var all []mailgunProof
	for _, at := range [...]string{"signature.", "parent-signature."} {
		var p mailgunProof
		for name, to := range map[string]*string{"timestamp": &p.timestamp, "token": &p.token, "signature": &p.signature} {
			var state presence
			if *to, state = f.text(at + name); state == ambiguous {
				return nil, refuse(MalformedBody, "%s%s stands twice or is no value", at, name)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

func (g *mailgunScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	all, refusal := g.proofs(r, body)
	if refusal != nil {
		return verified{}, refusal
	}
	seen := false
	for _, p := range all {
		if p.signature == "" || p.token == "" || p.timestamp == "" {
			continue
		}
		seen = true
		for _, k := range g.keys {
			m := k.open()
			m.buf = append(append(m.buf, p.timestamp...), p.token...)
			m.finish()
			matched := m.matches(p.signature, "hex")
			k.close(m)
			if !matched {
				continue
			}
			v := verified{label: k.label, timed: true}
			var ok bool
			if v.signed, ok = instant(p.timestamp); !ok {
				return v, refuse(MalformedBody, "signature.timestamp is not a time")
			}
			return v, nil
		}
	}
	if !seen {
		return verified{}, refuse(MissingSignature, "the body has no signature with timestamp, token and signature in it")
	}
	return verified{}, mismatch("the body", len(g.keys))
}

func (g *mailgunScheme) timed() bool { return true }

func (g *mailgunScheme) sign(r *Request, body []byte) error {
	stamp := strconv.FormatInt(r.Now.Unix(), 10)
	m := g.keys[0].open()
	defer g.keys[0].close(m)
	f, ok := g.body.read(body)
	token, _ := f.text("signature.token")
	f.close()
	m.buf = append(append(m.buf, stamp...), token...)
	m.finish()
	for path, value := range map[string]string{"signature.timestamp": stamp, "signature.signature": m.spell("hex")} {
		f, _ := g.body.read(body)
		if ok {
			body, ok = f.splice(body, path, value)
		}
		f.close()
	}
	if !ok || token == "" {
		return refuse(MalformedBody, "the body has no place for a signature: an object signature with timestamp, token and signature")
	}
	r.Body = body
	return nil
}

// covers nothing: the event is not signed.
func (g *mailgunScheme) covers(*expression) bool { return false }

func (g *mailgunScheme) idHeader(*Request) string { return "" }
