package provider

import (
	"strings"
	"time"
)

// instant reads a time as senders write it: RFC 3339, or a unix time in
// seconds, milliseconds, microseconds or nanoseconds, told apart by magnitude
// (seconds reach 10^11 in the year 5138). Decimals of seconds are allowed.
func instant(text string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	number, ok := digits(whole)
	if !ok {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, false
		}
		return t.UTC().Truncate(time.Microsecond), true
	}
	switch {
	case number < 1e11:
		micros, ok := micros(fraction)
		return time.UnixMicro(number*1e6 + micros).UTC(), ok
	case number < 1e14:
		return time.UnixMilli(number).UTC(), true
	case number < 1e17:
		return time.UnixMicro(number).UTC(), true
	default:
		return time.UnixMicro(number / 1000).UTC(), true
	}
}

// digits reads 1 to 18 decimal digits and nothing else, so nothing overflows.
func digits(text string) (n int64, ok bool) {
	if text == "" || len(text) > 18 {
		return 0, false
	}
	for i := range len(text) {
		d := text[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, true
}

// micros reads the decimals of a second.
func micros(fraction string) (int64, bool) {
	if fraction == "" {
		return 0, true
	}
	fraction = fraction[:min(len(fraction), 6)]
	n, ok := digits(fraction)
	for range 6 - len(fraction) {
		n *= 10
	}
	return n, ok
}

// fresh checks a signed time against the clock, in both directions and with
// the boundary inside. It comes after the signature: an unsigned time says
// nothing, and an answer about it would only help a forger.
func fresh(signed, now time.Time, tolerance time.Duration) *Refusal {
	if tolerance <= 0 {
		return nil
	}
	skew := now.Sub(signed)
	if skew.Abs() <= tolerance {
		return nil
	}
	direction := "behind"
	if skew < 0 {
		direction = "ahead of"
	}
	return refuse(OutsideTolerance, "the signed timestamp is %s %s this machine's clock, more than the tolerance of %s; check both clocks, or whether the request was held back",
		skew.Abs().Round(time.Millisecond), direction, tolerance)
}
