package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client calls the admin API.
type client struct {
	base  string
	token string
}

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 256 << 20 // a page of an event with the largest body, and room
)

// problem is the API's way of saying no.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

func (p *problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	for _, e := range p.Errors {
		text += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	// The API speaks of its fields; here they are flags.
	for field, flag := range map[string]string{
		"send accept_duplicate_risk: true": "add --accept-duplicate-risk", "expect is missing": "--expect is missing", "a dry run (dry_run: true)": "--dry-run",
	} {
		text = strings.ReplaceAll(text, field, flag)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		text += " (here: --token or ONCEWARD_TOKEN)"
	case http.StatusServiceUnavailable:
		text += " (try again in a moment)"
	}
	return text
}

func (c client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, out)
}

func (c client) post(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, http.MethodPost, path, nil, body, out)
}

func (c client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	request, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	// A redirect would carry the decision, and perhaps the token, elsewhere.
	h := http.Client{Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := h.Do(request)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err // the address is named below
		}
		return fmt.Errorf("no gateway answers at %s: %w; start one with onceward dev or onceward serve, or name it with --admin", c.base, err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s broke off: %w; what was asked may have been done, so look before asking again", c.base, err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(c.base, response.StatusCode, content)
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("what answers at %s is not a gateway's admin API: %w", c.base, err)
	}
	return nil
}

func (c client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	base, err := url.Parse(c.base)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, misuse("--admin must be a URL such as http://127.0.0.1:8081")
	}
	target := base.JoinPath(path)
	target.RawQuery = query.Encode()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("prepare the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

func refusal(base string, status int, content []byte) error {
	p := &problem{}
	if err := json.Unmarshal(content, p); err != nil || p.Status == 0 {
		return fmt.Errorf("what answers at %s is not a gateway's admin API: it answered %d", base, status)
	}
	if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity {
		return usageError{p}
	}
	return p
}
