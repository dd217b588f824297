package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// reviewsView is the queue.
type reviewsView struct {
	Of      string // mine, teams, all
	Team    string
	Teams   []string // of the reader
	Overdue bool
	Reviews []*onceward.Review
	Events  []*onceward.InboxEvent
	Sagas   []*onceward.Saga
	Outbox  bool // the page of events for others may be read
	More    string
	At      string // the address of what is asked for
	Now     time.Time
	First   bool
}

// reviews is GET /reviews.
func reviews(p *page) error {
	q := p.req.URL.Query()
	v := reviewsView{Of: q.Get("of"), Team: strings.TrimSpace(q.Get("team")), Overdue: q.Get("overdue") != "", Now: p.now, First: q.Get("after") == ""}
	for _, g := range p.who.Groups {
		if g != onceward.EveryGroup {
			v.Teams = append(v.Teams, g)
		}
	}
	if v.Of == "" {
		v.Of = "all"
	}
	query := onceward.ReviewQuery{Mine: v.Of == "mine", Team: v.Team, Overdue: v.Overdue, Limit: ListPage}
	var err error
	if query.After, err = readReviewCursor(q.Get("after")); err != nil {
		return err
	}
	if v.Reviews, err = p.ledger.Reviews(p.req.Context(), p.who, query); err != nil {
		return err
	}
	asked := url.Values{"of": {v.Of}}
	if v.Team != "" {
		asked.Set("team", v.Team)
	}
	if v.Overdue {
		asked.Set("overdue", "1")
	}
	v.At = link("/reviews", asked.Encode())
	if n := len(v.Reviews); n == ListPage {
		asked.Set("after", writeReviewCursor(v.Reviews[n-1].Cursor()))
		v.More = link("/reviews", asked.Encode())
	}
	if v.First && p.may(onceward.ActionReadEvents) {
		v.Outbox = true
		if v.Events, err = p.ledger.WaitingEvents(p.req.Context(), p.who, ListPage); err != nil {
			return err
		}
	}
	if v.First && p.may(onceward.ActionReadSagas) {
		if v.Sagas, err = p.ledger.ListSagas(p.req.Context(), p.who, onceward.SagaFilter{State: onceward.SagaNeedsReview, Limit: ListPage}); err != nil {
			return err
		}
	}
	return p.show("reviews", word("reviews.title"), v)
}

func writeReviewCursor(c onceward.ReviewCursor) string {
	due := ""
	if !c.Due.IsZero() {
		due = strconv.FormatInt(c.Due.UnixMicro(), 10)
	}
	return due + "_" + writeCursor(onceward.Cursor{CreatedAt: c.CreatedAt, ID: c.ID})
}

func readReviewCursor(s string) (c onceward.ReviewCursor, err error) {
	if s == "" {
		return c, nil
	}
	due, rest, _ := strings.Cut(s, "_")
	at, err := readCursor(rest)
	if err != nil {
		return c, err
	}
	c.CreatedAt, c.ID = at.CreatedAt, at.ID
	if due != "" {
		micros, err := strconv.ParseInt(due, 10, 64)
		if err != nil {
			return c, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
		}
		c.Due = time.UnixMicro(micros).UTC()
	}
	return c, nil
}

// reviewView is the page of one review: the operation, and what may be answered.
type reviewView struct {
	*operationView
	Review  *onceward.Review
	Sent    *onceward.Request // what was put on the wire; nil: not for the reader, or gone
	SentAs  string
	Back    *line // what came back, of the newest attempt that saw something
	Probe   *line // what the newest look-up saw
	Mine    bool
	MayWork bool
	MayEnd  bool // resolve
	MayGive bool // hand over
}

// review is GET /reviews/{id}.
func review(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	r, err := p.ledger.Review(p.req.Context(), p.who, id)
	if err != nil {
		return err
	}
	o, err := p.readOperation(id)
	if err != nil {
		return err
	}
	v := &reviewView{operationView: o, Review: r, Mine: r.Operation.Assigned.To == p.who.String(), MayWork: p.mayOn(onceward.ActionWorkReviews, o.Op.Tool, o.Op.Effect),
		MayEnd: p.mayOn(onceward.ActionResolve, o.Op.Tool, o.Op.Effect)}
	v.MayGive = v.MayWork && p.may(onceward.ActionAssign)
	if o.Sees && o.Op.Request != nil {
		v.Sent = o.Op.Request
		v.SentAs, _ = bodyText(v.Sent.Body)
	}
	for i := range o.Story {
		l := &o.Story[i]
		switch {
		case l.Evidence == nil:
		case l.Kind == "attempt":
			v.Back = l
		case l.Kind == "probe":
			v.Probe = l
		}
	}
	return p.show("review", word("review.title", v.Op.Tool), v)
}

// takeReview is POST /reviews/{id}/take.
func takeReview(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	if _, err := p.ledger.TakeReview(p.req.Context(), p.who, id); err != nil {
		return err
	}
	return p.done("/reviews/"+id.String(), "taken")
}

// assignReview is POST /reviews/{id}/assign.
func assignReview(p *page) error { return p.assign("/reviews/") }

// resolve is POST /reviews/{id}/resolve. The answer is one of those that the page
// listed; what it needs the ledger asks for.
func resolve(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	outcome, then, _ := strings.Cut(p.field("answer"), ".")
	r := onceward.Resolved{Retry: then == "retry", Reference: p.field("reference"), Reason: p.field("reason")}
	if r.Outcome, err = onceward.ParseResolution(outcome); err != nil {
		return err
	}
	if r.Attempt, err = strconv.Atoi(p.field("attempt")); err != nil {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.form")}
	}
	if _, err := p.ledger.Resolve(p.req.Context(), p.who, id, r); err != nil {
		return err
	}
	return p.done("/reviews/"+id.String(), "resolved")
}
