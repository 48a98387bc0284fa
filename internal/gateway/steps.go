package gateway

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/dispatch"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/reconcile"
)

// newOperation is an operation in the rooms' own words: its calls, in their
// order, and whom the reconciler asks about each.
func (p *plan) newOperation(c *config.Config, o *config.Operation) (op dispatch.Operation, problems config.Problems) {
	op = dispatch.Operation{Name: o.Name, SignedHeaders: map[string][]string{}}
	if len(o.Steps) == 0 {
		op.Steps = []dispatch.Step{{Destination: o.Destination, Lease: o.Lease}}
	}
	var earlier []string
	for i := range o.Steps {
		s := &o.Steps[i]
		field := fmt.Sprintf("operations.%s.steps[%d]", o.Name, i)
		if forward.Reserved(s.Name) {
			problems = append(problems, c.Wrong(field+".name", fmt.Sprintf("{%s} means something else in urls, headers and bodies; call the step another name", s.Name)))
		}
		headers := make([][2]string, len(s.Headers))
		for i, h := range s.Headers {
			headers[i] = [2]string{h.Name, h.Value}
		}
		template, err := forward.NewTemplate(destinationURL(c, s.Destination), s.URL, headers, s.Body, earlier)
		var wrong *forward.TemplateError
		if errors.As(err, &wrong) {
			problems = append(problems, c.Wrong(field+"."+wrong.Field, wrong.Rule))
		}
		for _, before := range o.Steps[:i] {
			if used := template.UsedIn(before.Name); used != "" && !givesResult(c, before.Destination) {
				problems = append(problems, c.Wrong(field+"."+used, fmt.Sprintf("names {%s}, but destination %s does not say where its result is; give it result: header:NAME or body:PATH", before.Name, before.Destination)))
			}
		}
		op.Steps = append(op.Steps, dispatch.Step{Name: s.Name, Destination: s.Destination, Lease: s.Lease, Template: template})
		earlier = append(earlier, s.Name)
	}
	for i, s := range op.Steps {
		p.routes[o.Name] = append(p.routes[o.Name], s.Destination)
		if d := p.destinations[s.Destination]; d.Effect == onceward.Lookup {
			p.targets = append(p.targets, reconcile.Target{
				Operation: o.Name, Step: i, Plan: op.Plan(), Destination: s.Destination, Asker: d.Client, Inquiry: d.Inquiry,
				// Few, because a destination whose answers are lost is rarely in good health.
				AtOnce: max(d.Concurrency/2, 1),
			})
		}
	}
	return op, problems
}

func destinationURL(c *config.Config, name string) string {
	if d := destination(c, name); d != nil {
		return d.URL
	}
	return ""
}

func givesResult(c *config.Config, name string) bool {
	d := destination(c, name)
	return d != nil && d.Result != ""
}

func destination(c *config.Config, name string) *config.Destination {
	for i := range c.Destinations {
		if c.Destinations[i].Name == name {
			return &c.Destinations[i]
		}
	}
	return nil
}

// doubts warns of what is allowed and yet cannot work as one would think.
func (p *plan) doubts(c *config.Config, d *config.Destination) {
	warn := func(field, rule string) {
		p.warnings = append(p.warnings, c.Wrong("destinations."+d.Name+"."+field, rule))
	}
	const private = "is a private address, and those are refused; every call will fail until allow_private is true"
	if !d.AllowPrivate && forward.IsPrivate(d.URL) {
		warn("url", private)
	}
	if d.Lookup != nil && !d.AllowPrivate && forward.IsPrivate(d.Lookup.URL) {
		warn("lookup.url", private)
	}
	retries := p.destinations[d.Name].Backoff.Longest(d.Timeout)
	if d.KeyMemory > 0 && retries > d.KeyMemory {
		warn("key_memory", fmt.Sprintf("is shorter than its retries may take (%s): a call that is still ambiguous then is not repeated but becomes unknown_outcome; fewer or closer attempts would all be made", days(retries)))
	}
}
