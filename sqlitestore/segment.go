package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/onceward/onceward"
)

// A segment is one row with the payloads of one commit, compressed together:
// a quarter of the bytes and one row instead of many. Segments of different
// lifetimes are apart, so that each can be dropped whole.

// maxSegment is how many plain bytes a segment holds before the next begins.
const maxSegment = 512 << 10

const (
	insertSegment = `INSERT INTO segment (id, expires, first, last, size, data) VALUES (?, ?, ?, ?, ?, ?)`
	selectSegment = `SELECT size, data FROM segment WHERE id = ?`
)

// place is where a payload is: the segment's id and the payload's number in it.
type place struct{ segment, slot int64 }

// segmentWriter gathers the payloads of one transaction.
type segmentWriter struct {
	encoder *zstd.Encoder
	open    map[segmentKey]*openSegment
	packed  []byte
}

// segmentKey says which payloads go together: those of one expiry, in whole
// hours. What comes later for an event that is there already goes apart, so
// that a segment's events are neighbours and looking through them is cheap.
type segmentKey struct {
	hour int64
	late onceward.EventID
}

type openSegment struct {
	id          int64
	first, last onceward.EventID
	plain       []byte
	slots       int64
}

func newSegmentWriter() *segmentWriter {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("sqlitestore: " + err.Error()) // constant options
	}
	return &segmentWriter{encoder: encoder, open: map[segmentKey]*openSegment{}}
}

// addPayload puts a payload of event id, which is new, into the segment of its
// lifetime.
func (w *writer) addPayload(id onceward.EventID, p onceward.Payload, expires time.Time) (place, error) {
	return w.addTo(segmentKey{hour: expires.Unix()/3600 + 1}, id, p)
}

// addLate does so for an event that may have been there for long.
func (w *writer) addLate(id onceward.EventID, p onceward.Payload, expires time.Time) (place, error) {
	return w.addTo(segmentKey{expires.Unix()/3600 + 1, id}, id, p)
}

func (w *writer) addTo(key segmentKey, id onceward.EventID, p onceward.Payload) (place, error) {
	seg := w.segments.open[key]
	if seg != nil && len(seg.plain) > 0 && len(seg.plain)+len(p.Header)+len(p.Body) > maxSegment {
		if err := w.flushSegment(key.hour, seg); err != nil {
			return place{}, err
		}
	}
	if seg == nil {
		seg = &openSegment{}
		w.segments.open[key] = seg
	}
	if seg.id == 0 {
		// Never reused, so that an event whose segment was dropped cannot come
		// to point at another one.
		seg.id = int64(w.ids.Next(w.now))
		seg.first, seg.last = id, id
	}
	seg.first, seg.last = min(seg.first, id), max(seg.last, id)
	seg.plain = appendPayload(seg.plain, p)
	seg.slots++
	return place{seg.id, seg.slots - 1}, nil
}

func appendPayload(b []byte, p onceward.Payload) []byte {
	b = binary.AppendUvarint(b, uint64(len(p.Header)))
	b = append(b, p.Header...)
	b = binary.AppendUvarint(b, uint64(len(p.Body)))
	return append(b, p.Body...)
}

// flushSegments writes what the transaction gathered.
func (w *writer) flushSegments() error {
	for key, seg := range w.segments.open {
		if seg.id == 0 {
			if len(w.segments.open) > 64 { // lifetimes that are no longer used
				delete(w.segments.open, key)
			}
			continue
		}
		if err := w.flushSegment(key.hour, seg); err != nil {
			return err
		}
		if key.late != 0 {
			delete(w.segments.open, key)
		}
	}
	return nil
}

func (w *writer) flushSegment(hour int64, seg *openSegment) error {
	w.segments.packed = w.segments.encoder.EncodeAll(seg.plain, w.segments.packed[:0])
	err := w.c.q(insertSegment).int(seg.id).int(hour * 3600 * 1e6).int(int64(seg.first)).int(int64(seg.last)).int(int64(len(seg.plain))).blob(w.segments.packed).run()
	seg.reset()
	return err
}

func (s *openSegment) reset() {
	s.id, s.slots = 0, 0
	if cap(s.plain) > 2*maxSegment { // one huge body must not stay for ever
		s.plain = nil
	}
	s.plain = s.plain[:0]
}

func (w *writer) dropSegments() {
	for _, seg := range w.segments.open {
		seg.reset()
	}
}

var errNoPayload = errors.New("the payload is no longer kept")

// segmentCache keeps the few segments that were unpacked last: work that was
// recorded together is usually taken together.
type segmentCache struct {
	mu      sync.Mutex
	decoder *zstd.Decoder
	recent  [8]cachedSegment
	next    int
}

type cachedSegment struct {
	id    int64
	plain []byte
}

func newSegmentCache() *segmentCache {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		panic("sqlitestore: " + err.Error()) // constant options
	}
	return &segmentCache{decoder: decoder}
}

// payload reads one payload; errNoPayload when its segment was dropped.
func (s *Store) payload(c *conn, at place) (onceward.Payload, error) {
	if at.segment == 0 {
		return onceward.Payload{}, errNoPayload
	}
	plain, err := s.segments.load(c, at.segment)
	if err != nil {
		return onceward.Payload{}, err
	}
	for slot := int64(0); ; slot++ {
		header, rest, ok := cutChunk(plain)
		body, rest, ok2 := cutChunk(rest)
		if !ok || !ok2 {
			return onceward.Payload{}, fmt.Errorf("segment %d has no slot %d", at.segment, at.slot)
		}
		if slot == at.slot {
			// Copies, so that one payload does not keep a whole segment alive.
			return onceward.Payload{Header: append([]byte(nil), header...), Body: append([]byte{}, body...)}, nil
		}
		plain = rest
	}
}

func cutChunk(b []byte) (chunk, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n)], b[w+int(n):], true
}

func (sc *segmentCache) load(c *conn, id int64) ([]byte, error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, s := range sc.recent {
		if s.id == id {
			return s.plain, nil
		}
	}
	var plain []byte
	var fault error
	found, err := c.q(selectSegment).int(id).row(func(s *stmt) {
		plain, fault = sc.decoder.DecodeAll(s.ColumnRawBlob(1), make([]byte, 0, s.ColumnInt64(0)))
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoPayload
	case fault != nil:
		return nil, fmt.Errorf("segment %d is damaged: %w", id, fault)
	}
	if len(plain) <= maxSegment {
		sc.recent[sc.next] = cachedSegment{id, plain}
		sc.next = (sc.next + 1) % len(sc.recent)
	}
	return plain, nil
}

// forget drops a segment that was rewritten or deleted.
func (sc *segmentCache) forget(id int64) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for i := range sc.recent {
		if sc.recent[i].id == id {
			sc.recent[i] = cachedSegment{}
		}
	}
}
