package provider

import (
	"bytes"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/onceward/onceward"
)

// Options configure a [Source]. The zero value of a field means what the
// contract says.
type Options struct {
	Provider string

	SourceID, Tenant, Environment string // parts of every identity
	Mode                          string // any (also ""), live or test: what the sender's own marker may say

	Secrets   []Secret
	Signature Signature // for provider hmac; only Decoded for the others
	// LiteralSecret takes Standard Webhooks secrets as bytes, without decoding.
	LiteralSecret bool
	// Keys finds the keys that senders publish; without it only keys that are
	// given as secrets verify.
	Keys Keys

	ID                        []string // expressions that replace the contract's
	Type, OccurredAt, Version string
	Versions                  []string // patterns with *; other versions are quarantined
	Items                     string   // where the items of a batch are
	Order                     OrderOptions

	Tolerance *time.Duration // replaces the contract's; 0 or less does not enforce freshness
	HideIDs   bool           // the sender's ids are not to be kept in readable form
	// RepeatIDs are event ids that are never deduplicated, such as the one
	// that a console's "send test event" always uses.
	RepeatIDs []string
	// MaxBody bounds a body when it is decoded; 0 is the contract's limit, or
	// 5 MiB when it has none.
	MaxBody int64
}

const defaultMaxBody = 5 << 20

// Source is one configured sender. It is safe for concurrent use.
type Source struct {
	contract  Contract
	scheme    scheme
	base      onceward.Key // without the parts that come from a request
	mode      string
	tolerance time.Duration
	punctual  bool // tokens may not be expired
	decoded   bool
	maxBody   int64
	hideIDs   bool
	repeats   map[string]bool
	versions  []string
	fields    fields
	secrets   []Secret
}

// New checks the options and returns the source. An error is an [*OptionError]
// and names the field and the rule.
func New(o Options) (*Source, error) { return newSource(o, true) }

// newSource leaves the scheme out when nothing is to be verified: the `verify`
// command reads identities of requests without a signature.
func newSource(o Options, verifying bool) (*Source, error) {
	contract, found := Find(o.Provider)
	if !found {
		return nil, wrong("provider", "%q is unknown; the providers are %s", o.Provider, strings.Join(names(), ", "))
	}
	s := &Source{
		contract: contract,
		base:     onceward.Key{Tenant: o.Tenant, Source: o.SourceID, Environment: o.Environment},
		hideIDs:  o.HideIDs,
		decoded:  o.Signature.Decoded,
		punctual: o.Tolerance == nil || *o.Tolerance > 0,
		versions: o.Versions,
		secrets:  o.Secrets,
	}
	if err := s.checkScope(&o); err != nil {
		return nil, err
	}
	s.scheme = unsigned{}
	if verifying {
		scheme, err := contract.newScheme(&o)
		if err != nil {
			return nil, err
		}
		s.scheme = scheme
	}
	if err := s.setTolerance(&o); err != nil {
		return nil, err
	}
	if err := s.fields.compile(s, &o); err != nil {
		return nil, err
	}
	s.describe(&o)
	return s, nil
}

// checkScope checks what goes into every identity.
func (s *Source) checkScope(o *Options) error {
	probe := s.base
	probe.EventID = "x"
	var broken *onceward.KeyError
	if errors.As(probe.Validate(), &broken) {
		return wrong(strings.ReplaceAll(broken.Part, " ", "_"), "%s", broken.Rule)
	}
	switch o.Mode {
	case "", "any":
	case "live", "test":
		if s.contract.Mode == "" {
			return wrong("mode", "provider %s marks nothing as live or test; leave mode out, and keep the two apart with two sources", o.Provider)
		}
		s.mode = o.Mode
	default:
		return wrong("mode", "%q is unknown; use any, live or test", o.Mode)
	}
	if o.Provider != "hmac" {
		rest := o.Signature
		rest.Decoded = false
		if rest != (Signature{}) {
			return wrong("signature", "only provider hmac is configured by its signature; %s has its own (signature.decoded alone may be set)", o.Provider)
		}
	}
	if o.LiteralSecret && o.Provider != "standard-webhooks" && o.Provider != "svix" {
		return wrong("secrets", "only the secrets of standard-webhooks and svix are decoded, so only they can be literal")
	}
	s.maxBody = o.MaxBody
	if s.maxBody <= 0 {
		s.maxBody = s.contract.MaxBody
	}
	if s.maxBody <= 0 {
		s.maxBody = defaultMaxBody
	}
	s.repeats = make(map[string]bool, len(o.RepeatIDs))
	for _, id := range o.RepeatIDs {
		if id == "" || len(id) > onceward.MaxKeyPart/2 {
			return wrong("repeat_ids", "an id has between 1 and %d bytes", onceward.MaxKeyPart/2)
		}
		s.repeats[id] = true
	}
	return nil
}

// setTolerance chooses between the contract's tolerance, the signature's and
// the source's own.
func (s *Source) setTolerance(o *Options) error {
	s.tolerance = s.contract.Tolerance
	if h, ok := s.scheme.(*headerScheme); ok && o.Provider == "hmac" {
		s.contract.Signature = h.Signature
		s.contract.Headers = []string{h.Header}
		s.contract.BodySigned = h.bodySign
		if !h.timed {
			s.tolerance = 0
		} else if h.Tolerance != 0 {
			s.tolerance = h.Tolerance
		}
	}
	if o.Tolerance == nil {
		return nil
	}
	if *o.Tolerance > 0 && s.tolerance == 0 && !s.timed() {
		return wrong("tolerance", "provider %s signs no timestamp, so there is nothing to compare with the clock", o.Provider)
	}
	s.tolerance = max(*o.Tolerance, 0)
	return nil
}

func (s *Source) timed() bool {
	if t, says := s.scheme.(interface{ timed() bool }); says {
		return t.timed()
	}
	h, ok := s.scheme.(*headerScheme)
	return s.contract.BodyTime != "" || !ok && s.contract.Tolerance > 0 || ok && h.timed
}

// describe makes the contract say what this source does, for `check`.
func (s *Source) describe(o *Options) {
	c := &s.contract
	c.Tolerance = s.tolerance
	c.IDSigned = s.fields.signed
	if len(o.ID) > 0 {
		c.ID, c.FormID, c.Scope = o.ID, nil, ""
		c.IDNote = "configured for this source"
	}
	if o.Type != "" {
		c.Type, c.FormType = o.Type, ""
	}
	if o.OccurredAt != "" {
		c.OccurredAt = o.OccurredAt
	}
	if o.Version != "" {
		c.Version = o.Version
	}
	if d, ok := s.scheme.(interface{ describe(*Contract) }); ok {
		d.describe(c)
	}
}

// Contract returns the contract with this source's options applied. It is the
// source's own; do not change it.
func (s *Source) Contract() *Contract { return &s.contract }

// Verify proves that the request is the sender's: the signature over the exact
// bytes with any of the secrets, then the freshness of the signed time. It
// returns the label of the secret that fits. An error is a [*Refusal].
func (s *Source) Verify(r *Request) (secretLabel string, err error) {
	body, refusal := s.signedBody(r)
	if refusal != nil {
		return "", refusal
	}
	if s.contract.NeedBody && len(body) == 0 {
		return "", refuse(MalformedBody, "the body is empty; this sender's never is")
	}
	v, refusal := s.scheme.verify(r, body)
	if refusal == nil && s.fields.sent != nil {
		v.signed, v.timed = s.sentAt(r, body)
	}
	if refusal == nil && s.punctual && !v.expires.IsZero() && !r.Now.Before(v.expires) {
		refusal = refuse(Expired, "the token expired %s before this machine's clock", r.Now.Sub(v.expires).Round(time.Second))
	}
	if refusal == nil && v.timed && !(v.future && v.signed.After(r.Now)) {
		refusal = fresh(v.signed, r.Now, s.tolerance)
	}
	if refusal != nil {
		return "", refusal
	}
	return v.label, nil
}

// sentAt reads when the signed body says that it was sent. The sender signed
// it, so a key that stands in it only once needs no reading of the rest, which
// would cost more than the signature did.
func (s *Source) sentAt(r *Request, body []byte) (time.Time, bool) {
	if digits := soleNumber(body, s.fields.sentKey); len(digits) > 0 {
		return instant(string(digits))
	}
	in := input{r: r, reader: s.fields.sentPlan.open(body)}
	defer s.fields.sentPlan.close(in.reader)
	return instant(in.read(s.fields.sent).text)
}

// soleNumber returns the digits behind a quoted key and its colon, if the key
// stands nowhere else in the body and nothing but digits follows.
func soleNumber(body, key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	i := findKey(body, key)
	if i < 0 {
		return nil
	}
	rest := body[i+len(key):]
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	if n == len(rest) || rest[n] != ',' && rest[n] != '}' || findKey(rest, key) >= 0 {
		return nil
	}
	return rest[:n]
}

// findKey is bytes.Index, by a capital letter of the key: there are few in a
// body, and one byte is found much faster than twenty.
func findKey(body, key []byte) int {
	rare := max(bytes.IndexFunc(key, unicode.IsUpper), 0)
	for from := 0; ; {
		i := bytes.IndexByte(body[from:], key[rare])
		if i < 0 {
			return -1
		}
		from += i + 1
		if start := from - 1 - rare; start >= 0 && bytes.HasPrefix(body[start:], key) {
			return start
		}
	}
}

// signedBody returns the bytes that the signature covers.
func (s *Source) signedBody(r *Request) ([]byte, *Refusal) {
	if !s.decoded {
		return r.Body, nil
	}
	body, err := DecodeBody(r.coding(), r.Body, s.maxBody)
	switch {
	case errors.Is(err, ErrUnknownCoding):
		return nil, &Refusal{UnsupportedCoding, err.Error(), err}
	case err != nil:
		return nil, &Refusal{MalformedBody, err.Error(), err}
	}
	return body, nil
}

// Handshake answers what the sender asks before it sends events. It is to be
// called after [Source.Verify]; ok is false when the request is an event.
func (s *Source) Handshake(r *Request) (reply Reply, ok bool) {
	if s.contract.answer == nil {
		return Reply{}, false
	}
	return s.contract.answer(r)
}

// Greet answers what some senders ask without a signature before they send
// events: a GET with a challenge, an OPTIONS, a POST that only carries a token.
// It is to be called before [Source.Verify] and stores nothing; ok is false
// when the request has to be verified.
func (s *Source) Greet(r *Request) (reply Reply, ok bool) {
	if s.contract.greet == nil {
		return Reply{}, false
	}
	return s.contract.greet(r, s.secrets)
}

// SignsURL reports whether the public URL is signed, host and all: then it has
// to be the one that the sender was given.
func (s *Source) SignsURL() bool {
	switch c := s.scheme.(type) {
	case *headerScheme:
		return c.urlSign
	case *twilioScheme, *mandrillScheme, *hubspotScheme:
		return true
	}
	return false
}

// Confirm returns the address that is to be visited before this authentic
// request is recorded, for senders that want their subscription confirmed so.
// It is one of the sender's own hosts; ok is false for every other request.
func (s *Source) Confirm(r *Request) (url string, ok bool) {
	c, confirms := s.scheme.(interface {
		confirm(r *Request) (string, bool)
	})
	if !confirms {
		return "", false
	}
	return c.confirm(r)
}

// Refused is what the sender wants to hear about a request that is not
// authentic; ok is false when a status is enough.
func (s *Source) Refused(e *Refusal) (reply Reply, ok bool) {
	if s.contract.refused == nil {
		return Reply{}, false
	}
	return s.contract.refused(e), true
}

// Sign adds the signature headers as the sender would, with the first secret
// and r.Now. Signed times and signatures are replaced, so that an attempt can
// be signed again; an id that the scheme signs is added only if there is none.
func (s *Source) Sign(r *Request) error {
	if r.Header == nil {
		r.Header = make(map[string][]string)
	}
	body, refusal := s.signedBody(r)
	if refusal != nil {
		return refusal
	}
	return s.scheme.sign(r, body)
}
