package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	oncetemporal "github.com/onceward/onceward/integrations/temporal"
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

// place is the workflow: one activity, tried until it is settled.
func place(ctx workflow.Context, order string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond}})
	var d oncetemporal.Done[string]
	err := workflow.ExecuteActivity(ctx, "send", order).Get(ctx, &d)
	return d.Reference, err
}

// The answer of an activity's only effect is lost, so that Temporal tries it again;
// then the workflow is started anew, as a reset or another run does. In the SDK's own
// test environment, in which each execution is a run of its own, there is one effect.
func TestActivityThatIsTriedAgainInAnotherRunHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &parcels{}
	ledger := openLedger(t, sent)
	send := oncetemporal.Activity(ledger, time.Second, func(order string) (onceward.Intent, error) {
		return onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "parcels.send", Input: fmt.Appendf(nil, `{"order":"%s"}`, order)}, nil
	}, sent.send)
	for range 3 {
		env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
		env.SetTestTimeout(time.Minute)
		env.RegisterWorkflow(place)
		env.RegisterActivityWithOptions(send, activity.RegisterOptions{Name: "send"})
		env.ExecuteWorkflow(place, "o-17")
		var got string
		if err := errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&got)); err != nil || got != "o-17" {
			t.Fatalf("the workflow ended with %q, %v", got, err)
		}
	}
	if n := sent.count(); n != 1 {
		t.Errorf("%d parcels were sent", n)
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
