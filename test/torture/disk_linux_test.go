package torture

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"
)

// TestADiskThatTakesNothing: no write succeeds any more, or the file may not
// grow. Senders are told to come back, and when there is room again everything
// goes on, without a restart.
func TestADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	s := newSiege(t)
	events := 0
	for _, limit := range []struct {
		name  string
		bytes uint64
	}{{"a disk that takes no write", 0}, {"a file that cannot grow", s.g.size("onceward.db") + 64<<10}} {
		s.deliver(events)
		events++
		if err := limitFiles(s.g.pid(), limit.bytes); err != nil {
			t.Fatal(err)
		}
		var refused atomic.Int64
		s.together(events, func(n int) {
			switch status, err := s.post(n); {
			case err == nil && status == http.StatusServiceUnavailable:
				refused.Add(1)
			case err == nil && status == http.StatusOK: // there was room yet
			default:
				t.Errorf("%s: event %d was answered %d, %v", limit.name, n, status, err)
			}
		})
		if refused.Load() == 0 {
			t.Errorf("%s: nothing was refused", limit.name)
		}
		if err := limitFiles(s.g.pid(), ^uint64(0)); err != nil {
			t.Fatal(err)
		}
		s.together(events, s.deliver)
		events += crowd
	}
	s.audit("disk", events, "no write succeeds; the file may not grow")
}

const crowd = 40

// together does something about a crowd of events at once.
func (s *siege) together(first int, do func(n int)) {
	var all sync.WaitGroup
	for n := range crowd {
		all.Go(func() { do(first + n) })
	}
	all.Wait()
}

func (g *gateway) pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cmd.Process.Pid
}

// size is that of one of the gateway's files.
func (g *gateway) size(name string) uint64 {
	g.t.Helper()
	info, err := os.Stat(g.path(name))
	if err != nil {
		g.t.Fatal(err)
	}
	return uint64(info.Size())
}

// limitFiles bounds how long a file another process may write: the kernel
// refuses what lies beyond, as a full disk would.
func limitFiles(pid int, bytes uint64) error {
	limit := syscall.Rlimit{Cur: bytes, Max: ^uint64(0)}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
