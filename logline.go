package onceward

import (
	"context"
	"log/slog"
)

// about is how a log line names an operation: its ID, the attempt, and the
// business event that it belongs to, with what else the line has to say. A line
// holds no key, input, request, answer or secret.
func about(op *Operation, more ...any) []any {
	line := []any{"operation", op.ID.String()}
	if n := op.Attempt(); n > 0 {
		line = append(line, "attempt", n)
	}
	if op.CorrelationID != "" {
		line = append(line, "correlation_id", op.CorrelationID)
	}
	return append(line, more...)
}

// warn tells of an answer that is taken although something about it is wrong.
func (l *Ledger) warn(op *Operation, ev *Evidence) {
	if ev.Warning == "" {
		return
	}
	l.meter.Add(MetricWarnings, 1, Labels{string(op.Tool)})
	l.log.Warn("an answer was taken all the same", about(op, "tool", op.Tool, "warning", ev.Warning)...)
}

// logAttempt is the line of an attempt that was answered, or was not.
func (l *Ledger) logAttempt(op *Operation, ev *Evidence, j *Judgement) {
	if !l.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	l.log.Debug("attempt judged", about(op, "tool", op.Tool, "outcome", j.Verdict.String(), "reach", ev.Reach.String(), "status", ev.Status,
		"class", j.Failure.Class.String(), "code", j.Failure.Code, "took", ev.EndedAt.Sub(ev.StartedAt).String())...)
}
