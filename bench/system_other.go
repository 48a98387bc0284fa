//go:build !linux

package main

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func flush(f *os.File) error { return f.Sync() }

func fileSystem(string) string { return unknownFileSystem }
