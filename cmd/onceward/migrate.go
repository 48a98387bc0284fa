package main

import (
	"context"
	"fmt"
	"os"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/sqlitestore"
)

// migrateCommand brings the store's schema up to date; serve does so by itself.
type migrateCommand struct {
	Config string `help:"Configuration file." short:"c" default:"onceward.yaml" placeholder:"FILE"`
}

// Run opens the store, which migrates it, and says which version it has now.
func (m *migrateCommand) Run(ctx context.Context, a *app) error {
	c, err := config.Load(m.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	s, err := sqlitestore.Open(ctx, c.SQLitePath(), sqlitestore.Options{})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	have, want, err := sqlitestore.Versions(ctx, c.SQLitePath())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s has schema version %d of %d\n", c.SQLitePath(), have, want)
	return err
}
