package main

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	unknownFileSystem = "an unnamed file system"
	memoryFileSystem  = "memory"
)

// appends measures what any durable answer costs at least: 4 KiB appended to a
// file and waited for.
func appends(dir string, times int) (took []time.Duration, err error) {
	f, err := os.CreateTemp(dir, "append-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		if e := os.Remove(f.Name()); err == nil {
			err = e
		}
	}()
	block := make([]byte, 4096)
	if _, err := rand.Read(block); err != nil {
		return nil, err
	}
	for range times {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := flush(f); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// bytesIn adds up the files below dir.
func bytesIn(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
