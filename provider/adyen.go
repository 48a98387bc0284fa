package provider

import (
	"encoding/hex"
)

// adyenStandard signs eight fields of every item, in the item itself.
func adyenStandard() Contract {
	return completed(Contract{
		Name: "adyen-standard", Title: "Adyen standard notifications (payments)", Category: "payments", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"Adyen Docs: Handle webhook events", "Adyen Docs: Verify HMAC signatures", "Adyen Docs: Webhook best practices", "Adyen Docs: Troubleshoot webhooks (2026-05-24)", "adyen-go-api-library src/hmacvalidator/hmacvalidator_test.go"},
		Scheme:     "adyen-item-hmac", Rotation: "a new HMAC key takes time to arrive everywhere: configure both; a key is hexadecimal",
		Items: "body:notificationItems",
		ID:    []string{"item:NotificationRequestItem.pspReference", "item:NotificationRequestItem.eventCode", "item:NotificationRequestItem.success"}, IDSigned: true,
		Scope: "one merchant account, live or test", Account: "item:NotificationRequestItem.merchantAccountCode",
		IDNote: "there is no event id: pspReference alone is shared by what happens to a payment, so eventCode and success are part of it",
		Type:   "item:NotificationRequestItem.eventCode", OccurredAt: "item:NotificationRequestItem.eventDate",
		Mode: "body:live", ModeNames: map[string]string{"true": "live", "false": "test"},
		Success: Reply{Status: 200, ContentType: "text/plain", Body: []byte("[accepted]")},
		RetryOn: "anything but 2xx: at once three times, then ever more slowly; what is not acknowledged holds up everything behind it", RetryHorizon: 30 * day, Memory: 45 * day,
		Volatile: []string{"NotificationRequestItem.eventDate", "NotificationRequestItem.additionalData", "NotificationRequestItem.reason"},
		notes: []string{
			"only eight fields of an item are signed: reason, payment method and everything else could be changed by whoever sees one; an item without a fitting signature makes the whole delivery invalid",
			"the live marker is not signed: say mode: live or mode: test, so that a changed one is quarantined",
		},
		trial: []string{"6f6e6365776172642d646576"}, newScheme: newAdyen,
		sample: sampled("AUTHORISATION", `{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":""},"amount":{"currency":"EUR","value":{amount}},`+
			`"eventCode":"AUTHORISATION",{at:"eventDate":"{rfc3339}",}"merchantAccountCode":"TestMerchant","merchantReference":"order-{n}","paymentMethod":"visa","pspReference":"{id}","success":"true"}}]}`),
	})
}

// adyenSigned are the signed fields of an item, in their order.
var adyenSigned = [...]string{"pspReference", "originalReference", "merchantAccountCode", "merchantReference", "amount.value", "amount.currency", "eventCode", "success"}

const (
	adyenItem      = "NotificationRequestItem."
	adyenSignature = adyenItem + "additionalData.hmacSignature"
)

type adyenScheme struct {
	keys  []*key
	lists *itemLists
	item  *lookup
}

func newAdyen(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	paths := []string{adyenSignature}
	for _, name := range adyenSigned {
		paths = append(paths, adyenItem+name)
	}
	a := &adyenScheme{item: lookFor(paths...)}
	if a.lists, err = parseLists("body:notificationItems"); err != nil {
		return nil, err
	}
	for _, s := range list {
		secret, err := hex.DecodeString(s.Value)
		if err != nil {
			return nil, wrong("secrets", "%s is not hexadecimal, as this sender's HMAC keys are", s.Label)
		}
		a.keys = append(a.keys, newKey(s.Label, "sha256", secret))
	}
	return a, nil
}

func (a *adyenScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	list, refusal := a.lists.proofs(body, "notificationItems", "signatures")
	if refusal != nil {
		return verified{}, refusal
	}
	var v verified
	for i, item := range list {
		if v.label, refusal = a.verifyItem(body, item.start, i+1); refusal != nil {
			return verified{}, refusal
		}
	}
	return v, nil
}

func (a *adyenScheme) verifyItem(body []byte, pos, n int) (label string, _ *Refusal) {
	f := a.item.at(body, pos)
	defer f.close()
	sent, state := f.text(adyenSignature)
	switch {
	case state == ambiguous:
		return "", refuse(MalformedBody, "item %d has no single hmacSignature", n)
	case sent == "":
		return "", refuse(MissingSignature, "item %d has no additionalData.hmacSignature; every item has to be signed", n)
	}
	for _, k := range a.keys {
		m := k.open()
		whole := adyenMessage(m, f)
		matched := whole && m.matches(sent, "base64")
		k.close(m)
		if !whole {
			return "", refuse(MalformedBody, "item %d has a signed field twice, or one that is no value", n)
		}
		if matched {
			return k.label, nil
		}
	}
	return "", refuse(SignatureMismatch, "the signature of item %d does not fit: %d secret(s) were tried; either the secret is another one, or the item was changed", n, len(a.keys))
}

// adyenMessage joins the signed fields; one that is absent is empty.
func adyenMessage(m *mac, f found) (whole bool) {
	for i, name := range adyenSigned {
		if i > 0 {
			m.buf = append(m.buf, ':')
		}
		text, state := f.text(adyenItem + name)
		if state == ambiguous {
			return false
		}
		m.buf = append(m.buf, text...)
	}
	m.finish()
	return true
}

func (a *adyenScheme) sign(r *Request, body []byte) error {
	list, refusal := a.lists.proofs(body, "notificationItems", "signatures")
	if refusal != nil {
		return refusal
	}
	var edits []edit
	for i, item := range list {
		f := a.item.at(body, item.start)
		m := a.keys[0].open()
		whole := adyenMessage(m, f)
		edits = append(edits, edit{f.value(adyenSignature), m.spell("base64")})
		a.keys[0].close(m)
		f.close()
		if place := edits[i]; !whole || place.kind == 0 || place.repeated {
			return refuse(MalformedBody, "item %d has no place for a signature: additionalData.hmacSignature", i+1)
		}
	}
	r.Body = spliced(body, edits)
	return nil
}

// covers knows the signed fields of an item, and nothing else.
func (a *adyenScheme) covers(e *expression) bool {
	if e.kind != fromItem || e.digest {
		return false
	}
	for _, name := range adyenSigned {
		if path, _ := parsePath(adyenItem + name); (&expression{kind: fromItem, path: path}).same(e) {
			return true
		}
	}
	return false
}

func (a *adyenScheme) idHeader(*Request) string { return "" }
