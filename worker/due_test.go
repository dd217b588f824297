package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// hanging is a provider whose look-ups for one tool are not answered.
type hanging struct {
	*oncewardtest.Provider
	tool    string
	hangs   chan struct{} // one token for each look-up that hangs
	release chan struct{}
}

func (h *hanging) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	if !opts.Write && strings.Contains(req.URL, h.tool) {
		h.hangs <- struct{}{}
		<-h.release
	}
	return h.Provider.Send(ctx, req, opts)
}

// named is a tool whose look-ups say of which tool they are.
type named struct{ *oncewardtest.Tool }

func (t named) ProbeRequest(op *onceward.Operation) (*onceward.Request, error) {
	req, err := t.Tool.ProbeRequest(op)
	req.URL += "#" + string(op.Tool)
	return req, err
}

// A provider hangs, and far more look-ups wait for it than are made side by
// side. Another tool's look-up does not wait behind them, nor another tenant's.
func TestLookUpsThatHangLeaveRoomForOtherToolsAndTenants(t *testing.T) {
	t.Parallel()
	provider := &hanging{Provider: oncewardtest.NewProvider(onceward.SystemClock{}), tool: "slow.tool", hangs: make(chan struct{}, 1000), release: make(chan struct{})}
	store := memory.New(memory.Options{})
	slow, quick := named{oncewardtest.NewTool("slow.tool", onceward.EffectProbedWrite)}, named{oncewardtest.NewTool("quick.tool", onceward.EffectProbedWrite)}
	registry := onceward.NewRegistry(store, nil)
	if err := registry.Activate(t.Context(), []onceward.Tool{slow, quick}, true); err != nil {
		t.Fatal(err)
	}
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// unknown makes an operation whose answer is lost.
	unknown := func(tenant onceward.Tenant, tool onceward.ToolName, key string) onceward.OperationID {
		t.Helper()
		who := onceward.LocalPrincipal()
		who.Tenant = tenant
		provider.Script(oncewardtest.FaultAnswerLost)
		a, err := ledger.Submit(t.Context(), onceward.Intent{Principal: who, Tool: tool, Input: fmt.Appendf(nil, `{"id":%q}`, key)})
		if err != nil {
			t.Fatal(err)
		}
		ledger.WaitIdle()
		return a.Operation.ID
	}
	for i := range 300 {
		unknown(onceward.DefaultTenant, "slow.tool", fmt.Sprint("slow", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	due := worker.NewDue(ledger, store, slog.New(slog.DiscardHandler))
	wait := worker.Start(ctx, onceward.SystemClock{}, slog.New(slog.DiscardHandler), due)
	defer func() {
		close(provider.release)
		cancel()
		wait()
		due.Wait()
		if err := ledger.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	<-provider.hangs // the oldest rows are taken first
	for _, tenant := range []onceward.Tenant{onceward.DefaultTenant, "other"} {
		who := onceward.LocalPrincipal()
		who.Tenant = tenant
		id := unknown(tenant, "quick.tool", "quick")
		op, err := ledger.Get(t.Context(), who, id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if op.State != onceward.StateSucceeded {
			t.Errorf("tenant %s: the quick tool's operation is %s while %d look-ups of the slow one hang; want it succeeded", tenant, op.State, len(provider.hangs)+1)
		}
	}
	if n := provider.Effects(); n != 302 {
		t.Errorf("%d effects, want 302", n)
	}
}
