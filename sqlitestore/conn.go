package sqlitestore

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// conn is one SQLite connection with its prepared statements. It is used by
// one goroutine at a time.
type conn struct {
	*sqlite3.Conn
	prepared map[string]*stmt
}

// stmt is a prepared statement whose parameters are bound in order.
type stmt struct {
	*sqlite3.Stmt
	next  int
	fault error // it could not be prepared
}

const pragmas = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA busy_timeout = 10000;
PRAGMA foreign_keys = OFF;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
`

func openConn(path string, readOnly bool, cachePages int) (*conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | sqlite3.OPEN_URI
	if readOnly {
		flags &^= sqlite3.OPEN_CREATE // a WAL reader still writes to the shared memory file
	}
	c, err := sqlite3.OpenFlags(dataSource(path), flags)
	if err != nil {
		return nil, err
	}
	cn := &conn{Conn: c, prepared: map[string]*stmt{}}
	setup := pragmas
	if readOnly {
		setup += "PRAGMA query_only = ON;"
	}
	if err := c.Exec(setup + "PRAGMA cache_size = " + itoa(cachePages) + ";"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return cn, nil
}

func (c *conn) close() error {
	for _, s := range c.prepared {
		_ = s.Close()
	}
	return c.Conn.Close()
}

// q returns the prepared statement for sql, ready for binding. A statement
// that cannot be prepared, because the read was interrupted or memory is short,
// says so when it is run.
func (c *conn) q(sql string) *stmt {
	if s := c.prepared[sql]; s != nil {
		s.next = 0
		return s
	}
	prepared, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return &stmt{fault: err}
	}
	s := &stmt{Stmt: prepared}
	c.prepared[sql] = s
	return s
}

func (s *stmt) int(v int64) *stmt {
	if s.fault != nil {
		return s
	}
	s.next++
	_ = s.BindInt64(s.next, v)
	return s
}

func (s *stmt) bool(v bool) *stmt {
	if v {
		return s.int(1)
	}
	return s.int(0)
}

func (s *stmt) blob(v []byte) *stmt {
	if s.fault != nil {
		return s
	}
	s.next++
	_ = s.BindBlob(s.next, v)
	return s
}

// text binds v, or NULL when it is empty.
func (s *stmt) text(v string) *stmt {
	if v == "" {
		return s.null()
	}
	return s.string(v)
}

// string binds v even when it is empty.
func (s *stmt) string(v string) *stmt {
	if s.fault != nil {
		return s
	}
	s.next++
	_ = s.BindText(s.next, v)
	return s
}

func (s *stmt) null() *stmt {
	if s.fault != nil {
		return s
	}
	s.next++
	_ = s.BindNull(s.next)
	return s
}

// optional binds v, or NULL when it is zero.
func (s *stmt) optional(v int64) *stmt {
	if v == 0 {
		return s.null()
	}
	return s.int(v)
}

// time binds UTC microseconds, or NULL for the zero time.
func (s *stmt) time(t time.Time) *stmt {
	if t.IsZero() {
		return s.null()
	}
	return s.int(t.UnixMicro())
}

// run executes a statement that returns no rows.
func (s *stmt) run() error {
	if s.fault != nil {
		return s.fault
	}
	s.Step()
	err := s.Err()
	_ = s.Reset()
	return err
}

// rows steps through the result and calls each on every row.
func (s *stmt) rows(each func(*stmt) error) error {
	if s.fault != nil {
		return s.fault
	}
	defer func() { _ = s.Reset() }()
	for s.Step() {
		if err := each(s); err != nil {
			return err
		}
	}
	return s.Err()
}

// row reports whether there is a first row and calls each on it.
func (s *stmt) row(each func(*stmt)) (bool, error) {
	if s.fault != nil {
		return false, s.fault
	}
	defer func() { _ = s.Reset() }()
	if s.Step() {
		each(s)
		return true, nil
	}
	return false, s.Err()
}

func (s *stmt) columnTime(i int) time.Time {
	if s.ColumnType(i) == sqlite3.NULL {
		return time.Time{}
	}
	return micro(s.ColumnInt64(i))
}

func micro(v int64) time.Time { return time.UnixMicro(v).UTC() }
