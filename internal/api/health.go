package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Health is the answer of the health checks.
type Health struct {
	Status string `json:"status" enum:"alive,ready"`
}

// readyWithin bounds the store's answer to a readiness check.
const readyWithin = 2 * time.Second

// health registers the checks. They need no token: a supervisor has none, and
// they say nothing but yes or no.
func (s *server) health() {
	huma.Register(s.api, s.operation(http.MethodGet, "/healthz", "alive", "Say that the process is alive", nobody), func(context.Context, *struct{}) (*answer[Health], error) {
		return &answer[Health]{Health{"alive"}}, nil
	})
	huma.Register(s.api, s.operation(http.MethodGet, "/readyz", "ready", "Say whether the store answers", nobody), func(ctx context.Context, _ *struct{}) (*answer[Health], error) {
		ctx, cancel := context.WithTimeout(ctx, readyWithin)
		defer cancel()
		if err := s.Store.Ping(ctx); err != nil {
			s.Log.Warn("the store does not answer", "error", err)
			return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusServiceUnavailable, "the store does not answer"), http.Header{"Retry-After": {retryAfter}})
		}
		return &answer[Health]{Health{"ready"}}, nil
	})
}
