package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Explanation says what happened to an event, whether each effect happened
// once and how that is known, and what the one safe next step is.
type Explanation struct {
	Event      string   `json:"event"`
	Status     string   `json:"status"`
	Summary    []string `json:"summary" doc:"What arrived, in sentences."`
	Headline   []string `json:"headline,omitempty" doc:"How often an effect happened that a person had repeated, by name."`
	Operations []Answer `json:"operations"`
	Next       string   `json:"next" doc:"The one safe next thing to do."`
}

// Answer says whether an operation had its effect once.
type Answer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
	Key   string `json:"key" doc:"The Idempotency-Key that the other side is sent."`
	Once  string `json:"once" enum:"yes,at_least_once,again,redelivered,not_yet,no_effect,unknown,disputed" doc:"yes: it happened, and once as far as can be known; at_least_once: it happened, and perhaps more often, because somebody took that risk or the key was sent after it may have been forgotten; again: it is a further effect on purpose; redelivered: the first one, sent again with the same key; not_yet: it is on its way; no_effect: it did not happen; unknown: nobody here can know; disputed: reports contradict each other."`
	How   string `json:"how" doc:"How that is known."`
}

func (s *server) explanations() {
	get := s.operation(http.MethodGet, "/v1/events/{id}/explain", "explain-event", "Say what happened, whether it was once, and what to do next", Viewer)
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(s.api, get, s.explainEvent)
}

func (s *server) explainEvent(ctx context.Context, in *EventRequest) (*answer[Explanation], error) {
	id, err := onceward.ParseEventID(in.ID)
	if err != nil {
		return nil, invalid(err.Error())
	}
	const doing = "explain an event"
	h, err := s.Store.History(ctx, id)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	pauses, err := s.Store.Pauses(ctx)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	out := Explanation{Event: id.String(), Status: h.Event.Status(), Summary: summary(h), Next: s.advise(h, pauses, time.Now()), Operations: []Answer{}}
	var all []account
	for _, o := range h.Event.Operations {
		t := s.account(o, h)
		a := Answer{ID: o.ID.String(), Name: o.Name, State: o.State.String(), Key: o.Downstream(h.Event.Key, o.StepName())}
		a.Once, a.How = t.once()
		out.Operations, all = append(out.Operations, a), append(all, t)
	}
	out.Headline = headlines(all)
	return &answer[Explanation]{out}, nil
}

// summary tells what arrived.
func summary(h onceward.History) []string {
	e := h.Event
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	kind := ""
	if e.Type != "" {
		kind = " of type " + e.Type
	}
	say("Source %s sent an event%s, first seen at %s and last at %s.", e.Source, kind, e.Received().Format(time.RFC3339), e.LastSeen.UTC().Format(time.RFC3339))
	if copies := e.Deliveries - 1 - e.Conflicts; copies > 0 {
		say("It came %s more; those are duplicates and caused nothing more by themselves.", counted(copies, "time", "times"))
	}
	if e.Conflicts > 0 {
		say("%s had other content under the same id.", counted(e.Conflicts, "delivery", "deliveries"))
	}
	switch {
	case !e.Erased.IsZero():
		say("What it carried was erased at %s; its key is remembered, so a copy is still a duplicate.", e.Erased.UTC().Format(time.RFC3339))
	case e.Verdict == onceward.QuarantinedBy:
		say("It is authentic and held for a person: %s.", e.Reason)
	case e.Verdict == onceward.Ignored && rejection(h) != nil:
		say("It was held for a person (%s), and rejected, so it caused nothing.", e.Reason)
	case e.Verdict == onceward.Ignored:
		say("No operation was configured for it, so it caused nothing.")
	}
	return lines
}
