package intake_test

import (
	"testing"

	"github.com/onceward/onceward"
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
