package forward_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

const key = "ow_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func client(t *testing.T, url string, effect onceward.Effect, change ...func(*forward.Destination, *forward.Options)) *forward.Client {
	t.Helper()
	d := forward.Destination{Name: "billing", URL: url, Effect: effect, AllowPrivate: true, Timeout: time.Minute}
	var o forward.Options
	for _, f := range change {
		f(&d, &o)
	}
	c, err := forward.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func call(change ...func(*forward.Call)) forward.Call {
	c := forward.Call{
		Key: key, Event: 1, Operation: "fulfil", Source: "shop", Type: "order.paid", Attempt: 1,
		Payload: onceward.Payload{Header: []byte("Content-Type: application/json\n"), Body: []byte(`{"b" : 1, "a":2}`)},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func always(f testkit.Fault) func(int) testkit.Fault { return func(int) testkit.Fault { return f } }

// check compares the parts of an answer that decide what automation may do.
func check(t *testing.T, got forward.Answer, kind forward.Kind, reason string) {
	t.Helper()
	if got.Kind != kind {
		t.Errorf("kind is %s (%q), want %s", got.Kind, got.Reason, kind)
	}
	if !strings.Contains(got.Reason, reason) {
		t.Errorf("reason is %q, want it to say %q", got.Reason, reason)
	}
	if kind == forward.NotApplied && got.Proof == "" {
		t.Errorf("not applied without a proof: %+v", got)
	}
}

func do(c *forward.Client, change ...func(*forward.Call)) forward.Answer {
	return c.Do(context.Background(), call(change...))
}
