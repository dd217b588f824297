package console

import (
	"context"
	"fmt"
	"net/url"

	"github.com/onceward/onceward"
)

// outboxView is how far each destination of events is, and what those did not take.
type outboxView struct {
	Sinks     []sinkView // none: whoever asks may not see all tenants' counts
	MaySinks  bool
	Events    []onceward.SetAside
	Sink      string // of which the events are; empty: of each
	DeadOnly  bool
	MayHandle bool
	More      string
	At        string // the address of what is asked for
	First     bool
}

type sinkView struct {
	onceward.Sink
	Waiting    int
	LagSeconds int
}

// outbox is GET /outbox.
func outbox(p *page) error {
	q := p.req.URL.Query()
	v := outboxView{Sink: q.Get("sink"), DeadOnly: q.Get("dead") != "", MayHandle: p.may(onceward.ActionHandleEvents), First: q.Get("after") == ""}
	f := onceward.AsideFilter{Sink: v.Sink, Dead: v.DeadOnly, Limit: ListPage}
	var err error
	if f.After, err = readAsideCursor(q.Get("after")); err != nil {
		return err
	}
	asked := url.Values{}
	if v.Sink != "" {
		asked.Set("sink", v.Sink)
	}
	if v.DeadOnly {
		asked.Set("dead", "1")
	}
	v.At = link("/outbox", asked.Encode())
	if v.Events, err = p.ledger.OutboxAside(p.req.Context(), p.who, f); err != nil {
		return err
	}
	if n := len(v.Events); n == ListPage {
		asked.Set("after", writeAsideCursor(v.Events[n-1].Cursor()))
		v.More = link("/outbox", asked.Encode())
	}
	if v.MaySinks = onceward.MayReadMetrics(p.who) == nil; v.MaySinks {
		all, now, err := p.ledger.OutboxSinks(p.req.Context(), p.who)
		if err != nil {
			return err
		}
		for _, s := range all {
			v.Sinks = append(v.Sinks, sinkView{s, s.Aside - s.Dead, int(s.Lag(now).Seconds())})
		}
	}
	return p.show("outbox", word("outbox.title"), v)
}

func writeAsideCursor(c onceward.AsideCursor) string {
	return fmt.Sprintf("%d.%d.%s", c.Place.Stamp, c.Place.Position, c.Sink)
}

func readAsideCursor(s string) (c onceward.AsideCursor, err error) {
	if s == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(s, "%d.%d.%s", &c.Place.Stamp, &c.Place.Position, &c.Sink); err != nil {
		return c, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
	}
	return c, nil
}

// redriveOutbox is POST /outbox/redrive.
func redriveOutbox(p *page) error { return p.decideOutbox(p.ledger.RedriveOutbox, "offered_again") }

// dropOutbox is POST /outbox/drop.
func dropOutbox(p *page) error { return p.decideOutbox(p.ledger.DropOutbox, "given_up") }

func (p *page) decideOutbox(decide func(ctx context.Context, who onceward.Principal, sink, event, reason string) error, done string) error {
	if err := decide(p.req.Context(), p.who, p.field("sink"), p.field("event"), p.field("reason")); err != nil {
		return err
	}
	return p.done("/outbox", done)
}
