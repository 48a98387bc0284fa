package sqlitestore_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyTheOwnerMayReadTheFiles(t *testing.T) {
	s := fresh(t)
	s.verdict(s.arrival("e1", "x"))
	seen := 0
	if err := filepath.WalkDir(filepath.Dir(s.path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && !strings.HasSuffix(path, ".lock") { // which is empty
			t.Errorf("%s is %s", filepath.Base(path), info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if seen < 3 {
		t.Errorf("%d files; where are the log and the shared memory?", seen)
	}
}
