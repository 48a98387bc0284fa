package intake

import (
	"sync"

	"github.com/onceward/onceward"
)

// streamHasher names streams. It keeps to the oldest pepper: a stream's memory
// is one row, and under a new name it would begin anew in the middle.
type streamHasher struct {
	pepper onceward.Pepper
	mu     sync.Mutex
	hasher *onceward.Hasher
}

func (h *streamHasher) stream(r *onceward.Arrival) onceward.Digest {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasher == nil {
		h.hasher = h.pepper.Hasher()
	}
	return h.hasher.Stream(r.Key, r.StreamKey)
}
