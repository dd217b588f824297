//go:build !linux

package main

import "syscall"

// diesWithParent: this system tells no child that its parent has died.
var diesWithParent *syscall.SysProcAttr
