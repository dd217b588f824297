//go:build unix

package faultproxy

import "syscall"

// pendingError returns the error that waits on a socket, and clears it.
func pendingError(fd uintptr) (int, error) {
	return syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
}
