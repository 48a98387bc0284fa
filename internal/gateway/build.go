package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/intake"
	"github.com/onceward/onceward/internal/poll"
	"github.com/onceward/onceward/internal/reconcile"
	"github.com/onceward/onceward/provider"
)

// plan is what a configuration means in the rooms' own words. Making it has no
// effect, so that a reload is valid or changes nothing.
type plan struct {
	sources      map[string]*intake.Source
	destinations map[string]dispatch.Destination
	operations   []dispatch.Operation
	routes       map[string][]string // destinations of each operation, step by step
	targets      []reconcile.Target
	shortest     time.Duration // memory of keys
	warnings     config.Problems
	streams      []poll.Stream
	orders       []ordered
}

// newPlan makes a plan; published finds the keys of senders, and is nil where
// nothing is verified.
func newPlan(c *config.Config, published provider.Keys) (*plan, error) {
	p := &plan{sources: map[string]*intake.Source{}, destinations: map[string]dispatch.Destination{}, routes: map[string][]string{}}
	var err error
	if p.warnings, err = c.Check(provider.Names(), Horizon); err != nil {
		return nil, err
	}
	var problems config.Problems
	for i := range c.Destinations {
		d := &c.Destinations[i]
		if p.destinations[d.Name], err = newDestination(d); err != nil {
			problems = append(problems, c.Wrong("destinations."+d.Name, err.Error()))
		}
		p.doubts(c, d)
	}
	effects := map[string][]intake.Operation{} // by source
	for i := range c.Operations {
		o := &c.Operations[i]
		operation, wrong := p.newOperation(c, o)
		problems = append(problems, wrong...)
		p.operations = append(p.operations, operation)
		for _, source := range o.Sources {
			effects[source] = append(effects[source], intake.Operation{
				Name: o.Name, Types: o.Types, Effect: p.destinations[operation.Steps[0].Destination].Effect, Plan: operation.Plan(),
			})
		}
	}
	for i := range c.Sources {
		s := &c.Sources[i]
		source, err := NewSource(c, s, published)
		if err != nil {
			var option *provider.OptionError
			if errors.As(err, &option) {
				problems = append(problems, c.Wrong("sources."+s.Name+"."+option.Field, option.Rule))
			} else {
				problems = append(problems, c.Wrong("sources."+s.Name, err.Error()))
			}
			continue
		}
		p.addressed(c, s, source)
		p.sources[s.Name] = &intake.Source{
			Name: s.Name, StableID: s.StableID, Tenant: s.Tenant, Environment: s.Environment, Provider: source, Operations: effects[s.Name],
			Payloads: s.Retention.Payloads, Keys: s.Retention.Keys, Longest: s.Retention.Longest, OnStale: onStale(s.OnStale), MaxBody: maxBody(c, source.Contract()),
			Strict: s.Strict, OnConflict: onConflict(s.OnConflict), Level: level(s, source), Order: newOrder(s.Order),
		}
		for n, o := range c.Operations {
			if slices.Contains(o.Sources, s.Name) {
				p.operations[n].SignedHeaders[s.StableID] = source.Contract().Headers
			}
		}
		if p.shortest == 0 || s.Retention.Keys < p.shortest {
			p.shortest = s.Retention.Keys
		}
	}
	p.streams = streams(c)
	p.orders = orders(c)
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// addressed warns of a source whose sender signs the URL, where only we know
// how we are called. In development nothing stands in front.
func (p *plan) addressed(c *config.Config, s *config.Source, source *provider.Source) {
	if source.SignsURL() && c.Intake.PublicURL == "" && s.Environment != "development" {
		p.warnings = append(p.warnings, c.Wrong("sources."+s.Name+".provider", s.Provider+
			" signs the URL that it posts to, and intake.public_url is not set: behind a proxy, or with TLS in front, no signature will fit"))
	}
}

func onConflict(policy string) onceward.OnConflict {
	return map[string]onceward.OnConflict{"reject": onceward.RejectConflict, "newer": onceward.NewerConflict}[policy]
}

func onStale(policy string) onceward.OnStale {
	return map[string]onceward.OnStale{"accept": onceward.AcceptStale, "reject": onceward.RejectStale}[policy]
}

// Horizon tells config how long a provider retries, how far back a person can
// have it send again, and how long a memory its contract recommends.
func Horizon(name string) (retry, manual, memory time.Duration, ok bool) {
	c, ok := provider.Find(name)
	return c.RetryHorizon, c.ManualWindow, c.Memory, ok
}

// NewSource makes a source's verifier from its configuration.
func NewSource(c *config.Config, s *config.Source, published provider.Keys) (*provider.Source, error) {
	o := provider.Options{
		Provider: s.Provider, SourceID: s.StableID, Tenant: s.Tenant, Environment: s.Environment, Mode: s.Mode,
		ID: s.Identity, Type: s.Type, OccurredAt: s.OccurredAt, Version: s.Version, Versions: s.Versions, Items: s.Items,
		Keys: published, HideIDs: s.HideIDs, RepeatIDs: s.RepeatIDs, LiteralSecret: s.SecretLiteral,
	}
	if order := s.Order; order != nil {
		o.Order = provider.OrderOptions{Key: order.Key, Version: order.Version, Epoch: order.Epoch, Counter: order.Mode == "strict"}
	}
	if known, ok := provider.Find(s.Provider); ok {
		o.MaxBody = maxBody(c, &known)
	}
	for i, secret := range s.Secrets {
		o.Secrets = append(o.Secrets, provider.Secret{Label: fmt.Sprintf("secret %d", i+1), Value: secret.Reveal()})
	}
	// A signature without a time has nothing to tolerate; a sender's own has its time.
	untimed := s.Provider == "hmac" && s.Signature != nil && s.Signature.Timestamp == ""
	if s.Tolerance != 0 && !untimed {
		o.Tolerance = &s.Tolerance
	}
	if g := s.Signature; g != nil {
		o.Signature = provider.Signature{
			Header: g.Header, Algorithm: g.Algorithm, Encoding: g.Encoding, Prefix: g.Prefix, Content: g.Content,
			Timestamp: g.Timestamp, Decoded: g.Decoded,
		}
		if s.Provider != "hmac" { // the defaults of the rest are not the contract's
			o.Signature = provider.Signature{Decoded: g.Decoded}
		}
		if g.Timestamp != "" {
			o.Signature.Tolerance = g.Tolerance
		}
	}
	return provider.New(o)
}

// ordered says how the operations of one name from one source are ordered.
type ordered struct {
	operation string
	source    onceward.Key
	order     onceward.Order
}

func orders(c *config.Config) (all []ordered) {
	for i := range c.Sources {
		s := &c.Sources[i]
		for _, o := range c.Operations {
			if s.Order != nil && slices.Contains(o.Sources, s.Name) {
				all = append(all, ordered{o.Name, onceward.Key{Tenant: s.Tenant, Source: s.StableID, Environment: s.Environment}, newOrder(s.Order)})
			}
		}
	}
	return all
}

// level says of which deliveries of a source unchanged copies run again.
func level(s *config.Source, source *provider.Source) func(*provider.Request) bool {
	switch s.Repeat {
	case "once":
		return nil
	case "coalesce":
		return func(*provider.Request) bool { return true }
	}
	if !source.Contract().Level || s.Order != nil || s.OnConflict == "newer" {
		return nil
	}
	return source.Level
}

// newOrder says a configured order in the vocabulary's words.
func newOrder(o *config.Order) onceward.Order {
	if o == nil {
		return onceward.Order{}
	}
	choice := map[string]onceward.Choice{
		"quarantine": onceward.ChooseQuarantine, "apply": onceward.ChooseProceed, "proceed": onceward.ChooseProceed, "refetch": onceward.ChooseRefetch,
	}
	return onceward.Order{
		Mode: map[string]onceward.Ordering{"latest": onceward.LatestFirst, "strict": onceward.StrictOrder, "refetch": onceward.RefetchOnly}[o.Mode],
		Tie:  choice[o.Tie], OnGap: choice[o.OnGap], Gap: o.Gap, Skip: o.Stuck == "skip", Hold: o.Hold,
	}
}

const defaultMaxBody = 5 << 20

// maxBody is the largest body that a source takes: the sender's own cap, unless
// the configuration asks for less than usual.
func maxBody(c *config.Config, contract *provider.Contract) int64 {
	configured := int64(c.Intake.MaxBody)
	switch {
	case contract.MaxBody == 0:
		return configured
	case configured == defaultMaxBody:
		return contract.MaxBody
	}
	return min(configured, contract.MaxBody)
}

func newDestination(d *config.Destination) (dispatch.Destination, error) {
	effect, err := onceward.ParseEffect(d.Effect)
	if err != nil {
		return dispatch.Destination{}, err
	}
	secrets := make([]string, len(d.Secrets))
	for i, s := range d.Secrets {
		secrets[i] = s.Reveal()
	}
	var lookup *forward.Lookup
	var inquiry onceward.Inquiry
	if l := d.Lookup; l != nil {
		lookup = &forward.Lookup{URL: l.URL, Present: l.Present, Absent: l.Absent, Result: l.Result}
		inquiry = onceward.Inquiry{Settle: l.Settle, First: l.First, Max: l.Max, GiveUp: l.GiveUp}
	}
	client, err := forward.New(forward.Destination{
		Name: d.Name, URL: d.URL, Effect: effect, Secrets: secrets, Timeout: d.Timeout, Result: d.Result,
		AllowPrivate: d.AllowPrivate, MaxRetryAfter: d.Retry.Max, Concurrency: d.Concurrency, Lookup: lookup,
	}, forward.Options{})
	if err != nil {
		return dispatch.Destination{}, err
	}
	return dispatch.Destination{
		Client: client, Effect: effect, Timeout: d.Timeout, Concurrency: d.Concurrency, KeyMemory: d.KeyMemory, Inquiry: inquiry,
		Backoff: forward.Backoff{Attempts: d.Retry.Attempts, First: d.Retry.First, Max: d.Retry.Max},
		Rate:    rate.Limit(d.Rate.PerSecond()), Burst: cmp.Or(min(d.Rate.Count, d.Concurrency), 1),
	}, nil
}

// sources are the sources' names as the store knows them.
func sources(c *config.Config) []string {
	var all []string
	for i := range c.Sources {
		all = append(all, c.Sources[i].StableID)
	}
	return all
}
