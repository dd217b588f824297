//go:build !linux

package httpcall

import "time"

func setUserTimeout(uintptr, time.Duration) error { return nil }

func userTimeoutWorks() bool { return false }
