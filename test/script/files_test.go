package script_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"
)

// sizesCommand writes the sizes of the store's files to a file, to be compared.
func sizesCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "sizes file")
	var text strings.Builder
	for _, name := range []string{"onceward.db", "onceward.db-wal"} {
		info, err := os.Stat(filepath.Join(of(ts).dir, name))
		ts.Check(err)
		fmt.Fprintf(&text, "%s %d\n", name, info.Size())
	}
	ts.Check(writeFile(ts.MkAbs(args[0]), []byte(text.String())))
}

// walBelowCommand waits until the WAL is smaller than so many MiB.
func walBelowCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "wal-below MiB")
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	within(ts, "a small WAL", func() (bool, string) {
		info, err := os.Stat(filepath.Join(of(ts).dir, "onceward.db-wal"))
		ts.Check(err)
		return info.Size() < int64(limit)<<20, fmt.Sprint(info.Size(), " bytes")
	})
}

// readerCommand holds a read transaction of another process's kind on the
// store's file, which keeps the WAL from being written back, until it is
// released: reader hold | reader release.
func readerCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "reader hold | release")
	w := of(ts)
	if args[0] == "release" {
		ts.Check(w.reader.Close())
		w.reader = nil
		return
	}
	c, err := sqlite3.OpenFlags(filepath.Join(w.dir, "onceward.db"), sqlite3.OPEN_READWRITE)
	ts.Check(err)
	w.reader = c
	ts.Defer(func() {
		if w.reader != nil {
			_ = w.reader.Close() // the story has failed already
		}
	})
	ts.Check(c.Exec("BEGIN; SELECT count(*) FROM sqlite_schema"))
}

// bodyCommand makes a large body: body file.raw part…, where a part is "=text",
// "text*count", "bytes*count" for all 256 byte values, "noise*count" for
// bytes that cannot be compressed, or a file.
func bodyCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) > 1, "body file.raw part…")
	var b bytes.Buffer
	for _, part := range args[1:] {
		text, times, many := strings.Cut(part, "*")
		n, err := strconv.Atoi(times)
		switch {
		case !many || strings.HasPrefix(part, "="):
			b.Write(readBody(ts, part))
		case err != nil:
			ts.Fatalf("part %q: %v", part, err)
		case text == "noise":
			noise := rand.NewChaCha8([32]byte{})
			for range n {
				b.WriteByte(byte(noise.Uint64()))
			}
		case text == "bytes":
			for i := range n * 256 {
				b.WriteByte(byte(i))
			}
		default:
			b.WriteString(strings.Repeat(text, n))
		}
	}
	ts.Check(writeFile(ts.MkAbs(args[0]), b.Bytes()))
}
