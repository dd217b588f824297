package httpcall

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall does
// not name on every architecture.
const tcpUserTimeout = 0x12

// setUserTimeout bounds how long written bytes may stay unacknowledged before
// the kernel drops them with the connection. Zero would mean "the system's
// default", so it is never set below a millisecond.
func setUserTimeout(fd uintptr, d time.Duration) error {
	ms := max(int(d.Milliseconds()), 1)
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, ms)
}

func userTimeoutWorks() bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(fd) }()
	if setUserTimeout(uintptr(fd), time.Second) != nil {
		return false
	}
	got, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout)
	return err == nil && got == 1000
}
