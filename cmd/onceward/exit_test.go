package main

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestEveryErrorCodeHasAnExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range onceward.AllCodes {
		if code, ok := exits[c]; !ok || code == exitDone {
			t.Errorf("%s has no exit code of its own", c)
		}
	}
	if len(exits) != len(onceward.AllCodes) {
		t.Errorf("%d exit codes for %d error codes", len(exits), len(onceward.AllCodes))
	}
}
