package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/backfill"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/provider"
)

// backfillCommand brings in what a sender could not deliver.
type backfillCommand struct {
	Source string `arg:"" help:"Source whose sender is asked; it needs backfill in the configuration."`
	Config string `help:"Configuration file." short:"c" default:"onceward.yaml" placeholder:"FILE"`
	Since  string `help:"How far back: a duration such as 24h or 3d, or a time (RFC 3339)." required:"" placeholder:"WHEN"`
	DryRun bool   `help:"Only say what would be brought in, or sent again."`
	Intake string `help:"Intake URL of the source; the default is where the configuration listens." placeholder:"URL"`
}

// Run asks the sender and prints what came of it.
func (b *backfillCommand) Run(ctx context.Context, a *app) error {
	c, err := config.Load(b.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Sources, func(s config.Source) bool { return s.Name == b.Source })
	if i < 0 {
		return misuse("%s has no source %q", b.Config, b.Source)
	}
	s := &c.Sources[i]
	if s.Backfill == nil {
		return misuse("source %s has no backfill in %s: say with which token its sender's API may be asked", b.Source, b.Config)
	}
	since, err := when("--since", b.Since, time.Now())
	if err != nil {
		return err
	}
	source, err := gateway.NewSource(c, s, nil)
	if err != nil {
		return err
	}
	if b.Intake == "" {
		b.Intake = intakeOf(c.Intake.Listen) + "/in/" + s.Name
	}
	began := time.Now()
	report, err := backfill.Run(ctx, s.Provider, backfill.Options{
		API: s.Backfill.URL, Token: s.Backfill.Token.Reveal(), Hook: s.Backfill.Hook, Since: since, DryRun: b.DryRun,
		Deliver: func(ctx context.Context, body []byte) (string, error) { return b.bring(ctx, source, body) },
		Log:     slog.New(slog.NewTextHandler(a.stderr, nil)),
		Progress: func(r backfill.Report) {
			if time.Since(began) > 2*time.Second && !a.json {
				fmt.Fprintf(a.stderr, "%s\n", r)
			}
		},
	})
	if a.json {
		return errors.Join(err, json.NewEncoder(a.stdout).Encode(report))
	}
	_, printed := fmt.Fprintf(a.stdout, "%s since %s: %s\n", b.Source, since.UTC().Format(time.RFC3339), report)
	return errors.Join(err, printed)
}

// bring signs an event with the source's own secret and posts it to the intake,
// as the sender would have.
func (b *backfillCommand) bring(ctx context.Context, source *provider.Source, body []byte) (string, error) {
	r := &provider.Request{Method: http.MethodPost, URL: b.Intake, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Now: time.Now()}
	if err := source.Sign(r); err != nil {
		return "", err
	}
	for wait := time.Second; ; wait *= 2 {
		out, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Intake, bytes.NewReader(body))
		if err != nil {
			return "", errors.New("the intake's URL cannot be used")
		}
		out.Header = r.Header
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			return "", fmt.Errorf("no answer from %s; is the gateway running?", b.Intake)
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is used again
		_ = resp.Body.Close()
		busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
		switch {
		case resp.StatusCode < 300:
			return resp.Header.Get("Onceward-Status"), nil
		case !busy || wait > time.Minute:
			return "", fmt.Errorf("the gateway answered %d; look at its log", resp.StatusCode)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// intakeOf is the URL under which this machine reaches a listener.
func intakeOf(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
