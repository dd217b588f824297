package storetest

import (
	"time"

	"github.com/onceward/onceward"
)

var bulkReplays = []situation{
	{"BulkReplayIsStoredWhole", bulkReplayIsStoredWhole},
	{"BulkReplayIsWrittenByCompareAndSet", bulkReplayCompareAndSet},
	{"RunningBulkReplaysAreListedOldestFirst", runningBulkReplays},
	{"OldBulkReplayIsDroppedAtItsRevision", oldBulkReplays},
}

func (f *fixture) newBulkReplay(key string) onceward.BulkReplay {
	return onceward.BulkReplay{ID: onceward.NewBulkReplayID(tenant, key), Tenant: tenant,
		By:      onceward.Principal{Tenant: tenant, Issuer: "token", Subject: "ops", Roles: []onceward.Role{onceward.RoleOperator}},
		Request: onceward.Digest{7}, Rate: 60, Reason: "the line is repaired", State: onceward.BulkRunning, NextAt: f.origin, CreatedAt: f.origin, Revision: 1, Token: token()}
}

func (f *fixture) putBulkReplay(b onceward.BulkReplay) {
	f.Helper()
	stored, applied, err := f.Store.PutBulkReplay(f.ctx, b)
	f.must(err)
	f.equal("whether it was applied", true, applied)
	f.equal("the row that the write gives back", &b, stored)
}

func bulkReplayIsStoredWhole(f *fixture) {
	whole := f.newBulkReplay("whole")
	op := f.claimed("k")
	whole.By.Groups, whole.By.Tools, whole.By.Effects = []string{"leads"}, []onceward.ToolName{tool}, []onceward.EffectClass{onceward.EffectProbedWrite}
	whole.Filter = onceward.BulkFilter{Tool: tool, States: []onceward.State{onceward.StateFailed}, Run: "r", CorrelationID: "c", From: f.origin.Add(-time.Hour), To: f.origin}
	whole.Plan, whole.Confirm, whole.DryRun, whole.Cut = onceward.BulkReplayID{9}, true, true, true
	whole.After = onceward.Cursor{CreatedAt: f.origin, ID: op.ID}
	whole.Pending = &onceward.BulkResult{Operation: op.ID, Attempt: 2}
	whole.Results = []onceward.BulkResult{{Operation: op.ID, Attempt: 1, Outcome: onceward.BulkRefused, Message: "because"}}
	whole.FinishedAt = f.origin.Add(step)
	for _, b := range []onceward.BulkReplay{whole, f.newBulkReplay("bare")} {
		f.putBulkReplay(b)
		got, err := f.other.LoadBulkReplay(f.ctx, b.ID)
		f.must(err)
		f.equal("the stored row", &b, got)
	}
	none, err := f.other.LoadBulkReplay(f.ctx, onceward.NewBulkReplayID(tenant, "none"))
	f.must(err)
	if none != nil {
		f.Fatalf("there is one: %+v", none)
	}
}

func bulkReplayCompareAndSet(f *fixture) {
	writtenByCompareAndSet(f, f.newBulkReplay("k"), f.putBulkReplay, onceward.Store.PutBulkReplay, func(b *onceward.BulkReplay, reason string) { b.Revision, b.Reason = 2, reason },
		func(b *onceward.BulkReplay) { b.Token = token() })
}

func runningBulkReplays(f *fixture) {
	var want []onceward.BulkReplayID
	for i, key := range []string{"a", "b", "c"} {
		b := f.newBulkReplay(key)
		b.CreatedAt = f.origin.Add(time.Duration(i) * step)
		f.putBulkReplay(b)
		if key == "b" {
			b.State, b.Revision, b.Token = onceward.BulkFinished, 2, token()
			f.putBulkReplay(b)
			continue
		}
		want = append(want, b.ID)
	}
	list := func(limit int) (ids []onceward.BulkReplayID) {
		all, err := f.other.RunningBulkReplays(f.ctx, limit)
		f.must(err)
		for _, b := range all {
			ids = append(ids, b.ID)
		}
		return ids
	}
	f.equal("what runs", want, list(10))
	f.equal("the oldest", want[:1], list(1))
}

func oldBulkReplays(f *fixture) {
	older, old, fresh := f.newBulkReplay("older"), f.newBulkReplay("old"), f.newBulkReplay("fresh")
	older.CreatedAt, fresh.CreatedAt = f.origin.Add(-time.Hour), f.origin.Add(time.Hour)
	older.Tenant, older.By.Tenant = "globex", "globex"
	for _, b := range []onceward.BulkReplay{old, fresh, older} {
		f.putBulkReplay(b)
	}
	aged := func(after onceward.BulkCursor, limit int) []*onceward.BulkReplay {
		f.Helper()
		page, err := f.other.AgedBulkReplays(f.ctx, after, f.origin.Add(time.Minute), limit)
		f.must(err)
		return page
	}
	f.equal("the old ones", []*onceward.BulkReplay{&older, &old}, aged(onceward.BulkCursor{}, 10))
	f.equal("the first", []*onceward.BulkReplay{&older}, aged(onceward.BulkCursor{}, 1))
	f.equal("the one after it", []*onceward.BulkReplay{&old}, aged(onceward.BulkCursor{CreatedAt: older.CreatedAt, ID: older.ID}, 10))
	overtaken := old
	overtaken.Revision++
	for _, c := range []struct {
		b    onceward.BulkReplay
		want bool
	}{{overtaken, false}, {old, true}, {old, false}} {
		dropped, err := f.Store.DropBulkReplay(f.ctx, &c.b, onceward.NewAuditEvent(onceward.AuditEvent{Tenant: tenant, Actor: "ledger", Action: onceward.AuditReplayDropped, Subject: old.ID.String()}))
		f.must(err)
		f.equal("whether it was dropped", c.want, dropped)
	}
	f.equal("what is left", []*onceward.BulkReplay{&older}, aged(onceward.BulkCursor{}, 10))
	rows, err := f.other.AuditRows(f.ctx, onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 10, Open: true})
	f.must(err)
	f.equal("the lines of the audit trail", 1, len(rows))
}
