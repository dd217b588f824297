package storetest

import (
	"cmp"
	"slices"

	"github.com/onceward/onceward"
)

var switches = []situation{
	{"SwitchIsSeenByEveryReplica", switchIsSeen},
	{"SwitchIsOverwritten", switchIsOverwritten},
	{"SwitchCommitsWithItsChange", switchCommitsWithItsChange},
}

func (f *fixture) switches() []onceward.ToolSwitch {
	f.Helper()
	all, err := f.other.Switches(f.ctx)
	f.must(err)
	slices.SortFunc(all, func(a, b onceward.ToolSwitch) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Tool, b.Tool))
	})
	return all
}

func switchIsSeen(f *fixture) {
	f.equal("the switches of an empty ledger", 0, len(f.switches()))
	want := []onceward.ToolSwitch{
		{Tenant: tenant, Tool: "", Paused: true, Reason: "all of them", By: "local:operator", At: f.origin},
		{Tenant: tenant, Tool: tool, Paused: true, Reason: "auth", By: replica, At: f.origin},
		{Tenant: "globex", Tool: tool, Paused: false, At: f.origin},
	}
	for _, s := range want {
		f.must(f.Store.SetSwitch(f.ctx, s))
	}
	f.equal("the switches", want, f.switches())
}

func switchIsOverwritten(f *fixture) {
	s := onceward.ToolSwitch{Tenant: tenant, Tool: tool, Paused: true, Reason: "auth", By: replica, At: f.origin}
	f.must(f.Store.SetSwitch(f.ctx, s))
	s.Paused, s.Reason, s.By, s.At = false, "the token was renewed", "local:operator", f.origin.Add(step)
	f.must(f.other.SetSwitch(f.ctx, s))
	f.equal("the switches", []onceward.ToolSwitch{s}, f.switches())
}

func switchCommitsWithItsChange(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	c := update(next(op))
	c.Tool = &onceward.ToolSwitch{Tenant: tenant, Tool: tool, Paused: true, Reason: "auth", By: replica, At: f.origin}
	f.store(c)
	f.equal("the switches", []onceward.ToolSwitch{*c.Tool}, f.switches())
}
