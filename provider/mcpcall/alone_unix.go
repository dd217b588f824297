//go:build unix

package mcpcall

import (
	"os/exec"
	"syscall"
)

// alone keeps a signal to our terminal from the command: it ends when its input
// is closed, once what it does is recorded.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
