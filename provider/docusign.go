package provider

import (
	"strconv"
	"time"
)

// docusign signs the body with every active key, in a numbered header each.
func docusign() Contract {
	return completed(Contract{
		Name: "docusign", Title: "DocuSign Connect", Category: "productivity", Confidence: "verified-from-docs",
		SourceDocs: []string{"Docusign Developer: How to validate an HMAC signature", "Docusign Developer: Legacy event message formats", "Docusign Developer: Pause a Connect configuration", "Docusign Developer: ConnectConfigurations resource", "docusign_esign Ruby SDK: ConnectCustomConfiguration#requires_acknowledgement"},
		Scheme:     "docusign-hmac", Headers: []string{docusignHeader(1)}, BodySigned: true,
		Rotation: "one numbered header for each active key, and any that fits is enough: configure the keys you have",
		ID:       []string{"body:event", "body:data.envelopeId", "body:data.recipientId", "body:generatedDateTime"},
		OtherIDs: [][]string{{"body:event", "body:data.envelopeId", "body:generatedDateTime"}},
		IDSigned: true, Scope: "one account's Connect configuration", Account: "body:data.accountId",
		IDNote: "there is no event id: event, envelope, recipient and the time of its making; an envelope comes with every event about it",
		Type:   "body:event", OccurredAt: "body:generatedDateTime", Deadline: 100 * time.Second,
		RetryOn: "anything but 2xx; at most 10 times, a day apart after the second", RetryHorizon: 15 * day, ManualWindow: 30 * day, Memory: 45 * day,
		Volatile: []string{"retryCount"},
		notes: []string{
			"only the JSON format with one message for each event has an identity; the aggregate formats (XML too) are held for a person",
			"a republish by hand sends whole envelopes again, at any time",
		},
		newScheme: newDocusign,
		sample: sampled("envelope-completed", `{"event":"envelope-completed","apiVersion":"v2.1","uri":"/restapi/v2.1/accounts/a/envelopes/{id}","retryCount":0,"configurationId":1,`+
			`"generatedDateTime":"{rfc3339}","data":{"accountId":"a","userId":"u","envelopeId":"{id}"}}`),
	})
}

// docusignHeaders is how many numbered headers are read.
const docusignHeaders = 100

func docusignHeader(n int) string { return "X-Docusign-Signature-" + strconv.Itoa(n) }

type docusignScheme struct{ keys []*key }

func newDocusign(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha256")
	return &docusignScheme{keys}, err
}

func (d *docusignScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	var sent []string
	for n := 1; n <= docusignHeaders; n++ {
		value, state := r.header(docusignHeader(n))
		if state == absent {
			break
		}
		if state == present {
			sent = append(sent, value)
		}
	}
	if len(sent) == 0 {
		return verified{}, refuse(MissingSignature, "header X-DocuSign-Signature-1 is missing or empty")
	}
	for _, k := range d.keys {
		m := k.open()
		m.Write(body)
		m.finish()
		matched := false
		for i := 0; i < len(sent) && !matched; i++ {
			matched = m.matches(sent[i], "base64")
		}
		k.close(m)
		if matched {
			return verified{label: k.label}, nil
		}
	}
	return verified{}, mismatch("X-DocuSign-Signature-1", len(d.keys))
}

func (d *docusignScheme) sign(r *Request, body []byte) error {
	for i, k := range d.keys[:min(len(d.keys), docusignHeaders)] {
		m := k.open()
		m.Write(body)
		m.finish()
		r.Header.Set(docusignHeader(i+1), m.spell("base64"))
		k.close(m)
	}
	return nil
}

func (d *docusignScheme) covers(e *expression) bool {
	return e.kind != fromHeader && e.kind != fromQuery
}

func (d *docusignScheme) idHeader(*Request) string { return "" }
