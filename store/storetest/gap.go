package storetest

import (
	"time"

	"github.com/onceward/onceward"
)

var gaps = []situation{
	{"GapsAreListedOldestFirst", gapsListed},
	{"GapThatIsStoredAgainReplacesItself", gapReplaced},
}

func gapsListed(f *fixture) {
	none, err := f.other.Gaps(f.ctx)
	f.must(err)
	f.equal("gaps of a new ledger", 0, len(none))
	second := onceward.Gap{Since: f.origin.Add(time.Hour), Until: f.origin.Add(2 * time.Hour), Lost: 3, Cleared: []onceward.ToolName{tool}, By: "local:operator", Reason: "a disk \"died\""}
	first := onceward.Gap{Until: f.origin, By: "local:operator", Reason: "tried out"}
	f.must(f.Store.PutGap(f.ctx, second))
	f.must(f.Store.PutGap(f.ctx, first))
	all, err := f.other.Gaps(f.ctx)
	f.must(err)
	f.equal("the gaps", []onceward.Gap{first, second}, all)
}

func gapReplaced(f *fixture) {
	g := onceward.Gap{Since: f.origin, Until: f.origin.Add(time.Minute), Lost: 1, By: "local:operator", Reason: "restored"}
	f.must(f.Store.PutGap(f.ctx, g))
	g.Cleared = []onceward.ToolName{tool}
	f.must(f.other.PutGap(f.ctx, g, onceward.NewAuditEvent(onceward.AuditEvent{Actor: "local:operator", Action: onceward.AuditLedgerRecovered, Subject: "ledger"})))
	all, err := f.Store.Gaps(f.ctx)
	f.must(err)
	f.equal("the gaps", []onceward.Gap{g}, all)
	rows, err := f.Store.AuditRows(f.ctx, onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 10, Open: true})
	f.must(err)
	f.equal("the events noted with it", 1, len(rows))
}
