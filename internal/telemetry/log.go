package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Keys of log attributes. Every line about an operation carries the first six.
const (
	KeyEvent     = "event"
	KeyOperation = "operation"
	KeyDigest    = "key"
	KeyAttempt   = "attempt"
	KeyFence     = "fence"
	KeyState     = "state"

	KeySource      = "source"
	KeyDestination = "destination"
	KeyReason      = "reason"
	KeyOutcome     = "outcome"
	KeyStatus      = "status"
	KeyRemote      = "remote"
	KeyError       = "error"
	KeyType        = "type"
	KeyNextAt      = "next_at"
	KeyStep        = "step"
)

const secret = "[secret]"

// NewLogger writes lines of at least that level (debug, info, warn, error) as
// json or text. Attributes whose names speak of secrets are never written, nor
// are HTTP headers.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: least, ReplaceAttr: redact}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// redact is the second line of defence, after not logging secrets at all.
func redact(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.Time(a.Key, a.Value.Time().UTC().Truncate(time.Microsecond))
	}
	if confidential(a.Key) || slices.ContainsFunc(groups, confidential) {
		return slog.String(a.Key, secret)
	}
	if a.Value.Kind() == slog.KindAny {
		switch a.Value.Any().(type) {
		case http.Header, *http.Request, *http.Response:
			return slog.String(a.Key, secret)
		}
	}
	return a
}

func confidential(name string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"secret", "token", "authorization", "password", "cookie", "pepper", "signature", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
