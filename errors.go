package onceward

import "errors"

// Errors that callers act on. Stores and rooms wrap them; compare with errors.Is.
var (
	// ErrNotFound means that no such event, operation or destination is recorded.
	ErrNotFound = errors.New("not found")
	// ErrFenced means that the lease was lost: somebody else owns the
	// operation or has decided it. The caller's work must not be recorded.
	ErrFenced = errors.New("the lease was lost")
	// ErrNotDue means that the operation cannot be taken now.
	ErrNotDue = errors.New("not due")
	// ErrNotAllowed means that the state machine has no such move from here.
	ErrNotAllowed = errors.New("not allowed in this state")
	// ErrConsent means that repeating could cause a second effect and that the
	// caller did not accept this risk in so many words.
	ErrConsent = errors.New("repeating may cause a second effect")
	// ErrBadCursor means that a listing's cursor is not one that it gave out.
	ErrBadCursor = errors.New("not a cursor of this listing")
	// ErrUnavailable means that the store could not be reached or did not
	// answer in time; what was asked may or may not have happened.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrOverloaded means that the caller must come back later; nothing was done.
	ErrOverloaded = errors.New("too much work at once")
)
