package onceward

import (
	"strings"
	"testing"
	"time"
)

func TestAdviceOfEveryStateSaysWhatMayHaveHappened(t *testing.T) {
	t.Parallel()
	for _, s := range AllStates {
		op := Operation{ID: NewOperationID("t", "x", "k"), State: s, Effect: EffectUnsafeWrite}
		a := op.Advice()
		may := s == StateOutcomeUnknown || s == StateNeedsReview || s == StateAbandoned || s == StateEffectPending
		if a.SideEffectPossible != may {
			t.Errorf("%s: side effect possible is %v, want %v", s, a.SideEffectPossible, may)
		}
		definite := s == StateFailed || s == StateCancelled
		if definite != strings.Contains(a.Sentence, "did not happen") {
			t.Errorf("%s: %q", s, a.Sentence)
		}
		unsettled := s == StateOutcomeUnknown || s == StateNeedsReview || s == StateAbandoned
		if unsettled != strings.Contains(a.Sentence, "may have happened") || unsettled != a.ReconciliationRequired {
			t.Errorf("%s: %+v", s, a)
		}
		if !s.Terminal() && !strings.Contains(a.Sentence, op.ID.String()) {
			t.Errorf("%s: the sentence does not name the operation: %q", s, a.Sentence)
		}
	}
}

func TestAdviceOfAnOpenAttemptThatIsSentAgainSaysMayHaveHappened(t *testing.T) {
	t.Parallel()
	op := Operation{State: StateReady, Attempts: []Attempt{{Number: 1, Status: StatusOpen}}}
	if a := op.Advice(); !a.SideEffectPossible || !strings.Contains(a.Sentence, "may have happened") {
		t.Errorf("%+v", a)
	}
}

func TestAdviceOfARetryableFailureNamesTheTime(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	op := Operation{State: StateFailed, CompletedAt: end, Failure: Failure{Class: ClassUnavailable, Retryable: true}, Policy: Policy{BackoffMax: time.Minute}}
	if a := op.Advice(); !a.Retryable || !strings.Contains(a.Sentence, "2026-01-02T03:05:05Z") {
		t.Errorf("%+v", a)
	}
}

func TestAdviceOfEveryCodeIsSaid(t *testing.T) {
	t.Parallel()
	unknown := Code("no such code").Advice().Sentence
	for _, c := range AllCodes {
		a := c.Advice()
		if a.Sentence == "" || a.Sentence == unknown {
			t.Errorf("%s has no advice of its own", c)
		}
		nothing := strings.Contains(a.Sentence, "did nothing") || strings.Contains(a.Sentence, "changed nothing") || strings.Contains(a.Sentence, "did not happen")
		if nothing == a.SideEffectPossible {
			t.Errorf("%s: side effect possible is %v, the sentence says %q", c, a.SideEffectPossible, a.Sentence)
		}
	}
}

func TestHintOfAnErrorIsItsAdvice(t *testing.T) {
	t.Parallel()
	a := AdviceFor(&Error{Code: CodeStillRunning, Hint: "wait"})
	if a.Sentence != "wait" || !a.Retryable {
		t.Errorf("%+v", a)
	}
}
