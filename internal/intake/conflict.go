package intake

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

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
	a, err1 := provider.DecodeBody(coding(first.Header, r), first.Body, source.MaxBody)
	b, err2 := provider.DecodeBody(coding(admission.Header, r), r.Raw, source.MaxBody)
	if err1 != nil || err2 != nil {
		return false, nil
	}
	return provider.Equivalent(a, b, source.Provider.Contract().Volatile), nil
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
