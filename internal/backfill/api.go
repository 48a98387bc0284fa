package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxPage    = 32 << 20 // of one answer
	maxTries   = 8        // of one request
	maxPages   = 100_000
	longestLag = 15 * time.Minute // that is waited for a rate limit
)

// api calls one sender's public API.
type api struct {
	o      *Options
	base   *url.URL
	header http.Header
}

func newAPI(o *Options, standard string) (*api, error) {
	base := o.API
	if base == "" {
		base = standard
	}
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Host == "" {
		return nil, errors.New("backfill.url is not a URL")
	}
	if o.Token == "" {
		return nil, errors.New("backfill.token is missing: the sender's API asks who is calling")
	}
	return &api{o: o, base: u, header: http.Header{"Authorization": {"Bearer " + o.Token}, "User-Agent": {"Onceward"}}}, nil
}

// call makes a request and returns the body and header of a 2xx answer. When it
// is asked too often, or the API is away for a moment, it waits and asks again.
func (a *api) call(ctx context.Context, method, address string) ([]byte, http.Header, error) {
	u, err := a.base.Parse(address)
	if err != nil || u.Host != a.base.Host || u.Scheme != a.base.Scheme {
		return nil, nil, errors.New("the API names a next page on another host, which is not followed")
	}
	for try := 1; ; try++ {
		body, header, status, err := a.once(ctx, method, u.String())
		switch {
		case err == nil && status < 300:
			return body, header, nil
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case try == maxTries:
			return nil, nil, fmt.Errorf("the API did not answer with success in %d tries; the last was %s", maxTries, told(status, err))
		}
		lag, again := a.lag(status, header, try)
		if err == nil && !again {
			return nil, nil, fmt.Errorf("the API answered %s", told(status, nil))
		}
		if lag > longestLag {
			return nil, nil, fmt.Errorf("the API wants no calls for %s; try again then", lag.Round(time.Second))
		}
		a.o.Log.Info("the API is waited for", "seconds", lag.Seconds(), "answer", told(status, err))
		if err := a.o.Wait(ctx, lag); err != nil {
			return nil, nil, err
		}
	}
}

func (a *api) once(ctx context.Context, method, address string) (body []byte, header http.Header, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, nil, 0, errors.New("the request cannot be made")
	}
	r.Header = a.header.Clone()
	resp, err := a.o.Client.Do(r)
	if err != nil {
		var broken *url.Error
		if errors.As(err, &broken) { // its text holds the address, with what is in it
			err = broken.Err
		}
		return nil, nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err == nil && len(body) > maxPage {
		err = fmt.Errorf("the answer is larger than %d bytes", maxPage)
	}
	return body, resp.Header, resp.StatusCode, err
}

// lag is how long to wait before the request is made again, and whether that
// makes sense. GitHub answers 403 when its limit is reached.
func (a *api) lag(status int, header http.Header, try int) (lag time.Duration, again bool) {
	limited := status == http.StatusTooManyRequests || status == http.StatusForbidden && (header.Get("Retry-After") != "" || header.Get("X-RateLimit-Remaining") == "0")
	lag = time.Second << min(try-1, 6)
	if seconds, err := strconv.ParseInt(header.Get("Retry-After"), 10, 32); err == nil && seconds >= 0 {
		lag = time.Duration(seconds) * time.Second
	} else if reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64); err == nil && limited {
		lag = max(time.Unix(reset, 0).Sub(a.o.Now()), time.Second)
	}
	return lag, limited || status >= 500 || status == 0
}

func told(status int, err error) string {
	if err != nil {
		return "no answer: " + err.Error()
	}
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if status >= 300 && status < 400 {
		text += "; redirects are not followed: write the API's own address into backfill.url"
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound {
		text += "; look at backfill.token and what it may read"
	}
	return text
}

// nextPage reads the address of the next page from a Link header (RFC 8288).
func nextPage(header http.Header) string {
	for _, link := range strings.Split(strings.Join(header.Values("Link"), ","), ",") {
		address, parameters, _ := strings.Cut(link, ";")
		address = strings.TrimSpace(address)
		if strings.Contains(parameters, `rel="next"`) && strings.HasPrefix(address, "<") && strings.HasSuffix(address, ">") {
			return address[1 : len(address)-1]
		}
	}
	return ""
}
