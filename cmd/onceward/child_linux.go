package main

import "syscall"

// diesWithParent: a drill that is killed leaves no server behind, not even one
// that it had stopped.
var diesWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
