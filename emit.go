package onceward

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// OperationEventPrefix begins the type of every event that an operation emits of
// itself; the name of the state that it came into follows.
const OperationEventPrefix = "operation."

// emitted are the states that an operation tells of when it comes into them: what
// others may want to act on, not each step of an attempt.
var emitted = []State{StateAwaitingApproval, StateOutcomeUnknown, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated}

// OperationEvents lists the types of the events that operations emit.
func OperationEvents() []string {
	types := make([]string, len(emitted))
	for i, s := range emitted {
		types[i] = OperationEventPrefix + s.String()
	}
	return types
}

// emit is the event of a change, if it is one that is told of: stored by the
// commit that stores the change. Its data are names, states and references, never
// input, request or answer.
func (l *Ledger) emit(before, after *Operation, at time.Time) []OutboxEvent {
	if l.opts.Emit == nil || before.State == after.State && before.Version > 0 || after.Retired || !slices.Contains(emitted, after.State) {
		return nil
	}
	e := OutboxEvent{
		ID: eventID(after), Tenant: after.Tenant, Type: OperationEventPrefix + after.State.String(), Subject: after.ID.String(), Key: after.ID.String(), At: at,
		CorrelationID: after.CorrelationID, TraceParent: after.TraceParent,
	}
	if !l.opts.Emit(e.Type) {
		return nil
	}
	data := map[string]any{
		"id": after.ID.String(), "tenant": after.Tenant, "tool": after.Tool, "key": after.Key, "state": after.State.String(), "actor": after.Actor,
		"attempts": len(after.Attempts), "created_at": after.CreatedAt.UTC(),
	}
	for name, v := range map[string]string{"run": after.Run, "correlation_id": after.CorrelationID, "reference": after.Reference, "review_reason": openReason(after)} {
		if v != "" {
			data[name] = v
		}
	}
	if !after.CompletedAt.IsZero() {
		data["completed_at"] = after.CompletedAt.UTC()
	}
	if after.State != StateSucceeded && !after.Failure.IsZero() {
		data["error"] = map[string]any{"class": after.Failure.Class.String(), "code": after.Failure.Code, "retryable": after.Failure.Retryable}
	}
	var err error
	if e.Data, err = json.Marshal(data); err == nil {
		e, err = NewOutboxEvent(e)
	}
	if err != nil { // an outcome is not refused because its event cannot be told
		l.log.Error("event not stored", about(after, "type", e.Type, "error", err)...)
		return nil
	}
	return []OutboxEvent{e}
}

// openReason is why a person is asked; empty where that may quote what is kept
// encrypted.
func openReason(op *Operation) string {
	if op.Subject != "" {
		return ""
	}
	return op.ReviewReason
}

// eventID names the version that the event tells of: the same commit, run again,
// tells of the same one.
func eventID(op *Operation) string {
	if op.Generation > 0 {
		return fmt.Sprintf("%s.g%d.v%d", op.ID, op.Generation, op.Version)
	}
	return fmt.Sprintf("%s.v%d", op.ID, op.Version)
}
