package provider

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Vector is one request with everything that is needed to judge it, in the
// shape in which known-answer vectors are written down.
type Vector struct {
	ID        string        `json:"id"`
	Provider  string        `json:"provider"`
	Kind      string        `json:"kind"` // signature (also ""), handshake, extract
	Scheme    string        `json:"scheme"`
	Secret    string        `json:"secret"`
	Secrets   VectorSecrets `json:"secrets"`
	PublicKey string        `json:"public_key"`
	// JWK is a key, or a set of them; CertificatePEM the certificate that the
	// request points to. The claims are those that a token has to have; what its
	// type has to be is the contract's to say.
	JWK            json.RawMessage   `json:"jwk"`
	CertificatePEM string            `json:"certificate_pem"`
	WebhookID      string            `json:"webhook_id"`
	RequireClaims  map[string]any    `json:"require_claims"`
	RequireTyp     string            `json:"require_typ"`
	Headers        map[string]string `json:"headers"`
	Method         string            `json:"method"`
	URL            string            `json:"url"`
	Body           string            `json:"body"`
	// Request is how handshakes write the request down; what stands outside
	// goes first.
	Request struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"request"`
	BodyBase64 string `json:"body_base64"`
	// Now is the clock in unix seconds; without it freshness is not enforced.
	Now *json.Number `json:"now"`
	// Tolerance overrides the contract's, in seconds; null ignores freshness.
	Tolerance json.RawMessage `json:"tolerance_seconds"`
}

// VectorSecrets are several secrets: a list, or an object of labelled ones.
type VectorSecrets []Secret

// UnmarshalJSON reads both shapes.
func (v *VectorSecrets) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		for _, value := range list {
			*v = append(*v, Secret{Value: value})
		}
		return nil
	}
	var named map[string]string
	if err := json.Unmarshal(data, &named); err != nil {
		return errors.New("secrets is neither a list of texts nor an object of texts")
	}
	for label, value := range named {
		*v = append(*v, Secret{label, value})
	}
	slices.SortFunc(*v, func(a, b Secret) int { return strings.Compare(a.Label, b.Label) })
	return nil
}

// VectorVerdict is what became of a [Vector].
type VectorVerdict struct {
	Valid    bool            `json:"valid"`
	Reason   string          `json:"reason"` // a class, empty when valid
	Detail   string          `json:"detail,omitempty"`
	EventID  string          `json:"event_id"` // parts joined with |; of the first event
	Type     string          `json:"type"`
	Events   []string        `json:"events"` // the ids of all events, in order
	Mode     string          `json:"mode,omitempty"`
	Account  string          `json:"account,omitempty"`
	Secret   string          `json:"secret,omitempty"` // label of the secret that fits
	Response *VectorResponse `json:"response,omitempty"`
}

// VectorResponse is the answer to a handshake.
type VectorResponse struct {
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Body        string            `json:"body"`
	Headers     map[string]string `json:"headers,omitempty"`
}

// Check judges the vector. It never fails: what cannot be judged is not valid,
// and the reason says why.
func (v Vector) Check() VectorVerdict {
	if _, found := Find(v.Provider); !found {
		return invalid(UnknownProvider, "provider "+v.Provider+" is not built in")
	}
	r, err := v.request()
	if err != nil {
		return invalid(MalformedBody, err.Error())
	}
	options, err := v.options(r)
	if err != nil {
		return invalid(InvalidOptions, err.Error())
	}
	// A handshake or an extraction without a secret is about the answer or the
	// identity alone; a signature without one can only be refused.
	verifying := v.Kind != "extract" && (v.Kind != "handshake" || len(options.Secrets) > 0)
	s, err := newSource(options, verifying)
	if err != nil {
		return invalid(InvalidOptions, err.Error())
	}
	if reply, ok := s.Greet(r); ok {
		return answered(reply, "")
	}
	label := ""
	if verifying {
		if label, err = s.Verify(r); err != nil {
			var refusal *Refusal
			errors.As(err, &refusal)
			return invalid(refusal.Reason, refusal.Detail)
		}
	}
	if reply, ok := s.Handshake(r); ok {
		return answered(reply, label)
	}
	if v.Kind == "handshake" {
		return invalid(NoHandshake, "provider "+v.Provider+" has no handshake that looks like this")
	}
	return describeAll(s.Arrivals(r), label, s.Level(r))
}

func answered(reply Reply, label string) VectorVerdict {
	return VectorVerdict{Valid: true, Secret: label, Events: []string{}, Response: &VectorResponse{reply.Status, reply.ContentType, string(reply.Body), reply.Header}}
}

func invalid(reason, detail string) VectorVerdict {
	return VectorVerdict{Reason: reason, Detail: detail, Events: []string{}}
}

// describeAll lists the identities. An event without one is authentic, and would
// be held for a person; the detail says so.
func describeAll(list []onceward.Arrival, label string, level bool) VectorVerdict {
	verdict := VectorVerdict{Valid: true, Secret: label, Events: []string{}}
	for i, a := range list {
		if level { // it says that something changed; none of its deliveries has an id to be known by
			verdict.Type = a.Type
			continue
		}
		id := shown(a.Key.EventID)
		if a.Verdict != onceward.Accepted {
			if verdict.Detail == "" {
				verdict.Detail = a.Verdict.String() + ": " + a.Reason
			}
			if a.Key.EventID == contentID(a.Content) {
				continue
			}
		}
		if i == 0 {
			verdict.EventID, verdict.Type, verdict.Mode, verdict.Account = id, a.Type, a.Key.Mode, a.Key.Account
		}
		verdict.Events = append(verdict.Events, id)
	}
	return verdict
}

// shown is an identity as people know it: the parts of a joined one with | in
// between. A single one, which is nearly all of them, is shown as it is.
func shown(id string) string {
	if id == "" || id[len(id)-1] != ',' {
		return id
	}
	return strings.Join(idParts(id), "|")
}

// idParts takes a joined id apart; any other id is its own only part.
func idParts(id string) []string {
	var parts []string
	for rest := id; rest != ""; {
		length, after, found := strings.Cut(rest, ":")
		n, err := strconv.Atoi(length)
		if !found || err != nil || n < 0 || n >= len(after) || after[n] != ',' {
			return []string{id}
		}
		parts, rest = append(parts, after[:n]), after[n+1:]
	}
	return parts
}

func (v *Vector) request() (*Request, error) {
	r := &Request{Method: cmp.Or(v.Method, v.Request.Method), URL: cmp.Or(v.URL, v.Request.URL), Header: http.Header{}, Body: []byte(cmp.Or(v.Body, v.Request.Body))}
	if v.BodyBase64 != "" {
		body, err := base64.StdEncoding.DecodeString(v.BodyBase64)
		if err != nil {
			return nil, errors.New("body_base64 is not base64")
		}
		r.Body = body
	}
	for name, value := range v.Request.Headers {
		r.Header.Set(name, value)
	}
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// options reads the secrets, the clock and the tolerance.
func (v *Vector) options(r *Request) (Options, error) {
	o := Options{Provider: v.Provider, SourceID: v.Provider}
	o.Secrets = v.secrets()
	ignore := time.Duration(0)
	if v.Now == nil {
		o.Tolerance = &ignore
		return o, nil
	}
	now, ok := instant(v.Now.String())
	if !ok {
		return o, errors.New("now is not a unix time in seconds")
	}
	r.Now = now
	switch text := string(v.Tolerance); text {
	case "":
	case "null":
		o.Tolerance = &ignore
	default:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return o, errors.New("tolerance_seconds is neither a number nor null")
		}
		tolerance := time.Duration(seconds * float64(time.Second))
		if contract, _ := Find(v.Provider); contract.Tolerance > 0 || tolerance <= 0 {
			o.Tolerance = &tolerance // others sign no time, so there is nothing to bound
		}
	}
	return o, nil
}

// secrets spells the vector's key material as this sender's secrets are.
func (v *Vector) secrets() []Secret {
	if contract, _ := Find(v.Provider); contract.material != nil {
		if list := contract.material(v); list != nil {
			return list
		}
	}
	var list []Secret
	add := func(value string) {
		if value != "" {
			list = append(list, Secret{Value: value})
		}
	}
	add(v.Secret)
	list = append(list, v.Secrets...)
	add(v.PublicKey)
	add(strings.TrimSpace(v.CertificatePEM))
	add(strings.TrimSpace(string(v.JWK)))
	if v.WebhookID != "" {
		add("webhook-id=" + v.WebhookID)
	}
	for _, name := range slices.Sorted(maps.Keys(v.RequireClaims)) {
		switch want := v.RequireClaims[name].(type) {
		case string:
			add(name + "=" + want)
		case []any: // any of them
			for _, one := range want {
				if text, ok := one.(string); ok {
					add(name + "=" + text)
				}
			}
		}
	}
	return list
}
