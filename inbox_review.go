package onceward

import (
	"context"
	"strings"
	"time"
)

// forgetDismissed is how long a dismissed event is kept whose source is gone.
const forgetDismissed = 30 * 24 * time.Hour

// InboxEvent reads one event of the tenant, with what is kept of its payload.
// CodeEventNotFound also when it is another's.
func (l *Ledger) InboxEvent(ctx context.Context, p Principal, id InboxID) (*InboxEvent, error) {
	if err := Authorize(p, ActionReadEvents); err != nil {
		return nil, err
	}
	return l.inboxEvent(ctx, p.Tenant, id)
}

func (l *Ledger) inboxEvent(ctx context.Context, t Tenant, id InboxID) (*InboxEvent, error) {
	e, err := l.store.LoadEvent(ctx, id)
	if err != nil {
		return nil, err
	}
	if e == nil || e.Tenant != t {
		return nil, &Error{Code: CodeEventNotFound, Op: "load event", Message: "there is no event " + id.String(), Hint: "it may be forgotten: its source's window is over"}
	}
	return e, nil
}

// InboxEvents returns a page of the tenant's events, newest first, without payloads.
func (l *Ledger) InboxEvents(ctx context.Context, p Principal, f InboxFilter) ([]*InboxEvent, error) {
	if err := Authorize(p, ActionReadEvents); err != nil {
		return nil, err
	}
	f.Tenant = p.Tenant
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	return l.store.ListEvents(ctx, f)
}

// WaitingEvents is the part of the review queue that events are: what could not
// be handled, has no mapping, or came too late; newest first.
func (l *Ledger) WaitingEvents(ctx context.Context, p Principal, limit int) ([]*InboxEvent, error) {
	if err := Authorize(p, ActionReadReviews); err != nil {
		return nil, err
	}
	return l.store.ListEvents(ctx, InboxFilter{Tenant: p.Tenant, Waiting: true, Limit: min(limit, MaxPage)})
}

// RedriveEvent handles an event anew, under the document that is in force now.
// What it had already is not done again: its keys are the same. An event that
// waits to be handled anyhow stays as it is.
func (l *Ledger) RedriveEvent(ctx context.Context, p Principal, id InboxID, reason string) (*InboxEvent, error) {
	return l.decideEvent(ctx, p, id, reason, AuditEventRedriven, func(e *InboxEvent) error {
		if e.State == InboxReceived {
			return nil
		}
		src, err := l.tools.EventSource(e.Source)
		if err != nil {
			return err
		}
		// Invariant: an event is handled for the tenant that it was delivered to.
		if src.Info().Tenant != e.Tenant {
			return &Error{Code: CodeStateForbids, Op: "redrive event", Message: "the source " + e.Source + " delivers for another tenant now", Hint: "dismiss the event, or give that tenant a source of its own under another name"}
		}
		e.State, e.Version, e.Tries, e.NextAt = InboxReceived, src.Info().Version, 0, l.clock.now()
		e.Code, e.Message, e.HandledAt, e.DropAt = "", "", time.Time{}, time.Time{}
		return nil
	})
}

// DismissEvent says that nothing is to be done for an event that waits for a
// person.
func (l *Ledger) DismissEvent(ctx context.Context, p Principal, id InboxID, reason string) (*InboxEvent, error) {
	return l.decideEvent(ctx, p, id, reason, AuditEventDismissed, func(e *InboxEvent) error {
		if !e.State.Waits() {
			return &Error{Code: CodeStateForbids, Op: "dismiss event", Message: "the event is " + string(e.State) + ": it waits for nobody", Hint: "read it again"}
		}
		window := forgetDismissed
		if src, err := l.tools.EventSource(e.Source); err == nil {
			window = src.Info().Window
		}
		e.State, e.HandledAt = InboxDismissed, l.clock.now()
		e.DropAt = e.HandledAt.Add(window)
		return nil
	})
}

// decideEvent changes an event by a person's word.
func (l *Ledger) decideEvent(ctx context.Context, p Principal, id InboxID, reason string, action AuditAction, decide func(*InboxEvent) error) (*InboxEvent, error) {
	if err := Authorize(p, ActionHandleEvents); err != nil {
		return nil, err
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "decide event", Message: "it needs a reason", Hint: "say why, for whoever reads it later"}
	}
	for range maxConflicts {
		e, err := l.inboxEvent(ctx, p.Tenant, id)
		if err != nil {
			return nil, err
		}
		next := *e
		if err := decide(&next); err != nil {
			return nil, err
		}
		if next.State == e.State {
			return e, nil
		}
		next.By, next.Why, next.Revision, next.Token = p.String(), reason, e.Revision+1, newToken()
		applied, err := l.setEvent(ctx, next)
		if err != nil {
			return nil, err
		}
		if applied {
			l.note(ctx, AuditEvent{Tenant: next.Tenant, Actor: next.By, Action: action, Subject: id.String(), Reason: reason, Detail: next.Source})
			l.wakeInbox()
			return &next, nil
		}
	}
	return nil, &Error{Code: CodeWriteConflict, Op: "decide event", Message: "the event kept changing"}
}

func (l *Ledger) setEvent(ctx context.Context, e InboxEvent) (bool, error) {
	for try := 1; ; try++ {
		applied, err := l.store.SetEvents(context.WithoutCancel(ctx), []InboxEvent{e})
		switch {
		case err == nil:
			return applied[0], nil
		case try == putTries || !Is(err, CodeMayBeRecorded):
			return false, err
		}
	}
}
