package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/sqlitestore"
)

// restoredCommand works on the file itself, before the gateway starts on it:
// the first delivery after a restore must already find the mark.
type restoredCommand struct {
	Config string `help:"Configuration file." short:"c" default:"onceward.yaml" placeholder:"FILE"`
	At     string `help:"When it was restored (RFC 3339); now when left out. Events that happened before, and are not known, are held." placeholder:"TIME"`
	Clear  bool   `help:"Take the mark away: everything that may have been lost was looked at."`
	Reason string `help:"Why; it lands in the audit log." required:"" placeholder:"TEXT"`
}

// Run is called by the parser.
func (c *restoredCommand) Run(ctx context.Context, a *app) (err error) {
	if c.Clear && c.At != "" {
		return misuse("--clear takes the mark away, so --at cannot be meant")
	}
	at := time.Now().UTC()
	if c.At != "" {
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return misuse("--at must be a time such as 2026-12-01T09:00:00Z")
		}
	}
	if c.Clear {
		at = time.Time{}
	}
	loaded, err := config.Load(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	s, err := sqlitestore.Open(ctx, loaded.SQLitePath(), sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	if err := s.MarkRestored(ctx, at, onceward.Decision{Actor: "local", Reason: c.Reason}); err != nil {
		return err
	}
	text := "the restore mark of " + loaded.SQLitePath() + " was taken away"
	if !c.Clear {
		text = fmt.Sprintf("%s is marked as restored at %s: what happened before and is not known is held for a person (onceward events list --status quarantined)", loaded.SQLitePath(), at.Format(time.RFC3339))
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}
