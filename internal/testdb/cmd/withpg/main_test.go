//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testneed"
)

// asWithpg makes this test binary withpg itself.
const asWithpg = "WITHPG_AS_ITSELF"

func TestMain(m *testing.M) {
	if os.Getenv(asWithpg) != "" {
		os.Exit(run(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// withpg prepares a run of withpg as if no server were given, unless env gives
// one.
func withpg(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWithpg+"=1", testdb.EnvDSN+"=")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func statusIn(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("run withpg: %v", err)
	}
	return exit.ExitCode()
}

func TestCommandSeesAServerAndItsStatusIsPassedOn(t *testing.T) {
	t.Parallel()
	testdb.Installed(t)
	script := `echo "$` + testdb.EnvDSN + `" "$` + testneed.EnvRequire + `" "$TMPDIR"; mktemp >&2; exit 7`
	cmd := withpg(t, nil, "-set", "max_connections=19", "--", "sh", "-c", script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if got := statusIn(t, err); got != 7 {
		t.Errorf("status %d, want the command's 7; stderr: %s", got, &stderr)
	}
	saw := strings.Fields(string(out))
	if len(saw) != 3 || !strings.HasPrefix(saw[0], "postgres://") || saw[1] != "1" {
		t.Fatalf("the command saw %q, want an address, 1 and a temporary folder", saw)
	}
	if _, err := os.Stat(saw[2]); !os.IsNotExist(err) {
		t.Errorf("the command's temporary folder %s is still there (%v)", saw[2], err)
	}
	_, log, found := strings.Cut(stderr.String(), "PostgreSQL's log is ")
	if !found {
		t.Fatalf("a failure does not say where the log is: %s", &stderr)
	}
	log = strings.TrimSpace(log)
	if content, err := os.ReadFile(log); err != nil || !bytes.Contains(content, []byte("database system is shut down")) {
		t.Errorf("the log %s does not end with a shutdown: %v", log, err)
	}
	if filepath.Ext(log) == ".log" {
		_ = os.Remove(log) // ours to remove: it was kept for whoever looks into the failure
	}
}

func TestServerEndsWithACommandThatIsInterrupted(t *testing.T) {
	t.Parallel()
	testdb.Installed(t)
	script := `trap 'exit 5' TERM; tail -f /dev/null >/dev/null 2>&1 & echo "$` + testdb.EnvDSN + `" $!; wait; exit 6`
	cmd := withpg(t, nil, "--", "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dsn string
	var child int // the command's own child
	if _, err := fmt.Fscan(out, &dsn, &child); err != nil {
		t.Fatalf("read address and child: %v; stderr: %s", err, &stderr)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // cut off by then
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := statusIn(t, cmd.Wait()); got != 5 {
		t.Errorf("status %d, want the command's own 5; stderr: %s", got, &stderr)
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Error("the server outlived its command")
	}
	if !endsSoon(child) {
		_ = syscall.Kill(child, syscall.SIGKILL) // the failure is told by the next line
		t.Error("the command's child did not get the signal")
	}
	if _, log, found := strings.Cut(stderr.String(), "PostgreSQL's log is "); found {
		_ = os.Remove(strings.TrimSpace(log)) // kept for whoever looks into the failure, which was ours
	}
}

// endsSoon waits until a process that is not our child is gone.
func endsSoon(pid int) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
	}
	return false
}

func TestMissingPostgresIsAFailureThatSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	cmd := withpg(t, []string{testdb.EnvBinaries + "=" + t.TempDir()}, "--", "true")
	out, err := cmd.CombinedOutput()
	if got := statusIn(t, err); got != exitNotSetUp || !strings.Contains(string(out), "apt-get install postgresql") {
		t.Errorf("status %d with %q, want %d and what to install", got, out, exitNotSetUp)
	}
}

func TestAddressThatIsSetAlreadyIsUsed(t *testing.T) {
	t.Parallel()
	const given = "postgres://somewhere/else"
	cmd := withpg(t, []string{testdb.EnvDSN + "=" + given, testdb.EnvBinaries + "=" + t.TempDir()}, "--", "sh", "-c", `echo "$`+testdb.EnvDSN+`"`)
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != given {
		t.Errorf("the command saw %q (%v), want the address that was set", out, err)
	}
}

func TestWrongUsageIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-set", "nonsense", "--", "true"}, {"-no-such-flag"}} {
		var said bytes.Buffer
		if got := run(args, &said); got != exitUsage || said.Len() == 0 {
			t.Errorf("run(%q) = %d saying %q, want %d and a reason", args, got, &said, exitUsage)
		}
	}
}

func TestCommandThatDoesNotExistIsReportedLikeAShell(t *testing.T) {
	t.Parallel()
	cmd := withpg(t, []string{testdb.EnvDSN + "=postgres://somewhere/else"}, "--", "no-such-command-anywhere")
	out, err := cmd.CombinedOutput()
	if got := statusIn(t, err); got != exitNoCommand {
		t.Errorf("status %d with %q, want %d", got, out, exitNoCommand)
	}
}
