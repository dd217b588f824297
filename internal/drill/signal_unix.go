//go:build unix

package drill

import (
	"os"
	"syscall"
)

// standStill stops a process where it is, and goOn lets it go on.
var standStill, goOn os.Signal = syscall.SIGSTOP, syscall.SIGCONT
