package onceward

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// Reminding is a tool whose contract reminds of open questions. Reminder names
// the tool that reminds, and renders its input; n counts from 0.
type Reminding interface {
	Reminder(op *Operation, n int) (tool ToolName, input []byte, err error)
}

// reminderIssuer is the issuer of whoever submits reminders.
const reminderIssuer = "onceward"

// remind submits the reminder that is due, and then marks it. The reminder is an
// operation of its own under a key that names question and number, so that a
// crash between the two makes it once all the same.
//
// A reminder that cannot be rendered or is refused for good is marked too, with
// the reason: the next one still comes.
//
// Crash point: remind.before_commit.
func (l *Ledger) remind(ctx context.Context, op *Operation, t Tool) error {
	n := op.reminderDue(l.clock.now())
	if n < 0 || op.State != StateAwaitingApproval {
		return nil
	}
	why, err := l.submitReminder(ctx, op, t, n)
	if err != nil {
		return err // the row comes up again
	}
	l.crash("remind.before_commit")
	seen := op.IntentAt
	_, err = l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if now.State != StateAwaitingApproval || !now.IntentAt.Equal(seen) || now.reminded(n) {
			return nil, nil
		}
		return facts(l.opts.Owner, ApprovalReminded{Number: n, Reason: why}), nil
	})
	return err
}

// submitReminder says in words what became of it; an error may be gone later.
func (l *Ledger) submitReminder(ctx context.Context, op *Operation, t Tool, n int) (string, error) {
	r, ok := t.(Reminding)
	if !ok {
		return "the contract does not say how to remind", nil
	}
	tool, input, err := r.Reminder(op, n)
	if err != nil {
		l.log.Warn("reminder cannot be rendered", about(op, "reminder", n, "error", err)...)
		return "the reminder cannot be rendered", nil
	}
	key, err := DeriveKey([]string{"approval-reminder", op.ID.String(), strconv.FormatUint(uint64(op.Generation), 10), strconv.FormatInt(op.IntentAt.UnixMicro(), 10), strconv.Itoa(n)})
	if err != nil {
		return "", err
	}
	a, err := l.Submit(ctx, Intent{
		Principal: Principal{Tenant: op.Tenant, Issuer: reminderIssuer, Subject: "reminder", Roles: []Role{RoleCaller}},
		Tool:      tool, Input: input, ForkKey: key, CorrelationID: op.CorrelationID, TraceParent: op.TraceParent,
		Reason: "reminds of the open approval of " + op.ID.String(),
	})
	switch {
	case err == nil:
		return "reminded by " + a.Operation.ID.String(), nil
	case remindsLater(CodeOf(err)), errors.Is(err, ErrFunctionNotHere):
		return "", err
	}
	l.log.Warn("reminder refused", about(op, "reminder", n, "error", err)...)
	return "the reminder was refused: " + string(CodeOf(err)), nil
}

// remindsLater reports whether a refused reminder may be taken later.
func remindsLater(c Code) bool {
	return slices.Contains([]Code{CodeLedgerUnavailable, CodeMayBeRecorded, CodeLedgerReadOnly, CodeOverloaded, CodeRateLimited, CodeCanceled, CodeWriteConflict, CodeInternal}, c)
}
