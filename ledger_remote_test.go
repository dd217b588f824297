package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// The performer of a remote attempt reports "not done". The provider may have
// seen the key all the same: its window counts from that attempt, not from the
// next one.
func TestARemoteRefusalCountsForTheKeyWindow(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, func(i *onceward.ToolInfo) {
		i.Policy.RemoteExecutor, i.Policy.KeyWindow, i.Policy.BackoffInitial, i.Policy.BackoffMax = true, 10*time.Minute, 0, 0
	})
	onEachStore(t, tool, func(t *testing.T, w *world) {
		claim := func(token string) *onceward.Grant {
			t.Helper()
			g, err := w.ledger.Claim(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(`{"id":"a"}`)}, token)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		report := func(g *onceward.Grant, v onceward.Verdict) {
			t.Helper()
			failure := onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_503", Retryable: true}
			if _, err := w.ledger.ReportOutcome(t.Context(), onceward.LocalPrincipal(), g.Attempt, g.Secret, onceward.RemoteOutcome{Verdict: v, Failure: failure}); err != nil {
				t.Fatal(err)
			}
		}
		report(claim("first-claim-token"), onceward.VerdictNotDone)
		w.clock.Advance(8 * time.Minute)
		second := claim("second-claim-token")
		if second.Secret == "" {
			t.Fatalf("the second attempt did not start: %s", second.Operation.State)
		}
		report(second, onceward.VerdictUnknown)
		w.pass(2 * time.Minute) // ten minutes after the first send, two after the second
		if op := w.get(second.Operation.ID); op.State != onceward.StateNeedsReview {
			t.Fatalf("past the provider's window the operation is %s, want a person to be asked", op.State)
		}
	})
}
