package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// folder is where build put the program; nothing until then.
var folder atomic.Value

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "onceward-bin-")
	if err != nil {
		return "", err
	}
	folder.Store(dir)
	bin := filepath.Join(dir, "onceward")
	cmd := exec.Command("go", "build", "-o", bin, "github.com/onceward/onceward/cmd/onceward")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return bin, nil
})

// Binary builds the program once per test process and returns its path. Remove
// removes it.
func Binary(tb testing.TB) string {
	tb.Helper()
	bin, err := build()
	if err != nil {
		tb.Fatalf("build onceward: %v\n%s", err, bin)
	}
	return bin
}

// Remove removes what Binary built, if anything. Call it from TestMain.
func Remove() {
	if dir, ok := folder.Load().(string); ok {
		_ = os.RemoveAll(dir)
	}
}
