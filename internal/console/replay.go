package console

import (
	"github.com/onceward/onceward"
)

// planView is a replay's plan.
type planView struct {
	Plan      *onceward.ReplayPlan
	Op        *onceward.Operation
	Standing  standing
	Sees      bool
	Then, Now string
	Changes   []difference
	Reason    string
	Wrong     string
}

// planReplay is GET /operations/{id}/replay: it looks the effect up afresh.
func planReplay(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	v, err := p.plan(id)
	if err != nil {
		return err
	}
	return p.show("plan", word("plan.title", v.Op.Tool), v)
}

func (p *page) plan(id onceward.OperationID) (*planView, error) {
	plan, err := p.ledger.PlanReplay(p.req.Context(), p.who, id)
	if err != nil {
		return nil, err
	}
	v := &planView{Plan: plan, Op: plan.Operation, Standing: standingOf(plan.Operation, p.ledger.Now()), Sees: p.who.SeesResult(plan.Operation)}
	if s := plan.Source; s != nil && v.Sees {
		v.Then, v.Now, v.Changes = pretty(s.Then), pretty(s.Now), differences(s.Then, s.Now)
	}
	return v, nil
}

// replay is POST /operations/{id}/replay.
func replay(p *page) error {
	id, err := p.operationID()
	if err != nil {
		return err
	}
	_, err = p.ledger.Replay(p.req.Context(), p.who, id, p.field("reason"), p.field("confirm"))
	if onceward.Is(err, onceward.CodeConfirmationNeeded) || onceward.Is(err, onceward.CodeEvidenceRequired) {
		v, planErr := p.plan(id)
		if planErr != nil {
			return err
		}
		if v.Reason, v.Wrong = p.field("reason"), messageOf(err); p.field("confirm") != "" && onceward.Is(err, onceward.CodeConfirmationNeeded) {
			v.Wrong = word("plan.wrong")
		}
		p.render(p.opts.Status(onceward.CodeOf(err)), "plan", word("plan.title", v.Op.Tool), v)
		return nil
	}
	if err != nil {
		return err
	}
	return p.done("/operations/"+id.String(), "replayed")
}
