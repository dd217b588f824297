package onceward_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func intents(inputs ...string) []onceward.Intent {
	ins := make([]onceward.Intent, len(inputs))
	for i, input := range inputs {
		ins[i] = onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(input), Wait: onceward.DefaultWait}
	}
	return ins
}

func TestKeyRepeatedInOneBatchIsOneOperationWithEqualAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	same := make([]string, 50)
	for i := range same {
		same[i] = `{"id":"a","n":1}`
	}
	answers := w.ledger.SubmitBatch(t.Context(), intents(same...))
	for i, a := range answers {
		if a.Err != nil {
			t.Fatalf("item %d: %v", i, a.Err)
		}
		if a.Answer.Operation != answers[0].Answer.Operation {
			t.Fatalf("item %d got another row than item 0", i)
		}
		if fresh := a.Answer.Decision == onceward.DecisionFresh; fresh != (i == 0) {
			t.Errorf("item %d is %s", i, a.Answer.Decision)
		}
	}
	w.want(answers[0].Answer.Operation, onceward.StateSucceeded, 1)
}

func TestFirstInputOfARepeatedKeyInABatchWins(t *testing.T) {
	t.Parallel()
	for range 20 { // the order must not depend on the scheduler
		w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
		answers := w.ledger.SubmitBatch(t.Context(), intents(`{"id":"a","n":1}`, `{"id":"a","n":2}`, `{"n":3}`, `{"id":"b"}`, `{"id":"a","n":1}`))
		for i, want := range []onceward.Code{"", onceward.CodeKeyReused, onceward.CodeKeyMissing, "", ""} {
			if got := onceward.CodeOf(answers[i].Err); got != want {
				t.Fatalf("item %d: code %q, want %q", i, got, want)
			}
		}
		if w.provider.Effects() != 2 {
			t.Fatalf("%d effects, want 2", w.provider.Effects())
		}
	}
}

func TestPanicInABatchReachesItsCaller(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	w := newWorld(t, tool, func(o *onceward.Options) {
		o.CrashPoint = func(name string) {
			if name == "claim.before_commit" {
				panic("broken on purpose")
			}
		}
	})
	defer func() {
		if v, _ := recover().(string); !strings.Contains(v, "broken on purpose") || !strings.Contains(v, "batch.go") {
			t.Errorf("recovered %.200q, want the panic with its stack", v)
		}
	}()
	w.ledger.SubmitBatch(t.Context(), intents(`{"id":"a"}`, `{"id":"a"}`, `{"id":"b"}`))
	t.Error("the panic was lost")
}

func TestRetryAfterOfAFailureThatWasWaitedForIsWhenItMayBeBought(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 })
	w := newWorld(t, tool)
	w.provider.Script(oncewardtest.FaultRefused)
	a, err := w.ledger.Submit(t.Context(), intents(`{"id":"a"}`)[0])
	if err != nil {
		t.Fatal(err)
	}
	if a.Operation.State != onceward.StateFailed || a.RetryAfter != time.Minute {
		t.Errorf("%s, ask again after %s, want failed, after backoff.max of 1m", a.Operation.State, a.RetryAfter)
	}
}
