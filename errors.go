package onceward

import (
	"errors"
	"fmt"
)

// Errors that callers act on. Stores and rooms wrap them; compare with errors.Is.
var (
	// ErrNotFound means that no such event, operation or destination is recorded.
	ErrNotFound = errors.New("not found")
	// ErrFenced means that the lease was lost: somebody else owns the
	// operation or has decided it. The caller's work must not be recorded.
	ErrFenced = errors.New("the lease was lost")
	// ErrDisputed means that success was reported too late, about a call of
	// which it was decided meanwhile that it had no effect, or might have had
	// one. It is recorded, and a person has to look. It is an [ErrFenced].
	ErrDisputed = fmt.Errorf("%w, and its success contradicts what was decided since", ErrFenced)
	// ErrNotDue means that the operation cannot be taken now.
	ErrNotDue = errors.New("not due")
	// ErrNotAllowed means that the state machine has no such move from here.
	ErrNotAllowed = errors.New("not allowed in this state")
	// ErrConsent means that repeating could cause a second effect and that the
	// caller did not accept this risk in so many words.
	ErrConsent = errors.New("repeating may cause a second effect")
	// ErrRepeated means that this very request was carried out before.
	ErrRepeated = errors.New("this request was carried out already")
	// ErrMismatch means that a request has the name of one that was carried out
	// and asks for something else.
	ErrMismatch = errors.New("another request was carried out under this name")
	// ErrBadCursor means that a listing's cursor is not one that it gave out.
	ErrBadCursor = errors.New("not a cursor of this listing")
	// ErrUnavailable means that the store could not be reached or did not
	// answer in time; what was asked may or may not have happened.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrOverloaded means that the caller must come back later; nothing was done.
	ErrOverloaded = errors.New("too much work at once")
)
