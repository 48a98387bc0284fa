package telemetry

import (
	"io"
	"log/slog"
	"strings"
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
)

// NewLogger writes lines of at least that level (debug, info, warn, error) as
// json or text. Attributes whose names speak of secrets are never written.
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

func redact(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, word := range [...]string{"secret", "token", "authorization", "password", "cookie", "pepper"} {
		if strings.Contains(name, word) {
			return slog.String(a.Key, "[secret]")
		}
	}
	return a
}
