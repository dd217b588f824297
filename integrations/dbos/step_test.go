package dbos_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/onceward/onceward"
	oncedbos "github.com/onceward/onceward/integrations/dbos"
	"github.com/onceward/onceward/internal/enginetest"
	"github.com/onceward/onceward/internal/testdb"
)

// The answer of a step's only effect is lost, so that DBOS runs the step again; then the workflow is forked from its
// start, and another one is run for the same business event. There is one effect.
func TestStepThatIsForkedAndRunAnewHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &enginetest.Parcels{}
	ledger := sent.Ledger(t)
	engine, err := dbos.NewContext(t.Context(), dbos.Config{AppName: "orders", DatabaseURL: testdb.Postgres(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sent.Hide()
	var retries atomic.Int32
	place := func(ctx dbos.Context, order string) (string, error) {
		send := func(context.Context, *onceward.Call) (string, string, error) { return "", "", sent.Send(order) }
		in := enginetest.Intent(order)
		in.Wait = 500 * time.Millisecond
		d, err := oncedbos.Step(ctx, ledger, in, send, dbos.WithStepMaxRetries(20), dbos.WithStepRetryPredicate(func(error) bool {
			sent.Show()
			return retries.Add(1) > 0
		}))
		return d.Reference, err
	}
	dbos.RegisterWorkflow(engine, place)
	if err := dbos.Launch(engine); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dbos.Shutdown(engine, 10*time.Second) })
	first, err := dbos.RunWorkflow(engine, place, "o-17", dbos.WithWorkflowID("first"))
	want(t, first, err)
	if retries.Load() == 0 {
		t.Error("DBOS has not run the step again")
	}
	forked, err := dbos.ForkWorkflow[string](engine, dbos.ForkWorkflowInput{OriginalWorkflowID: "first"})
	want(t, forked, err)
	second, err := dbos.RunWorkflow(engine, place, "o-17", dbos.WithWorkflowID("second"))
	want(t, second, err)
	if n := sent.Sent("o-17"); n != 1 {
		t.Errorf("%d parcels were sent", n)
	}
}

func want(t *testing.T, h dbos.WorkflowHandle[string], err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.GetResult(); err != nil || got != "o-17" {
		t.Fatalf("workflow %s ended with %q, %v", h.GetWorkflowID(), got, err)
	}
}
