package provider

import (
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// contentful signs method, path, a list of headers that it names, and the body.
func contentful() Contract {
	return completed(Contract{
		Name: "contentful", Title: "Contentful (signed requests)", Category: "cms", SourceDocs: []string{"contentful/node-apps-toolkit src/requests/*.spec.ts"}, Confidence: "verified-from-sdk-code",
		Scheme: "contentful", Headers: []string{contentfulHeader, contentfulList, contentfulTime}, Tolerance: 30 * time.Second, BodySigned: true,
		Rotation: "two secrets may be valid while one is changed: configure both",
		ID:       []string{"header:X-Contentful-Idempotency-Key"}, Scope: "one webhook of a space and environment", Account: "body:sys.space.sys.id",
		IDNote: "the delivery's idempotency key, the same on every retry; which headers are signed is the request's own choice, so it counts as unsigned",
		Type:   "header:X-Contentful-Topic", OccurredAt: "body:sys.updatedAt", Deadline: 30 * time.Second,
		RetryOn: "429 and 5xx; after 30 and 60 seconds", StopOn: "every 4xx but 429", RetryHorizon: 2 * time.Minute, Memory: 3 * day,
		notes: []string{
			"path and query are signed, the order of its parameters too: what stands in front of the gateway must not touch them",
			"the type stands in a header that may not be signed",
		},
		newScheme: newContentful,
		sample: sampled("ContentManagement.Entry.publish", `{"sys":{"id":"entry{n}","type":"Entry","revision":{n},{at:"updatedAt":"{rfc3339}",}"space":{"sys":{"id":"space1"}},"environment":{"sys":{"id":"master"}}},"fields":{}}`,
			"X-Contentful-Idempotency-Key", "{id}", "X-Contentful-Topic", "ContentManagement.Entry.publish"),
	})
}

const (
	contentfulHeader = "X-Contentful-Signature"
	contentfulList   = "X-Contentful-Signed-Headers"
	contentfulTime   = "X-Contentful-Timestamp"
	// maxSignedHeaders bounds the list that a request brings.
	maxSignedHeaders = 100
)

type contentfulScheme struct{ keys []*key }

func newContentful(o *Options) (scheme, error) {
	keys, err := keysOf(o, "sha256")
	return &contentfulScheme{keys}, err
}

// canonical returns what stands in front of the body, and the signed time.
func (c *contentfulScheme) canonical(r *Request) (front, stamp string, _ *Refusal) {
	named, refusal := r.must(contentfulList, "x-contentful-signed-headers", MissingHeader)
	if refusal != nil {
		return "", "", refusal
	}
	names := strings.Split(named, ",")
	if len(names) > maxSignedHeaders {
		return "", "", refuse(MalformedHeader, "header x-contentful-signed-headers names more than %d headers", maxSignedHeaders)
	}
	for i, name := range names {
		names[i] = strings.ToLower(strings.TrimSpace(name))
	}
	slices.Sort(names)
	var lines []string
	for _, name := range names {
		value, state := r.header(textproto.CanonicalMIMEHeaderKey(name))
		switch {
		case state == ambiguous:
			return "", "", refuse(MalformedHeader, "a signed header was sent with different values")
		case len(r.values(textproto.CanonicalMIMEHeaderKey(name))) == 0:
			return "", "", refuse(MissingHeader, "a header that x-contentful-signed-headers names is missing")
		}
		if name == "x-contentful-timestamp" {
			stamp = value
		}
		lines = append(lines, name+":"+value)
	}
	if stamp == "" {
		return "", "", refuse(MalformedHeader, "x-contentful-timestamp is not among the signed headers, so nothing says when the request was made")
	}
	return r.Method + "\n" + pathAndQuery(r.URL) + "\n" + strings.Join(lines, ";") + "\n", stamp, nil
}

// pathAndQuery is what a URL has behind its host.
func pathAndQuery(url string) string {
	url, _, _ = strings.Cut(url, "#")
	if _, rest, found := strings.Cut(url, "://"); found {
		slash := strings.IndexAny(rest, "/?")
		if slash < 0 {
			return "/"
		}
		url = rest[slash:]
	}
	if !strings.HasPrefix(url, "/") {
		url = "/" + url
	}
	return url
}

func (c *contentfulScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	sent, refusal := r.must(contentfulHeader, "x-contentful-signature", MissingSignature)
	if refusal != nil {
		return verified{}, refusal
	}
	front, stamp, refusal := c.canonical(r)
	if refusal != nil {
		return verified{}, refusal
	}
	v := verified{timed: true}
	var ok bool
	if v.signed, ok = instant(stamp); !ok {
		return v, refuse(MalformedHeader, "header x-contentful-timestamp is not a time")
	}
	for _, k := range c.keys {
		m := k.open()
		m.buf = append(m.buf, front...)
		m.flush()
		m.Write(body)
		m.finish()
		matched := m.matches(sent, "hex")
		k.close(m)
		if matched {
			v.label = k.label
			return v, nil
		}
	}
	return v, mismatch("x-contentful-signature", len(c.keys))
}

func (c *contentfulScheme) sign(r *Request, body []byte) error {
	names := []string{"x-contentful-signed-headers", "x-contentful-timestamp"}
	for _, name := range []string{"x-contentful-idempotency-key", "x-contentful-topic"} {
		if len(r.values(textproto.CanonicalMIMEHeaderKey(name))) > 0 {
			names = append(names, name)
		}
	}
	r.Header.Set(contentfulTime, strconv.FormatInt(r.Now.UnixMilli(), 10))
	r.Header.Set(contentfulList, strings.Join(names, ","))
	front, _, refusal := c.canonical(r)
	if refusal != nil {
		return refusal
	}
	m := c.keys[0].open()
	defer c.keys[0].close(m)
	m.buf = append(m.buf, front...)
	m.flush()
	m.Write(body)
	m.finish()
	r.Header.Set(contentfulHeader, m.spell("hex"))
	return nil
}

func (c *contentfulScheme) covers(e *expression) bool {
	return e.kind != fromHeader || e.name == contentfulTime
}

func (c *contentfulScheme) idHeader(*Request) string { return "" }
