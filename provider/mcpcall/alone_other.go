//go:build !unix

package mcpcall

import "os/exec"

func alone(*exec.Cmd) {}
