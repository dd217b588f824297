package onceward

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// ReviewTaken: somebody of the team says that it is his turn.
type ReviewTaken struct{ Actor string }

// ReviewOverdue: nobody has settled it in the time that was set.
type ReviewOverdue struct{}

// Commented: a person adds to the timeline what the next one has to know.
type Commented struct{ Actor, Text string }

// ReviewAnswer is one of the answers that a person may give, as Resolve takes it,
// and what follows from it.
type ReviewAnswer struct {
	When           string // in words: "it happened"
	Outcome        Resolution
	Retry          bool // of ResolvedNotPerformed
	NeedsReference bool // else it needs a reason
	Consequence    string
}

// Answers are the answers that the operation lets in now; none where nothing has
// to be settled by a person's word. Each is for the newest attempt.
func (o *Operation) Answers() []ReviewAnswer {
	switch {
	case o.Retired:
		return nil
	case o.State != StateNeedsReview && o.State != StateOutcomeUnknown && o.State != StateAbandoned:
		return nil
	}
	answers := []ReviewAnswer{{When: "it happened", Outcome: ResolvedSucceeded, NeedsReference: o.Effect.Writes(),
		Consequence: "it becomes succeeded, nothing is sent again, and whoever asks gets the reference"}}
	switch {
	case o.proven():
	case o.CancelRequested:
		answers = append(answers, ReviewAnswer{When: "it did not", Outcome: ResolvedNotPerformed,
			Consequence: "it becomes cancelled, as somebody asked; nothing is sent again"})
	default:
		answers = append(answers,
			ReviewAnswer{When: "it did not; try again", Outcome: ResolvedNotPerformed, Retry: true,
				Consequence: "it is sent again at once under the same key: if it happened after all, it happens twice"},
			ReviewAnswer{When: "it did not; leave it", Outcome: ResolvedNotPerformed,
				Consequence: "it becomes failed, nothing is sent again by itself, and whoever asks is told that it did not happen"})
	}
	if o.State != StateAbandoned {
		answers = append(answers, ReviewAnswer{When: "nobody can tell", Outcome: ResolvedAbandoned,
			Consequence: "it becomes abandoned, nobody looks any further, and whoever asks is told that it may have happened"})
	}
	return answers
}

// Overdue reports whether a review should have been settled by this time.
func (o *Operation) Overdue(at time.Time) bool {
	return o.State == StateNeedsReview && !o.Assigned.Due.IsZero() && !at.Before(o.Assigned.Due)
}

// Review is an operation as whoever has to settle it needs to see it.
type Review struct {
	Operation *Operation
	Info      *ToolInfo // of its contract version: owners, probe, blind spots
	Overdue   bool
	Answers   []ReviewAnswer
}

// listed is an operation's place in the queue. One whose contract cannot be read
// here holds up no other: it is listed without what the contract says, and nothing
// can be answered about it in this process.
func (l *Ledger) listed(ctx context.Context, op *Operation) (*Review, error) {
	t, err := l.hydrate(ctx, op)
	if unreadable(err) {
		l.warnOnce("reviews are listed that cannot be answered here: their contract cannot be read", op.Tool, err)
		return &Review{Operation: op, Info: &ToolInfo{Name: op.Tool, Version: op.Contract}, Overdue: op.Overdue(l.clock.now())}, nil
	}
	if err != nil {
		return nil, err
	}
	return l.review(op, t), nil
}

func (l *Ledger) review(op *Operation, t Tool) *Review {
	return &Review{Operation: op, Info: t.Info(), Overdue: op.Overdue(l.clock.now()), Answers: op.Answers()}
}

// Review returns an operation with what may be answered about it, whatever its
// state.
func (l *Ledger) Review(ctx context.Context, p Principal, id OperationID) (*Review, error) {
	if err := Authorize(p, ActionReadReviews); err != nil {
		return nil, err
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	return l.review(op, t), nil
}

// ReviewQuery selects reviews. Zero fields select everything.
type ReviewQuery struct {
	Tool    ToolName
	Mine    bool   // that the principal has taken, or was given by name
	Team    string // that this team is asked for
	Overdue bool
	After   ReviewCursor // exclusive
	Limit   int          // 1 to MaxPage
}

// ReviewCursor is a place in the order of the queue: by deadline, those without
// one last, then by age.
type ReviewCursor struct {
	Due       time.Time
	CreatedAt time.Time
	ID        OperationID
}

func (c ReviewCursor) compare(d ReviewCursor) int {
	if c.Due.IsZero() != d.Due.IsZero() {
		if c.Due.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(c.Due.Compare(d.Due), c.CreatedAt.Compare(d.CreatedAt), bytes.Compare(c.ID[:], d.ID[:]))
}

// Cursor is the review's place in the order of the queue.
func (r *Review) Cursor() ReviewCursor {
	return ReviewCursor{Due: r.Operation.Assigned.Due, CreatedAt: r.Operation.CreatedAt, ID: r.Operation.ID}
}

// ReviewsScanMax is how many waiting operations of a tenant are looked at.
const ReviewsScanMax = 20 * MaxPage

// Reviews returns a page of the review queue: whatever waits for a person to
// settle it. What is overdue comes first.
func (l *Ledger) Reviews(ctx context.Context, p Principal, q ReviewQuery) ([]*Review, error) {
	if err := Authorize(p, ActionReadReviews); err != nil {
		return nil, err
	}
	if q.Limit < 1 || q.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", q.Limit, MaxPage)
	}
	var found []*Review
	f := Filter{Tenant: p.Tenant, Tool: q.Tool, States: []State{StateNeedsReview}, Limit: MaxPage}
	for seen := 0; seen < ReviewsScanMax; seen += MaxPage {
		page, err := l.store.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, op := range page {
			if !l.waitsFor(p, op, q) {
				continue
			}
			r, err := l.listed(ctx, op)
			if err != nil {
				return nil, err
			}
			if q.After == (ReviewCursor{}) || r.Cursor().compare(q.After) > 0 {
				found = append(found, r)
			}
		}
		if len(page) < MaxPage {
			break
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	slices.SortFunc(found, func(a, b *Review) int { return a.Cursor().compare(b.Cursor()) })
	return found[:min(len(found), q.Limit)], nil
}

func (l *Ledger) waitsFor(p Principal, op *Operation, q ReviewQuery) bool {
	switch {
	case q.Mine && op.Assigned.To != p.String(), q.Team != "" && op.Assigned.Team != q.Team, q.Overdue && !op.Overdue(l.clock.now()):
		return false
	}
	return true
}

// TakeReview gives a review to the principal. Taking it again changes nothing.
// Of two who take it at once one has it, and the other is told CodeStateForbids,
// with who and since when.
func (l *Ledger) TakeReview(ctx context.Context, p Principal, id OperationID) (*Operation, error) {
	return l.workOn(ctx, p, id, func(now *Operation) (Event, error) {
		if now.State == StateNeedsReview && now.Assigned.To == p.String() {
			return nil, nil
		}
		return ReviewTaken{Actor: p.String()}, nil
	})
}

// AssignReview hands a review over, with a reason: to a person, to a team, or
// until another time. A zero Due keeps the deadline. If somebody else took it or
// was given it meanwhile, that stands, and CodeStateForbids names who has it.
func (l *Ledger) AssignReview(ctx context.Context, p Principal, id OperationID, to Assignment, reason string) (*Operation, error) {
	seen, first := Assignment{}, true
	return l.workOn(ctx, p, id, func(now *Operation) (Event, error) {
		if first {
			seen, first = now.Assigned, false
		}
		e := Assigned{Assignment: to, Actor: p.String(), Reason: reason}
		if now.State == StateNeedsReview && now.Assigned != seen {
			return nil, forbidden(now, e, fmt.Sprintf("%s has it since %s", cmp.Or(now.Assigned.To, now.Assigned.Team, "nobody in particular"), now.Assigned.At.UTC().Format(time.RFC3339)))
		}
		if now.State != StateNeedsReview {
			return nil, forbidden(now, e, "nobody has to review it")
		}
		if e.Due.IsZero() {
			e.Due = now.Assigned.Due
		}
		return e, nil
	})
}

// Assign hands over whose turn it is: to approve, as AssignApproval does, or to
// settle, as AssignReview does.
func (l *Ledger) Assign(ctx context.Context, p Principal, id OperationID, to Assignment, reason string) (*Operation, error) {
	if err := Authorize(p, ActionAssign); err != nil {
		return nil, err
	}
	op, _, err := l.load(ctx, p.Tenant, id)
	switch {
	case err != nil:
		return nil, err
	case op.State == StateAwaitingApproval:
		return l.AssignApproval(ctx, p, id, to, reason)
	case op.State == StateNeedsReview:
		return l.AssignReview(ctx, p, id, to, reason)
	}
	return op, &Error{Code: CodeStateForbids, Op: "assign operation", OperationID: id, Message: "it is " + op.State.String() + ": it is nobody's turn"}
}

// Comment adds a person's words to the timeline of an operation that waits for
// people, or is failed or abandoned; CodeStateForbids for any other.
func (l *Ledger) Comment(ctx context.Context, p Principal, id OperationID, text string) (*Operation, error) {
	return l.workOn(ctx, p, id, func(*Operation) (Event, error) { return Commented{Actor: p.String(), Text: text}, nil })
}

// workOn tells the machine what somebody of the queue's people does.
func (l *Ledger) workOn(ctx context.Context, p Principal, id OperationID, what func(now *Operation) (Event, error)) (*Operation, error) {
	op, _, err := l.loadToAct(ctx, p, id, ActionWorkReviews)
	if err != nil {
		return nil, err
	}
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		ev, err := what(now)
		if err != nil || ev == nil {
			return nil, err
		}
		return facts(p.String(), ev), nil
	})
}

// whoResolved adds to the refusal of a resolver who came second who was first,
// and when.
func (l *Ledger) whoResolved(ctx context.Context, op *Operation, err error) error {
	if !Is(err, CodeStateForbids) {
		return err
	}
	d, loadErr := l.store.LoadDetail(ctx, op.ID)
	if loadErr != nil {
		return err
	}
	for i := len(d.Records) - 1; i >= 0; i-- {
		if r := &d.Records[i]; r.Event == KindResolved.String() {
			return &Error{Code: CodeStateForbids, Op: "resolve operation", OperationID: op.ID, Err: err,
				Message: fmt.Sprintf("%s resolved it at %s: it became %s; %s", r.Actor, r.At.UTC().Format(time.RFC3339), r.To, messageOf(err)),
				Hint:    "read the operation again"}
		}
	}
	return err
}
