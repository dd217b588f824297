package onceward

import (
	"context"
	"time"
)

// TakenDelivery is the answer to a delivery whose events are durable.
type TakenDelivery struct {
	Events    []TakenEvent // in the order of the delivery; empty for a challenge
	Challenge []byte       // what the sender wants to read back; nil: it asked for nothing
}

// TakenEvent is one event of a delivery.
type TakenEvent struct {
	ID       InboxID
	Decision Decision // fresh, or replayed: it was there already
}

// EventSource returns a source in force; CodeSourceNotFound: there is none.
func (l *Ledger) EventSource(name string) (EventSource, error) { return l.tools.EventSource(name) }

// EventSources returns the sources in force, by name.
func (l *Ledger) EventSources() []EventSource { return l.tools.EventSources() }

// TakeDelivery verifies a delivery and records its events. When it returns, they
// are durable, and a sender that delivers them again changes nothing. A refused
// delivery leaves nothing but a count.
//
// CodeSignatureInvalid, CodeUnsupportedMedia, CodeKeyInvalid, CodeInvalidInput,
// CodeTooLarge: the sender is at fault. CodeOverloaded, CodeLedgerUnavailable,
// CodeMayBeRecorded: it shall deliver again.
//
// Crash point: inbox.before_record, inbox.after_record.
func (l *Ledger) TakeDelivery(ctx context.Context, s EventSource, d *Delivery) (*TakenDelivery, error) {
	info := s.Info()
	taken, err := l.takeDelivery(ctx, s, d)
	if err != nil {
		l.RefusedDelivery(info)
		return nil, err
	}
	for _, e := range taken.Events {
		l.countEvents(info, e.Decision, 1)
	}
	return taken, nil
}

// RefusedDelivery counts a delivery that was refused before it was read.
func (l *Ledger) RefusedDelivery(info *EventSourceInfo) { l.countEvents(info, DecisionBlocked, 1) }

func (l *Ledger) countEvents(info *EventSourceInfo, d Decision, n int64) {
	l.tallies.add(l.clock.now(), tallyKey{tenant: info.Tenant, tool: sourceStoredAs(info.Name), decision: d}, n)
}

func (l *Ledger) takeDelivery(ctx context.Context, s EventSource, d *Delivery) (*TakenDelivery, error) {
	info, now := s.Info(), l.clock.now()
	if err := Authorize(info.Principal(), ActionDeliver); err != nil {
		return nil, err
	}
	if int64(len(d.Body)) > info.BodyBytesMax {
		return nil, Errorf(CodeTooLarge, "the delivery is longer than %d bytes", info.BodyBytesMax)
	}
	if err := s.Verify(d, now); err != nil {
		return nil, err
	}
	if challenge := s.Challenge(d); challenge != nil {
		return &TakenDelivery{Challenge: challenge}, nil
	}
	events, err := s.Events(d)
	if err != nil {
		return nil, err
	}
	events = l.arrived(info, events, now)
	if len(events) == 0 {
		return &TakenDelivery{}, nil
	}
	l.crash("inbox.before_record")
	recorded, err := l.inbox.RecordEvents(ctx, events)
	if err != nil {
		return nil, err
	}
	l.crash("inbox.after_record")
	out := &TakenDelivery{Events: make([]TakenEvent, len(events))}
	fresh := false
	for i := range events {
		out.Events[i] = TakenEvent{events[i].ID, DecisionReplayed}
		if recorded[i] {
			out.Events[i].Decision, fresh = DecisionFresh, true
		}
	}
	if fresh {
		l.wakeInbox()
	}
	return out, nil
}

// arrived makes rows of events; of two with one key in one delivery the first
// stands.
func (l *Ledger) arrived(info *EventSourceInfo, events []InboxEvent, now time.Time) []InboxEvent {
	seen := make(map[InboxID]bool, len(events))
	rows := events[:0]
	for _, e := range events {
		e.ID = NewInboxID(info.Tenant, info.Name, e.Key)
		if seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		e.Tenant, e.Source, e.Version, e.ReceivedAt = info.Tenant, info.Name, info.Version, now
		e.State, e.NextAt, e.Revision, e.Token = InboxReceived, now, 1, newToken()
		if !e.SentAt.IsZero() && now.Sub(e.SentAt) > info.Window {
			// Why: it may have been handled, and the row that knew it be dropped.
			e.State, e.NextAt, e.HandledAt = InboxLate, time.Time{}, now
			e.Code, e.Message = CodeStateForbids, "it happened longer ago than the inbox remembers"
		}
		rows = append(rows, e)
	}
	return rows
}

// wakeInbox tells the workers that an event was recorded.
func (l *Ledger) wakeInbox() {
	select {
	case l.arrivals <- struct{}{}:
	default:
	}
}

// Arrivals is signalled when an event was recorded. Workers wait on it besides
// their poll.
func (l *Ledger) Arrivals() <-chan struct{} { return l.arrivals }
