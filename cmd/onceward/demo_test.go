package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

// The first thing that anybody runs ends with its table, and with the right
// number of effects in every row of it.
func TestTheDemonstrationEndsWithItsTable(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), proctest.Binary(t), "demo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, row := range []string{
		"same event, ten times at once", "answer lost after the effect", "process killed after the effect", "same key, another amount", "a write that nobody can look up",
	} {
		if !strings.Contains(string(out), row) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
}
