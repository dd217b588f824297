package dbos_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/onceward/onceward"
	oncedbos "github.com/onceward/onceward/integrations/dbos"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// parcels are the effects, by provider key.
type parcels struct {
	mu   sync.Mutex
	sent []string
}

func (p *parcels) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

// send sends a parcel, and loses its answer.
func (p *parcels) send(_ context.Context, _ *onceward.Call, order string) (string, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, order)
	return "", "", errors.New("connection reset by peer")
}

// The answer of a step's only effect is lost; then the workflow is forked from its
// start, and another one is run for the same business event. There is one effect.
func TestStepThatIsForkedAndRunAnewHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &parcels{}
	ledger := openLedger(t, sent)
	engine, err := dbos.NewContext(t.Context(), dbos.Config{AppName: "orders", DatabaseURL: testdb.Postgres(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	place := func(ctx dbos.Context, order string) (string, error) {
		in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "parcels.send", Input: fmt.Appendf(nil, `{"order":"%s"}`, order)}
		d, err := oncedbos.Step(ctx, ledger, in, func(ctx context.Context, c *onceward.Call) (string, string, error) { return sent.send(ctx, c, order) },
			dbos.WithStepMaxRetries(5))
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
	if n := sent.count(); n != 1 {
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

// openLedger opens a ledger with the function whose effect the job is.
func openLedger(t *testing.T, sent *parcels) *onceward.Ledger {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	function, err := onceward.NewFunction(onceward.Function{
		Name: "parcels.send", Policy: onceward.Policy{Effect: onceward.EffectProbedWrite, Settle: time.Second}, KeyRule: "order",
		Key: func(input []byte) ([]string, error) {
			n, err := onceward.ParseJSON(input)
			if err != nil {
				return nil, err
			}
			order, _ := n.Member("order")
			text, _ := order.Text()
			return []string{text}, nil
		},
		Probe: func(_ context.Context, c *onceward.Call) ([]onceward.FoundEffect, error) {
			sent.mu.Lock()
			defer sent.mu.Unlock()
			var found []onceward.FoundEffect
			for _, order := range sent.sent {
				if string(c.Input) == `{"order":"`+order+`"}` {
					found = append(found, onceward.FoundEffect{Reference: order, Ours: true})
				}
			}
			return found, nil
		},
	})
	must(err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	must(err)
	registry := onceward.NewRegistry(store, nil)
	must(registry.Activate(t.Context(), []onceward.Tool{function}, false))
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: httpcall.New(httpcall.Options{})})
	must(err)
	must(ledger.Start(t.Context()))
	loops, stop := context.WithCancel(context.Background())
	due := worker.NewDue(ledger, store, slog.New(slog.DiscardHandler))
	wait := worker.Start(loops, onceward.SystemClock{}, slog.New(slog.DiscardHandler), due, worker.NewStranded(ledger))
	t.Cleanup(func() {
		stop()
		wait()
		due.Wait()
		_ = ledger.Close(context.Background())
		must(store.Close())
	})
	return ledger
}
