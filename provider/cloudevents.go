package provider

import (
	"encoding/json"
	"strings"
)

// cloudEvents are of any sender: an event in the body, in headers, or a batch.
func cloudEvents() Contract {
	return completed(Contract{
		Name: "cloudevents", Title: "CloudEvents over HTTP (generic, with abuse protection)", Category: "spec", SourceDocs: []string{"CloudEvents HTTP 1.1 Web Hooks for Event Delivery 1.0.3-wip", "CloudEvents core spec"}, Confidence: "verified-from-docs",
		Scheme: "bearer", Credentials: []string{"Authorization"}, Rotation: "by hand: the token of the header Authorization, or of the query as query:access_token=…; configure both while you change it",
		Reads: "the event: of the headers ce-… in the binary mode, with the body as data",
		Items: "body", Single: true, ItemType: "application/cloudevents+json", ID: []string{"item:source", "item:id"}, Scope: "one source, which is part of it", IDNote: "an id is only unique together with its source",
		Type: "item:type", OccurredAt: "item:time", Version: "item:specversion", Handshake: "OPTIONS with WebHook-Request-Origin, which is allowed by WebHook-Allowed-Origin", greet: cloudEventsConsent,
		RetryOn: "the sender's choice; 429 with Retry-After", Unsubs: "410", RetryHorizon: 3 * day, Memory: 7 * day,
		notes: []string{unprovenNote}, document: cloudEventsDocument, newScheme: tokens("Authorization", withBearer),
		sample: sampled("com.example.order.paid", `{"specversion":"1.0","id":"{id}","source":"/sample","type":"com.example.order.paid",{at:"time":"{rfc3339}",}"datacontenttype":"application/json","data":{"order":{n},"amount":{amount}}}`,
			"Content-Type", "application/cloudevents+json"),
	})
}

// cloudEventsDocument decides by the media type, as the specification says: a
// body that looks like an event is none in the binary mode.
func cloudEventsDocument(r *Request, body []byte) document {
	media, _ := r.header("Content-Type")
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(media)), "application/cloudevents") {
		return document{text: body}
	}
	out := []byte{'{'}
	for _, name := range [...]string{"specversion", "id", "source", "type", "subject", "time"} {
		value, state := r.header("Ce-" + strings.ToUpper(name[:1]) + name[1:])
		switch state {
		case ambiguous:
			return document{why: "header ce-" + name + " was sent with different values"}
		case present:
			out = append(appendJSON(append(appendJSON(out, name), ':'), percentDecoded(value)), ',')
		}
	}
	if len(out) == 1 {
		return document{text: body} // no event in the headers: as it stands
	}
	if json.Valid(body) {
		return document{text: append(append(append(out, `"data":`...), body...), '}')}
	}
	out[len(out)-1] = '}'
	return document{text: out}
}

// percentDecoded undoes the escapes of a header's value; what is none stays.
func percentDecoded(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			high, ok1 := hexDigit(value[i+1])
			low, ok2 := hexDigit(value[i+2])
			if ok1 && ok2 {
				out = append(out, high<<4|low)
				i += 2
				continue
			}
		}
		out = append(out, value[i])
	}
	return string(out)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func cloudEventsConsent(r *Request, _ []Secret) (Reply, bool) {
	origin, state := r.header("Webhook-Request-Origin")
	if r.Method != "OPTIONS" || state != present || len(origin) > 256 {
		return Reply{}, false
	}
	rate, state := r.header("Webhook-Request-Rate")
	if state != present || len(rate) > 16 || strings.Trim(rate, "0123456789") != "" {
		rate = "*"
	}
	return Reply{Status: 200, ContentType: "text/plain", Header: map[string]string{"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": rate, "Allow": "POST, OPTIONS"}}, true
}
