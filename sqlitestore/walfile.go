package sqlitestore

import (
	"net/url"

	"github.com/ncruces/go-sqlite3/vfs"
)

// gatheringVFS is SQLite's own file layer, except that what is written to the
// write-ahead log is gathered until it is synced: SQLite writes a header and a
// page for each frame, and a commit of thirty events is a hundred system calls.
//
// Nothing is promised before the sync, so nothing is lost by waiting for it:
// with synchronous=FULL every commit syncs the log before it publishes the new
// frames to readers. The log is read, sized, cut and closed only after what was
// gathered is written.
type gatheringVFS struct{ vfs.VFSFilename }

const vfsName = "onceward"

// dataSource is the URI under which SQLite opens the file at path with this
// layer.
func dataSource(path string) string {
	if vfs.Find(vfsName) == nil {
		vfs.Register(vfsName, gatheringVFS{vfs.Find("os").(vfs.VFSFilename)})
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?vfs=" + vfsName
}

// OpenFilename opens a file, the write-ahead log with gathering.
func (g gatheringVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := g.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		f = &walFile{File: f}
	}
	return f, flags, err
}

// maxGathered bounds what waits for a sync; a larger transaction is written in
// parts, which changes nothing else.
const maxGathered = 1 << 20

// walFile is one connection's write-ahead log.
type walFile struct {
	vfs.File
	gathered []byte
	at       int64 // where gathered begins
}

// WriteAt gathers p when it continues what was gathered.
func (f *walFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.at+int64(len(f.gathered)) || len(f.gathered)+len(p) > maxGathered {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at = off
	}
	f.gathered = append(f.gathered, p...)
	return len(p), nil
}

// flush writes what was gathered. After an error it stays gathered: the sync
// that needs it reports the error again, and the commit fails.
func (f *walFile) flush() error {
	if len(f.gathered) == 0 {
		return nil
	}
	if _, err := f.File.WriteAt(f.gathered, f.at); err != nil {
		return err
	}
	f.at += int64(len(f.gathered))
	f.gathered = f.gathered[:0]
	return nil
}

func (f *walFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

func (f *walFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *walFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Close writes what a transaction that was never committed left behind; it has
// no meaning, but nothing of ours should decide that.
func (f *walFile) Close() error {
	err := f.flush()
	if closed := f.File.Close(); err == nil {
		err = closed
	}
	return err
}
