package onceward

import (
	"context"
	"strings"
	"time"
)

// OutboxSinks returns how far each sink is, over all tenants, and the database's
// now. CodeForbidden: see MayReadMetrics.
func (l *Ledger) OutboxSinks(ctx context.Context, p Principal) ([]Sink, time.Time, error) {
	if err := MayReadMetrics(p); err != nil {
		return nil, time.Time{}, err
	}
	all, err := l.store.Sinks(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	now, err := l.store.Now(ctx)
	return all, now, err
}

// Lag is how old the first event is that the sink has still to be given; 0 if
// there is none.
func (s *Sink) Lag(now time.Time) time.Duration {
	if s.OldestAt.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.OldestAt))
}

// OutboxAside returns a page of the tenant's events that a sink did not take, and
// of those that wait behind them, without their data.
func (l *Ledger) OutboxAside(ctx context.Context, p Principal, f AsideFilter) ([]SetAside, error) {
	if err := Authorize(p, ActionReadEvents); err != nil {
		return nil, err
	}
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	f.Tenant = p.Tenant
	return l.store.ListAside(ctx, f)
}

// RedriveOutbox offers an event that is dead at a sink again. CodeEventNotFound:
// no event of the tenant that has this ID is dead there. CodeEvidenceRequired: no
// reason.
func (l *Ledger) RedriveOutbox(ctx context.Context, p Principal, sink, event, reason string) error {
	return l.decideOutbox(ctx, p, sink, event, reason, false)
}

// DropOutbox gives up an event that is dead at a sink: it is never handed on
// there, and those of its key behind it go on. It returns what RedriveOutbox does.
func (l *Ledger) DropOutbox(ctx context.Context, p Principal, sink, event, reason string) error {
	return l.decideOutbox(ctx, p, sink, event, reason, true)
}

func (l *Ledger) decideOutbox(ctx context.Context, p Principal, sink, event, reason string, drop bool) error {
	if err := Authorize(p, ActionHandleEvents); err != nil {
		return err
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "decide event", Message: "it needs a reason", Hint: "say why, for whoever reads it later"}
	}
	action := AuditOutboxRedriven
	if drop {
		action = AuditOutboxDropped
	}
	done, err := l.store.Redrive(context.WithoutCancel(ctx), p.Tenant, sink, event, drop,
		NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: action, Subject: event, Detail: sink, Reason: reason}))
	if err == nil && !done {
		return &Error{Code: CodeEventNotFound, Op: "decide event", Message: "no such event is dead at that sink", Hint: "list those that are: GET /v1/outbox/events, onceward outbox list"}
	}
	return err
}
