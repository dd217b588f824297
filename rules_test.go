package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// tell applies events one after the other and fails on an error.
func tell(t *testing.T, op onceward.Operation, at time.Time, evs ...onceward.Event) onceward.Operation {
	t.Helper()
	for _, ev := range evs {
		var err error
		if op, _, err = onceward.Apply(op, ev, at); err != nil {
			t.Fatalf("%s: %v", ev.Kind(), err)
		}
	}
	return op
}

func refused(t *testing.T, op onceward.Operation, at time.Time, ev onceward.Event, code onceward.Code) {
	t.Helper()
	if after, _, err := onceward.Apply(op, ev, at); !onceward.Is(err, code) {
		t.Fatalf("%s in %s led to %s, %v; want %s", ev.Kind(), op.State, after.State, err, code)
	}
}

func isState(t *testing.T, op onceward.Operation, want onceward.State) {
	t.Helper()
	if op.State != want {
		t.Fatalf("operation is %s, want %s", op.State, want)
	}
}

var (
	lost  = onceward.Failure{Class: onceward.ClassTimeout, Code: "deadline", Retryable: true}
	bad   = onceward.Failure{Class: onceward.ClassValidation, Code: "http_400"}
	begin = onceward.AttemptStarted{Owner: "r", LeaseUntil: t0.Add(5 * time.Second)}
)

func unknownAt(n int, last time.Time) onceward.AttemptUnknown {
	return onceward.AttemptUnknown{Attempt: n, Failure: lost, Sent: onceward.Sent{Reach: onceward.ReachBodyWritten, LastByteAt: last}}
}

// Rule 2: only the holder of the highest attempt number, or lease expiry, moves
// an effect_pending operation.
func TestRule2OnlyTheNewestAttemptMovesAPendingOperation(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectKeyedWrite, onceward.StateReady)
	op = tell(t, op, t0, begin, unknownAt(1, t0), onceward.ResendDue{}, begin)
	refused(t, op, t0.Add(time.Hour), onceward.LeaseExpired{Attempt: 1}, onceward.CodeFenceLost)
	refused(t, op, t0, onceward.LeaseExpired{Attempt: 2}, onceward.CodeStateForbids)
	after := tell(t, op, t0, onceward.AttemptNotDone{Attempt: 1, Failure: bad})
	isState(t, after, onceward.StateEffectPending)
	after = tell(t, op, t0, onceward.AttemptDone{Attempt: 1, Reference: "eff_1"})
	isState(t, after, onceward.StateEffectPending)
	if after.Reference != "eff_1" {
		t.Fatal("the late proof of attempt 1 was thrown away")
	}
}

// Rule 3: unknown never becomes done or not-done without evidence, and a
// not-done closes only its own attempt.
func TestRule3ANotDoneClosesOnlyItsOwnAttempt(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectKeyedWrite, onceward.StateReady)
	op = tell(t, op, t0, begin, unknownAt(1, t0), onceward.ResendDue{}, begin, onceward.AttemptNotDone{Attempt: 2, Failure: bad})
	isState(t, op, onceward.StateOutcomeUnknown)
	if op.OpenAttempts() != 1 {
		t.Fatalf("%d attempts are open, want the first", op.OpenAttempts())
	}
}

func TestRule3LeaseExpiryIsAlwaysUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range onceward.AllEffectClasses {
		op := tell(t, sampleOp(c, onceward.StateEffectPending), t0.Add(6*time.Second), onceward.LeaseExpired{Attempt: 1})
		isState(t, op, onceward.StateOutcomeUnknown)
		if op.OpenAttempts() != 1 {
			t.Fatalf("%s: the expired attempt is not open", c)
		}
	}
}

func TestRule3AbsenceIsProofOnlyIfTheProbeBeganAfterSettle(t *testing.T) {
	t.Parallel()
	op := tell(t, sampleOp(onceward.EffectProbedWrite, onceward.StateEffectPending), t0.Add(time.Second), unknownAt(1, t0.Add(time.Second)))
	edge := t0.Add(11 * time.Second) // last byte plus settle
	isState(t, tell(t, op, edge.Add(time.Minute), onceward.ProbeAbsent{Began: edge}), onceward.StateOutcomeUnknown)
	isState(t, tell(t, op, edge.Add(time.Minute), onceward.ProbeAbsent{Began: edge.Add(time.Microsecond)}), onceward.StateReady)
}

// Rule 4: evidence is stored in every state and read on each transition.
func TestRule4LateProofOfDoneIsTakenWhereverItComes(t *testing.T) {
	t.Parallel()
	for _, s := range []onceward.State{onceward.StateOutcomeUnknown, onceward.StateFailed, onceward.StateCancelled, onceward.StateAbandoned} {
		isState(t, tell(t, sampleOp(onceward.EffectProbedWrite, s), t0.Add(time.Hour), onceward.AttemptDone{Attempt: 1, Reference: "eff_1"}), onceward.StateSucceeded)
		isState(t, tell(t, sampleOp(onceward.EffectProbedWrite, s), t0.Add(time.Hour), onceward.EffectProven{Reference: "eff_1"}), onceward.StateSucceeded)
	}
}

func TestRule4ASecondReferenceAfterDoneAlarmsPausesAndAsksAPerson(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectProbedWrite, onceward.StateSucceeded)
	after, out, err := onceward.Apply(op, onceward.EffectProven{Reference: "eff_2"}, t0.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	isState(t, after, onceward.StateNeedsReview)
	if !after.Broken || len(out) != 2 {
		t.Fatalf("broken %v, consequences %v; want a pause and an alarm", after.Broken, out)
	}
	isState(t, tell(t, op, t0.Add(time.Hour), onceward.EffectProven{Reference: "eff_1"}), onceward.StateSucceeded)
}

func TestRule4ProofKeptWhileANewerAttemptRunsDecidesWhenItEnds(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectKeyedWrite, onceward.StateReady)
	op = tell(t, op, t0, begin, unknownAt(1, t0), onceward.ResendDue{}, begin, onceward.AttemptDone{Attempt: 1, Reference: "eff_1"})
	isState(t, tell(t, op, t0, onceward.AttemptNotDone{Attempt: 2, Failure: bad}), onceward.StateSucceeded)
	isState(t, tell(t, op, t0, unknownAt(2, t0)), onceward.StateSucceeded)
	isState(t, tell(t, op, t0, onceward.AttemptDone{Attempt: 2, Reference: "eff_2"}), onceward.StateNeedsReview)
}

// What only reads may be answered differently each time: that is no second effect.
func TestRule4ReadThatTwoAttemptsAnsweredIsNotBroken(t *testing.T) {
	t.Parallel()
	op := tell(t, sampleOp(onceward.EffectRead, onceward.StateReady), t0, begin, unknownAt(1, t0), onceward.ResendDue{}, begin, onceward.AttemptDone{Attempt: 2, Reference: "one"})
	op = tell(t, op, t0, onceward.AttemptDone{Attempt: 1, Reference: "other"})
	if isState(t, op, onceward.StateSucceeded); op.Broken || op.Reference != "one" {
		t.Errorf("broken %v, reference %s", op.Broken, op.Reference)
	}
}

// Rule 5: terminal states are left only by replay, resolve, compensation, late
// evidence or the request rule.
func TestRule5TerminalStaysTerminal(t *testing.T) {
	t.Parallel()
	leave := map[onceward.EventKind]bool{
		onceward.KindAttemptDone: true, onceward.KindEffectProven: true, onceward.KindProbeFound: true, onceward.KindResolved: true,
		onceward.KindReplayRequested: true, onceward.KindRetryRequested: true, onceward.KindCompensated: true, onceward.KindKeyTakenAnew: true,
		onceward.KindApprovalVoided: true, // a new request asks anew what nobody answered in time
	}
	for _, k := range onceward.AllEventKinds() {
		for _, s := range onceward.AllStates {
			for _, to := range onceward.TransitionCell(k, s).To {
				if s.Terminal() && to != s && !leave[k] {
					t.Errorf("%s leads from terminal %s to %s", k, s, to)
				}
			}
		}
	}
}

// Rule 6: a re-send is allowed only when the class allows it now.
func TestRule6ResendIsCheckedAtTheMomentOfWriting(t *testing.T) {
	t.Parallel()
	op := tell(t, sampleOp(onceward.EffectKeyedWrite, onceward.StateReady), t0, begin, unknownAt(1, t0))
	edge := t0.Add(24*time.Hour - time.Second - time.Minute) // window less deadline and one minute
	refused(t, op, edge, onceward.ResendDue{}, onceward.CodeStateForbids)
	ready := tell(t, op, edge.Add(-time.Microsecond), onceward.ResendDue{})
	refused(t, ready, edge, begin, onceward.CodeStateForbids)
	isState(t, tell(t, ready, edge.Add(-time.Microsecond), begin), onceward.StateEffectPending)
	late := tell(t, ready, edge.Add(-time.Second), onceward.AttemptStarted{Owner: "r", LeaseUntil: edge.Add(time.Hour)}, onceward.LeaseProlonged{Attempt: 2, Until: edge.Add(time.Hour)})
	if got := late.Running().LeaseUntil; !got.Equal(edge) {
		t.Errorf("the re-send may be written until %s, past the window's end at %s", got, edge)
	}
	old := sampleOp(onceward.EffectKeyedWrite, onceward.StateReady) // wanted for 48 hours
	refused(t, old, t0.Add(48*time.Hour+time.Microsecond), begin, onceward.CodeStateForbids)
	isState(t, tell(t, old, t0.Add(48*time.Hour), begin), onceward.StateEffectPending)
	for _, c := range []onceward.EffectClass{onceward.EffectProbedWrite, onceward.EffectUnsafeWrite} {
		op := tell(t, sampleOp(c, onceward.StateEffectPending), t0, unknownAt(1, t0))
		refused(t, op, t0.Add(time.Second), onceward.ResendDue{}, onceward.CodeStateForbids)
		refused(t, op, t0.Add(time.Second), onceward.ReplayRequested{Actor: "p", Reason: "r"}, onceward.CodeConfirmationNeeded)
	}
}

// Rule 7: cancel is a fact; every road to ready leads to cancelled.
func TestRule7CancelDuringAnAttemptIsUnknownUntilSettled(t *testing.T) {
	t.Parallel()
	op := tell(t, sampleOp(onceward.EffectProbedWrite, onceward.StateEffectPending), t0, onceward.CancelRequested{Actor: "p"})
	isState(t, op, onceward.StateEffectPending)
	isState(t, tell(t, op, t0, onceward.AttemptNotDone{Attempt: 1, Failure: lost}), onceward.StateCancelled)
	isState(t, tell(t, op, t0, onceward.AttemptDone{Attempt: 1, Reference: "eff_1"}), onceward.StateSucceeded)
	op = tell(t, op, t0, unknownAt(1, t0))
	isState(t, op, onceward.StateOutcomeUnknown)
	isState(t, tell(t, op, t0.Add(time.Hour), onceward.ProbeAbsent{Began: t0.Add(time.Minute)}), onceward.StateCancelled)
	isState(t, tell(t, op, t0.Add(time.Hour), onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "r"}), onceward.StateCancelled)
	keyed := tell(t, sampleOp(onceward.EffectKeyedWrite, onceward.StateEffectPending), t0, onceward.CancelRequested{Actor: "p"}, unknownAt(1, t0))
	refused(t, keyed, t0.Add(time.Second), onceward.ResendDue{}, onceward.CodeStateForbids)
}

// Rule 8: a record that is not terminal never expires; a tombstone keeps
// digest, state, reference and times.
func TestRule8OnlyTerminalRecordsAreRetiredAndTheTombstoneKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	for _, s := range onceward.AllStates {
		if !s.Terminal() {
			refused(t, sampleOp(onceward.EffectProbedWrite, s), t0.Add(time.Hour), onceward.Retired{}, onceward.CodeStateForbids)
		}
	}
	op := sampleOp(onceward.EffectProbedWrite, onceward.StateSucceeded)
	op.Digest[0], op.Input = 7, []byte(`{"a":1}`)
	slim := tell(t, op, t0.Add(time.Hour), onceward.Retired{})
	if slim.Digest != op.Digest || slim.Key != op.Key || slim.Reference != op.Reference || !slim.CreatedAt.Equal(op.CreatedAt) || slim.Input != nil || slim.Attempts != nil {
		t.Fatalf("the tombstone is %+v", slim)
	}
	refused(t, slim, t0.Add(time.Hour), onceward.KeyTakenAnew{}, onceward.CodeStateForbids)
}

// Rule 9: an operation keeps provider key and request on every attempt.
func TestRule9EveryAttemptSendsTheSameRequestUnderTheSameKey(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectKeyedWrite, onceward.StateReady)
	op.ProviderKey, op.Request = "pk", &onceward.Request{Method: "POST", URL: "https://provider.test", Body: []byte("x")}
	second := tell(t, op, t0, begin, unknownAt(1, t0), onceward.ResendDue{}, begin)
	if second.ProviderKey != "pk" || second.Request != op.Request {
		t.Fatal("the second attempt has another key or request")
	}
	failed := tell(t, second, t0, onceward.AttemptDone{Attempt: 1, Reference: "e"}, onceward.AttemptDone{Attempt: 2, Reference: "e"})
	if failed.Request != nil {
		t.Fatal("a succeeded operation keeps its request")
	}
}

// Rule 10: what waits has no attempt, and nothing of it is sent.
func TestRule10AWaitingOperationHasNoAttemptAndNeedsItsApproval(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectProbedWrite, onceward.StateAwaitingApproval)
	refused(t, op, t0, begin, onceward.CodeStateForbids)
	yes := tell(t, op, t0, onceward.ApprovalGranted{Actor: "p", Until: t0.Add(time.Hour)})
	refused(t, yes, t0.Add(2*time.Hour), begin, onceward.CodeStateForbids) // expired
	other := onceward.AttemptStarted{Owner: "r", LeaseUntil: t0.Add(5 * time.Second), Contract: "v2"}
	refused(t, yes, t0, other, onceward.CodeStateForbids)
	refused(t, tell(t, yes, t0, onceward.ApprovalVoided{Reason: "edited"}), t0, begin, onceward.CodeStateForbids)
	started := tell(t, yes, t0, begin)
	refused(t, tell(t, started, t0, unknownAt(1, t0)), t0, onceward.ApprovalVoided{}, onceward.CodeStateForbids)
	parked := tell(t, sampleOp(onceward.EffectProbedWrite, onceward.StateReady), t0, onceward.StartParked{Why: onceward.ParkToolPaused})
	if parked.Attempt() != 0 || parked.State != onceward.StateReady {
		t.Fatalf("parked operation is %s with %d attempts", parked.State, parked.Attempt())
	}
}
