package intake

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/provider"
)

// problem is the body of every refusal (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func refuse(w http.ResponseWriter, status int, kind, detail string, after time.Duration) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{"urn:onceward:problem:" + kind, http.StatusText(status), status, detail}) // the sender may be gone
}

// refuse answers a delivery that is not authentic. Nothing of it is recorded,
// and the answer is the same whatever the signature lacked.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, source *Source, err error) {
	var refusal *provider.Refusal
	metric, kind, detail := "unauthenticated", "unauthenticated", "the signature is missing or does not fit"
	if errors.As(err, &refusal) && refusal.Reason == provider.OutsideTolerance {
		metric, kind, detail = "stale", refusal.Reason, refusal.Detail
	}
	unavailable := refusal != nil && refusal.Reason == provider.KeyUnavailable
	if unavailable { // it says nothing about the request, so it is not the sender's fault
		metric = "unavailable"
	}
	h.o.OnDelivery(source.Name, metric)
	if more, ok := source.refusals.next(h.o.Now()); ok {
		h.o.Log.Log(r.Context(), slog.LevelWarn, "delivery refused", telemetry.KeySource, source.Name, telemetry.KeyRemote, h.remote(r),
			telemetry.KeyReason, err.Error(), "more_since_last_line", more)
	}
	if unavailable {
		refuse(w, http.StatusServiceUnavailable, "keys-unavailable", "the sender's keys cannot be had at the moment; send it again", 5*time.Second)
		return
	}
	if refusal != nil {
		if reply, ok := source.Provider.Refused(refusal); ok {
			writeReply(w, reply)
			return
		}
	}
	refuse(w, http.StatusUnauthorized, kind, detail, 0)
}

// throttle lets one log line a second pass, so that neither who has no secret
// nor a full disk fills it with our complaints. The metric counts each one.
type throttle struct {
	second, held atomic.Int64
}

// next reports whether a line may be written at now, and how many were held
// back since the last one.
func (t *throttle) next(now time.Time) (held int64, ok bool) {
	last := t.second.Load()
	if now.Unix() == last || !t.second.CompareAndSwap(last, now.Unix()) {
		t.held.Add(1)
		return 0, false
	}
	return t.held.Swap(0), true
}

func writeReply(w http.ResponseWriter, reply provider.Reply) {
	if reply.ContentType != "" {
		w.Header().Set("Content-Type", reply.ContentType)
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body) // the sender may be gone
}

// reply answers a recorded delivery.
func (h *Handler) reply(w http.ResponseWriter, source *Source, a *onceward.Admission, admitted []onceward.Admitted) {
	status, strictly := http.StatusOK, false
	for i := range admitted {
		m := &admitted[i]
		h.count(source, m)
		h.note(source, &a.Arrivals[i], m)
		strictly = strictly || m.Refused || source.Strict && m.Reason != "" || source.OnConflict == onceward.RejectConflict && m.Verdict == onceward.Conflicting
	}
	success := source.Provider.Contract().Success
	if success.Status != 0 {
		status = success.Status
	}
	if strictly {
		status = http.StatusUnprocessableEntity
	}
	header := w.Header()
	whole := overall(admitted)
	if !admitted[0].Refused {
		header["Onceward-Event"] = []string{admitted[0].Event.String()}
	}
	header["Onceward-Status"] = []string{whole.String()}
	if success.ContentType != "" && !strictly {
		writeReply(w, success)
		return
	}
	body := appendReply(make([]byte, 0, 256), whole, admitted)
	header["Content-Type"] = []string{"application/json"}
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the sender may be gone; it was recorded all the same
}

// overall is the verdict of a whole delivery: the worst of its events', and
// accepted when any of the others is new.
func overall(admitted []onceward.Admitted) onceward.Verdict {
	rank := func(v onceward.Verdict) int {
		return [...]int{0, onceward.Duplicate: 1, onceward.Ignored: 2, onceward.Accepted: 3, onceward.QuarantinedBy: 4, onceward.Conflicting: 5}[v]
	}
	whole := admitted[0].Verdict
	for i := range admitted[1:] {
		if v := admitted[i+1].Verdict; rank(v) > rank(whole) {
			whole = v
		}
	}
	return whole
}

func (h *Handler) count(source *Source, m *onceward.Admitted) {
	status := m.Verdict.String()
	if m.Refused {
		status = "stale"
	}
	if m.Verdict == onceward.Duplicate {
		status = "duplicate_completed"
		for i := range m.Operations {
			if m.Operations[i].State.Open() {
				status = "duplicate_in_flight"
			}
		}
	}
	h.o.OnDelivery(source.Name, status)
}

// note logs what a person should see.
func (h *Handler) note(source *Source, r *onceward.Arrival, m *onceward.Admitted) {
	if m.Refused {
		h.o.Log.Warn("an event older than the memory was refused", telemetry.KeySource, source.Name, telemetry.KeyDigest, r.Digest.String(), telemetry.KeyReason, m.Reason)
		return
	}
	switch m.Verdict {
	case onceward.QuarantinedBy:
		h.o.Log.Error("an authentic delivery was quarantined", telemetry.KeySource, source.Name, telemetry.KeyEvent, m.Event.String(), telemetry.KeyDigest, r.Digest.String(), telemetry.KeyReason, m.Reason)
	case onceward.Ignored:
		h.o.Log.Info("an event that no operation wants was recorded", telemetry.KeySource, source.Name, telemetry.KeyEvent, m.Event.String(), telemetry.KeyDigest, r.Digest.String(), telemetry.KeyType, r.Type)
	}
}

// appendReply writes the JSON body by hand: it is on the way of every delivery.
func appendReply(b []byte, whole onceward.Verdict, admitted []onceward.Admitted) []byte {
	if len(admitted) == 1 {
		return append(appendOne(b, &admitted[0]), '\n')
	}
	counts := [6]int{}
	for i := range admitted {
		counts[admitted[i].Verdict]++
	}
	b = append(b, `{"status":"`...)
	b = append(b, whole.String()...)
	b = append(b, `","counts":{`...)
	for v, n := range counts {
		if n == 0 {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, onceward.Verdict(v).String())
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, `},"events":[`...)
	for i := range admitted {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOne(b, &admitted[i])
	}
	return append(b, "]}\n"...)
}

func appendOne(b []byte, m *onceward.Admitted) []byte {
	b = append(b, `{"event":"`...)
	if !m.Refused {
		b = append(b, m.Event.String()...)
	}
	b = append(b, `","status":"`...)
	b = append(b, m.Verdict.String()...)
	b = append(b, '"')
	if m.Reason != "" {
		b = append(b, `,"reason":`...)
		b = appendString(b, m.Reason)
	}
	if m.Verdict == onceward.Duplicate || m.Verdict == onceward.Conflicting {
		b = append(b, `,"first_seen":"`...)
		b = m.FirstSeen.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
		b = append(b, '"')
	}
	b = append(b, `,"operations":[`...)
	for i := range m.Operations {
		o := &m.Operations[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":"`...)
		b = append(b, o.Name...)
		b = append(b, `","state":"`...)
		b = append(b, o.State.String()...)
		b = append(b, '"')
		if o.Result != "" {
			b = append(b, `,"result":`...)
			b = appendString(b, o.Result)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, quoted...)
}
