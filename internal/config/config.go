// Package config reads onceward.yaml into plain values: strict decoding with
// positions, ${VARIABLES} and file: references, defaults, rules. It owns the
// file's format and nothing else; it imports nothing of ours, so what depends
// on the senders' contracts is asked through [Config.Check].
//
// The struct tags below are the only description of the format: the decoder,
// the JSON Schema and docs/reference/config.md all read them. A field whose
// part of Onceward does not exist yet is known and refused, never ignored. A
// loaded Config is not changed any more, and no error or output holds a secret.
package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

//go:generate go test -run TestReferenceAndSchema . -update

// Config is a whole configuration with every default filled in.
type Config struct {
	Store        string        `yaml:"store" default:"sqlite:onceward.db" doc:"Where everything is kept: sqlite:PATH. The path is relative to the working directory."`
	_            later         `yaml:"gate" later:"the Redis gate; leave it out, it changes no answer"`
	Intake       Intake        `yaml:"intake" doc:"The listener that senders post to."`
	Admin        Admin         `yaml:"admin" doc:"The listener of the API, the health checks and the metrics."`
	Sources      []Source      `yaml:"sources,named" doc:"The senders, by name; each has the intake URL /in/NAME."`
	Destinations []Destination `yaml:"destinations,named" doc:"Where effects happen, by name."`
	Operations   []Operation   `yaml:"operations,named" doc:"The effects that events cause, by name."`
	_            later         `yaml:"guards" later:"the HTTP key as a reverse proxy"`
	Workers      int           `yaml:"workers" default:"64" min:"1" doc:"How many operations run at once in this process."`
	Sweep        Sweep         `yaml:"sweep" doc:"The janitor: expired leases and retention."`
	Log          Log           `yaml:"log" doc:"What is written to standard error."`

	file string
	at   map[string]position
}

// Intake is the listener that senders post to.
type Intake struct {
	Listen         string         `yaml:"listen" default:":8080" doc:"Address to listen on, HOST:PORT."`
	PublicURL      string         `yaml:"public_url" doc:"The URL under which senders reach this listener, for schemes that sign it."`
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies" doc:"Addresses or ranges whose X-Forwarded-For is believed."`
	MaxBody        Size           `yaml:"max_body" default:"5MiB" doc:"Largest body that is accepted. Left at its default, a sender with a cap of its own (GitHub 25 MiB) may use all of it; otherwise the smaller of the two counts."`
}

// Admin is the listener of the API, the health checks and the metrics.
type Admin struct {
	Listen string  `yaml:"listen" default:"127.0.0.1:8081" doc:"Address to listen on, HOST:PORT. An address other than loopback needs tokens."`
	Tokens []Token `yaml:"tokens" doc:"Bearer tokens. Without any, every request over loopback has full rights."`
}

// Token is a bearer token; its name is the actor in the audit log.
type Token struct {
	Name  string `yaml:"name" required:"the audit log names the actor by it" doc:"Who uses it: the actor in the audit log."`
	Role  string `yaml:"role" required:"say what its holder may do" enum:"viewer,operator,admin" later:"claims" doc:"viewer reads; operator also sees payloads and decides; admin may do everything."`
	Token Secret `yaml:"token" required:"a token without a value would let anybody in" doc:"The token itself."`
}

// Source is a configured sender.
type Source struct {
	Name          string        `yaml:"-"`
	StableID      string        `yaml:"stable_id" doc:"What the source is called inside keys. It defaults to the name; when you rename a source, set it to the old name, or every known event becomes new."`
	Provider      string        `yaml:"provider" required:"say whose contract it follows; onceward providers lists them" doc:"The sender's contract: a preset, or hmac, standard-webhooks, none."`
	Environment   string        `yaml:"environment" doc:"Environment, for example production; part of the identity."`
	Mode          string        `yaml:"mode" default:"any" enum:"any,live,test" doc:"What the sender's own live or test marker may say; others are quarantined."`
	Tenant        string        `yaml:"tenant" doc:"Tenant; part of the identity."`
	Secrets       []Secret      `yaml:"secrets" doc:"Signing secrets; any of them may verify (rotation)."`
	SecretLiteral bool          `yaml:"secret_literal" doc:"Take a Standard Webhooks secret as literal bytes, prefix included, instead of decoding it."`
	Retention     Retention     `yaml:"retention" doc:"How long things are remembered."`
	Signature     *Signature    `yaml:"signature" doc:"How provider hmac signs; of the others only decoded can be set."`
	Identity      []string      `yaml:"id,one" doc:"Where the event's identity is: header:NAME, body:PATH, form:NAME, query:NAME, item:PATH, body-sha256; a list joins parts."`
	Type          string        `yaml:"type" doc:"Where the event's type is."`
	OccurredAt    string        `yaml:"occurred_at" doc:"Where the time of the occurrence is."`
	Version       string        `yaml:"version" doc:"Where the schema version is."`
	Versions      []string      `yaml:"versions" doc:"Schema versions that are understood; a * may end one. Others are quarantined."`
	Order         *Order        `yaml:"order" doc:"Runs the events of one object in order; events are unordered when it is left out."`
	Repeat        string        `yaml:"repeat" enum:"once,coalesce" doc:"When left out, what the sender's contract says: coalesce for level triggers (Mollie, Dropbox, Airtable), once for all others. once: a known event never runs again. coalesce: a level trigger, whose identical bodies are legitimate: each runs again under a key of its own, never two at a time, and those that come while one is still to run are merged with it."`
	RepeatIDs     []string      `yaml:"repeat_ids" doc:"Event ids that are never deduplicated, such as the one fixed id of a console's test events."`
	HideIDs       bool          `yaml:"hide_ids" doc:"Keep only the digest of the sender's event id."`
	Tolerance     time.Duration `yaml:"tolerance" doc:"Overrides the contract's clock tolerance."`
	Items         string        `yaml:"items" doc:"The body is a batch: one event per item. body:PATH of the list, or body when the body itself is the list."`
	OnConflict    string        `yaml:"on_conflict" default:"quarantine" enum:"quarantine,reject,newer" doc:"A known event with other content: quarantine keeps both, holds what has had no effect and answers 200; reject answers 422; newer is for senders that update under one id: a content that did not occur earlier (occurred_at; without it, that came later) runs as an operation of its own, under its own key."`
	OnStale       string        `yaml:"on_stale" default:"review" enum:"review,accept,reject" doc:"An event that is not known and happened longer ago than keys are remembered, so that it may be a copy of a forgotten one: review holds it for a person, accept takes it for new, reject answers 422 and records nothing. It needs a time that is signed: occurred_at in the body, or an id that carries one (UUIDv7, ULID); without one, an event is new."`
	Backfill      *Backfill     `yaml:"backfill" doc:"How onceward backfill asks the sender for what was missed: github and stripe."`
	Poll          *Poll         `yaml:"poll" doc:"Fetches the tokens of a transmitter that does not push them (RFC 8936); for provider rfc8935-set-push. They come in as pushed ones do."`
	Strict        bool          `yaml:"strict" doc:"Answer 422 instead of 200 to what is authentic but cannot be processed."`
	_             later         `yaml:"kind" later:"sources that one's own clients post to"`
	_             later         `yaml:"wait" later:"answers that wait for the operation's result"`
}

// Order says in which order the events of one object run. Another object's are
// never held up by them.
type Order struct {
	Key     string        `yaml:"key" required:"say where the id of the object is whose events are ordered" doc:"Where the ordering key is, for example body:object.id."`
	Version string        `yaml:"version" doc:"Where the object's version is: a whole number, or for latest a time (RFC 3339). Not with refetch."`
	Epoch   string        `yaml:"epoch" doc:"Where there is something that rises when the versions begin anew."`
	Mode    string        `yaml:"mode" required:"say how: latest, strict or refetch" enum:"latest,strict,refetch" doc:"latest: what is older than what was applied is superseded. strict: one version after the other, without gaps. refetch: any order, one at a time, and Onceward-Order: refetch tells the destination to read the current state."`
	Tie     string        `yaml:"tie" default:"apply" enum:"apply,refetch,quarantine" doc:"latest: an equal version with other content. apply runs it in order of arrival. The same content is superseded; strict quarantines in any case."`
	Gap     time.Duration `yaml:"gap" default:"5m" min:"1ms" doc:"strict: how long a missing version is waited for."`
	OnGap   string        `yaml:"on_gap" default:"quarantine" enum:"quarantine,proceed,refetch" doc:"strict: what happens when it did not come. What comes late after proceed or refetch is superseded."`
	Stuck   string        `yaml:"stuck" default:"block" enum:"block,skip" doc:"Whether a predecessor that is parked (unknown outcome, dead, quarantined) holds its object's events up until a person decides, or is skipped."`
	Hold    int           `yaml:"hold" default:"1000" min:"1" doc:"How many events of one object may wait, at most 4000; the newest beyond that are quarantined."`
}

// Poll is how a transmitter of Security Event Tokens is polled.
type Poll struct {
	URL   string        `yaml:"url" required:"say where the transmitter's tokens are" doc:"The transmitter's polling endpoint."`
	Token Secret        `yaml:"token" required:"the transmitter asks who is calling" doc:"Bearer token for the transmitter."`
	Every time.Duration `yaml:"every" default:"30s" min:"1s" doc:"How long to wait when there was nothing."`
}

// Backfill is how the sender's public API is asked for what was missed.
type Backfill struct {
	Token Secret `yaml:"token" required:"the sender's API asks who is calling" doc:"Token for the sender's API: for Stripe a restricted key that may read events, for GitHub one that may administer the hook."`
	Hook  string `yaml:"hook" doc:"GitHub: which hook, repos/OWNER/NAME/hooks/ID or orgs/NAME/hooks/ID."`
	URL   string `yaml:"url" doc:"Base URL of the API; the sender's own when left out."`
}

// Retention says how long a source's events are remembered. It is a minimum:
// forgetting happens at most a sweep later, never earlier.
type Retention struct {
	Keys     time.Duration `yaml:"keys" default:"90d" doc:"How long an event is known after its last sighting, so that a copy of it has no effect."`
	Longest  time.Duration `yaml:"longest" doc:"Bound on that memory, counted from the first sighting. Left out there is none: a sender that repeats for ever is recognised for ever."`
	Payloads time.Duration `yaml:"payloads" default:"30d" doc:"How long bodies and headers are kept; never longer than keys."`
}

// Signature is how a sender with the generic provider hmac signs. Of the other
// providers only Decoded can be set.
type Signature struct {
	Header    string        `yaml:"header" doc:"Header that carries the signature; provider hmac needs it."`
	Algorithm string        `yaml:"algorithm" default:"sha256" enum:"sha256,sha1,sha512" doc:"Hash of the HMAC."`
	Encoding  string        `yaml:"encoding" default:"hex" enum:"hex,base64" doc:"How the signature is written."`
	Prefix    string        `yaml:"prefix" doc:"What stands before the signature, for example sha256=."`
	Content   string        `yaml:"content" default:"{body}" doc:"What is signed: text with {body}, {timestamp}, {id}, {url}, {method} or {header:NAME}."`
	Timestamp string        `yaml:"timestamp" doc:"Where the signed time is, header:NAME; {timestamp} in content needs it."`
	Tolerance time.Duration `yaml:"tolerance" default:"5m" doc:"How far the signed time may be from ours."`
	Decoded   bool          `yaml:"decoded" doc:"The sender compresses the body but signs the plain text."`
}

// Destination is where an operation's effect happens.
type Destination struct {
	Name         string        `yaml:"-"`
	URL          string        `yaml:"url" required:"say where to send" doc:"http or https URL that is posted to."`
	Effect       string        `yaml:"effect" required:"say what the destination makes of a repeated call: keyed (it deduplicates our Idempotency-Key), lookup (it can be asked by that key) or unsafe (neither); there is no default" enum:"keyed,lookup,unsafe" doc:"What the destination makes of a repeated call: keyed, it deduplicates our Idempotency-Key; lookup, it can be asked by that key whether the call had its effect; unsafe, neither."`
	KeyMemory    time.Duration `yaml:"key_memory" min:"1s" doc:"For effect keyed: how long the destination is sure to remember a key. A call that may have had its effect is not repeated after that; its outcome is then unknown. Left out, it is taken to remember for as long as calls are repeated."`
	Secrets      []Secret      `yaml:"secrets" doc:"Calls are signed as Standard Webhooks, once per secret (rotation)."`
	Timeout      time.Duration `yaml:"timeout" default:"10s" min:"1ms" doc:"How long one call may take."`
	Retry        Retry         `yaml:"retry" doc:"When a call is repeated."`
	Concurrency  int           `yaml:"concurrency" default:"16" min:"1" doc:"How many calls run at once."`
	Rate         Rate          `yaml:"rate" doc:"How many calls may begin in a time, for example 100/s or 10/m."`
	Result       string        `yaml:"result" doc:"Where an answer has the result reference: header:NAME or body:PATH."`
	Lookup       *Lookup       `yaml:"lookup" doc:"For effect lookup: how the destination is asked whether a call had its effect."`
	AllowPrivate bool          `yaml:"allow_private" doc:"Allow private and loopback addresses, which are refused otherwise; needed for a service on the same machine."`
}

// Lookup is how a destination is asked whether a call had its effect.
type Lookup struct {
	URL     string        `yaml:"url" required:"say where to ask" doc:"http or https URL that is asked with GET; {key} in its path or query is the Idempotency-Key of the call."`
	Present []int         `yaml:"present" doc:"Statuses that mean that the effect happened; [200] when left out."`
	Absent  []int         `yaml:"absent" doc:"Statuses that mean that it did not; [404] when left out. All others say nothing, and it is asked again."`
	Result  string        `yaml:"result" doc:"Where the answer has the result reference; as the destination's result when left out."`
	Settle  time.Duration `yaml:"settle" default:"60s" doc:"How long after a call the destination may take to know of it. An absence that was found earlier is not believed."`
	First   time.Duration `yaml:"first" default:"5s" min:"1ms" doc:"Shortest wait between two questions; it doubles."`
	Max     time.Duration `yaml:"max" default:"10m" min:"1ms" doc:"Longest wait between two questions."`
	GiveUp  time.Duration `yaml:"give_up" default:"24h" min:"1ms" doc:"After so long without a clear answer a person decides."`
}

// Retry says when a call is repeated. The wait before attempt n+1 is random
// between half and the whole of min(max, first × 2^(n−1)).
type Retry struct {
	Attempts int           `yaml:"attempts" default:"9" min:"1" doc:"All attempts, the first included."`
	First    time.Duration `yaml:"first" default:"5s" min:"1ms" doc:"Wait after the first attempt."`
	Max      time.Duration `yaml:"max" default:"24h" min:"1ms" doc:"Longest wait; a Retry-After counts up to it."`
}

// Operation is an effect that events cause.
type Operation struct {
	Name        string        `yaml:"-"`
	Sources     []string      `yaml:"source,one" required:"say whose events cause it" doc:"The source or sources whose events cause it."`
	Types       []string      `yaml:"types" doc:"Event types that cause it; a * may end one. All of them when left out."`
	Destination string        `yaml:"destination" doc:"The destination that its effect happens at. Either this or steps."`
	Steps       []Step        `yaml:"steps" doc:"Several calls in order, each a recovery point: one that is done is not repeated, whatever happens to those after it. Either this or destination."`
	Lease       time.Duration `yaml:"lease" min:"100ms" doc:"How long a silent owner keeps it; renewed while the work runs. The destination's timeout and 30s when left out."`
}

// Step is one call of an operation of several steps. In its url, headers and
// body {NAME} is the result of the earlier step NAME, {event} the event's id and
// {type} its type, each escaped for its place.
type Step struct {
	Name        string        `yaml:"name" required:"results and keys hang on it" doc:"What the step is called. It is part of the Idempotency-Key, so do not change it while operations stand at it."`
	Destination string        `yaml:"destination" required:"say where its effect happens" doc:"The destination that the step's effect happens at; its result is the step's."`
	URL         string        `yaml:"url" doc:"Where to post, with the scheme, host and port of the destination, whose url it is when left out. It may use earlier results: https://crm.example/{account}/welcome."`
	Headers     []Header      `yaml:"headers,pairs" doc:"Headers to send, by name; they may use earlier results."`
	Body        string        `yaml:"body,text" doc:"JSON to send instead of the event's body; strings in it may use earlier results: {\"id\": \"{account}\"}."`
	Lease       time.Duration `yaml:"-"`
}

// Header is one header of a step.
type Header struct {
	Name  string `yaml:"-"`
	Value string `yaml:"-"`
}

// Sweep is the janitor.
type Sweep struct {
	Every time.Duration `yaml:"every" default:"10s" min:"100ms" doc:"How often it runs."`
}

// Log is what is written to standard error.
type Log struct {
	Level  string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Least severe level that is written."`
	Format string `yaml:"format" default:"json" enum:"json,text" doc:"How lines are written."`
}

// later marks a field that is known and refused: its part is not built yet.
type later struct{}

// Load reads the file at path. env looks environment variables up, as
// os.LookupEnv does. A relative file: reference is relative to the file.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, Problems{{File: path, Rule: "cannot be read: " + reason(err)}}
	}
	dir := filepath.Dir(path)
	return Parse(path, content, env, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return os.ReadFile(name)
	})
}

// Parse reads a configuration; name stands in its errors. The error, if any,
// is of type [Problems].
func Parse(name string, content []byte, env func(string) (string, bool), readFile func(string) ([]byte, error)) (*Config, error) {
	c := &Config{file: name, at: map[string]position{}}
	d := &decoder{report: report{file: name, at: c.at}, refs: refs{env: env, readFile: readFile}}
	d.document(content, c)
	if d.broken {
		return nil, d.sorted()
	}
	v := &validator{report: report{file: name, at: c.at}, config: c}
	v.everything()
	if d.problems = append(d.problems, v.besides(d.problems)...); len(d.problems) > 0 {
		return nil, d.sorted()
	}
	return c, nil
}

// SQLitePath is the database file that [Config.Store] names.
func (c *Config) SQLitePath() string { return c.Store[len(sqlitePrefix):] }

const sqlitePrefix = "sqlite:"
