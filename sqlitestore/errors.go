package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/batch"
)

func itoa(n int) string { return strconv.Itoa(n) }

// translate turns the driver's and the batch's errors into the vocabulary's,
// with what an operator can do. Errors of the vocabulary pass unchanged.
func translate(err error) error {
	var driver *sqlite3.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, batch.ErrStopped):
		return fmt.Errorf("%w: it is shutting down", onceward.ErrUnavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: no answer in time", onceward.ErrUnavailable)
	case errors.Is(err, sqlite3.FULL):
		return fmt.Errorf("%w: the disk is full; free space and it goes on by itself (%w)", onceward.ErrUnavailable, err)
	case errors.Is(err, sqlite3.READONLY):
		return fmt.Errorf("%w: the database is read-only; check the file's and the folder's permissions (%w)", onceward.ErrUnavailable, err)
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: the database file is damaged; restore a backup (%w)", onceward.ErrUnavailable, err)
	case errors.As(err, &driver):
		return fmt.Errorf("%w: %w", onceward.ErrUnavailable, err)
	}
	return err
}

// errBroken is the answer of a store whose log could not be synced once.
var errBroken = fmt.Errorf("%w: its log could not be synced; look at the disk, then restart", onceward.ErrUnavailable)

// isStoreFault reports whether err came from SQLite, so that the transaction
// cannot go on, rather than from a rule that refused one request.
func isStoreFault(err error) bool {
	var driver *sqlite3.Error
	return errors.As(err, &driver)
}
