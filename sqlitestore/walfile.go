package sqlitestore

import (
	"net/url"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3/vfs"
)

// gatheringVFS is SQLite's own file layer, except for the write-ahead log.
//
// What is written to the log is gathered until it is synced: SQLite writes a
// header and a page for each frame, and a commit of thirty events is a hundred
// system calls. With synchronous=FULL every commit syncs the log before it
// publishes the new frames to readers, so nobody looks for them earlier. The
// log is read, sized, cut and closed only after what was gathered is written.
//
// While the writer commits, that sync is owed instead of done: the frames are
// written, and the batch's finish calls fdatasync beside the application of the
// next batch. Nobody is told anything before. The log is a chain of checksums,
// so what a power cut leaves of it is a prefix, as ever. Two syncs are never
// owed: of the log's header, when it begins anew over old frames that would
// otherwise count again, and before a checkpoint, which the writer runs by
// itself between commits.
type gatheringVFS struct{ vfs.VFSFilename }

const vfsName = "onceward"

// dataSource is the URI under which SQLite opens the file at path with this
// layer.
func dataSource(path string) string {
	if vfs.Find(vfsName) == nil {
		vfs.Register(vfsName, gatheringVFS{vfs.Find("os").(vfs.VFSFilename)})
	}
	return fileURI(path) + "&vfs=" + vfsName
}

// fileURI is the URI of the file at path. The log holds bodies and the pepper,
// too, and is to have the database's own permissions.
func fileURI(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?modeof=" + url.QueryEscape(path)
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
	owing    bool  // a commit is under way: its sync may be owed
	owed     bool  // a sync is owed

	failed atomic.Bool // a sync failed, whoever asked for it
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
	header := f.at == 0
	if err := f.flush(); err != nil {
		return err
	}
	if f.owing && !header {
		f.owed = true
		return nil
	}
	return f.sync(flags)
}

// settle does the sync that is owed, and may run beside anything else.
func (f *walFile) settle() error { return f.sync(vfs.SYNC_NORMAL) }

func (f *walFile) sync(flags vfs.SyncFlag) error {
	err := f.File.Sync(flags)
	if err != nil {
		f.failed.Store(true)
	}
	return err
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
