package testdb

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Only Linux ends a child with its parent.
func TestServerDiesWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	Installed(t)
	starter := exec.CommandContext(t.Context(), os.Args[0])
	starter.Env = append(os.Environ(), asStarter+"=1")
	starter.Stderr = os.Stderr
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	var dir string
	if _, scanErr := fmt.Sscan(line, &pid, &dir); scanErr != nil {
		t.Fatalf("the starter said %q (%v): %v", line, err, scanErr)
	}
	t.Cleanup(func() {
		if strings.HasPrefix(filepath.Base(dir), "onceward-pg-") {
			_ = os.RemoveAll(dir) // nobody is left to do it
		}
	})
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // killed: an error by nature
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.NewTimer(stopWait)
	defer limit.Stop()
	for !gone(pid) {
		select {
		case <-tick.C:
		case <-limit.C:
			_, _ = killTree(pid) // the failure is told by the next line
			t.Fatalf("the server still runs %s after its starter was killed", stopWait)
		}
	}
}
