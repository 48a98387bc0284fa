package intake

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// fault is a body that could not be taken.
type fault struct {
	metric, problem, detail string
	status                  int
	after                   time.Duration
}

func (f *fault) answer(w http.ResponseWriter, source *Source) {
	status := f.status
	if status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || f.problem == incomplete {
		status = source.transient(status)
	}
	// What is left of the body is not read: the connection ends here.
	w.Header().Set("Connection", "close")
	refuse(w, status, f.problem, f.detail, f.after)
}

const incomplete = "incomplete"

// transient is how what is over in a moment is said to a source's sender: to
// one that takes every 4xx for final it is 503.
func (s *Source) transient(status int) int {
	if s.Provider.Contract().Final4xx {
		return http.StatusServiceUnavailable
	}
	return status
}

// firstRead is how much is set aside for a body before any of it has come, so
// that a sender cannot make us hold memory by announcing a large one.
const firstRead = 64 << 10

// readBody reads the body up to the source's limit. release gives back what it
// was counted with; it must be called when the delivery has been answered.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, source *Source) (body []byte, release func(), f *fault) {
	counted := int64(0)
	release = func() { h.bytes.Add(-counted) }
	if coding := r.Header.Get("Content-Encoding"); !knownCoding(coding) || len(r.Header.Values("Content-Encoding")) > 1 {
		return nil, release, &fault{"malformed", "unsupported-encoding", "only gzip and identity bodies are read", http.StatusUnsupportedMediaType, 0}
	}
	tooLarge := &fault{"too_large", "too-large", "the body is larger than this source takes (intake.max_body, or the sender's own cap)", http.StatusRequestEntityTooLarge, 0}
	if r.ContentLength > source.MaxBody {
		return nil, release, tooLarge
	}
	grow := func(n int64) bool {
		counted += n
		return h.bytes.Add(n) <= h.o.MaxBytes
	}
	size := r.ContentLength
	if size < 0 || size > firstRead {
		size = firstRead
	}
	if !grow(size) {
		return nil, release, &fault{"overloaded", "overloaded", "too many bytes at once; send it again", http.StatusTooManyRequests, time.Second}
	}
	buf := make([]byte, size)
	n := 0
	for {
		if n == len(buf) {
			if int64(n) == r.ContentLength {
				return buf, release, nil
			}
			if int64(n) > source.MaxBody {
				return nil, release, tooLarge
			}
			more := min(int64(max(n, 512)), source.MaxBody+1-int64(n))
			if !grow(more) {
				return nil, release, &fault{"overloaded", "overloaded", "too many bytes at once; send it again", http.StatusTooManyRequests, time.Second}
			}
			buf = append(buf, make([]byte, more)...)
		}
		read, err := r.Body.Read(buf[n:])
		n += read
		if int64(n) > source.MaxBody {
			return nil, release, tooLarge
		}
		if errors.Is(err, io.EOF) {
			return buf[:n:n], release, nil
		}
		if err != nil {
			return nil, release, readFault(err)
		}
	}
}

func readFault(err error) *fault {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &fault{"malformed", "too-slow", "the body did not arrive in time", http.StatusRequestTimeout, 0}
	}
	return &fault{"malformed", incomplete, "the body broke off", http.StatusBadRequest, 0}
}

func knownCoding(coding string) bool {
	switch strings.ToLower(coding) {
	case "", "gzip", "identity", "x-gzip":
		return true
	}
	return false
}
