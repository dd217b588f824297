package console

import (
	"time"

	"github.com/onceward/onceward"
)

// operationView is the page of one operation.
type operationView struct {
	Op        *onceward.Operation
	Info      *onceward.ToolInfo // of the contract in force; nil: there is none
	Standing  standing
	Story     []line
	Drawing   *drawing
	Attempts  []attemptView
	Sees      bool // input, result and bodies
	Input     string
	Result    *resultView
	Run       string // link; empty: the run is a label, or none
	Step      string // of the decision
	BlockedBy string
	Kin       []kin
	Of        *stepView // nil: it is of no saga
	Now       time.Time

	MayFork, ForkInput bool // ForkInput: its input is not kept, and has to be given

	MayCancel, MayLookUp, MayReplay, MayComment, MayReview, MayApprove, MayResult bool
}

// attemptView is one attempt in words.
type attemptView struct {
	onceward.Attempt
	Word, Sent, Settled string
	Took                time.Duration
}

// resultView is the provider's answer as it is replayed.
type resultView struct {
	Status int
	Header []onceward.HeaderField
	Body   string
	Cut    bool
	Kept   bool
}

func resultOf(r *onceward.Result) *resultView {
	if r == nil {
		return nil
	}
	v := &resultView{Status: r.Status, Header: r.Header, Kept: r.BodyKept}
	v.Body, v.Cut = bodyText(r.Body)
	return v
}

// operation is GET /operations/{id}.
func operation(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	v, err := p.readOperation(id)
	if err != nil {
		return err
	}
	return p.show("operation", word("operation.title", v.Op.Tool), v)
}

// readOperation is an operation with all that a page shows of it.
func (p *page) readOperation(id onceward.OperationID) (*operationView, error) {
	ctx := p.req.Context()
	op, err := p.ledger.Get(ctx, p.who, id, 0)
	if err != nil {
		return nil, err
	}
	records, err := p.ledger.Timeline(ctx, p.who, id)
	if err != nil {
		return nil, err
	}
	v := &operationView{Op: op, Standing: standingOf(op, p.now), Sees: p.who.SeesResult(op), Now: p.now}
	v.Story = storyOf(op, records, v.Sees)
	if !op.Retired {
		v.Drawing = draw(op, v.Story, p.now)
	}
	if t, err := p.ledger.Tool(op.Tool); err == nil {
		v.Info = t.Info()
	}
	for i := range op.Attempts {
		v.Attempts = append(v.Attempts, attemptOf(&op.Attempts[i], p.now))
	}
	if v.Sees {
		v.Input, v.Result = pretty(op.Input), resultOf(op.Result)
	}
	if holder, err := p.ledger.BlockedBy(ctx, op); err == nil && !holder.IsZero() {
		v.BlockedBy = holder.String()
	}
	v.Kin, v.Of = p.kinOf(op, records)
	p.chain(op, v)
	p.offers(op, v)
	return v, nil
}

func attemptOf(a *onceward.Attempt, now time.Time) attemptView {
	return attemptView{Attempt: *a, Word: wordOr("attempt.", a.Status.String()), Sent: word("reach." + a.Reach.String()),
		Settled: wordOr("settler.", a.Settler.String()), Took: attemptEnd(a, now).Sub(a.StartedAt)}
}

// chain finds the run and the step that an operation comes from.
func (p *page) chain(op *onceward.Operation, v *operationView) {
	if id, err := onceward.ParseRunID(op.Run); err == nil {
		v.Run = "/runs/" + id.String()
	}
	if op.DecidedBy.IsZero() || !p.may(onceward.ActionReadDecisions) {
		return
	}
	if d, err := p.ledger.GetDecision(p.req.Context(), p.who, op.DecidedBy.Decision); err == nil {
		v.Step = d.Step
	}
}

// offers says what the page lets its reader try; the ledger decides.
func (p *page) offers(op *onceward.Operation, v *operationView) {
	may := func(a onceward.Action) bool { return p.mayOn(a, op.Tool, op.Effect) }
	ended := op.State == onceward.StateFailed || op.State == onceward.StateAbandoned
	v.MayCancel = may(onceward.ActionCancel) && !op.State.Terminal() && !op.CancelRequested
	v.MayLookUp = may(onceward.ActionReconcile) && op.Policy.HasProbe && op.OpenAttempts() > 0
	v.MayReplay = may(onceward.ActionReplay) && (ended || op.State == onceward.StateNeedsReview || op.State == onceward.StateOutcomeUnknown)
	v.MayComment = may(onceward.ActionWorkReviews) && (ended || op.State == onceward.StateNeedsReview || op.State == onceward.StateAwaitingApproval || op.State == onceward.StateOutcomeUnknown)
	v.MayFork, v.ForkInput = may(onceward.ActionFork) && op.State.Terminal() && !op.Retired, op.Input == nil || !op.Policy.KeepInput.Whole()
	v.MayReview = p.may(onceward.ActionReadReviews) && len(op.Answers()) > 0
	v.MayApprove = p.may(onceward.ActionReadApprovals) && op.ApprovalNeeded
}

// cancel is POST /operations/{id}/cancel.
func cancel(p *page) error {
	return p.change("cancel_asked", func(id onceward.OperationID) error {
		_, err := p.ledger.Cancel(p.req.Context(), p.who, id, p.field("reason"))
		return err
	})
}

// reconcile is POST /operations/{id}/reconcile.
func reconcile(p *page) error {
	return p.change("looked_up", func(id onceward.OperationID) error {
		_, err := p.ledger.Reconcile(p.req.Context(), p.who, id)
		return err
	})
}

// comment is POST /operations/{id}/comment.
func comment(p *page) error {
	return p.change("commented", func(id onceward.OperationID) error {
		_, err := p.ledger.Comment(p.req.Context(), p.who, id, p.field("text"))
		return err
	})
}

// change does one thing to the operation in the path, and goes back to the page
// that it was asked on.
func (p *page) change(what string, do func(onceward.OperationID) error) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	if err := do(id); err != nil {
		return err
	}
	to := "/operations/" + id.String()
	if p.field("from") == "review" && p.may(onceward.ActionReadReviews) {
		to = "/reviews/" + id.String()
	}
	return p.done(to, what)
}
