package intake

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

// Reread says what the configuration of today makes of a recorded event: how it
// is read, and which operations want it. It is nil when no source has its name,
// tenant and environment. An item of a batch is not read anew, because its
// batch is not kept; its recorded type counts.
func (h *Handler) Reread(e onceward.Event, p onceward.Payload) *onceward.Arrival {
	source := h.sourceOf(e)
	if source == nil {
		return nil
	}
	recorded := onceward.Arrival{Type: e.Type, Version: e.Version, OccurredAt: e.OccurredAt, Verdict: onceward.Accepted}
	r := recorded
	if e.Of == 0 {
		request := &provider.Request{
			Method: http.MethodPost, URL: strings.TrimSuffix(h.o.PublicURL, "/") + "/in/" + source.Name,
			Header: header(p.Header), Body: p.Body, Now: e.Received(),
		}
		// Several arrivals would be a batch that could not be read as one before:
		// its items cannot become one event.
		if all := source.Provider.Arrivals(request); len(all) == 1 && all[0].Of == 0 {
			r = all[0]
		}
	}
	if r.Type == "" {
		r.Type = recorded.Type
	}
	if r.Key.EventID != "" && !source.Provider.Repeats(r) {
		hasher := h.hashers.Get().(*onceward.Hasher)
		r.Digest = hasher.Digest(r.Key)
		h.hashers.Put(hasher)
	}
	order := onceward.Order{} // what cannot say its place runs outside its stream
	if source.Order.Mode != onceward.Unordered && r.Verdict == onceward.Accepted && e.Of == 0 {
		order, r.Stream = source.Order, h.streams.stream(&r)
	}
	for _, op := range source.Operations {
		if op.wants(r.Type) {
			r.Operations = append(r.Operations, onceward.Planned{Name: op.Name, Effect: op.Effect, Plan: op.Plan, Order: order})
		}
	}
	return &r
}

func (h *Handler) sourceOf(e onceward.Event) *Source {
	for _, s := range *h.sources.Load() {
		if s.StableID == e.Source && s.Tenant == e.Tenant && s.Environment == e.Env {
			return s
		}
	}
	return nil
}

// header reads kept headers back.
func header(lines []byte) http.Header {
	all := http.Header{}
	for line := range strings.Lines(string(lines)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			name = textproto.CanonicalMIMEHeaderKey(name)
			all[name] = append(all[name], value)
		}
	}
	return all
}
