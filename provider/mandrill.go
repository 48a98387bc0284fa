package provider

import "bytes"

// mandrill signs the URL and the fields of a form, in which there is a list of
// events as JSON.
func mandrill() Contract {
	return completed(Contract{
		Name: "mandrill", Title: "Mailchimp Transactional (Mandrill)", Category: "email", SourceDocs: []string{"Mailchimp Transactional: Authenticating webhook requests"}, Confidence: "from-memory",
		Scheme: "mandrill", Headers: []string{"X-Mandrill-Signature", "X-Mailchimp-Signature"}, BodySigned: true,
		Rotation: "none: a reset of the key takes effect at once; configure both while you do it",
		Reads:    "the JSON in the form's field mandrill_events", Items: "body", ItemType: "application/json", ID: []string{"item:_id", "item:event", "item:ts"}, IDSigned: true, Scope: "one account",
		IDNote: "_id is the message's, shared by send, open and click, so event and time are part of it", Type: "item:event", OccurredAt: "item:ts",
		Handshake: "HEAD, and a POST without events signed with the key test-webhook; both want a 200", greet: mandrillGreeting,
		RetryOn: "anything but 200; up to 100 times", RetryHorizon: day, Memory: 7 * day,
		notes:    []string{"the public URL is signed: it must be the webhook's URL, byte for byte"},
		document: mandrillEvents, newScheme: newMandrill, sample: mandrillSample,
	})
}

func mandrillEvents(_ *Request, body []byte) document {
	found := field(&expression{kind: fromForm, name: "mandrill_events", text: "form:mandrill_events"}, string(body))
	switch found.state {
	case absent:
		return document{why: "form:mandrill_events is missing"}
	case ambiguous:
		return document{why: found.why}
	}
	return document{text: []byte(found.text)}
}

// mandrillGreeting answers what is sent when a webhook is made. Its key is
// public, so it must not carry an event.
func mandrillGreeting(r *Request, _ []Secret) (Reply, bool) {
	reply := Reply{Status: 200, ContentType: "text/plain"}
	if r.Method == "HEAD" {
		return reply, true
	}
	if doc := mandrillEvents(r, r.Body); !r.isForm() || string(bytes.TrimSpace(doc.text)) != "[]" {
		return Reply{}, false
	}
	probe := &mandrillScheme{keys: []*key{newKey("", "sha1", []byte("test-webhook"))}}
	_, refusal := probe.verify(r, r.Body)
	return reply, refusal == nil
}

type mandrillScheme struct{ keys []*key }

func newMandrill(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha1")
	return &mandrillScheme{keys}, err
}

func (d *mandrillScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	var sent string
	state := absent
	for _, name := range [...]string{"X-Mandrill-Signature", "X-Mailchimp-Signature"} {
		if sent, state = r.header(name); state != absent {
			break
		}
	}
	switch state {
	case absent:
		return verified{}, refuse(MissingSignature, "header X-Mandrill-Signature is missing or empty")
	case ambiguous:
		return verified{}, refuse(MalformedHeader, "header X-Mandrill-Signature was sent with different values")
	}
	list, refusal := formPairs(body)
	if refusal != nil {
		return verified{}, refusal
	}
	for _, k := range d.keys {
		m := k.open()
		mandrillMessage(m, r, list)
		matched := m.matches(sent, "base64")
		k.close(m)
		if matched {
			return verified{label: k.label}, nil
		}
	}
	return verified{}, mismatch("X-Mandrill-Signature", len(d.keys))
}

func mandrillMessage(m *mac, r *Request, list []pair) {
	m.Write([]byte(r.URL))
	for _, p := range sortedPairs(list) {
		m.buf = append(append(m.buf, p.name...), p.value...)
	}
	m.finish()
}

func (d *mandrillScheme) sign(r *Request, body []byte) error {
	list, refusal := formPairs(body)
	if refusal != nil {
		return refusal
	}
	m := d.keys[0].open()
	defer d.keys[0].close(m)
	mandrillMessage(m, r, list)
	r.Header.Set("X-Mandrill-Signature", m.spell("base64"))
	return nil
}

func (d *mandrillScheme) covers(e *expression) bool { return e.kind != fromHeader }

func (d *mandrillScheme) idHeader(*Request) string { return "" }

func mandrillSample(d *draft) {
	d.kind = "send"
	d.json(`[{"event":"send","_id":"{id}","ts":{unix},"msg":{"_id":"{id}","email":"buyer{n}@example.com","subject":"Sample {n}"}}]`)
	d.form("mandrill_events", d.body)
}
