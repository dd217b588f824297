package storetest

import (
	"time"

	"github.com/onceward/onceward"
)

var holds = []situation{
	{"HoldsAreListedOldestFirst", holdsListed},
	{"HoldIsLiftedOnceByItsTenantOnly", holdLifted},
}

func (f *fixture) legalHold(id onceward.HoldID, after time.Duration) onceward.Hold {
	return onceward.Hold{ID: id, Tenant: tenant, Reason: "the matter \"7\"", By: "token:counsel", At: f.origin.Add(after)}
}

func holdsListed(f *fixture) {
	none, err := f.other.Holds(f.ctx)
	f.must(err)
	f.equal("holds of a new ledger", 0, len(none))
	second := f.legalHold("hold_1", step)
	second.Operation, second.Subject, second.Tool, second.From, second.Until = onceward.OperationID{7}, "sub_a", tool, f.origin, f.origin.Add(time.Hour)
	first := f.legalHold("hold_2", 0)
	f.must(f.Store.PutHold(f.ctx, second))
	f.must(f.Store.PutHold(f.ctx, first))
	all, err := f.other.Holds(f.ctx)
	f.must(err)
	f.equal("the holds", []onceward.Hold{first, second}, all)
	f.code("a hold without an ID", f.Store.PutHold(f.ctx, f.legalHold("", 0)), onceward.CodeInternal)
}

func holdLifted(f *fixture) {
	note := func(a onceward.AuditAction) onceward.AuditEvent {
		return onceward.NewAuditEvent(onceward.AuditEvent{Tenant: tenant, Actor: "token:counsel", Action: a, Subject: "hold_1"})
	}
	f.must(f.Store.PutHold(f.ctx, f.legalHold("hold_1", 0), note(onceward.AuditHoldSet)))
	for _, c := range []struct {
		whose onceward.Tenant
		want  bool
	}{{"globex", false}, {tenant, true}, {tenant, false}} {
		lifted, err := f.other.LiftHold(f.ctx, c.whose, "hold_1", note(onceward.AuditHoldLifted))
		f.must(err)
		f.equal("lifted", c.want, lifted)
	}
	all, err := f.Store.Holds(f.ctx)
	f.must(err)
	f.equal("the holds", 0, len(all))
	rows, err := f.Store.AuditRows(f.ctx, onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 10, Open: true})
	f.must(err)
	f.equal("the events noted with them", 2, len(rows))
}
