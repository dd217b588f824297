package onceward

import (
	"context"
	"slices"
)

// ApprovalQuery selects open questions.
type ApprovalQuery struct {
	Tool  ToolName // empty: every tool
	Mine  bool     // only those that the principal may answer, and has not
	Named bool     // only those that were given to the principal by name or team
	Limit int      // 1 to MaxPage
}

// ApprovalsScanMax is how many open questions of a tenant are looked at.
const ApprovalsScanMax = 10 * MaxPage

// Approvals lists the open questions of the tenant, oldest first.
func (l *Ledger) Approvals(ctx context.Context, p Principal, q ApprovalQuery) ([]*Operation, error) {
	if err := Authorize(p, ActionReadApprovals); err != nil {
		return nil, err
	}
	var open []*Operation
	f := Filter{Tenant: p.Tenant, Tool: q.Tool, States: []State{StateAwaitingApproval}, Limit: MaxPage}
	for seen := 0; seen < ApprovalsScanMax; seen += MaxPage {
		page, err := l.List(ctx, p, f)
		if err != nil {
			return nil, err
		}
		for _, op := range page {
			if l.asks(ctx, p, op, q) {
				open = append(open, op)
			}
		}
		if len(page) < MaxPage {
			break
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	slices.SortStableFunc(open, func(a, b *Operation) int { return a.IntentAt.Compare(b.IntentAt) })
	if q.Limit > 0 && len(open) > q.Limit {
		open = open[:q.Limit]
	}
	return open, nil
}

// asks reports whether the question is one that the query is for.
func (l *Ledger) asks(ctx context.Context, p Principal, op *Operation, q ApprovalQuery) bool {
	if p.Permits(op.Tool, op.Effect) != nil || q.Named && !op.Assigned.Names(p) {
		return false
	}
	if !q.Mine {
		return true
	}
	t, err := l.tools.Version(ctx, op.Tool, op.Contract)
	return err == nil && op.mayGrant(p.String(), l.clock.now()) == nil && mayAnswer(p, op, t.Info()) == nil
}
