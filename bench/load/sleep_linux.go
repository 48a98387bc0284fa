package load

import (
	"syscall"
	"time"
)

// sharpen lets the calling thread wake up when it wants to. By default Linux
// may let it sleep 50 µs longer, to wake several threads at once.
func sharpen() {
	const setTimerSlack, nanosecond = 29, 1
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, nanosecond, 0) // without it everything works, a little later
}

func sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
