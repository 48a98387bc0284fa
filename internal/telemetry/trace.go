package telemetry

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// TraceParent returns the W3C traceparent of a call that an incoming one led
// to: the same trace and flags under a new span. When the incoming one is
// missing or not valid, a new, sampled trace begins.
func TraceParent(incoming string) string {
	var span [8]byte
	_, _ = rand.Read(span[:]) // it never fails: the program would not start
	if trace, flags, ok := parseTraceParent(incoming); ok {
		return "00-" + trace + "-" + hex.EncodeToString(span[:]) + "-" + flags
	}
	var trace [16]byte
	_, _ = rand.Read(trace[:])
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-01"
}

// parseTraceParent accepts every version but ff; later ones may have more parts.
func parseTraceParent(s string) (trace, flags string, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 {
		return "", "", false
	}
	for i, n := range [...]int{2, 32, 16, 2} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return "", "", false
		}
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return "", "", false
	}
	return parts[1], parts[3], true
}
