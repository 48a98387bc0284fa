package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/ncruces/go-sqlite3/driver" // database/sql, for goose alone
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the file's schema up to date. It changes nothing when that is
// so already, and each step is one transaction.
func Migrate(ctx context.Context, path string) error {
	db, err := driver.Open(fileURI(path)+"&_pragma=auto_vacuum(incremental)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)", nil)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = db.Close() }()
	provider, err := gooseProvider(db)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if pending, err := provider.HasPending(ctx); err != nil || !pending {
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Versions returns the schema's version in the file and the newest one known.
func Versions(ctx context.Context, path string) (have, want int64, err error) {
	db, err := driver.Open(fileURI(path), nil)
	if err != nil {
		return 0, 0, fmt.Errorf("schema version: %w", err)
	}
	defer func() { _ = db.Close() }()
	provider, err := gooseProvider(db)
	if err != nil {
		return 0, 0, fmt.Errorf("schema version: %w", err)
	}
	have, want, err = provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("schema version: %w", err)
	}
	return have, want, nil
}

func gooseProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}
