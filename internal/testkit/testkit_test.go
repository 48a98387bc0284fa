package testkit_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/testkit"
)

func post(t *testing.T, url, key string) (status int, err error) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("body of "+key))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func TestASinkCountsEffectsByKeyAndRepeatsApart(t *testing.T) {
	s := testkit.NewSink(t, func(n int, r *testkit.Request) testkit.Answer {
		switch {
		case n == 1:
			return testkit.Answer{Status: 503}
		case r.Key() == "lost":
			return testkit.Answer{Abort: true}
		}
		return testkit.Answer{Status: 201}
	})
	for _, key := range []string{"a", "a", "a", "b", "lost"} {
		_, err := post(t, s.URL, key)
		if (err != nil) != (key == "lost") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if s.Effects() != 2 || s.Repeats() != 1 || s.Attempts("a") != 3 || s.Attempts("lost") != 1 || len(s.Requests()) != 5 {
		t.Errorf("effects %d, repeats %d, attempts at a %d, at lost %d, requests %d; want 2, 1, 3, 1, 5",
			s.Effects(), s.Repeats(), s.Attempts("a"), s.Attempts("lost"), len(s.Requests()))
	}
	if r := s.Requests()[3]; r.N != 4 || r.Method != "POST" || r.Path != "/" || string(r.Body) != "body of b" {
		t.Errorf("recorded %+v", r)
	}
}

func TestASinkWaitsForWhatHappensInAnotherGoroutine(t *testing.T) {
	hold := make(chan struct{})
	s := testkit.NewSink(t, func(int, *testkit.Request) testkit.Answer { return testkit.Answer{Hold: hold} })
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		wg.Go(func() { post(t, s.URL, key) })
	}
	s.WaitFor(t, 10*time.Second, "three requests", func(all []*testkit.Request) bool { return len(all) == 3 })
	if s.Effects() != 0 || s.Most() != 3 {
		t.Errorf("effects %d, most at once %d; want 0 and 3 while the answers are held", s.Effects(), s.Most())
	}
	close(hold)
	s.WaitEffects(t, 10*time.Second, 3)
	wg.Wait()
}
