package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Kind is what a call proved.
type Kind uint8

// The kinds, in the words of [onceward.Outcome].
const (
	Completed  Kind = 1 // the effect happened
	NotApplied Kind = 2 // proof that it did not happen; the same call may succeed later
	Refused    Kind = 3 // proof that it did not happen; the same call would be refused again
	Ambiguous  Kind = 4 // it may or may not have happened
)

func (k Kind) String() string {
	return [...]string{"none", "completed", "not_applied", "refused", "ambiguous"}[k]
}

// Answer is what is known after a call. Reason and Proof are our own words:
// they never hold a byte of the answer's body, of the address or of a secret.
type Answer struct {
	Kind       Kind
	Status     int           // answered HTTP status; 0 without an answer
	Reason     string        // for people; may also be set when completed
	Result     string        // completed: the other side's reference
	RetryAfter time.Duration // how long the other side asked us to wait
	Pause      bool          // the other side wants no more calls at all (410)
	Proof      string        // not applied, refused: what proves it
	Sent       bool          // at least one byte of the request left
	Sends      int           // requests that the peer may have seen; above 1 only when keyed
}

// Outcome is the answer in the words in which an attempt is settled; retryAt is
// the earliest next attempt, if there is to be one.
func (a Answer) Outcome(retryAt time.Time) onceward.Outcome {
	var o onceward.Outcome
	switch a.Kind {
	case Completed:
		o = onceward.Succeeded(a.Result)
		o.Reason = a.Reason
	case NotApplied:
		o = onceward.NotApplied(a.Reason, retryAt)
	case Refused:
		o = onceward.Refused(a.Reason)
	default:
		o = onceward.Ambiguous(a.Reason, retryAt)
	}
	o.Status = a.Status
	return o
}

const (
	maxAnswerBody = 64 << 10
	drainFor      = time.Second
)

// answered reads an answer. The status line decides; the body can only add the
// result, so losing it takes nothing back.
func (c *Client) answered(resp *http.Response, cancel context.CancelFunc) Answer {
	a := classify(resp.StatusCode, resp.Header.Get("Onceward-Effect"))
	a.RetryAfter = c.retryAfter(resp.Header.Get("Retry-After"))
	if a.Kind == Refused || a.Kind == NotApplied {
		a.Proof = a.Reason
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close() // the connection is no longer HTTP; it must not be read
		return a
	}
	wanted := a.Kind == Completed && c.result.path != nil
	if !wanted {
		// The rest is read only so that the connection can be used again.
		timer := time.AfterFunc(drainFor, cancel)
		defer timer.Stop()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBody))
	resp.Body.Close()
	if a.Kind != Completed {
		return a
	}
	var notes []string
	result, note := c.result.from(resp.Header, body)
	a.Result = result
	switch {
	case err != nil && wanted:
		a.Result = ""
		notes = append(notes, fmt.Sprintf("%d then %s in the body; the status decides, the result is missing", a.Status, broken(err)))
	case err != nil && !errors.Is(err, context.Canceled):
		notes = append(notes, fmt.Sprintf("%d then %s in the body; the status decides", a.Status, broken(err)))
	}
	if note != "" {
		notes = append(notes, note)
	}
	if resp.Header.Get("Onceward-Effect") != "" && a.Reason != "" {
		notes = append(notes, a.Reason)
	}
	a.Reason = strings.Join(notes, "; ")
	return a
}

// classify is the table of answers. The destination's own word about the
// effect goes before the status.
func classify(status int, effect string) Answer {
	a := Answer{Status: status, Reason: statusText(status)}
	switch {
	case status >= 200 && status < 300:
		a.Kind = Completed
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		a.Kind = NotApplied
	case status >= 300 && status < 400:
		a.Kind = Refused
		a.Reason += "; redirects are not followed: set the destination's url to where it leads"
	case status >= 400 && status < 500:
		a.Kind = Refused
		if a.Pause = status == http.StatusGone; a.Pause {
			a.Reason += "; the destination wants no more calls and is paused"
		}
	default: // 5xx, a protocol switch, numbers that HTTP does not know
		a.Kind = Ambiguous
		a.Reason += "; it may have happened before that"
	}
	switch strings.ToLower(strings.TrimSpace(effect)) {
	case "none":
		if a.Kind != Refused {
			a.Kind = NotApplied
		}
		a.Reason = statusText(status) + " and Onceward-Effect: none"
	case "done":
		a.Kind = Completed
		a.Reason = statusText(status) + " and Onceward-Effect: done"
	case "unknown":
		a.Kind = Ambiguous
		a.Reason = statusText(status) + " and Onceward-Effect: unknown"
	}
	return a
}

func statusText(status int) string {
	return strings.TrimSpace("answered " + strconv.Itoa(status) + " " + http.StatusText(status))
}

// retryAfter reads both forms of the header, seconds and date.
func (c *Client) retryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // more seconds than any limit
			return c.retryMax
		}
		return min(time.Duration(seconds)*time.Second, c.retryMax)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(c.now()), 0), c.retryMax)
}
