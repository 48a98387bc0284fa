package script_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onceward/onceward/internal/testkit"
)

// attemptsCommand waits for exactly so many requests, and that nothing is left
// to do that could make more of them.
func attemptsCommand(ts *testscript.TestScript, neg bool, args []string) {
	countCommand(ts, neg, args, "attempts", func(w *world, name string) int {
		if p := w.peers[name]; p != nil {
			return p.Requests()
		}
		return len(sinkNamed(ts, name).Requests())
	})
}

// effectsCommand is the same for requests that were answered 2xx: each of them
// is an effect at a destination that deduplicates nothing.
func effectsCommand(ts *testscript.TestScript, neg bool, args []string) {
	countCommand(ts, neg, args, "effects", func(_ *world, name string) int {
		s := sinkNamed(ts, name)
		return s.Effects() + s.Repeats()
	})
}

// keysCommand is the same for different keys that were answered 2xx: each is an
// effect at a destination that deduplicates by Idempotency-Key.
func keysCommand(ts *testscript.TestScript, neg bool, args []string) {
	countCommand(ts, neg, args, "keys", func(_ *world, name string) int { return sinkNamed(ts, name).Effects() })
}

// countCommand waits for a number, then until the gateway has nothing under
// way, and looks again. -open leaves out the second part, for stories in which
// something is meant to stay under way.
func countCommand(ts *testscript.TestScript, neg bool, args []string, what string, count func(w *world, name string) int) {
	positive(ts, neg)
	stillOpen := len(args) == 3 && args[0] == "-open"
	if stillOpen {
		args = args[1:]
	}
	usage(ts, len(args) == 2, what+" [-open] name count")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	w := of(ts)
	within(ts, fmt.Sprintf("%d %s at %s", want, what, args[0]), func() (bool, string) {
		got := count(w, args[0])
		return got >= want, strconv.Itoa(got)
	})
	if !stillOpen && w.gateway != nil && w.gateway.alive() {
		settle(ts)
	}
	if got := count(w, args[0]); got != want {
		ts.Fatalf("%d %s at %s, want %d", got, what, args[0], want)
	}
}

// noRepeatsCommand asserts that no key was answered 2xx twice.
func noRepeatsCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "no-repeats name")
	if n := sinkNamed(ts, args[0]).Repeats(); n != 0 {
		ts.Fatalf("%d calls repeated an effect at %s", n, args[0])
	}
}

// overlapCommand asserts the largest number of requests that were open at once.
func overlapCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "overlap name most")
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := sinkNamed(ts, args[0]).Most(); got > most {
		ts.Fatalf("%d requests were open at once, more than %d", got, most)
	}
}

// nth returns a sink's request by number, from 1, or its last.
func nth(ts *testscript.TestScript, name, number string) *testkit.Request {
	all := sinkNamed(ts, name).Requests()
	n, err := strconv.Atoi(number)
	if number == "last" {
		n, err = len(all), nil
	}
	ts.Check(err)
	if n < 1 || n > len(all) {
		ts.Fatalf("%s has %d requests", name, len(all))
	}
	return all[n-1]
}

// sinkBodyCommand compares a request's body byte for byte.
func sinkBodyCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 3, "sinkbody name number|last body")
	got, want := nth(ts, args[0], args[1]).Body, readBody(ts, args[2])
	if !slices.Equal(got, want) {
		ts.Fatalf("%d bytes reached %s, want %d: %.200q, want %.200q", len(got), args[0], len(want), got, want)
	}
}

// sinkRequestCommand prints a request's line, host and headers.
func sinkRequestCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "sinkrequest name number|last")
	r := nth(ts, args[0], args[1])
	fmt.Fprintf(ts.Stdout(), "%s %s\nHost: %s\n", r.Method, r.Path, r.Host)
	printHeader(ts.Stdout(), r.Header)
}

// sinkSignedCommand asserts that a request is signed with a secret as Standard
// Webhooks says, freshly: sinksigned name number secret. `! sinksigned` asserts
// that it is not.
func sinkSignedCommand(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 3, "sinksigned name number|last secret")
	r := nth(ts, args[0], args[1])
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(args[2], "whsec_"))
	ts.Check(err)
	stamp := r.Header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	ts.Check(err)
	if age := r.Time.Sub(time.Unix(seconds, 0)); age < -time.Second || age > patience {
		ts.Fatalf("it was signed %s before it came", age)
	}
	want := "v1," + base64.StdEncoding.EncodeToString(mac(key, fmt.Appendf(nil, "%s.%s.%s", r.Header.Get("Webhook-Id"), stamp, r.Body)))
	if found := slices.Contains(strings.Fields(r.Header.Get("Webhook-Signature")), want); found == neg {
		ts.Fatalf("signatures %q, and %q", r.Header.Get("Webhook-Signature"), want)
	}
}

// gapCommand asserts that so much time lies between two requests.
func gapCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 4, "gap name number number least")
	least, err := time.ParseDuration(args[3])
	ts.Check(err)
	if got := nth(ts, args[0], args[2]).Time.Sub(nth(ts, args[0], args[1]).Time); got < least {
		ts.Fatalf("only %s lie between the two, less than %s", got, least)
	}
}
