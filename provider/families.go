package provider

import (
	"slices"
	"time"
)

// families are the senders whose signature is one HMAC in one header, or a
// signed message: they are data. A file holds those of one trade.
func families() []Contract {
	return slices.Concat(payments(), commerce(), identities(), developers(), productivity(), messaging(), media())
}

const (
	hour = time.Hour
	day  = 24 * hour
)

// signed completes a contract whose body is signed with one HMAC.
func signed(sig Signature, c Contract) Contract {
	c.Signature = sig
	c.Headers = append([]string{sig.Header}, c.Headers...)
	c.BodySigned = true
	c.newScheme = func(o *Options) (scheme, error) { return newHeaderScheme(sig.decoded(o), o) }
	return completed(c)
}

// messaged completes a contract that follows svix or Standard Webhooks.
func messaged(base, c Contract) Contract {
	c.Scheme, c.Headers, c.Tolerance, c.Rotation, c.BodySigned = base.Scheme, base.Headers, base.Tolerance, base.Rotation, true
	c.ID, c.IDSigned = base.ID, true
	if c.newScheme == nil {
		c.newScheme = base.newScheme
	}
	c.sample = base.sample
	return completed(c)
}

// completed fills what most senders have in common.
func completed(c Contract) Contract {
	if c.Revision == "" {
		c.Revision = "1"
	}
	if c.Rotation == "" {
		c.Rotation = "none: configure the old and the new secret while you change it"
	}
	if c.Handshake == "" {
		c.Handshake = "none"
	}
	if c.Deadline == 0 {
		c.Deadline = 10 * time.Second // none is published
	}
	if c.Success.Status == 0 {
		c.Success.Status = 200
	}
	if c.RetryOn == "" {
		c.RetryOn = "anything but 2xx"
	}
	if c.Memory == 0 {
		c.Memory = 14 * day
	}
	if c.sample == nil {
		c.sample = genericSample
	}
	return c
}

// sampled writes a sample event of a type from a template of [draft.json], with
// headers in pairs in which {id} is the event's id.
func sampled(kind, template string, headers ...string) func(*draft) {
	return func(d *draft) {
		d.kind = kind
		for i := 0; i+1 < len(headers); i += 2 {
			value := headers[i+1]
			if value == "{id}" {
				value = d.id
			}
			d.header(headers[i], value)
		}
		d.json(template)
	}
}
