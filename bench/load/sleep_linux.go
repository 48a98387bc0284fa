package load

import (
	"syscall"
	"time"
)

func sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
