package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/poll"
)

// streams are the transmitters that a configuration wants polled.
func streams(c *config.Config) []poll.Stream {
	var all []poll.Stream
	for _, s := range c.Sources {
		if s.Poll != nil {
			all = append(all, poll.Stream{Source: s.Name, URL: s.Poll.URL, Token: s.Poll.Token.Reveal(), Every: s.Poll.Every})
		}
	}
	return all
}

// deliver takes a polled token through the door by which pushed ones come.
func (g *Gateway) deliver(ctx context.Context, source string, token []byte) poll.Answer {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/in/"+source, bytes.NewReader(token))
	if err != nil {
		return poll.Answer{Status: http.StatusInternalServerError}
	}
	r.Header.Set("Content-Type", "application/secevent+jwt")
	r.RemoteAddr = "127.0.0.1:0"
	said := &said{header: http.Header{}, status: http.StatusOK}
	g.intake.ServeHTTP(said, r)
	answer := poll.Answer{Status: said.status}
	var refused struct{ Err, Description string }
	if json.Unmarshal(said.body.Bytes(), &refused) == nil {
		answer.Err, answer.Description = refused.Err, refused.Description
	}
	return answer
}

// said is what the door said.
type said struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (s *said) Header() http.Header { return s.header }

func (s *said) WriteHeader(status int) { s.status = status }

func (s *said) Write(b []byte) (int, error) { return s.body.Write(b) }
