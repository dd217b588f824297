package dbos_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/onceward/onceward"
	oncedbos "github.com/onceward/onceward/integrations/dbos"
	"github.com/onceward/onceward/internal/enginetest"
	"github.com/onceward/onceward/internal/testdb"
)

// The answer of a step's only effect is lost; then the workflow is forked from its
// start, and another one is run for the same business event. There is one effect.
func TestStepThatIsForkedAndRunAnewHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &enginetest.Parcels{}
	ledger := sent.Ledger(t)
	engine, err := dbos.NewContext(t.Context(), dbos.Config{AppName: "orders", DatabaseURL: testdb.Postgres(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	place := func(ctx dbos.Context, order string) (string, error) {
		send := func(context.Context, *onceward.Call) (string, string, error) { return "", "", sent.Send(order) }
		d, err := oncedbos.Step(ctx, ledger, enginetest.Intent(order), send, dbos.WithStepMaxRetries(5))
		return d.Reference, err
	}
	dbos.RegisterWorkflow(engine, place)
	if err := dbos.Launch(engine); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dbos.Shutdown(engine, 10*time.Second) })
	first, err := dbos.RunWorkflow(engine, place, "o-17", dbos.WithWorkflowID("first"))
	want(t, first, err)
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
