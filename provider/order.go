package provider

import (
	"strconv"
	"time"

	"github.com/onceward/onceward"
)

// OrderOptions say where an event's place in its stream is. An empty Key means
// that events are not ordered.
type OrderOptions struct {
	Key     string // expression of the ordering key, for example body:object.id
	Version string // expression of the counter or time that rises with every change
	Epoch   string // expression of what rises when the counter begins anew; optional
	// Counter asks for a whole number that rises by one; a time cannot show a gap.
	Counter bool
}

// ordering are the compiled expressions of OrderOptions.
type ordering struct {
	key, version, epoch *expression
	counter             bool
}

// compileOrder compiles the order. What decides about it has to be inside the
// signature wherever there is one: otherwise whoever holds one request could
// hold a stream up, or make it forget.
func (f *fields) compileOrder(s *Source, o *OrderOptions) error {
	if *o == (OrderOptions{}) {
		return nil
	}
	f.order = &ordering{counter: o.Counter}
	_, open := s.scheme.(unsigned)
	for _, one := range []struct {
		field, text string
		to          **expression
	}{{"order.key", o.Key, &f.order.key}, {"order.version", o.Version, &f.order.version}, {"order.epoch", o.Epoch, &f.order.epoch}} {
		if one.text == "" {
			continue
		}
		e, err := f.expression(one.field, one.text)
		if err != nil {
			return err
		}
		covered := e
		if e.kind == fromItem { // a part of the body
			covered = &expression{kind: fromBody}
		}
		if !open && !s.scheme.covers(covered) {
			return wrong(one.field, "%s is not inside the signature, so it must not decide about the order", one.text)
		}
		*one.to = e
	}
	return nil
}

// inStream reads an event's place in its stream.
func (s *Source) inStream(in *input, a *onceward.Arrival) (why string) {
	f := s.fields.order
	if a.StreamKey, why = in.required("order.key", f.key); why != "" || f.version == nil {
		return why
	}
	text, why := in.required("order.version", f.version)
	if why != "" {
		return why
	}
	var counter, ok bool
	if a.Place.Sequence, counter, ok = sequence(text); !ok {
		return "order.version: " + f.version.display() + " is neither a whole number nor a time"
	}
	if f.counter && !counter {
		return "order.version: " + f.version.display() + " is a time; a strict order needs a counter"
	}
	if f.epoch == nil {
		return ""
	}
	if text, why = in.required("order.epoch", f.epoch); why != "" {
		return why
	}
	if a.Place.Epoch, _, ok = sequence(text); !ok {
		return "order.epoch: " + f.epoch.display() + " is neither a whole number nor a time"
	}
	return ""
}

// sequence reads a counter, or a time as microseconds.
func sequence(text string) (n int64, counter, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true, true
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, false, false
	}
	return t.UnixMicro(), false, true
}
