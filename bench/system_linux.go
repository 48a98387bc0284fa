package main

import (
	"os"
	"syscall"
)

// attributes let a child die with this program, however that ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// flush waits until a file's bytes are on disk.
func flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// fileSystem names the file system that dir is on, where it knows the name.
func fileSystem(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return unknownFileSystem
	}
	switch uint32(s.Type) {
	case 0xEF53:
		return "ext4"
	case 0x58465342:
		return "xfs"
	case 0x9123683E:
		return "btrfs"
	case 0x2FC12FC1:
		return "zfs"
	case 0x794C7630:
		return "overlayfs"
	case 0x01021994, 0x858458F6:
		return memoryFileSystem
	}
	return unknownFileSystem
}
