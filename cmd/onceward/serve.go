package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/internal/telemetry"
)

// serveCommand runs the gateway until it is told to stop.
type serveCommand struct {
	Config string `help:"Configuration file." short:"c" default:"onceward.yaml" placeholder:"FILE"`
}

// stopWithin bounds a stop: calls under way may end in it.
const stopWithin = 40 * time.Second

// Run starts the gateway; SIGHUP reloads the configuration, SIGINT and SIGTERM
// stop it.
func (s *serveCommand) Run(ctx context.Context, a *app) error {
	// From the first moment on, so that an early signal does not end the process.
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	c, err := config.Load(s.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	log := telemetry.NewLogger(a.stderr, c.Log.Level, c.Log.Format)
	g, err := gateway.New(c, log, versionText())
	if err != nil {
		return err
	}
	if err := g.Start(ctx); err != nil {
		if ctx.Err() != nil {
			log.Info("stopped while starting")
			return nil
		}
		return err
	}
	for {
		select {
		case <-reload:
			if err := s.reload(g); err != nil {
				log.Error("the configuration was not reloaded; the old one stays", "error", err)
				continue
			}
			log.Info("the configuration was reloaded")
		case <-ctx.Done():
			log.Info("stopping")
			return stop(g)
		}
	}
}

func (s *serveCommand) reload(g *gateway.Gateway) error {
	c, err := config.Load(s.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	return g.Reload(c)
}

func stop(g *gateway.Gateway) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if err := g.Stop(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
