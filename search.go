package onceward

import (
	"context"
	"slices"
)

// SearchScan is how many operations one page of a search looks at. What no index
// helps with is looked for among so many at a time, so that a page costs the same
// however large the ledger is.
const SearchScan = 5_000

// Found is a page of a search.
type Found struct {
	Operations []*Operation
	Next       Cursor // where to go on; zero: everything was looked at
	Partly     bool   // the page is not full: it looked at SearchScan operations, and older ones are left
}

// Search lists operations as List does, at a bounded cost: a page may come back
// with fewer operations than there are, or none, and a place at which to go on. A
// key without a tool is looked up under each tool that has a contract in force.
func (l *Ledger) Search(ctx context.Context, p Principal, f Filter) (*Found, error) {
	if f.Key != "" {
		return l.searchKey(ctx, p, f)
	}
	if err := Authorize(p, ActionRead); err != nil {
		return nil, err
	}
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	f.Tenant = p.Tenant
	ops, stopped, err := l.store.Search(ctx, f, SearchScan)
	if err != nil {
		return nil, err
	}
	found := &Found{Operations: ops, Next: stopped, Partly: stopped != Cursor{}}
	if n := len(ops); n == f.Limit {
		found.Next = Cursor{CreatedAt: ops[n-1].CreatedAt, ID: ops[n-1].ID}
	}
	for _, op := range ops {
		if _, err := l.hydrate(ctx, op); err != nil {
			l.log.Warn("contract of an operation cannot be loaded", about(op, "error", err)...)
		}
	}
	return found, nil
}

// searchKey looks a key up, under one tool or under each.
func (l *Ledger) searchKey(ctx context.Context, p Principal, f Filter) (*Found, error) {
	tools := []ToolName{f.Tool}
	if f.Tool == "" {
		tools = l.tools.names()
	}
	found := &Found{}
	for _, f.Tool = range tools {
		ops, err := l.List(ctx, p, f)
		if err != nil {
			return nil, err
		}
		found.Operations = append(found.Operations, ops...)
	}
	if f.Tool == "" { // there is no tool: still refuse whoever may not read
		return found, Authorize(p, ActionRead)
	}
	slices.SortFunc(found.Operations, func(a, b *Operation) int { return b.CreatedAt.Compare(a.CreatedAt) })
	found.Operations = found.Operations[:min(len(found.Operations), f.Limit)]
	return found, nil
}
