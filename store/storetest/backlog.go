package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var backlogs = []situation{
	{"WhatWaitsIsCountedByToolAndState", whatWaitsIsCounted},
	{"WhatWaitsInAStateIsListedOldestFirst", whatWaitsIsListed},
}

// whatWaitsIsCounted has rows of two tenants and two tools, in different states,
// one of them late, one ahead, one without a time, and one that has ended.
func whatWaitsIsCounted(f *fixture) {
	other := func(o *onceward.Operation) { o.Tool = "notes.append" }
	late := f.waiting("late", f.origin.Add(-time.Minute))
	f.waiting("ahead", f.origin.Add(30*time.Minute))
	f.waiting("never", f.origin, func(d *onceward.Due) { d.At = time.Time{} })
	f.off("approval", onceward.StateAwaitingApproval, onceward.DueApproval, other)
	f.off("failed", onceward.StateFailed, onceward.DueEnded, other)
	f.off("elsewhere", onceward.StateAwaitingApproval, onceward.DueApproval, other, func(o *onceward.Operation) { o.Tenant = "other" })

	rows, now, err := f.other.Backlog(f.ctx)
	f.must(err)
	if now.Before(f.origin) {
		f.Fatalf("the clock says %v, want %v or later", now, f.origin)
	}
	slices.SortFunc(rows, func(a, b onceward.Backlog) int { return strings.Compare(string(a.Tool), string(b.Tool)) })
	f.equal("the rows", 2, len(rows))
	approvals, ready := rows[0], rows[1]
	f.equal("the tool of the first", onceward.ToolName("notes.append"), approvals.Tool)
	f.equal("its state", onceward.StateAwaitingApproval, approvals.State)
	f.equal("how many wait in it", int64(2), approvals.Count)
	f.equal("the other tool", late.Tool, ready.Tool)
	f.equal("how many wait in it", int64(3), ready.Count)
	f.equal("the oldest", late.CreatedAt, ready.Oldest)
	for i, step := range onceward.BacklogSteps {
		want := int64(1)
		if step >= time.Hour {
			want = 2
		}
		f.equal("how many are due after "+step.String(), want, ready.Due[i])
	}
	f.equal("how many are younger than a week", int64(3), ready.Younger[len(ready.Younger)-1])
}

// off stores an operation in a state off the happy path, with its due row.
func (f *fixture) off(key string, state onceward.State, kind onceward.DueKind, edits ...func(*onceward.Operation)) onceward.Operation {
	f.Helper()
	op := f.claimed(key, append(edits, func(o *onceward.Operation) {
		o.State, o.Attempts = state, nil
	})...)
	c := insert(op)
	c.Due = f.due(op, kind, time.Time{})
	f.store(c)
	return op
}

func whatWaitsIsListed(f *fixture) {
	second := f.off("b", onceward.StateOutcomeUnknown, onceward.DueSettle, func(o *onceward.Operation) { o.CreatedAt = f.origin.Add(2 * step) })
	first := f.off("a", onceward.StateOutcomeUnknown, onceward.DueSettle, func(o *onceward.Operation) { o.CreatedAt, o.Tenant = f.origin.Add(step), "other" })
	f.off("c", onceward.StateOutcomeUnknown, onceward.DueSettle, func(o *onceward.Operation) { o.CreatedAt = f.origin.Add(3 * step) })
	f.off("d", onceward.StateNeedsReview, onceward.DueReview)
	ops, err := f.other.Waiting(f.ctx, onceward.StateOutcomeUnknown, 2)
	f.must(err)
	f.equal("how many", 2, len(ops))
	f.equal("the oldest, of whatever tenant", first.ID, ops[0].ID)
	f.equal("the next", second.ID, ops[1].ID)
}
