package onceward

import "time"

// RemindersMax is how many reminders a contract may have.
const RemindersMax = 16

// approvalReminded notes that a reminder was submitted. It comes after the
// submission, so that a crash between the two submits it again, under the same
// key.
func (m *step) approvalReminded(e ApprovalReminded) error {
	o := m.op
	if e.Number < 0 || e.Number >= len(o.Policy.Reminders) {
		return forbidden(o, e, "the contract has no such reminder")
	}
	o.Approval.Reminded |= 1 << e.Number
	o.DueAt = o.questionDue()
	return nil
}

// questionDue is when an unanswered question has to be looked at: a reminder is
// due, or its time is over. Zero: never.
func (o *Operation) questionDue() time.Time {
	due := o.ApprovalEnds()
	for n, after := range o.Policy.Reminders {
		if at := o.IntentAt.Add(after); !o.reminded(n) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

func (o *Operation) reminded(n int) bool { return o.Approval.Reminded&(1<<n) != 0 }

// reminderDue is the first reminder whose time has come, or -1.
func (o *Operation) reminderDue(at time.Time) int {
	for n, after := range o.Policy.Reminders {
		if !o.reminded(n) && !at.Before(o.IntentAt.Add(after)) {
			return n
		}
	}
	return -1
}
