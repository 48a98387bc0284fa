package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onceward/onceward"
)

// answerFor is one row of the table from what went wrong to what is answered.
type answerFor struct {
	err    error
	status int
	advice string
}

// statuses is that table, the only one. The first match counts.
func statuses() []answerFor {
	return []answerFor{
		{onceward.ErrNotFound, http.StatusNotFound, ""},
		{onceward.ErrConsent, http.StatusConflict, "; to repeat it nevertheless, send accept_duplicate_risk: true"},
		{onceward.ErrNotAllowed, http.StatusConflict, ""},
		{onceward.ErrRepeated, http.StatusConflict, "; nothing more was done. Ask anew without its Idempotency-Key, or with another, if it is meant a second time"},
		{onceward.ErrMismatch, http.StatusUnprocessableEntity, "; nothing was done. Each decision needs an Idempotency-Key of its own"},
		{onceward.ErrFenced, http.StatusConflict, "; it changed meanwhile, look again"},
		{onceward.ErrBadCursor, http.StatusUnprocessableEntity, "; pass the next of the page before as after"},
		{onceward.ErrUnavailable, http.StatusServiceUnavailable, ""},
		{onceward.ErrOverloaded, http.StatusServiceUnavailable, ""},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, ""},
		{context.Canceled, http.StatusServiceUnavailable, ""},
	}
}

// retryAfter is when a caller should come back after a fault of ours, in seconds.
const retryAfter = "5"

// fail turns an error of the store into an answer. What is not in the table is
// a fault of ours: it is logged, and the caller learns no more than that.
func (s *server) fail(doing string, err error) error {
	for _, row := range statuses() {
		if !errors.Is(err, row.err) {
			continue
		}
		if row.status != http.StatusServiceUnavailable {
			return huma.NewError(row.status, err.Error()+row.advice)
		}
		s.Log.Warn("the admin API could not answer", "doing", doing, "error", err)
		return huma.ErrorWithHeaders(huma.NewError(row.status, "the store does not answer; what was asked may or may not have been done, so look before asking again"), http.Header{"Retry-After": {retryAfter}})
	}
	s.Log.Error("the admin API could not answer", "doing", doing, "error", err)
	return huma.ErrorWithHeaders(huma.NewError(http.StatusServiceUnavailable, "an unexpected fault; the log of the gateway says more"), http.Header{"Retry-After": {retryAfter}})
}

func invalid(advice string) error { return huma.NewError(http.StatusUnprocessableEntity, advice) }

// writeProblem answers application/problem+json where huma has no hand in it.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail}) // the caller is gone; nobody is left to tell
}

// problemsFor makes the router's own answers, 404 and 405, problems too.
func problemsFor(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(&routerAnswer{ResponseWriter: w}, r)
	})
}

// routerAnswer replaces the router's text by a problem and keeps its headers.
type routerAnswer struct{ http.ResponseWriter }

func (a *routerAnswer) WriteHeader(status int) {
	detail := "there is nothing here; /openapi.json lists what there is"
	if status == http.StatusMethodNotAllowed {
		detail = "this method does not exist here; allowed: " + a.Header().Get("Allow")
	}
	writeProblem(a.ResponseWriter, status, detail)
}

func (a *routerAnswer) Write(text []byte) (int, error) { return len(text), nil }
