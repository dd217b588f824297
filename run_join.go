package onceward

import (
	"context"
	"slices"
	"strings"
)

// join looks at the run and the decision that a request for an operation names,
// before anything is claimed. What the ledger has already is left to the rules
// of duplicates: whoever repeats a run after a crash, and perhaps after its end,
// gets what was done.
//
// CodeRunNotFound, CodeDecisionNotFound: there is none. CodeStateForbids: the run
// was finished, or the step is not decided. CodeBranchForbids: the tool is not
// one of the branch that was chosen.
func (l *Ledger) join(ctx context.Context, in *Intent, id OperationID) error {
	run, named := runOf(in.Run)
	switch {
	case in.joined:
		return nil
	case in.Decision.IsZero() && in.Branch != "":
		return &Error{Code: CodeInvalidRequest, Op: "join run", Message: "branch is given without decision", Hint: "name the decision that chose the branch"}
	case in.Decision.IsZero() && !named:
		return nil
	}
	there, err := l.writer.Read(ctx, id)
	if err != nil || there != nil && !there.Retired {
		return err
	}
	var d *StepDecision
	if !in.Decision.IsZero() {
		if d, err = l.decision(ctx, in.Principal.Tenant, in.Decision); err != nil {
			return err
		}
		if in.Run != "" && run != d.Run {
			return &Error{Code: CodeInvalidRequest, Op: "join run", Message: d.ID.String() + " is a decision of " + d.Run.String(), Hint: "name that run, or leave run out"}
		}
		run = d.Run
	}
	r, err := l.openRun(ctx, in.Principal.Tenant, run)
	if err != nil {
		return err
	}
	if in.decidedBy, err = l.branchOf(ctx, in, r, d); err != nil {
		return err
	}
	in.joined, in.Run = true, r.ID.String()
	if in.CorrelationID == "" {
		in.CorrelationID = r.CorrelationID
	}
	return nil
}

// branchOf holds a request to the branch that its run is on.
func (l *Ledger) branchOf(ctx context.Context, in *Intent, r *Run, d *StepDecision) (DecidedBy, error) {
	var info *WorkflowInfo
	if r.Rules != "" {
		w, err := l.tools.WorkflowVersion(ctx, r.Workflow, r.Rules)
		if err != nil {
			return DecidedBy{}, err
		}
		info = w.Info()
	}
	if d == nil {
		if info == nil {
			return DecidedBy{}, nil
		}
		if steps := info.Guards(in.Tool); len(steps) > 0 {
			return DecidedBy{}, &Error{Code: CodeBranchForbids, Op: "join run", Message: "within " + r.Workflow + " the tool " + string(in.Tool) + " is called on a branch of " + strings.Join(steps, " or "),
				Hint: "name the decision of that step"}
		}
		return DecidedBy{}, nil
	}
	v := d.Current()
	by := DecidedBy{Decision: d.ID, Version: v.Number, Branch: v.Branch, Rules: v.RuleVersion}
	switch {
	case !d.Pinned():
		return by, &Error{Code: CodeStateForbids, Op: "join run", Message: "the step " + d.Step + " is not decided", Hint: "pin it first: PUT /v1/decisions"}
	case in.Branch != "" && in.Branch != v.Branch:
		return by, &Error{Code: CodeBranchForbids, Op: "join run", Message: "the step " + d.Step + " chose the branch " + orNone(v.Branch) + ", not " + in.Branch,
			Hint: "act on the pinned decision; to replace it, decide anew with a reason"}
	case info == nil:
		return by, nil
	}
	return by, onBranch(info, in.Tool, d.Step, v.Branch)
}

// onBranch refuses a tool that the chosen branch does not name. A step without
// branches allows what no branch of another step is needed for.
func onBranch(info *WorkflowInfo, tool ToolName, step, branch string) error {
	if s := info.Step(step); s != nil && len(s.Branches) > 0 {
		b := s.Branch(branch)
		if b != nil && slices.Contains(b.Tools, tool) {
			return nil
		}
		allowed := "none"
		if b != nil && len(b.Tools) > 0 {
			names := make([]string, len(b.Tools))
			for i, t := range b.Tools {
				names[i] = string(t)
			}
			allowed = strings.Join(names, ", ")
		}
		return &Error{Code: CodeBranchForbids, Op: "join run", Message: "the step " + step + " chose the branch " + orNone(branch) + "; its tools: " + allowed,
			Hint: "act on the pinned decision; to replace it, decide anew with a reason"}
	}
	if steps := info.Guards(tool); len(steps) > 0 {
		return &Error{Code: CodeBranchForbids, Op: "join run", Message: "the tool " + string(tool) + " is called on a branch of " + strings.Join(steps, " or ") + ", not of " + step,
			Hint: "name the decision of that step"}
	}
	return nil
}

func orNone(branch string) string {
	if branch == "" {
		return "none"
	}
	return branch
}
