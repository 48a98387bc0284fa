package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Role says what the holder of a token may do; a higher one includes the lower.
type Role uint8

// The roles.
const (
	nobody   Role = iota
	Viewer        // reads, without payloads
	Operator      // also sees payloads and decides about operations
	Admin         // may do everything
)

var roleNames = [...]string{"nobody", "viewer", "operator", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	for r := Viewer; r <= Admin; r++ {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return nobody, fmt.Errorf("%q is not a role; the roles are viewer, operator and admin", name)
}

// Token lets its bearer in. Its name is the actor of what the bearer does.
type Token struct {
	Name   string
	Role   Role
	Secret string
}

// Local is the actor of requests over loopback when no tokens are configured.
const Local = "local"

// caller is who makes a request.
type caller struct {
	name string
	role Role
}

// caller finds out who sends an Authorization header. All tokens are compared,
// each in constant time, so that the answer's time tells nothing about them.
func (s *server) caller(authorization string) (found caller) {
	if len(s.Tokens) == 0 {
		return caller{Local, Admin}
	}
	scheme, given, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	for _, t := range s.Tokens {
		want := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 && t.Secret != "" {
			found = caller{t.Name, t.Role}
		}
	}
	return found
}

// admits returns the status and the advice for who may not do something that
// needs the role; status 0 lets them.
func (s *server) admits(who caller, least Role) (status int, advice string) {
	switch {
	case who.role >= least:
		return 0, ""
	case who.role == nobody:
		return http.StatusUnauthorized, "send a token of this installation as Authorization: Bearer …"
	}
	return http.StatusForbidden, fmt.Sprintf("token %s is a %s; this needs a token whose role is %s", who.name, who.role, least)
}

// require refuses callers below a role before anything else of the request is
// looked at.
func (s *server) require(least Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		status, advice := s.admits(s.caller(ctx.Header("Authorization")), least)
		if status == 0 {
			next(ctx)
			return
		}
		if status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", "Bearer")
		}
		_ = huma.WriteErr(s.api, ctx, status, advice) // the caller is gone; nobody is left to tell
	}
}

// readers is require for a handler that is not ours.
func (s *server) readers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, advice := s.admits(s.caller(r.Header.Get("Authorization")), Viewer)
		if status == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		writeProblem(w, status, advice)
	})
}

// guard keeps other people's web pages out. Without tokens, whoever reaches
// the listener is trusted, and a browser on this machine reaches it: a page
// whose name was made to point at loopback is known by its Host, and a page
// that merely posts here by its Origin or Sec-Fetch-Site.
func (s *server) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusForbidden, "this change was asked for by a page of another site; only this API's own origin and programs may")
	}))
	inner := crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if len(s.Tokens) == 0 && !s.isOurs(r.Host) {
			writeProblem(w, http.StatusForbidden, "this listener answers only to loopback and to its own address; configure admin.tokens to reach it under another name")
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func (s *server) isOurs(hostport string) bool {
	host := hostOf(hostport)
	if a, err := netip.ParseAddr(host); strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback() {
		return true
	}
	own := hostOf(s.Listen)
	return own != "" && strings.EqualFold(own, host)
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
