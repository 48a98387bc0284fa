package intake_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider"
)

func TestANewEventIsRecordedAndAnswered(t *testing.T) {
	r := newRig(t, shop())
	a := r.deliver(paid)
	a.want(t, 200, "accepted")
	if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Onceward-Event") != a.json["event"] {
		t.Errorf("headers %v for %s", a.Header, a.text)
	}
	if _, err := onceward.ParseEventID(a.Header.Get("Onceward-Event")); err != nil {
		t.Error(err)
	}
	operations := a.json["operations"].([]any)
	if len(operations) != 1 || operations[0].(map[string]any)["name"] != "fulfil" || operations[0].(map[string]any)["state"] != "received" {
		t.Errorf("operations %v", operations)
	}
	if len(r.store.admissions) != 1 || string(r.store.admissions[0].Arrivals[0].Raw) != paid || r.store.admissions[0].Secret != "secret 1" {
		t.Errorf("admitted %+v", r.store.admissions)
	}
	r.counted("accepted")
}

func TestACopyIsADuplicate(t *testing.T) {
	r := newRig(t, shop())
	first := r.deliver(paid)
	again := r.deliver(paid)
	again.want(t, 200, "duplicate")
	if again.json["event"] != first.json["event"] || again.json["first_seen"] != "2026-01-02T12:00:00.000Z" {
		t.Errorf("answered %s after %s", again.text, first.text)
	}
	r.counted("accepted", "duplicate_in_flight")
}

func TestTheAnswersToAuthenticDeliveries(t *testing.T) {
	versioned := shop()
	versioned.Version, versioned.Versions = "body:version", []string{"2026-*"}
	for name, c := range map[string]struct {
		body, then string
		versioned  bool
		strict     bool
		reject     bool
		code       int
		status     string
		metric     string
	}{
		"no operation wants it":                      {body: `{"id":"e1","type":"user.made"}`, code: 200, status: "ignored", metric: "ignored"},
		"not JSON":                                   {body: `hello`, code: 200, status: "quarantined", metric: "quarantined"},
		"not JSON, strictly":                         {body: `hello`, strict: true, code: 422, status: "quarantined", metric: "quarantined"},
		"without an identity":                        {body: `{"type":"order.paid"}`, code: 200, status: "quarantined", metric: "quarantined"},
		"without an identity, strictly":              {body: `{"type":"order.paid"}`, strict: true, code: 422, status: "quarantined", metric: "quarantined"},
		"an unknown version":                         {body: `{"id":"e1","type":"order.paid","version":"2031-01-01"}`, versioned: true, code: 200, status: "quarantined", metric: "quarantined"},
		"an empty body":                              {body: ``, code: 200, status: "quarantined", metric: "quarantined"},
		"known, other content":                       {body: paid, then: `{"id":"e1","type":"order.paid","amount":6}`, code: 200, status: "conflict", metric: "conflict"},
		"known, other content, rejected":             {body: paid, then: `{"id":"e1","type":"order.paid","amount":6}`, reject: true, code: 422, status: "conflict", metric: "conflict"},
		"known, written anew":                        {body: paid, then: `{ "amount": 5, "type": "order.\u0070aid", "id": "e1" }`, code: 200, status: "duplicate", metric: "duplicate_completed"},
		"known, a number spelt otherwise":            {body: paid, then: `{"id":"e1","type":"order.paid","amount":5.0}`, code: 200, status: "conflict", metric: "conflict"},
		"strictness does not concern what is wanted": {body: paid, strict: true, reject: true, code: 200, status: "accepted", metric: "accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			o := shop()
			if c.versioned {
				o = versioned
			}
			r := newRig(t, o, func(r *rig) {
				r.source.Strict, r.source.OnConflict = c.strict, rejecting(c.reject)
				r.places.free = 8
			})
			a := r.deliver(c.body)
			want := []string{c.metric}
			if c.then != "" {
				a.want(t, 200, "accepted")
				a = r.deliver(c.then)
				want = []string{"accepted", c.metric}
			}
			a.want(t, c.code, c.status)
			r.counted(want...)
			if reason, has := a.json["reason"]; has != (c.status == "quarantined") {
				t.Errorf("reason %v in an answer that says %s", reason, c.status)
			}
			if wantLog := c.status == "quarantined" || c.status == "conflict"; wantLog != strings.Contains(r.log.String(), `"level":"ERROR"`) {
				t.Errorf("%s: the log says %s", c.status, r.log)
			}
		})
	}
}

func rejecting(yes bool) onceward.OnConflict {
	if yes {
		return onceward.RejectConflict
	}
	return onceward.HoldConflict
}

func TestAContradictionHoldsItsOperationsUnlessItIsRejected(t *testing.T) {
	for _, reject := range []bool{false, true} {
		r := newRig(t, shop(), func(r *rig) { r.source.OnConflict = rejecting(reject) })
		r.deliver(paid)
		r.deliver(`{"id":"e1","type":"order.paid","amount":6}`)
		if len(r.store.conflicts) != 1 || r.store.conflicts[0] != rejecting(reject) || r.store.copies != 0 {
			t.Errorf("reject %t: conflicts %v, copies %d", reject, r.store.conflicts, r.store.copies)
		}
	}
}

func TestWhatTheContractCallsVolatileMayDiffer(t *testing.T) {
	o := provider.Options{Provider: "stripe", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}}
	r := newRig(t, o, func(r *rig) { r.source.Operations = nil })
	body := `{"id":"evt_1","type":"x","livemode":true,"pending_webhooks":2,"data":1}`
	r.deliver(body).want(t, 200, "ignored")
	r.deliver(strings.Replace(body, "2,", "1,", 1)).want(t, 200, "duplicate")
	r.deliver(strings.Replace(body, `"data":1`, `"data":2`, 1)).want(t, 200, "conflict")
	if r.store.copies != 1 || len(r.store.conflicts) != 1 {
		t.Errorf("%d copies, %d conflicts", r.store.copies, len(r.store.conflicts))
	}
}

func TestOtherBytesContradictWhenTheFirstPayloadIsGone(t *testing.T) {
	r := newRig(t, shop())
	r.deliver(paid)
	r.store.lost = true
	r.deliver(paid+" ").want(t, 200, "conflict")
	r.deliver(paid).want(t, 200, "duplicate")
}

func TestABatchIsAnsweredWithCounts(t *testing.T) {
	o := shop()
	o.Items, o.ID, o.Type = "body:events", []string{"item:id"}, "item:type"
	for name, c := range map[string]struct {
		body, status, counts string
		events               int
	}{
		"all new":           {`{"events":[{"id":"a","type":"order.x"},{"id":"b","type":"order.x"}]}`, "accepted", `{"accepted":2}`, 2},
		"one twice":         {`{"events":[{"id":"a","type":"order.x"},{"id":"a","type":"order.x"}]}`, "accepted", `{"accepted":1,"duplicate":1}`, 2},
		"one not wanted":    {`{"events":[{"id":"a","type":"user.x"},{"id":"b","type":"order.x"}]}`, "accepted", `{"accepted":1,"ignored":1}`, 2},
		"one without an id": {`{"events":[{"id":"a","type":"order.x"},{"type":"order.x"}]}`, "quarantined", `{"accepted":1,"quarantined":1}`, 2},
		"one contradicting": {`{"events":[{"id":"a","type":"order.x"},{"id":"a","type":"order.x","n":1},{"type":"x"}]}`, "conflict", `{"accepted":1,"conflict":1,"quarantined":1}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, o)
			a := r.deliver(c.body)
			a.want(t, 200, c.status)
			if !strings.Contains(a.text, `"counts":`+c.counts) || len(a.json["events"].([]any)) != c.events {
				t.Errorf("answered %s, want counts %s", a.text, c.counts)
			}
			if len(r.store.admissions) != 1 {
				t.Errorf("%d admissions for one delivery", len(r.store.admissions))
			}
		})
	}
	t.Run("a second time all of it is known", func(t *testing.T) {
		r := newRig(t, o)
		body := `{"events":[{"id":"a","type":"order.x"},{"id":"b","type":"order.x"}]}`
		r.deliver(body)
		a := r.deliver(body)
		a.want(t, 200, "duplicate")
		if !strings.Contains(a.text, `"counts":{"duplicate":2}`) {
			t.Errorf("answered %s", a.text)
		}
	})
	t.Run("an empty batch is ignored", func(t *testing.T) {
		newRig(t, o).deliver(`{"events":[]}`).want(t, 200, "ignored")
	})
}

func TestAHandshakeIsAnsweredWithoutTheStore(t *testing.T) {
	o := provider.Options{Provider: "slack", SourceID: "shop", Secrets: []provider.Secret{{Value: sharedSecret}}}
	r := newRig(t, o)
	r.store.err = onceward.ErrUnavailable
	a := r.deliver(`{"type":"url_verification","challenge":"abc"}`)
	if a.StatusCode != 200 || a.text != "abc" || r.store.called() != 0 {
		t.Errorf("answered %d %q after %d store calls", a.StatusCode, a.text, r.store.called())
	}
	forged := r.signed(`{"type":"url_verification","challenge":"abc"}`)
	forged.Header.Set("X-Slack-Signature", "v0=00")
	if a := r.send(forged); a.StatusCode != 401 || strings.Contains(a.text, "abc") {
		t.Errorf("a forged handshake was answered %d %q", a.StatusCode, a.text)
	}
}
