package sqlite

import "syscall"

// noRoomErrors are how the system says that a write finds no room:
// ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED.
var noRoomErrors = []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}
