package onceward_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// functionDir names the folder of a child process that performs a function.
const functionDir = "ONCEWARD_TEST_FUNCTION_DIR"

// A process is really killed at each point of an attempt of a function, and the
// next one, in which the function is registered again, ends with one effect.
func TestAFunctionHasOneEffectThoughItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"claim.before_commit", "claim.after_commit", "dispatch.before_send", "dispatch.after_send", "dispatch.after_response",
		"record.before_commit", "record.after_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killed := functionChild(t, dir, point)
			var exit *exec.ExitError
			if err := killed.Run(); !errors.As(err, &exit) || exit.ProcessState.ExitCode() != -1 {
				t.Fatalf("the process was not killed: %v", err)
			}
			if out, err := functionChild(t, dir, "").CombinedOutput(); err != nil {
				t.Fatalf("the next process: %v\n%s", err, out)
			}
			made, err := os.ReadFile(filepath.Join(dir, "effects"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(made), "\n"); got != 1 {
				t.Errorf("%d effects", got)
			}
		})
	}
}

func functionChild(t *testing.T, dir, point string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFunctionOfAChildProcess$", "-test.count=1")
	c.Env = append(os.Environ(), functionDir+"="+dir, crashpoint.Variable+"="+point)
	return c
}

// TestFunctionOfAChildProcess is the child: it asks for the effect, and works
// until it is settled. Without a folder it has nothing to do.
func TestFunctionOfAChildProcess(t *testing.T) {
	dir := os.Getenv(functionDir)
	if dir == "" {
		return
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	effects := filepath.Join(dir, "effects")
	f, err := onceward.NewFunction(onceward.Function{
		Name: "f.append", Policy: onceward.Policy{Effect: onceward.EffectProbedWrite, Deadline: 200 * time.Millisecond, Lease: 300 * time.Millisecond, Settle: 50 * time.Millisecond,
			BackoffInitial: 20 * time.Millisecond, BackoffMax: 200 * time.Millisecond},
		Perform: func(_ context.Context, c *onceward.Call) (onceward.Outcome, error) {
			file, err := os.OpenFile(effects, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return onceward.Outcome{}, err
			}
			_, err = file.WriteString(c.ProviderKey + "\n")
			return onceward.Outcome{Reference: c.ProviderKey}, errors.Join(err, file.Close())
		},
		Probe: func(_ context.Context, c *onceward.Call) ([]onceward.FoundEffect, error) {
			made, err := os.ReadFile(effects)
			if errors.Is(err, os.ErrNotExist) {
				return nil, nil
			}
			var found []onceward.FoundEffect
			for range strings.Count(string(made), c.ProviderKey+"\n") {
				found = append(found, onceward.FoundEffect{Reference: c.ProviderKey, Ours: true})
			}
			return found, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	registry := onceward.NewRegistry(store, nil)
	if err := registry.Activate(t.Context(), []onceward.Tool{f}, false); err != nil {
		t.Fatal(err)
	}
	l, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: mute{}, CrashPoint: crashpoint.FromEnv()})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	loops, stop := context.WithCancel(t.Context())
	due := worker.NewDue(l, store, slog.New(slog.DiscardHandler))
	wait := worker.Start(loops, onceward.SystemClock{}, slog.New(slog.DiscardHandler), due, worker.NewStranded(l))
	in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "f.append", Input: []byte(`{"n":1}`), CallerKey: "once", Wait: 50 * time.Second}
	a, err := l.Do(t.Context(), in, nil)
	if err != nil || a.Operation.State != onceward.StateSucceeded || a.Operation.Reference == "" {
		t.Errorf("it ended with %+v, %v", a, err)
	}
	stop()
	wait()
	due.Wait()
	if err := errors.Join(l.Close(context.Background()), store.Close()); err != nil {
		t.Error(err)
	}
}
