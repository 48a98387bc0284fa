package api

import (
	"context"

	"github.com/onceward/onceward"
)

// Store is what the API reads and changes. Its errors are, or wrap, the
// root package's sentinels; anything else is answered as a fault of ours.
type Store interface {
	Events(ctx context.Context, q onceward.EventQuery) (items []onceward.Event, next string, err error)
	History(ctx context.Context, id onceward.EventID) (onceward.History, error)
	Payload(ctx context.Context, id onceward.EventID) (onceward.Payload, error)
	Operations(ctx context.Context, q onceward.OperationQuery) (items []onceward.Operation, next string, err error)
	Operation(ctx context.Context, id onceward.OperationID) (onceward.Operation, error)
	Steps(ctx context.Context, id onceward.OperationID) ([]onceward.RecoveryPoint, error)
	Retry(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error)
	Resolve(ctx context.Context, id onceward.OperationID, completed bool, result string, d onceward.Decision) (onceward.Operation, error)
	Abandon(ctx context.Context, id onceward.OperationID, d onceward.Decision) (onceward.Operation, error)
	Replay(ctx context.Context, id onceward.EventID, r onceward.Replay) ([]onceward.Replayed, error)
	Erase(ctx context.Context, id onceward.EventID, d onceward.Decision) error
	Reject(ctx context.Context, id onceward.EventID, d onceward.Decision) error
	Conflicts(ctx context.Context, q onceward.ConflictQuery) (items []onceward.Conflict, next string, err error)
	Conflict(ctx context.Context, id int64) (onceward.Conflict, error)
	DecideConflict(ctx context.Context, id int64, keep onceward.Keep, reading *onceward.Arrival, d onceward.Decision) ([]onceward.Replayed, error)
	BeginBulk(ctx context.Context, b onceward.Bulk) (onceward.Bulk, error)
	CancelBulk(ctx context.Context, id int64, d onceward.Decision) (onceward.Bulk, error)
	Bulk(ctx context.Context, id int64) (onceward.Bulk, error)
	Bulks(ctx context.Context, p onceward.Page) (items []onceward.Bulk, next string, err error)
	Pauses(ctx context.Context) ([]onceward.Pause, error)
	Pause(ctx context.Context, destination string, d onceward.Decision) error
	Unpause(ctx context.Context, destination string, d onceward.Decision) error
	Audit(ctx context.Context, q onceward.AuditQuery) (items []onceward.Audit, next string, err error)
	Counts(ctx context.Context) ([]onceward.Count, error)
	Ping(ctx context.Context) error
}
