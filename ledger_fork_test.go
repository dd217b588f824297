package onceward_test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// TestAWantedSecondEffectKeepsItsReason forks a finished operation: a blank
// reason is none, and the reason given stands in the fork's timeline.
func TestAWantedSecondEffectKeepsItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	first := w.ask(`{"id":"a"}`)
	if _, err := w.ledger.Fork(t.Context(), onceward.LocalPrincipal(), first.Operation.ID, "again", "  ", nil, 0); !onceward.Is(err, onceward.CodeEvidenceRequired) {
		t.Fatalf("a blank reason: %v", err)
	}
	fork, err := w.ledger.Fork(t.Context(), onceward.LocalPrincipal(), first.Operation.ID, "again", "the first parcel was lost", nil, onceward.DefaultWait)
	if err != nil {
		t.Fatal(err)
	}
	w.quiet()
	w.want(fork.Operation, onceward.StateSucceeded, 2)
	records, err := w.ledger.Timeline(t.Context(), onceward.LocalPrincipal(), fork.Operation.ID)
	if err != nil || len(records) != 1 || records[0].Event != "forked" || records[0].Reason != "the first parcel was lost" {
		t.Fatalf("the fork's timeline is %+v, %v", records, err)
	}
}

// TestABlankIsNoEvidence refuses what looks like a reference or a reason and is
// white space.
func TestABlankIsNoEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	for _, r := range []onceward.Resolved{
		{Outcome: onceward.ResolvedSucceeded, Reference: " "},
		{Outcome: onceward.ResolvedNotPerformed, Reason: "\t"},
		{Outcome: onceward.ResolvedAbandoned, Reason: "  "},
	} {
		if _, err := w.ledger.Resolve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, r); !onceward.Is(err, onceward.CodeEvidenceRequired) {
			t.Errorf("%+v: %v, want %s", r, err, onceward.CodeEvidenceRequired)
		}
	}
	if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", " "); !onceward.Is(err, onceward.CodeEvidenceRequired) {
		t.Errorf("a pause without a reason: %v", err)
	}
}
