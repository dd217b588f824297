package httpapi

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestFirstRequestIsFreshAndItsRepetitionReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.submit(probed, `{"id":"a","n":1}`).want(200, "decision", "fresh", "operation.state", "succeeded", "operation.attempts", 1)
	again := w.submit(probed, `{"n":1.0,"id":"a"}`).want(200, "decision", "replayed", "operation.id", first.text("operation.id"))
	id := first.text("operation.id")
	for name, want := range map[string]string{"Onceward-Decision": "replayed", "Onceward-Operation": id, "Onceward-Attempt": id + ".1", "Location": "", "Retry-After": ""} {
		if got := again.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w.provider.Effects() != 1 || w.provider.Writes() != 1 {
		t.Errorf("%d effects by %d writes, want 1 by 1", w.provider.Effects(), w.provider.Writes())
	}
}

func TestFreshIsSaidWhateverStateWasReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultInvalid)
	w.submit(probed, firstInput).want(424, "decision", "fresh", "code", "operation_failed", "operation.state", "failed", "operation.error.class", "validation")
	w.submit(asked, firstInput).want(202, "decision", "fresh", "operation.state", "awaiting_approval", "operation.approval.state", "pending",
		"operation.approval.expires_at", "2026-01-02T04:04:05Z")
}

func TestOperationThatIsNotFinalSaysWhereAndWhenToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultRequestLost)
	id := w.settled(probed)
	r := w.submit(probed, firstInput, `"wait":"0s"`).want(202, "decision", "escalated", "operation.error.side_effect_possible", true, "operation.error.reconciliation_required", true,
		"operation.error.retryable", true, "operation.open_attempts", 1)
	if got := r.header.Get("Location"); got != "/v1/operations/"+id {
		t.Errorf("Location is %q", got)
	}
	if got := r.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	want := "It may have happened: do not change the key; ask again with the same one, or ask for operation " + id + "."
	if r.text("advice") != want || r.text("operation.error.advice") != want {
		t.Errorf("advice is %q and %q", r.text("advice"), r.text("operation.error.advice"))
	}
}

func TestDefiniteFailureSaysThatItDidNotHappen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultInvalid)
	r := w.submit(probed, firstInput).want(424, "retryable", false, "side_effect_possible", false, "reconciliation_required", false, "operation.error.retryable", false)
	if !strings.HasPrefix(r.text("advice"), "It did not happen") || r.header.Get("Retry-After") != "" {
		t.Errorf("advice is %q, Retry-After %q", r.text("advice"), r.header.Get("Retry-After"))
	}
	if r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("Content-Type is %q", r.header.Get("Content-Type"))
	}
	if got := r.header.Get("Onceward-Attempt"); got != r.text("operation_id")+".1" {
		t.Errorf("Onceward-Attempt is %q", got)
	}
}

func TestFailureThatMayBeTriedAgainSaysWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultRefused)
	r := w.submit(once, firstInput).want(424, "retryable", true, "operation.error.class", "connection", "operation.error.code", "dial_refused")
	if got := r.header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After is %q, want the 60 s of backoff.max", got)
	}
	if !strings.Contains(r.text("advice"), "from 2026-01-02T03:05:05Z on") {
		t.Errorf("advice is %q", r.text("advice"))
	}
	w.clock.Advance(time.Minute)
	w.submit(once, firstInput, `"wait":"0s"`).want(202, "decision", "joined")
	w.pass(0)
	w.submit(once, firstInput).want(200, "decision", "replayed", "operation.attempts", 2)
}

func TestCompensatedOperationAdvisesAFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.force(w.settled(probed), onceward.Compensated{Actor: "test", Reason: "undone"})
	if r := w.submit(probed, firstInput).want(200, "operation.state", "compensated"); !strings.Contains(r.text("advice"), "fork") {
		t.Errorf("advice is %q", r.text("advice"))
	}
}

func TestWaitingRequestGetsTheEndAsSoonAsItIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.provider.Hold()
	t.Cleanup(release)
	first := w.first(probed)
	got := make(chan *reply, 1)
	go func() { got <- w.submit(probed, firstInput, `"wait":"60s"`) }()
	release()
	w.quiet()
	r := <-got
	if d := r.text("decision"); d != "joined" && d != "replayed" { // it may have come after the end
		t.Errorf("decision is %q", d)
	}
	r.want(200, "operation.id", first, "operation.state", "succeeded")
}

func TestToolCallTakesTheBodyAsInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := "/v1/tools/" + probed + "/call"
	r := w.post(call+"?run=r-1&correlation_id=c-1", `{"n":1}`, header{"Idempotency-Key", `"abc"`}).want(200, "decision", "fresh", "operation.key", "abc", "operation.run", "r-1", "operation.correlation_id", "c-1")
	w.post(call, `{"n":1}`, header{"Idempotency-Key", "abc"}).want(200, "decision", "replayed", "operation.id", r.text("operation.id"))
	w.post("/v1/operations", `{"tool":"tickets.create","input":{"n":1},"key":"abc"}`, header{"Idempotency-Key", "abc"}).want(200, "decision", "replayed", "operation.id", r.text("operation.id"))
	w.post("/v1/operations", `{"tool":"tickets.create","input":{"n":1},"key":"\"abc\""}`, header{"Idempotency-Key", "abc"}).want(200, "decision", "replayed", "operation.key", "abc")
	if other := w.post(call, `{"n":1}`, header{"Idempotency-Key", "ABC"}).want(200, "decision", "fresh"); other.text("operation.id") == r.text("operation.id") {
		t.Error("abc and ABC are one key")
	}
}

func TestTraceParentIsKeptIfItIsOne(t *testing.T) {
	t.Parallel()
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for given, want := range map[string]string{
		good: good,
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more": "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
		good + "-more": "", // version 00 has no more fields
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x":                            "",
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01":                             "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":                             "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01":                             "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01":                             "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7":                                "",
		"00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01":                             "",
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\x01\"":                      "",
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-" + strings.Repeat("a", 200): "",
		"": "",
	} {
		if got := traceParent(map[string][]string{"Traceparent": {given}}); got != want {
			t.Errorf("%q is kept as %q, want %q", given, got, want)
		}
	}
	if got := traceParent(map[string][]string{"Traceparent": {good, good}}); got != "" {
		t.Errorf("two lines are kept as %q", got)
	}
	w := newWorld(t)
	r := w.post("/v1/operations", opsBody+"}", header{"traceparent", good}).want(200)
	id, err := onceward.ParseOperationID(r.text("operation.id"))
	w.must(err)
	op, err := w.ledger.Get(t.Context(), onceward.LocalPrincipal(), id, 0)
	w.must(err)
	if op.TraceParent != good {
		t.Errorf("the operation has traceparent %q", op.TraceParent)
	}
}

func TestApprovalIsPendingThenGrantedThenSpent(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		op   onceward.Operation
		want *Approval
	}{
		{onceward.Operation{State: onceward.StateReady}, nil},
		{onceward.Operation{State: onceward.StateAwaitingApproval, ApprovalNeeded: true, IntentAt: end.Add(-time.Hour)}, &Approval{State: "pending", ExpiresAt: end}},
		{onceward.Operation{State: onceward.StateReady, ApprovalNeeded: true, ApprovedUntil: end}, &Approval{State: "granted", ExpiresAt: end}},
		{onceward.Operation{State: onceward.StateSucceeded, ApprovalNeeded: true, ApprovedUntil: end, ApprovalSpent: true}, &Approval{State: "spent"}},
		{onceward.Operation{State: onceward.StateCancelled, ApprovalNeeded: true, Approval: onceward.Approval{RejectedBy: "oidc:ann"}}, &Approval{State: "rejected", RejectedBy: "oidc:ann"}},
		{onceward.Operation{State: onceward.StateCancelled, ApprovalNeeded: true, Failure: onceward.Failure{Code: "approval_expired"}}, &Approval{State: "expired"}},
		{onceward.Operation{State: onceward.StateCancelled, ApprovalNeeded: true}, nil},
	} {
		c.op.Policy.ApprovalExpiry = time.Hour
		if c.want != nil {
			c.want.Needed, c.want.Quorum, c.want.Yeses = true, 1, []Yes{}
		}
		if got := approval(&c.op); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is shown as %+v, want %+v", c.op.State, got, c.want)
		}
	}
}

func TestRetryAfterIsInWholeSecondsAndNeverTooEarly(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{time.Nanosecond: "1", time.Second: "1", time.Second + 1: "2", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		if got := seconds(wait); got != want {
			t.Errorf("%s is %q, want %q", wait, got, want)
		}
	}
}
