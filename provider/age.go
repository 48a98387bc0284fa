package provider

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Authentic is when an arrival's event happened, as far as the signature
// vouches for it: the time of the occurrence, or the time inside an event id
// that carries one (UUIDv7, ULID). It is zero when nothing signed says so; then
// nobody can tell a late copy from a new event once the memory of it is over.
func (s *Source) Authentic(a onceward.Arrival) time.Time {
	if s.fields.occurred != nil && a.OccurredAt.After(earliest) && s.scheme.covers(s.fields.occurred) {
		return a.OccurredAt
	}
	if s.fields.signed {
		return idTime(a.Key.EventID)
	}
	return time.Time{}
}

// Ageless reports whether no event of the source can say authentically when it
// happened, unless its id happens to carry a time.
func (s *Source) Ageless() bool {
	return !s.fields.signed && (s.fields.occurred == nil || !s.scheme.covers(s.fields.occurred))
}

// Times in ids are believed between these years only: text of the right form
// that is no time hardly ever falls into them.
var (
	earliest   = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // before it, a number was no time
	earliestID = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	latestID   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// idTime reads the time of a UUIDv7 or a ULID, alone or behind a prefix that
// ends in an underscore.
func idTime(id string) time.Time {
	id = id[strings.LastIndexByte(id, '_')+1:]
	var ms uint64
	switch len(id) {
	case 36:
		raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
		if err != nil || len(raw) != 16 || raw[6]>>4 != 7 || raw[8]>>6 != 2 {
			return time.Time{}
		}
		for _, b := range raw[:6] {
			ms = ms<<8 | uint64(b)
		}
	case 26:
		const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		for i, c := range strings.ToUpper(id) {
			digit := strings.IndexRune(crockford, c)
			if digit < 0 || i == 0 && digit > 7 {
				return time.Time{}
			}
			if i < 10 {
				ms = ms<<5 | uint64(digit)
			}
		}
	default:
		return time.Time{}
	}
	at := time.UnixMilli(int64(ms)).UTC() // 48 bits
	if at.Before(earliestID) || at.After(latestID) {
		return time.Time{}
	}
	return at
}
