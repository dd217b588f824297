package contract

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// reminderTemplate is a reminder of an open question, compiled.
type reminderTemplate struct {
	tool  onceward.ToolName
	input jsonTemplate
}

var _ onceward.Reminding = (*Tool)(nil)

// when is how long after the question the reminder is due.
func (r *reminder) when(expires time.Duration) time.Duration {
	if r.BeforeExpiry.set {
		return expires - r.BeforeExpiry.value
	}
	return r.After.value
}

// reminders compiles the reminders of an approval.
func (c *compiler) reminders(a *approval) {
	if len(a.Remind) > onceward.RemindersMax {
		c.problem(a.at, "spec.approval.remind", "there are more than %d", onceward.RemindersMax)
	}
	for i := range a.Remind {
		r := &a.Remind[i]
		field := fmt.Sprintf("spec.approval.remind[%d]", i)
		switch when := r.when(a.Expires.value); {
		case r.After.set == r.BeforeExpiry.set:
			c.problem(r.at, field, "it has either after or before_expiry")
		case when <= 0 || when >= a.Expires.value:
			c.problem(r.at, field, "it is due between the question and its end")
		}
		if !toolNamePattern.MatchString(r.Tool.value) {
			c.problem(r.Tool.at, field+".tool", "it is not the name of a tool")
		} else if r.Tool.value == c.doc.Metadata.Name.value {
			c.problem(r.Tool.at, field+".tool", "it is this tool itself: reminding would ask again")
		}
		c.tool.reminders = append(c.tool.reminders, reminderTemplate{tool: onceward.ToolName(r.Tool.value), input: c.jsonBody(r.Input.root, field+".input", scopeProbe)})
	}
}

// Reminder is onceward.Reminding's.
func (t *Tool) Reminder(op *onceward.Operation, n int) (onceward.ToolName, []byte, error) {
	if n < 0 || n >= len(t.reminders) {
		return "", nil, onceward.Errorf(onceward.CodeInternal, "the contract has no reminder %d", n)
	}
	v, err := t.operationVariables(op, true)
	if err != nil {
		return "", nil, err
	}
	v.secret = nil
	r := &t.reminders[n]
	input, err := r.input.append(nil, v)
	if err != nil {
		return "", nil, inputError(fmt.Sprintf("spec.approval.remind[%d].input", n), err)
	}
	return r.tool, input, nil
}
