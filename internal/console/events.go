package console

import "github.com/onceward/onceward"

// eventView is an event that a sender delivered.
type eventView struct {
	Event     *onceward.InboxEvent
	Body      string
	Cut       bool
	MayHandle bool
}

func (p *page) eventID() (onceward.InboxID, error) {
	return onceward.ParseInboxID(p.req.PathValue("id"))
}

// event is GET /events/{id}.
func event(p *page) error {
	id, err := p.eventID()
	if err != nil {
		return err
	}
	e, err := p.ledger.InboxEvent(p.req.Context(), p.who, id)
	if err != nil {
		return err
	}
	v := eventView{Event: e, MayHandle: p.may(onceward.ActionHandleEvents) && e.State.Waits()}
	v.Body, v.Cut = bodyText(e.Body)
	return p.show("event", word("inbox.title"), v)
}

// redriveEvent is POST /events/{id}/redrive.
func redriveEvent(p *page) error {
	id, err := p.eventID()
	if err != nil {
		return err
	}
	if _, err := p.ledger.RedriveEvent(p.req.Context(), p.who, id, p.field("reason")); err != nil {
		return err
	}
	return p.done("/events/"+id.String(), "redriven")
}

// dismissEvent is POST /events/{id}/dismiss.
func dismissEvent(p *page) error {
	id, err := p.eventID()
	if err != nil {
		return err
	}
	if _, err := p.ledger.DismissEvent(p.req.Context(), p.who, id, p.field("reason")); err != nil {
		return err
	}
	return p.done("/events/"+id.String(), "dismissed")
}
