//go:build !windows

package sqlite

import "syscall"

// noRoomErrors are how the system says that a write finds no room.
var noRoomErrors = []error{syscall.ENOSPC, syscall.EDQUOT}
