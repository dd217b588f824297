package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Limits of the invariant monitor.
const (
	// MonitorSpan is how long ago the operations were created at most whose effects
	// are counted.
	MonitorSpan = 24 * time.Hour
	// monitorPage is from how many operations one is drawn.
	monitorPage = 50
)

// Monitor counts the effects of one operation that has succeeded, by a look-up at
// the provider: one that needed several attempts before any other of those that
// are drawn. More than one effect breaks the invariant: the operation needs a
// review, and its tool is paused with the same commit. It reports whether it
// looked.
//
// Why a single effect under another reference breaks nothing: a contract may read
// the reference of an answer and of a look-up from different members.
func (l *Ledger) Monitor(ctx context.Context) (looked bool, err error) {
	now := l.clock.now()
	drawn, err := l.store.Aged(ctx, Cursor{CreatedAt: now.Add(-rand.N(MonitorSpan))}, now, monitorPage)
	if err == nil && len(drawn) == 0 {
		drawn, err = l.store.Aged(ctx, Cursor{CreatedAt: now.Add(-MonitorSpan)}, now, monitorPage)
	}
	if err != nil {
		return false, err
	}
	rand.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	slices.SortStableFunc(drawn, func(a, b *Operation) int { return min(b.Attempt(), 2) - min(a.Attempt(), 2) })
	for _, op := range drawn {
		if op.State != StateSucceeded || op.Retired || !op.Effect.Writes() {
			continue
		}
		whole, err := l.writer.Read(ctx, op.ID)
		if err != nil {
			return false, err
		}
		if whole == nil || whole.Shredded {
			continue
		}
		if t, err := l.hydrate(ctx, whole); err == nil && notHere(t) == nil && l.countable(whole, now) {
			return true, l.countEffects(ctx, whole, t)
		}
	}
	return false, nil
}

// countable reports whether a look-up can say how many effects there are by now.
func (l *Ledger) countable(op *Operation, now time.Time) bool {
	_, paused := l.switches.find(op.Tenant, op.Tool)
	return !paused && op.State == StateSucceeded && op.DueAt.IsZero() && op.Policy.HasProbe && now.After(op.CompletedAt.Add(op.Policy.Settle))
}

func (l *Ledger) countEffects(ctx context.Context, op *Operation, t Tool) error {
	j, ev, began := l.look(op, t)
	refs := slices.Compact(slices.Sorted(slices.Values(oursOf(j.Found))))
	result := "one"
	switch {
	case !j.Conclusive:
		result = "inconclusive"
	case len(refs) == 0:
		result = "absent"
	case len(refs) > 1:
		result = "many"
	case op.Reference != "" && refs[0] != op.Reference:
		result = "other"
	}
	l.meter.Add(MetricMonitor, 1, Labels{string(op.Tool), result})
	if len(refs) < 2 || !j.Conclusive {
		return nil
	}
	_, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Generation != op.Generation || now.State != StateSucceeded {
			return nil, nil
		}
		return []fact{{actor: l.opts.Owner, evidence: &ev, event: ProbeFound{Began: began, References: refs}}}, nil
	})
	return err
}

// unsafeStart reports whether a change started an attempt although an earlier one
// may have had its effect, because a person confirmed it.
func unsafeStart(before, after *Operation) bool {
	a := after.Running()
	return a != nil && a.Number > before.Attempt() && a.Resend && before.ResendConfirmed && !before.resendAllowed(a.StartedAt)
}

// noteUnsafe writes what a person had repeated into the audit trail.
func (l *Ledger) noteUnsafe(ctx context.Context, op *Operation) {
	l.log.Warn("an attempt is repeated that may have had its effect", about(op, "tool", op.Tool)...)
	l.note(ctx, AuditEvent{Tenant: op.Tenant, Actor: l.opts.Owner, Action: AuditUnsafeRetry, Subject: op.ID.String(), Detail: "attempt " + strconv.Itoa(op.Attempt())})
}

// noteOverdue tells of an unknown outcome that nobody settles: once in the audit
// trail, however many replicas see it.
func (l *Ledger) noteOverdue(ctx context.Context, op *Operation) error {
	e := NewAuditEvent(AuditEvent{Tenant: op.Tenant, Actor: l.opts.Owner, Action: AuditUnknownOverdue, Subject: op.ID.String(),
		Detail: "unknown since " + op.UnknownSince.UTC().Format(time.RFC3339)})
	sum := sha256.Sum256(fmt.Appendf(nil, "unknown_overdue %s %d %d", op.ID, op.Generation, op.UnknownSince.UnixMicro()))
	e.ID = WriteToken(sum[:16])
	if err := l.store.Note(ctx, e); err != nil {
		return err
	}
	l.log.Error("alarm", about(op, "tool", op.Tool, "tenant", op.Tenant, "reason", "unknown_overdue")...)
	l.meter.Add(MetricAlarms, 1, Labels{string(op.Tool), "unknown_overdue"})
	if l.opts.Alarm != nil {
		l.opts.Alarm(op, "unknown_overdue")
	}
	return nil
}
