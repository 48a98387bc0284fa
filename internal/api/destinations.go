package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// Destination says whether a destination gets calls.
type Destination struct {
	Name     string     `json:"name"`
	Paused   bool       `json:"paused"`
	PausedAt *time.Time `json:"paused_at"`
	Actor    string     `json:"actor" doc:"Who paused it."`
	Reason   string     `json:"reason" doc:"Why it is paused."`
}

// Change is a change to a destination.
type Change struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
}

func (s *server) destinations() {
	huma.Register(s.api, s.operation(http.MethodGet, "/v1/destinations", "list-destinations", "List destinations and who paused them", Viewer), s.listDestinations)
	for _, c := range []struct {
		name, summary string
		apply         func(context.Context, string, onceward.Decision) error
	}{
		{"pause", "Stop calls to a destination", s.Store.Pause},
		{"resume", "Let calls to a destination go on", s.Store.Unpause},
	} {
		o := s.operation(http.MethodPost, "/v1/destinations/{name}/"+c.name, c.name+"-destination", c.summary, Operator)
		o.Errors = append(o.Errors, http.StatusNotFound)
		huma.Register(s.api, o, func(ctx context.Context, in *destinationRequest) (*answer[Destination], error) {
			return s.changeDestination(ctx, in, c.apply)
		})
	}
}

func (s *server) allDestinations(ctx context.Context) ([]Destination, error) {
	pauses, err := s.Store.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Destination, 0, len(s.Destinations))
	for _, name := range s.Destinations {
		all = append(all, Destination{Name: name})
	}
	for _, p := range pauses {
		i := slices.IndexFunc(all, func(d Destination) bool { return d.Name == p.Destination })
		if i < 0 {
			// Paused, and no longer configured: it must stay visible, because it
			// is still paused when the configuration has it again.
			i = len(all)
			all = append(all, Destination{Name: p.Destination})
		}
		all[i].Paused, all[i].PausedAt, all[i].Actor, all[i].Reason = true, moment(p.At), p.Actor, p.Reason
	}
	return all, nil
}

func (s *server) listDestinations(ctx context.Context, _ *struct{}) (*answer[List[Destination]], error) {
	all, err := s.allDestinations(ctx)
	if err != nil {
		return nil, s.fail("list destinations", err)
	}
	return page(all, ""), nil
}

type destinationRequest struct {
	Credential
	Name string `path:"name" maxLength:"64"`
	Body Change
}

func (s *server) changeDestination(ctx context.Context, in *destinationRequest, apply func(context.Context, string, onceward.Decision) error) (*answer[Destination], error) {
	const doing = "change a destination"
	d, err := s.decision(in.Credential, in.Body.Reason, "", false)
	if err != nil {
		return nil, err
	}
	find := func() (Destination, error) {
		all, err := s.allDestinations(ctx)
		if err != nil {
			return Destination{}, err
		}
		for _, known := range all {
			if known.Name == in.Name {
				return known, nil
			}
		}
		return Destination{}, fmt.Errorf("destination %q: %w", in.Name, onceward.ErrNotFound)
	}
	before, err := find()
	if err != nil {
		return nil, s.fail(doing, err)
	}
	if err := apply(ctx, in.Name, d); err != nil {
		return nil, s.fail(doing, err)
	}
	s.Wake()
	after, err := find()
	if err != nil { // only a paused stranger vanishes, by being resumed
		return &answer[Destination]{Destination{Name: before.Name}}, nil
	}
	return &answer[Destination]{after}, nil
}
