package load

import (
	"slices"
	"time"
)

// Result is what came back. Except for Sent, Taken and Lost it says nothing of
// the warm-up and of answers after the end.
type Result struct {
	Sent  int64 // deliveries, from the first to the last
	Taken int64 // of them answered 2xx
	Lost  int64 // of them without a whole answer; what became of them is unknown

	Elapsed  time.Duration
	Accepted int64         // answers 2xx
	Refused  map[int]int64 // other answers by status

	latencies []time.Duration // of all answers, sorted
	lateness  []time.Duration // open loop: how long after the due time a request was begun, sorted
}

// Rate is how many deliveries were accepted in a second.
func (r *Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Accepted) / r.Elapsed.Seconds()
}

// Latency is the time within which the share q of all answers came.
func (r *Result) Latency(q float64) time.Duration { return quantile(r.latencies, q) }

// Lateness is the part of the latency that the sender itself is to blame for,
// or the lack of a free connection.
func (r *Result) Lateness(q float64) time.Duration { return quantile(r.lateness, q) }

// NotAccepted is how many deliveries had another answer than 2xx, or none.
func (r *Result) NotAccepted() int64 { return r.Sent - r.Taken }

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(q * float64(len(sorted)))
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// sample is what one connection saw.
type sample struct {
	sent, taken, lost int64
	accepted          int64
	refused           map[int]int64
	latencies         []time.Duration
	lateness          []time.Duration
	last              time.Time
}

func (s *sample) record(status int, accepted bool, latency time.Duration) {
	s.latencies = append(s.latencies, latency)
	if accepted {
		s.accepted++
		return
	}
	if s.refused == nil {
		s.refused = map[int]int64{}
	}
	s.refused[status]++
}

func (r *runner) result() *Result {
	out := &Result{Refused: map[int]int64{}}
	last := r.begin
	for i := range r.samples {
		s := &r.samples[i]
		out.Sent, out.Taken, out.Lost = out.Sent+s.sent, out.Taken+s.taken, out.Lost+s.lost
		out.Accepted += s.accepted
		for status, n := range s.refused {
			out.Refused[status] += n
		}
		out.latencies = append(out.latencies, s.latencies...)
		out.lateness = append(out.lateness, s.lateness...)
		if s.last.After(last) {
			last = s.last
		}
	}
	slices.Sort(out.latencies)
	slices.Sort(out.lateness)
	// A closed loop that ran its time is measured over that time, whatever
	// arrived later; everything else lasts until the last answer.
	out.Elapsed = last.Sub(r.begin)
	if r.o.Rate == 0 && last.After(r.end) {
		out.Elapsed = r.end.Sub(r.begin)
	}
	return out
}
