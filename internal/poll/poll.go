// Package poll fetches Security Event Tokens from transmitters that do not push
// them (RFC 8936) and hands each to the same door as a pushed one. A token is
// acknowledged only after it was recorded; what the door could not take now is
// not mentioned, so that the transmitter sends it again. A crash between the two
// makes a copy, and copies are answered as such.
package poll

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/telemetry"
)

// Stream is one transmitter's stream of tokens.
type Stream struct {
	Source string // whose events they are
	URL    string
	Token  string // bearer token for the transmitter
	Every  time.Duration
}

// Answer is what the door said of one token: an HTTP status, and for a refusal
// an error code of RFC 8935 with its description.
type Answer struct {
	Status           int
	Err, Description string
}

// Options are what a Poller is made of.
type Options struct {
	Streams []Stream
	Deliver func(ctx context.Context, source string, token []byte) Answer
	Client  *http.Client
	Log     *slog.Logger
	// Wait waits between two polls.
	Wait func(context.Context, time.Duration) error
}

const (
	maxEvents = 100 // in one answer
	maxAnswer = 32 << 20
	longest   = 5 * time.Minute // between two polls of a transmitter that is away
)

// Run polls until ctx ends.
func Run(ctx context.Context, o Options) {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 30 * time.Second}
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	var all sync.WaitGroup
	for _, s := range o.Streams {
		all.Go(func() { (&poller{o: o, s: s}).run(ctx) })
	}
	all.Wait()
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// poller polls one stream.
type poller struct {
	o Options
	s Stream

	ack  []string // to be said with the next poll
	errs map[string]setProblem
}

type setProblem struct {
	Err         string `json:"err"`
	Description string `json:"description,omitempty"`
}

func (p *poller) run(ctx context.Context) {
	pause := p.s.Every
	for ctx.Err() == nil {
		more, err := p.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = min(max(2*pause, p.s.Every), longest)
			p.o.Log.Warn("the transmitter could not be polled; it is tried again", telemetry.KeySource, p.s.Source, telemetry.KeyError, err, "wait", pause.String())
		case more || len(p.ack)+len(p.errs) > 0:
			pause = p.s.Every
			continue // what was taken is acknowledged at once
		default:
			pause = p.s.Every
		}
		if p.o.Wait(ctx, pause) != nil {
			return
		}
	}
}

// poll makes one request: it acknowledges what came with the last one, and
// takes what comes with this.
func (p *poller) poll(ctx context.Context) (more bool, err error) {
	question := struct {
		MaxEvents int                   `json:"maxEvents"`
		Immediate bool                  `json:"returnImmediately"`
		Ack       []string              `json:"ack,omitempty"`
		Errs      map[string]setProblem `json:"setErrs,omitempty"`
	}{maxEvents, true, p.ack, p.errs}
	body, err := json.Marshal(question)
	if err != nil {
		return false, err
	}
	answer, err := p.ask(ctx, body)
	if err != nil {
		return false, err
	}
	p.ack, p.errs = nil, nil
	var list struct {
		Sets map[string]string `json:"sets"`
		More bool              `json:"moreAvailable"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return false, errors.New("its answer is not the object of RFC 8936")
	}
	busy := false
	for jti, token := range list.Sets {
		a := p.o.Deliver(ctx, p.s.Source, []byte(token))
		switch {
		case a.Status >= 200 && a.Status < 300:
			p.ack = append(p.ack, jti)
		case a.Err != "" && a.Status >= 400 && a.Status < 500:
			if p.errs == nil {
				p.errs = map[string]setProblem{}
			}
			p.errs[jti] = setProblem{a.Err, a.Description}
		default: // not now; it is not mentioned, so it comes again
			busy = true
		}
	}
	if busy {
		return false, errors.Join(p.acknowledge(ctx), fmt.Errorf("%d tokens came, and not all could be recorded", len(list.Sets)))
	}
	return list.More, nil
}

// acknowledge says what was taken without asking for more.
func (p *poller) acknowledge(ctx context.Context) error {
	if len(p.ack)+len(p.errs) == 0 {
		return nil
	}
	body, err := json.Marshal(struct {
		MaxEvents int                   `json:"maxEvents"`
		Immediate bool                  `json:"returnImmediately"`
		Ack       []string              `json:"ack,omitempty"`
		Errs      map[string]setProblem `json:"setErrs,omitempty"`
	}{0, true, p.ack, p.errs})
	if err != nil {
		return err
	}
	if _, err = p.ask(ctx, body); err == nil {
		p.ack, p.errs = nil, nil
	}
	return err
}

func (p *poller) ask(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its URL cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.s.Token)
	resp, err := p.o.Client.Do(r)
	if err != nil {
		var broken *url.Error
		if errors.As(err, &broken) { // its text holds the URL, with what is in it
			err = broken.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("its answer is larger than %d bytes", maxAnswer)
	}
	return answer, nil
}
