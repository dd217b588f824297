package onceward_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// traceOperation reads a new command: an operation as a first request leaves it.
func traceOperation(a *traceArgs, at time.Time) (onceward.Operation, error) {
	effect, err := onceward.ParseEffectClass(a.word(1))
	if err != nil {
		return onceward.Operation{}, err
	}
	op := onceward.Operation{
		ID: onceward.NewOperationID("default", "t.write", "a"), Tenant: "default", Tool: "t.write", Key: "a", Effect: effect,
		State: onceward.StateReady, CreatedAt: at, UpdatedAt: at, IntentAt: at, DueAt: at, Policy: tracePolicy(a, effect),
		Input: []byte(`{}`), Request: &onceward.Request{Method: "POST", URL: "https://provider.test/"},
	}
	if a.has("approval") {
		op.State, op.ApprovalNeeded = onceward.StateAwaitingApproval, true
		op.ApprovedUntil, op.DueAt = at.Add(-1), at.Add(op.Policy.ApprovalExpiry)
	}
	return op, a.err
}

// tracePolicy is the policy of a trace's contract: round numbers that a command
// may change. No back-off, so that every time in a trace is a time it names.
func tracePolicy(a *traceArgs, effect onceward.EffectClass) onceward.Policy {
	p := onceward.Policy{
		Effect: effect, HasProbe: a.has("probe") || effect == onceward.EffectProbedWrite, RemoteExecutor: a.has("remote"),
		Deadline: a.duration("deadline", 2*time.Second), Lease: a.duration("lease", 10*time.Second), Settle: a.duration("settle", 30*time.Second),
		KeyWindow: a.duration("window", 24*time.Hour), MaxAttempts: a.number(a.text("max", "3")),
		BackoffInitial: a.duration("backoff", 0), BackoffMax: a.duration("backoff", 0),
		RecoveryWindow: a.duration("recovery", time.Hour), EvidenceWithin: a.duration("evidence", 0), NotAfter: a.duration("not_after", 0),
		ApprovalExpiry: a.duration("approval_expiry", 24*time.Hour), KeyReusable: a.has("reusable"),
		Quorum: a.number(a.text("quorum", "1")), SeparateRequester: a.has("separate"),
	}
	if effect != onceward.EffectKeyedWrite {
		p.KeyWindow = 0
	}
	if remind := a.duration("remind", 0); remind > 0 {
		p.Reminders = []time.Duration{remind}
	}
	if a.has("abandon") {
		p.OnUnknown = onceward.OnUnknownAbandon
	}
	return p
}

// traceEvent reads a command that tells the machine an event.
func traceEvent(a *traceArgs, op onceward.Operation, at time.Time) (onceward.Event, error) {
	switch a.word(0) {
	case "start", "prolong", "expire", "done", "not_done", "unknown":
		return attemptEvent(a, op, at)
	case "found", "absent", "inconclusive", "callback":
		return lookEvent(a, at)
	case "approve", "reject", "approval_expires", "void", "edit", "assign", "reminded":
		return approvalEvent(a, op, at)
	case "cancel", "resolve", "replay", "request", "compensated":
		return personEvent(a, at)
	case "park":
		e := onceward.StartParked{Why: onceward.ParkReason(a.word(1))}
		if until := a.duration("until", 0); until > 0 {
			e.Until = at.Add(until)
		}
		return e, nil
	case "resend":
		return onceward.ResendDue{}, nil
	case "lapse":
		return onceward.ResendLapsed{}, nil
	case "escalate":
		return onceward.SettleOverdue{}, nil
	case "not_after":
		return onceward.NotAfterPassed{}, nil
	case "retire":
		return onceward.Retired{}, nil
	case "taken_anew":
		next, err := parseArgs("new " + op.Effect.String())
		if err != nil {
			return nil, err
		}
		if a.has("approval") {
			next.words = append(next.words, "approval")
		}
		fresh, err := traceOperation(next, at)
		fresh.Policy = op.Policy
		return onceward.KeyTakenAnew{Next: fresh}, err
	}
	return nil, fmt.Errorf("no such command")
}

func attemptEvent(a *traceArgs, op onceward.Operation, at time.Time) (onceward.Event, error) {
	word := a.word(0)
	if word == "start" {
		return onceward.AttemptStarted{Owner: a.text("by", "w1"), LeaseUntil: at.Add(op.Policy.Lease), Contract: a.raw("contract")}, nil
	}
	n := a.number(a.word(1))
	sent := onceward.Sent{Reach: onceward.ReachBodyWritten, LastByteAt: at.Add(-a.duration("ago", 0))}
	switch word {
	case "prolong":
		return onceward.LeaseProlonged{Attempt: n, Until: at.Add(op.Policy.Lease)}, nil
	case "expire":
		return onceward.LeaseExpired{Attempt: n}, nil
	case "done":
		return onceward.AttemptDone{Attempt: n, Sent: sent, Reference: a.word(2), Settler: onceward.SettledByAnswer}, nil
	case "unknown":
		f, err := failure(a.word(2))
		return onceward.AttemptUnknown{Attempt: n, Sent: sent, Failure: f, RetryAfter: a.duration("retry_after", 0)}, err
	}
	f, err := failure(a.word(2))
	if f.Class == onceward.ClassConnection {
		sent = onceward.Sent{Reach: onceward.ReachNotDialled}
	}
	return onceward.AttemptNotDone{Attempt: n, Sent: sent, Failure: f, RetryAfter: a.duration("retry_after", 0)}, err
}

// failure names a failure as an answer's judgement would.
func failure(code string) (onceward.Failure, error) {
	known := map[string]struct {
		class     onceward.ErrorClass
		retryable bool
	}{
		"http_400": {onceward.ClassValidation, false}, "http_422": {onceward.ClassConflict, false}, "http_401": {onceward.ClassAuth, true},
		"http_409": {onceward.ClassConflict, true}, "http_429": {onceward.ClassRateLimited, true}, "http_500": {onceward.ClassUnavailable, true},
		"http_503": {onceward.ClassUnavailable, true}, "deadline": {onceward.ClassTimeout, true}, "reset": {onceward.ClassConnection, true},
		"dial_refused": {onceward.ClassConnection, true},
	}
	f, ok := known[code]
	if !ok {
		return onceward.Failure{}, fmt.Errorf("no failure is called %q", code)
	}
	return onceward.Failure{Class: f.class, Code: code, Retryable: f.retryable}, nil
}

func lookEvent(a *traceArgs, at time.Time) (onceward.Event, error) {
	began := at.Add(-a.duration("began_ago", 0))
	switch a.word(0) {
	case "found":
		return onceward.ProbeFound{Began: began, References: strings.Split(a.word(1), ",")}, nil
	case "absent":
		return onceward.ProbeAbsent{Began: began}, nil
	case "callback":
		return onceward.EffectProven{Reference: a.word(1), Source: "callback"}, nil
	}
	f, err := failure(a.word(1))
	return onceward.ProbeInconclusive{Failure: f}, err
}

// approvalEvent reads what concerns the people who are asked. Digests are named
// by a number; without one, the present digest is meant.
func approvalEvent(a *traceArgs, op onceward.Operation, at time.Time) (onceward.Event, error) {
	by, reason, contract, was := a.text("by", "ann"), a.text("reason", ""), a.raw("contract"), op.Digest
	until := at.Add(a.duration("until", time.Hour))
	if n := a.raw("was"); n != "" {
		was = onceward.Digest{byte(a.number(n))}
	}
	switch a.word(0) {
	case "approve":
		return onceward.ApprovalGranted{Actor: by, Digest: was, Contract: contract, Until: until, Reason: reason}, nil
	case "reject":
		return onceward.ApprovalRejected{Actor: by, Digest: was, Reason: reason}, nil
	case "approval_expires":
		return onceward.ApprovalExpired{}, nil
	case "assign":
		return onceward.Assigned{Assignment: onceward.Assignment{To: a.text("to", "")}, Actor: by, Reason: reason}, nil
	case "reminded":
		return onceward.ApprovalReminded{Number: a.number(a.word(1))}, nil
	}
	next := onceward.Rendering{Contract: contract, Policy: op.Policy, Digest: op.Digest, Input: []byte(`{}`),
		Request: &onceward.Request{Method: "POST", URL: "https://provider.test/"}}
	if a.word(0) == "edit" {
		next.Digest = onceward.Digest{byte(a.number(a.text("digest", "1")))}
		key := onceward.Key(a.text("key", string(op.Key)))
		return onceward.ApprovalEdited{Actor: by, Digest: was, Contract: contract, Key: key, Next: next, Until: until, Reason: reason}, nil
	}
	if a.has("anew") || contract != "" {
		return onceward.ApprovalVoided{Reason: reason, Next: &next}, nil
	}
	return onceward.ApprovalVoided{Reason: reason}, nil
}

func personEvent(a *traceArgs, at time.Time) (onceward.Event, error) {
	reason := a.text("reason", "")
	switch a.word(0) {
	case "cancel":
		return onceward.CancelRequested{Actor: "ann", Reason: reason}, nil
	case "replay":
		return onceward.ReplayRequested{Actor: "ann", Reason: reason, Confirmed: a.has("confirmed")}, nil
	case "request":
		return onceward.RetryRequested{Actor: "agent"}, nil
	case "compensated":
		return onceward.Compensated{Actor: "ann", Reason: reason}, nil
	}
	outcome, err := onceward.ParseResolution(a.word(1))
	return onceward.Resolved{Outcome: outcome, Retry: a.has("retry"), Reference: a.raw("reference"), Reason: reason, Actor: "ann"}, err
}
