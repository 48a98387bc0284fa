package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// Rate is how many calls may begin in a time; the zero Rate is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// PerSecond is the rate as a number; 0 means no limit.
func (r Rate) PerSecond() float64 {
	if r.Count == 0 {
		return 0
	}
	return float64(r.Count) / r.Per.Seconds()
}

func (r Rate) String() string {
	if r.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Count, map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[r.Per])
}

const day = 24 * time.Hour

// durationUnits are in the order in which a prefix must be tried.
var durationUnits = [...]struct {
	name string
	unit time.Duration
}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", day}, {"w", 7 * day}}

var errDuration = errors.New("is not a duration; write a whole number and a unit, such as 500ms, 10s, 5m, 24h or 90d")

// ParseDuration reads a duration as configurations write it: 90s, 5m, 24h, 3d.
func ParseDuration(text string) (time.Duration, error) { return parseDuration(text) }

// parseDuration reads whole numbers with units, one or several: 10s, 1h30m, 90d.
func parseDuration(text string) (time.Duration, error) {
	var total time.Duration
	for rest := text; ; {
		n, after, err := leadingNumber(rest)
		if err != nil {
			return 0, errDuration
		}
		unit := time.Duration(0)
		for _, u := range durationUnits {
			if tail, ok := strings.CutPrefix(after, u.name); ok {
				unit, rest = u.unit, tail
				break
			}
		}
		if unit == 0 {
			return 0, errDuration
		}
		if n > int64(math.MaxInt64-total)/int64(unit) {
			return 0, errors.New("is too long a duration")
		}
		total += time.Duration(n) * unit
		if rest == "" {
			return total, nil
		}
	}
}

// parseSize reads bytes: 512, 64KiB, 5MiB, 1GiB (1024), 1KB, 1MB, 1GB (1000).
func parseSize(text string) (Size, error) {
	n, unit, err := leadingNumber(text)
	factor := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
	if err != nil || factor == 0 {
		return 0, errors.New("is not a size; write a whole number and a unit, such as 64KiB, 5MiB or 1MB")
	}
	if n < 1 || n > (1<<40)/factor {
		return 0, errors.New("is not a possible size; it must be at least 1 byte and at most 1024GiB")
	}
	return Size(n * factor), nil
}

// parseRate reads calls per time: 100/s, 10/m, 5/h.
func parseRate(text string) (Rate, error) {
	count, per, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(count, 10, 32)
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[per]
	if err != nil || n < 1 || unit == 0 {
		return Rate{}, errors.New("is not a rate; write a whole number from 1 and a time, such as 100/s, 10/m or 5/h")
	}
	return Rate{int(n), unit}, nil
}

func leadingNumber(text string) (n int64, rest string, err error) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err = strconv.ParseInt(text[:end], 10, 64)
	return n, text[end:], err
}

// formatDuration writes a duration as one would in the file.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range [...]struct {
		name string
		unit time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	return b.String()
}
