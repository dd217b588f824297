package onceward

import "testing"

func TestAnswersOfABatchAboutTwoUsesOfAKeyStayApart(t *testing.T) {
	t.Parallel()
	row := func(g Generation, version int64) *Operation {
		return &Operation{ID: OperationID{1}, Generation: g, Version: version, State: StateSucceeded}
	}
	old, older, anew := row(1, 3), row(1, 2), row(2, 4)
	out := []BatchAnswer{{Answer: &Answer{Operation: older}}, {Answer: &Answer{Operation: anew}}, {Answer: &Answer{Operation: old}}}
	(&Ledger{clock: &ledgerClock{local: SystemClock{}}}).levelAnswers(out)
	for i, want := range []*Operation{old, anew, old} {
		if got := out[i].Answer.Operation; got != want {
			t.Errorf("answer %d has the row of generation %d, version %d; want %d, %d", i, got.Generation, got.Version, want.Generation, want.Version)
		}
	}
}
