package poll_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/poll"
)

// transmitter holds tokens until they are acknowledged, as RFC 8936 asks.
type transmitter struct {
	mu      sync.Mutex
	tokens  map[string]string
	refused map[string]string // by the receiver, with the error's code
	polls   int
	fail    int // answers 503 so often first
}

func (tr *transmitter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer t-sekrit" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if tr.fail > 0 {
		tr.fail--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var q struct {
		MaxEvents int      `json:"maxEvents"`
		Ack       []string `json:"ack"`
		SetErrs   map[string]struct{ Err string }
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	tr.polls++
	for _, jti := range q.Ack {
		delete(tr.tokens, jti)
	}
	for jti, e := range q.SetErrs {
		tr.refused[jti] = e.Err
		delete(tr.tokens, jti)
	}
	sets := map[string]string{}
	for jti, token := range tr.tokens {
		if len(sets) == min(q.MaxEvents, 2) {
			break
		}
		sets[jti] = token
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"sets": sets, "moreAvailable": len(sets) < len(tr.tokens)})
}

func (tr *transmitter) left() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.tokens)
}

// run polls until the transmitter has nothing left and is waited for.
func run(t *testing.T, tr *transmitter, deliver func(token string) poll.Answer) (waits []time.Duration) {
	t.Helper()
	server := httptest.NewServer(tr)
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	poll.Run(ctx, poll.Options{
		Streams: []poll.Stream{{Source: "idp", URL: server.URL, Token: "t-sekrit", Every: time.Second}},
		Deliver: func(_ context.Context, source string, token []byte) poll.Answer {
			if source != "idp" {
				t.Errorf("delivered to %s", source)
			}
			return deliver(string(token))
		},
		Log: slog.New(slog.DiscardHandler),
		Wait: func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			if tr.left() == 0 {
				return errors.New("enough")
			}
			return nil
		},
	})
	return waits
}

func tokens(n int) *transmitter {
	tr := &transmitter{tokens: map[string]string{}, refused: map[string]string{}}
	for i := range n {
		tr.tokens[fmt.Sprint("jti", i)] = fmt.Sprint("token", i)
	}
	return tr
}

func TestEveryTokenIsTakenOnceAndAcknowledged(t *testing.T) {
	tr := tokens(7)
	var got []string
	waits := run(t, tr, func(token string) poll.Answer {
		got = append(got, token)
		return poll.Answer{Status: 202}
	})
	slices.Sort(got)
	if len(got) != 7 || len(slices.Compact(got)) != 7 || tr.left() != 0 {
		t.Errorf("took %v, %d left", got, tr.left())
	}
	if len(waits) != 1 {
		t.Errorf("waited %v between full pages and acknowledgements", waits)
	}
}

func TestWhatCannotBeTakenNowComesAgain(t *testing.T) {
	tr := tokens(3)
	tries := map[string]int{}
	run(t, tr, func(token string) poll.Answer {
		if tries[token]++; tries[token] < 3 {
			return poll.Answer{Status: 503}
		}
		return poll.Answer{Status: 202}
	})
	for token, n := range tries {
		if n != 3 {
			t.Errorf("%s was tried %d times, want 3", token, n)
		}
	}
	if tr.left() != 0 || len(tries) != 3 {
		t.Errorf("%d left of %d", tr.left(), len(tries))
	}
}

func TestARefusedTokenIsReportedAndNotAcknowledged(t *testing.T) {
	tr := tokens(2)
	run(t, tr, func(token string) poll.Answer {
		if token == "token1" {
			return poll.Answer{Status: 400, Err: "authentication_failed", Description: "the signature does not fit"}
		}
		return poll.Answer{Status: 202}
	})
	if len(tr.refused) != 1 || tr.refused["jti1"] != "authentication_failed" {
		t.Errorf("refused %v", tr.refused)
	}
}

func TestATransmitterThatIsAwayIsAskedLessOften(t *testing.T) {
	tr := tokens(1)
	tr.fail = 3
	waits := run(t, tr, func(string) poll.Answer { return poll.Answer{Status: 202} })
	if want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waited %v, want %v", waits, want)
	}
}
