//go:build server

package temporal_test

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/internal/enginetest"
	"github.com/onceward/onceward/internal/freeport"
)

// serverVariable names the Temporal server's program, which make temporal builds.
const serverVariable = "ONCEWARD_TEMPORAL_SERVER"

const (
	queue     = "orders"
	readyIn   = 90 * time.Second
	namespace = "default"
)

//go:embed testdata/server.yaml
var serverConfig string

// startServer runs a Temporal server of its own, in memory, and returns its address.
// It ends with the test.
func startServer(t *testing.T) string {
	t.Helper()
	dir, config := t.TempDir(), serverConfig
	address := ""
	for strings.Contains(config, "PORT") {
		p, err := freeport.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if address == "" {
			address = net.JoinHostPort("127.0.0.1", strconv.Itoa(p))
			config = strings.ReplaceAll(config, "FRONTEND", address)
		}
		config = strings.Replace(config, "PORT", strconv.Itoa(p), 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "test.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dynamic.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Getenv(serverVariable), "--config-file", "test.yaml", "--allow-no-auth", "start")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return address
}

// dial connects once the server has the namespace.
func dial(t *testing.T, address string) client.Client {
	t.Helper()
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	names, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	eventually(ctx, t, func() error {
		err := names.Register(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
		var there *serviceerror.NamespaceAlreadyExists
		if errors.As(err, &there) {
			return nil
		}
		return err
	})
	var c client.Client
	eventually(ctx, t, func() (err error) { // a new namespace takes seconds to be seen
		if c, err = client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet}); err != nil {
			return err
		}
		if _, err = c.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW); err != nil {
			c.Close()
		}
		return err
	})
	t.Cleanup(c.Close)
	return c
}

func eventually(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// The answer of an activity's only effect is lost. A real Temporal server has the
// activity tried again; then the workflow is reset to its start, which makes a new
// run of it, and the business event starts another workflow. There is one effect.
func TestWorkflowThatIsResetOnARealServerHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &enginetest.Parcels{}
	c := dial(t, startServer(t))
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(place)
	w.RegisterActivityWithOptions(send(sent.Ledger(t), sent), activity.RegisterOptions{Name: "send"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)

	first := start(t, c, "first")
	want(t, first)
	if n := tries(t, c, first); n < 2 {
		t.Errorf("the server had the activity tried %d times", n)
	}
	reset, err := c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{Namespace: namespace, Reason: "a person resets it", RequestId: "reset-1",
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: first.GetID(), RunId: first.GetRunID()}, WorkflowTaskFinishEventId: 4})
	if err != nil {
		t.Fatal(err)
	}
	if reset.GetRunId() == first.GetRunID() {
		t.Fatal("the reset made no new run")
	}
	again := c.GetWorkflow(t.Context(), first.GetID(), reset.GetRunId())
	want(t, again)
	if n := tries(t, c, again); n < 1 {
		t.Error("the new run has not asked for the activity")
	}
	want(t, start(t, c, "second"))
	if n := sent.Sent("o-17"); n != 1 {
		t.Errorf("%d parcels were sent", n)
	}
}

func start(t *testing.T, c client.Client, id string) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, place, "o-17")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func want(t *testing.T, run client.WorkflowRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got string
	if err := run.Get(ctx, &got); err != nil || got != "o-17" {
		t.Fatalf("run %s ended with %q, %v", run.GetRunID(), got, err)
	}
}

// tries is the number of the last attempt at the activity in a run's history.
func tries(t *testing.T, c client.Client, run client.WorkflowRun) (n int32) {
	t.Helper()
	history := c.GetWorkflowHistory(t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		if err != nil {
			t.Fatal(err)
		}
		if started := e.GetActivityTaskStartedEventAttributes(); started != nil {
			n = max(n, started.GetAttempt())
		}
	}
	return n
}
