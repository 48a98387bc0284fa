package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/batch"
)

func itoa(n int) string { return strconv.Itoa(n) }

// vocabulary lists the errors that a rule gives, not the database.
func vocabulary() []error {
	return []error{
		onceward.ErrNotFound, onceward.ErrFenced, onceward.ErrNotDue, onceward.ErrNotAllowed, onceward.ErrConsent,
		onceward.ErrRepeated, onceward.ErrMismatch, onceward.ErrBadCursor, onceward.ErrUnavailable,
	}
}

func inVocabulary(err error) bool {
	return slices.ContainsFunc(vocabulary(), func(known error) bool { return errors.Is(err, known) })
}

// translate turns everything else into ErrUnavailable, with what an operator
// can do. The driver has several types for its errors, and its own errors may
// be another library's: nothing but the vocabulary is taken for a rule's word.
func translate(err error) error {
	why := ""
	switch {
	case err == nil || inVocabulary(err):
		return err
	case errors.Is(err, batch.ErrStopped):
		return fmt.Errorf("%w: it is shutting down", onceward.ErrUnavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, sqlite3.INTERRUPT):
		return fmt.Errorf("%w: no answer in time", onceward.ErrUnavailable)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		why = "the disk is full; free space and it goes on by itself"
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, syscall.EROFS):
		why = "the database is read-only; check the file's and the folder's permissions"
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		why = "the database file is damaged; restore a backup"
	case errors.Is(err, sqlite3.IOERR):
		why = "the disk does not take or give what is asked; is it full, or failing?"
	default:
		return fmt.Errorf("%w: %w", onceward.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %s (%w)", onceward.ErrUnavailable, why, err)
}

// errBroken is the answer of a store whose log could not be synced once.
var errBroken = fmt.Errorf("%w: its log could not be synced; look at the disk, then restart", onceward.ErrUnavailable)

// errNoTransaction means that SQLite has rolled back by itself after an error
// that looked like one request's own.
var errNoTransaction = errors.New("the transaction is gone")

// isStoreFault reports whether err came from below, so that the transaction
// cannot go on, rather than from a rule that refused one request.
func isStoreFault(err error) bool { return err != nil && !inVocabulary(err) }

// away reports whether err says that the store as a whole cannot write now,
// rather than that it failed at what one event is made of.
func away(err error) bool {
	for _, known := range []error{
		sqlite3.FULL, syscall.ENOSPC, syscall.EDQUOT, sqlite3.READONLY, syscall.EROFS, sqlite3.IOERR, sqlite3.NOMEM, sqlite3.BUSY, sqlite3.LOCKED,
		sqlite3.CANTOPEN, sqlite3.PROTOCOL, sqlite3.INTERRUPT, context.Canceled, context.DeadlineExceeded, batch.ErrStopped, errBroken, errNoTransaction,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
