package intake

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/provider"
)

// maxRivals is how many of an event's other contents an arrival is compared with.
const maxRivals = 16

// settleOne decides about an arrival whose bytes differ from its event's: the
// same written anew, a content that was met before written anew, or one that
// is new.
func (h *Handler) settleOne(ctx context.Context, source *Source, known *onceward.Admitted, a *onceward.Admission, r onceward.Arrival) (onceward.Admitted, error) {
	same, err := h.sameContent(ctx, source, known.Event, a, &r)
	if err != nil {
		return *known, err
	}
	if same {
		return h.o.Store.RecordCopy(ctx, known.Event, a, &r)
	}
	rivals, err := h.o.Store.Rivals(ctx, known.Event, maxRivals)
	if err != nil {
		return *known, err
	}
	for _, rival := range rivals {
		if rival.Content == r.Content || equivalent(source, rival.Payload, a, &r) {
			r.Content = rival.Content
			break
		}
	}
	settled, err := h.o.Store.RecordConflict(ctx, known.Event, a, &r, source.OnConflict)
	if err == nil && settled.Verdict == onceward.Conflicting {
		h.o.Log.Error("a known event arrived with other content; both are kept: onceward conflicts list", telemetry.KeySource, source.Name, telemetry.KeyEvent, known.Event.String(), telemetry.KeyDigest, r.Digest.String())
	}
	return settled, err
}

// sameContent reports whether an arrival says the same as its event although
// its bytes differ: key order, white space, escapes, and what the contract
// calls volatile. Once the first payload is no longer kept there is nothing to
// compare with, and other bytes are other content.
func (h *Handler) sameContent(ctx context.Context, source *Source, id onceward.EventID, admission *onceward.Admission, r *onceward.Arrival) (bool, error) {
	first, err := h.o.Store.Payload(ctx, id)
	if errors.Is(err, onceward.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return equivalent(source, first, admission, r), nil
}

func equivalent(source *Source, known onceward.Payload, admission *onceward.Admission, r *onceward.Arrival) bool {
	a, err1 := provider.DecodeBody(coding(known.Header, r), known.Body, source.MaxBody)
	b, err2 := provider.DecodeBody(coding(admission.Header, r), r.Raw, source.MaxBody)
	return err1 == nil && err2 == nil && source.Provider.Equivalent(a, b, r.Of > 0)
}

// coding is the content coding of a body with those kept headers; items of a
// batch are decoded already.
func coding(header []byte, r *onceward.Arrival) string {
	if r.Of > 0 {
		return ""
	}
	for line := range bytes.Lines(header) {
		if value, ok := strings.CutPrefix(string(bytes.TrimRight(line, "\n")), "Content-Encoding: "); ok {
			return value
		}
	}
	return ""
}
