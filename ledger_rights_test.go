package onceward_test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// A program that embeds the ledger gets the whole rule of who may do what: a
// principal without a role does nothing, and reads nothing.
func TestAPrincipalWithoutARoleIsRefusedByTheLedgerItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	a := w.ask(`{"id":"a"}`)
	nobody := onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "test", Subject: "nobody"}
	ctx, id, l := t.Context(), a.Operation.ID, w.ledger
	intent := onceward.Intent{Principal: nobody, Tool: "t.write", Input: []byte(`{"id":"b"}`)}
	for name, use := range map[string]func() error{
		"submit":    func() error { _, err := l.Submit(ctx, intent); return err },
		"batch":     func() error { return l.SubmitBatch(ctx, []onceward.Intent{intent})[0].Err },
		"claim":     func() error { _, err := l.Claim(ctx, intent, "claim-token-of-nobody-at-all"); return err },
		"get":       func() error { _, err := l.Get(ctx, nobody, id, 0); return err },
		"timeline":  func() error { _, err := l.Timeline(ctx, nobody, id); return err },
		"list":      func() error { _, err := l.List(ctx, nobody, onceward.Filter{Limit: 1}); return err },
		"cancel":    func() error { _, err := l.Cancel(ctx, nobody, id, "x"); return err },
		"fork":      func() error { _, err := l.Fork(ctx, nobody, id, "k", "x", nil, 0); return err },
		"plan":      func() error { _, err := l.PlanReplay(ctx, nobody, id); return err },
		"replay":    func() error { _, err := l.Replay(ctx, nobody, id, "x", ""); return err },
		"reconcile": func() error { _, err := l.Reconcile(ctx, nobody, id); return err },
		"prove":     func() error { _, err := l.Prove(ctx, nobody, id, "r", "s"); return err },
		"resolve": func() error {
			_, err := l.Resolve(ctx, nobody, id, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "x"})
			return err
		},
		"pause":       func() error { return l.PauseTool(ctx, nobody, "t.write", "x") },
		"resume":      func() error { _, err := l.ResumeTool(ctx, nobody, "t.write"); return err },
		"start a run": func() error { _, err := l.StartRun(ctx, onceward.RunRequest{Principal: nobody}); return err },
		"list runs":   func() error { _, err := l.ListRuns(ctx, nobody, onceward.RunFilter{Limit: 1}); return err },
		"decide":      func() error { _, err := l.PutDecision(ctx, onceward.DecisionRequest{Principal: nobody}); return err },
	} {
		if err := use(); !onceward.Is(err, onceward.CodeForbidden) {
			t.Errorf("%s: %v, want %s", name, err, onceward.CodeForbidden)
		}
	}
	w.wantWrites(1)
}
