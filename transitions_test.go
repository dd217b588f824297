package onceward_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

var update = flag.Bool("update", false, "rewrite golden files")

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// sampleOp is an operation as it may stand in a state, with one attempt where
// the state needs one.
func sampleOp(effect onceward.EffectClass, s onceward.State) onceward.Operation {
	op := onceward.Operation{
		ID: onceward.NewOperationID("default", "t.write", "a"), Tenant: "default", Tool: "t.write", Key: "a", State: s, Version: 3, Effect: effect,
		CreatedAt: t0, UpdatedAt: t0, IntentAt: t0,
		Policy: onceward.Policy{Effect: effect, HasProbe: effect == onceward.EffectProbedWrite, Deadline: time.Second, Lease: 5 * time.Second, Settle: 10 * time.Second,
			KeyWindow: 24 * time.Hour, MaxAttempts: 3, BackoffInitial: time.Second, BackoffMax: time.Minute, RecoveryWindow: time.Hour, NotAfter: 48 * time.Hour},
	}
	a := onceward.Attempt{Number: 1, Owner: "r", StartedAt: t0, LeaseUntil: t0.Add(5 * time.Second)}
	switch s {
	case onceward.StateAwaitingApproval:
		op.ApprovalNeeded, op.Policy.ApprovalExpiry, op.Policy.Reminders = true, time.Hour, []time.Duration{time.Minute}
		return op
	case onceward.StateReady:
		return op
	case onceward.StateEffectPending:
		a.Status = onceward.StatusRunning
	case onceward.StateOutcomeUnknown, onceward.StateNeedsReview, onceward.StateAbandoned:
		a.Status, a.LastByteAt = onceward.StatusOpen, t0.Add(time.Second)
		op.UnknownSince = t0
		op.Failure = onceward.Failure{Class: onceward.ClassTimeout, Code: "deadline", Retryable: true}
		if s == onceward.StateNeedsReview {
			op.Assigned.Due = t0.Add(time.Minute)
			op.DueAt = op.Assigned.Due
		}
	case onceward.StateSucceeded, onceward.StateCompensated:
		a.Status, a.Reference, op.Reference = onceward.StatusDone, "eff_1", "eff_1"
	case onceward.StateFailed:
		a.Status = onceward.StatusNotDone
		op.Failure = onceward.Failure{Class: onceward.ClassRateLimited, Code: "http_429", Retryable: true}
		op.CompletedAt = t0
	case onceward.StateCancelled:
		op.CompletedAt = t0
		a.Status = onceward.StatusNotDone
	}
	op.Attempts = []onceward.Attempt{a}
	return op
}

// samples are the events of each kind that are worth telling.
func samples(k onceward.EventKind) []onceward.Event {
	fail := onceward.Failure{Class: onceward.ClassValidation, Code: "http_400"}
	retry := onceward.Failure{Class: onceward.ClassUnavailable, Code: "http_503", Retryable: true}
	auth := onceward.Failure{Class: onceward.ClassAuth, Code: "http_401", Retryable: true}
	late := t0.Add(time.Hour)
	return map[onceward.EventKind][]onceward.Event{
		onceward.KindApprovalGranted:  {onceward.ApprovalGranted{Until: late, Actor: "p"}},
		onceward.KindApprovalRejected: {onceward.ApprovalRejected{Actor: "p", Reason: "no"}},
		onceward.KindApprovalExpired:  {onceward.ApprovalExpired{}},
		onceward.KindApprovalVoided: {onceward.ApprovalVoided{Reason: "edited"},
			onceward.ApprovalVoided{Reason: "asked anew", Next: &onceward.Rendering{Policy: onceward.Policy{ApprovalExpiry: time.Hour}}}},
		onceward.KindApprovalEdited: {onceward.ApprovalEdited{Actor: "p", Key: "a", Next: onceward.Rendering{Digest: onceward.Digest{1}}, Until: late},
			onceward.ApprovalEdited{Actor: "p", Key: "a", Next: onceward.Rendering{Policy: onceward.Policy{Quorum: 2}}, Until: late}},
		onceward.KindApprovalReminded:  {onceward.ApprovalReminded{Number: 0}, onceward.ApprovalReminded{Number: 1}},
		onceward.KindForked:            {onceward.Forked{Key: "second", Actor: "q", Reason: "wanted twice"}},
		onceward.KindAssigned:          {onceward.Assigned{Assignment: onceward.Assignment{To: "p"}, Actor: "q", Reason: "on holiday"}},
		onceward.KindReviewTaken:       {onceward.ReviewTaken{Actor: "p"}},
		onceward.KindReviewOverdue:     {onceward.ReviewOverdue{}},
		onceward.KindCommented:         {onceward.Commented{Actor: "p", Text: "the clerk is asked"}},
		onceward.KindAttemptStarted:    {onceward.AttemptStarted{Owner: "r", LeaseUntil: late}},
		onceward.KindStartParked:       {onceward.StartParked{Why: onceward.ParkToolPaused}},
		onceward.KindAttemptDone:       {onceward.AttemptDone{Attempt: 1, Reference: "eff_1"}, onceward.AttemptDone{Attempt: 1, Reference: "eff_2"}},
		onceward.KindAttemptNotDone:    {onceward.AttemptNotDone{Attempt: 1, Failure: fail}, onceward.AttemptNotDone{Attempt: 1, Failure: retry}, onceward.AttemptNotDone{Attempt: 1, Failure: auth}},
		onceward.KindAttemptUnknown:    {onceward.AttemptUnknown{Attempt: 1, Failure: retry, Sent: onceward.Sent{LastByteAt: t0}}},
		onceward.KindLeaseProlonged:    {onceward.LeaseProlonged{Attempt: 1, Until: late}},
		onceward.KindLeaseExpired:      {onceward.LeaseExpired{Attempt: 1}},
		onceward.KindProbeFound:        {onceward.ProbeFound{Began: late, References: []string{"eff_1"}}, onceward.ProbeFound{Began: late, References: []string{"eff_1", "eff_2"}}},
		onceward.KindProbeAbsent:       {onceward.ProbeAbsent{Began: late}, onceward.ProbeAbsent{Began: t0}},
		onceward.KindProbeInconclusive: {onceward.ProbeInconclusive{Failure: retry}},
		onceward.KindEffectProven:      {onceward.EffectProven{Reference: "eff_1", Source: "callback"}, onceward.EffectProven{Reference: "eff_2", Source: "callback"}},
		onceward.KindResendDue:         {onceward.ResendDue{}},
		onceward.KindResendLapsed:      {onceward.ResendLapsed{}},
		onceward.KindSettleOverdue:     {onceward.SettleOverdue{}},
		onceward.KindCancelRequested:   {onceward.CancelRequested{Actor: "p"}},
		onceward.KindNotAfterPassed:    {onceward.NotAfterPassed{}},
		onceward.KindResolved: {onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: "eff_1", Actor: "p"}, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "asked", Actor: "p"},
			onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "asked", Actor: "p"}, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "small", Actor: "p"}},
		onceward.KindReplayRequested: {onceward.ReplayRequested{Actor: "p", Reason: "fixed", Confirmed: true}},
		onceward.KindRetryRequested:  {onceward.RetryRequested{Actor: "p"}},
		onceward.KindCompensated:     {onceward.Compensated{Actor: "p"}},
		onceward.KindRetired:         {onceward.Retired{}},
		onceward.KindKeyTakenAnew:    {onceward.KeyTakenAnew{Next: sampleOp(onceward.EffectProbedWrite, onceward.StateReady)}},
	}[k]
}

// TestEveryStateAndEvent tells every event in every state, for every class and
// at several times. What the table forbids must be refused and change nothing;
// what it allows must end inside its cell; and every listed next state must be
// reached by some sample, or by a trace where it takes a history, so that the
// table promises nothing that cannot be.
func TestEveryStateAndEvent(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	for _, k := range onceward.AllEventKinds() {
		if len(samples(k)) == 0 {
			t.Fatalf("no sample of %s", k)
		}
		for _, s := range onceward.AllStates {
			tellAll(t, k, s, reached)
		}
	}
	traceReached(t, reached)
	for _, k := range onceward.AllEventKinds() {
		for _, s := range onceward.AllStates {
			for _, to := range onceward.TransitionCell(k, s).To {
				if !reached[fmt.Sprint(k, s, to)] {
					t.Errorf("neither a sample nor a trace leads by %s from %s to %s", k, s, to)
				}
			}
		}
	}
}

func tellAll(t *testing.T, k onceward.EventKind, s onceward.State, reached map[string]bool) {
	cell := onceward.TransitionCell(k, s)
	for _, op := range variants(s) {
		for _, ev := range samples(k) {
			for _, at := range []time.Time{t0.Add(time.Second), t0.Add(20 * time.Second), t0.Add(2 * time.Hour), t0.Add(72 * time.Hour)} {
				before := op.Clone()
				after, _, err := onceward.Apply(op, ev, at)
				if !reflect.DeepEqual(before, op) {
					t.Fatalf("%s in %s changed its argument: %s", k, s, cmp.Diff(before, op))
				}
				switch {
				case cell.Forbidden():
					if !onceward.Is(err, onceward.CodeStateForbids) || !reflect.DeepEqual(after, op) {
						t.Fatalf("%s in %s: %v, want state_forbids and no change", k, s, err)
					}
				case cell.Ignored:
					if err != nil || !reflect.DeepEqual(after, op) {
						t.Fatalf("%s in %s: %v, want no change and no error", k, s, err)
					}
				case err != nil:
					if !guarded(err) {
						t.Fatalf("%s in %s (%s): %v", k, s, op.Effect, err)
					}
				case !slices.Contains(cell.To, after.State):
					t.Fatalf("%s led from %s to %s", k, s, after.State)
				default:
					reached[fmt.Sprint(k, s, after.State)] = true
				}
			}
		}
	}
}

// guarded reports whether an allowed pair was refused by a rule, not by a defect.
func guarded(err error) bool {
	for _, c := range []onceward.Code{onceward.CodeStateForbids, onceward.CodeFenceLost, onceward.CodeForbidden, onceward.CodeEvidenceRequired, onceward.CodeConfirmationNeeded} {
		if errors.Is(err, &onceward.Error{Code: c}) {
			return true
		}
	}
	return false
}

// variants are the shapes in which a state is met.
func variants(s onceward.State) []onceward.Operation {
	var ops []onceward.Operation
	for _, c := range onceward.AllEffectClasses {
		op := sampleOp(c, s)
		ops = append(ops, op)
		cancel := op.Clone()
		cancel.CancelRequested = true
		spent := op.Clone()
		spent.Policy.MaxAttempts = 1
		abandon := op.Clone()
		abandon.Policy.OnUnknown = onceward.OnUnknownAbandon
		retired := op.Clone()
		retired.Retired, retired.Policy.KeyReusable = true, true
		open := op.Clone()
		open.Attempts = []onceward.Attempt{{Number: 1, Status: onceward.StatusOpen, StartedAt: t0, LastByteAt: t0}}
		ops = append(ops, cancel, spent, abandon)
		if s.Terminal() {
			ops = append(ops, retired)
		}
		if s == onceward.StateReady {
			granted := op.Clone()
			granted.ApprovalNeeded, granted.ApprovedUntil = true, t0.Add(time.Minute)
			ops = append(ops, open, granted)
		}
		if s == onceward.StateAwaitingApproval {
			two := op.Clone()
			two.Policy.Quorum = 2
			ops = append(ops, two)
		}
		if s == onceward.StateCancelled {
			inVain := op.Clone()
			inVain.Attempts, inVain.ApprovalNeeded, inVain.Failure.Code = nil, true, onceward.KindApprovalExpired.String()
			ops = append(ops, inVain)
		}
	}
	return ops
}

// TestAChangeOfTheTransitionTableIsSeenInReview keeps the table in a file that a person can read
// in a review: a change of the machine shows as a change of this file.
func TestAChangeOfTheTransitionTableIsSeenInReview(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, k := range onceward.AllEventKinds() {
		fmt.Fprintf(&b, "%s\n", k)
		for _, s := range onceward.AllStates {
			cell := onceward.TransitionCell(k, s)
			names := make([]string, len(cell.To))
			for i, to := range cell.To {
				names[i] = to.String()
			}
			switch {
			case cell.Forbidden():
			case cell.Ignored:
				fmt.Fprintf(&b, "  %-18s ignored\n", s)
			default:
				fmt.Fprintf(&b, "  %-18s -> %s\n", s, strings.Join(names, " | "))
			}
		}
	}
	golden(t, "testdata/transitions.txt", b.String())
}

// golden compares with a file, or rewrites it under -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code says (run with -update if the change is meant):\n%s", path, diff)
	}
}
