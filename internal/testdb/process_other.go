//go:build !linux

package testdb

import (
	"os"
	"os/exec"
)

// account is who a server runs as; outside Linux always whoever runs the test
// (as root, postgres refuses to start and says so).
type account struct{}

func serverAccount() (*account, error) { return nil, nil }

func giveTo(string, *account) error { return nil }

func isolate(*exec.Cmd, *account) {}

// killTree kills the parent only: its children see that and end by themselves,
// a busy one after its statement. Tests that need the sudden death of every
// process are for Linux.
func killTree(parent int) ([]int, error) {
	p, err := os.FindProcess(parent)
	if err != nil {
		return nil, err
	}
	return nil, p.Kill()
}

func gone(int) bool { return true }
