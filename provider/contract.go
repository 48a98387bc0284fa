// Package provider knows the senders of webhooks: what each of them signs and
// how, which of its fields is the identity of an event, how it retries and what
// it wants to hear. It is the only place where an identity comes from.
//
// A sender is a [Contract], which is data, in a file of its own. A [Source] is
// a contract with secrets: it verifies a [Request], answers the sender's
// handshake and turns an authentic request into arrivals.
//
// Everything here is a pure function of its input: no network, no clock (time
// comes in with the request), no store. Arrivals never fails on what a sender
// wrote: what cannot be read is an arrival held for a person, recorded byte for
// byte. No error and no reason ever contains a secret, a signature or a body.
package provider

import (
	"slices"
	"time"
)

// Contract is what is known about one sender.
type Contract struct {
	Name       string
	Title      string
	Revision   string // changes with every change of the contract
	Category   string
	SourceDocs []string // where the facts are from
	Confidence string   // verified-from-sdk-code, verified-from-docs, from-memory

	Scheme  string   // name of the verification scheme
	Headers []string // headers that the scheme reads
	// Credentials are headers that are secrets themselves: they are never kept
	// and never passed on.
	Credentials []string
	Signature   Signature // the scheme as data, where it is one header with an HMAC
	Tolerance   time.Duration
	Rotation    string // how the sender changes its secret
	BodySigned  bool   // the signature covers the body's bytes
	NeedBody    bool   // an empty body is malformed, whatever it is signed with
	BodyTime    string // where the signed body says when it was sent; freshness is judged by that

	// Items are where the items of a batch are, for senders that send batches:
	// paths with * for every item of a list, several with | in between. With
	// Single a body without such a list is one event.
	Items  string
	Single bool
	ID     []string // expressions; several are joined, each behind its length. A ? behind one: it may be missing
	// OtherIDs are tried in turn when what ID names is not there: senders put
	// the identities of different kinds of events into different places.
	OtherIDs [][]string
	// Level is true for senders whose notification only says that something
	// changed: equal bodies are legitimate, so an unchanged copy runs again.
	Level    bool
	FormID   []string // used instead when the body is a form
	Scope    string   // within what an id is unique
	IDSigned bool     // every part of the id is inside the signature
	IDNote   string   // why this field, and not its neighbours
	// Expressions, empty when the sender has no such field. Several with | in
	// between are read in turn.
	Type       string
	FormType   string
	OccurredAt string
	Version    string
	Account    string
	Mode       string
	ModeNames  map[string]string // the marker's values and what they mean

	Handshake string // what the sender asks for before it sends, in words
	Deadline  time.Duration
	Success   Reply  // a zero ContentType means that any body is welcome
	RetryOn   string // which answers make it send again, in words
	StopOn    string // which make it give up this event
	Unsubs    string // which make it stop sending altogether
	// Final4xx is true for senders that never repeat what was answered 4xx: to
	// them what is over in a moment is never answered so.
	Final4xx bool

	RetryHorizon time.Duration // how long it sends again by itself; 0 is unknown or never
	ManualWindow time.Duration // how far back a person can send again
	Memory       time.Duration // recommended memory of keys
	Volatile     []string      // paths that may differ between copies of one event
	MaxBody      int64         // the sender's own limit in bytes; 0 when it has none

	notes []string // weaknesses that do not follow from the fields above

	// Reads says in words what body:, item: and form: are read from, for senders
	// whose body is not read as it stands.
	Reads string
	// ItemType is the media type of an item that goes out alone, where it is not
	// the batch's.
	ItemType string

	newScheme func(o *Options) (scheme, error)
	// document turns the body into what the expressions read; see there.
	document func(r *Request, body []byte) document
	// material spells a vector's key material as secrets of this sender.
	material func(v *Vector) []Secret
	// refused answers a request that is not authentic, for senders that want
	// to hear more than a status.
	refused func(e *Refusal) Reply
	// answer answers a handshake that is signed as events are; greet one that
	// is not, and may look at the source's secrets.
	answer func(r *Request) (Reply, bool)
	greet  func(r *Request, secrets []Secret) (Reply, bool)
	sample func(d *draft)
	trial  []string // secrets to try it out with, where a text will not do
}

// Reply is what a sender wants to hear.
type Reply struct {
	Status      int
	ContentType string
	Body        []byte
	Header      map[string]string // others than Content-Type
}

// Contracts lists every sender that is built in, generic schemes last.
func Contracts() []Contract {
	return slices.Concat(
		[]Contract{stripe(), github(), shopify(), slack(), gitlab(), standardWebhooks(), svix()},
		families(),
		special(),
		[]Contract{genericHMAC(), none()},
	)
}

// Names lists the names of all that is built in, in the order of the alphabet.
func Names() []string {
	var names []string
	for _, c := range Contracts() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Find returns the contract of that name.
func Find(name string) (Contract, bool) {
	all := Contracts()
	i := slices.IndexFunc(all, func(c Contract) bool { return c.Name == name })
	if i < 0 {
		return Contract{}, false
	}
	return all[i], true
}

func names() []string {
	all := Contracts()
	list := make([]string, len(all))
	for i := range all {
		list[i] = all[i].Name
	}
	return list
}

// Weaknesses says what this contract cannot promise, each in one sentence for
// the person who configures it.
func (c *Contract) Weaknesses() []string {
	var list []string
	if c.BodySigned && !c.IDSigned && len(c.ID) > 0 {
		list = append(list, "the event id is not inside the signature: a captured request can be sent again under another id, so signed bodies are remembered and a known body under another id is quarantined")
	}
	if c.Confidence == "from-memory" {
		list = append(list, "PREVIEW: no first-party source was read for this contract; try it with the sender before you rely on it")
	}
	if c.Level {
		list = append(list, "a notification only says that something changed: each runs, those that come while one waits are merged with it, and the destination has to read the current state")
	} else if slices.Contains(c.ID, "body-sha256") {
		list = append(list, "the identity is the body's digest: two events with equal bytes are one event, and a sender that changes one byte on a retry makes a second event")
	}
	if c.BodySigned && c.Tolerance <= 0 {
		list = append(list, "no signed time is checked: a captured request stays valid as long as the secret does, and only the memory of keys stops it")
	}
	return append(list, c.notes...)
}
