package storetest

import (
	"sync/atomic"

	"github.com/onceward/onceward"
)

var contracts = []situation{
	{"NewContractVersionBecomesActive", newContractVersion},
	{"ActiveVersionAgainChangesNothing", activeVersionAgain},
	{"SupersededVersionIsRefusedUnlessForced", supersededVersion},
	{"VersionsInForceAreListedByTool", versionsInForce},
	{"AbsentContractIsNotFound", absentContract},
	{"RacingReplicasActivateOnce", racingActivation},
	{"VersionComparedWithAnotherThanIsInForceIsRefused", outrunVersion},
}

func (f *fixture) version(name string) onceward.ContractVersion {
	return onceward.ContractVersion{Tool: tool, Version: name, Source: []byte("kind: Tool # " + name + "\x00"), CreatedAt: f.origin}
}

func (f *fixture) contract(version string) onceward.ContractVersion {
	f.Helper()
	c, err := f.other.Contract(f.ctx, tool, version)
	f.must(err)
	return c
}

func newContractVersion(f *fixture) {
	one, two := f.version("one"), f.version("two")
	f.must(f.Store.Activate(f.ctx, one, false))
	one.Serial, one.Active = 1, true
	f.equal("the first version", one, f.contract("one"))
	f.must(f.Store.Activate(f.ctx, two, false))
	one.Active, two.Serial, two.Active = false, 2, true
	f.equal("the first version", one, f.contract("one"))
	f.equal("the second version", two, f.contract("two"))
	other := f.version("one")
	other.Tool = "mail.send"
	f.must(f.Store.Activate(f.ctx, other, false))
	f.equal("the active version of the first tool", true, f.contract("two").Active)
	c, err := f.other.Contract(f.ctx, "mail.send", "one")
	f.must(err)
	f.equal("the serial under another tool", int64(1), c.Serial)
}

func versionsInForce(f *fixture) {
	one, two, other := f.version("one"), f.version("two"), f.version("three")
	other.Tool = "a.first"
	for _, c := range []onceward.ContractVersion{one, two, other} {
		f.must(f.Store.Activate(f.ctx, c, false))
	}
	active, err := f.other.ActiveContracts(f.ctx)
	f.must(err)
	two.Source, two.Serial, two.Active = nil, 2, true
	other.Source, other.Serial, other.Active = nil, 1, true
	f.equal("the versions in force", []onceward.ContractVersion{other, two}, active)
}

func activeVersionAgain(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	before := f.contract("one")
	again := f.version("one")
	again.CreatedAt = f.origin.Add(step)
	f.must(f.other.Activate(f.ctx, again, false))
	f.must(f.other.Activate(f.ctx, again, true))
	f.equal("the version", before, f.contract("one"))
}

func supersededVersion(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	f.must(f.Store.Activate(f.ctx, f.version("two"), false))
	f.code("the superseded version", f.other.Activate(f.ctx, f.version("one"), false), onceward.CodeContractSuperseded)
	f.equal("the version in force", true, f.contract("two").Active)
	f.must(f.other.Activate(f.ctx, f.version("one"), true))
	one, two := f.contract("one"), f.contract("two")
	if !one.Active || two.Active || one.Serial <= two.Serial {
		f.Errorf("after force the versions are %d (active %t) and %d (active %t)", one.Serial, one.Active, two.Serial, two.Active)
	}
	f.code("the version that was put back", f.Store.Activate(f.ctx, f.version("two"), false), onceward.CodeContractSuperseded)
}

func outrunVersion(f *fixture) {
	none, one := "", "one"
	first, second, third := f.version("one"), f.version("two"), f.version("three")
	first.Replaces, second.Replaces, third.Replaces = &none, &one, &one
	f.must(f.Store.Activate(f.ctx, first, false, someEvent(1)))
	f.must(f.other.Activate(f.ctx, second, false, someEvent(2)))
	f.code("a version compared with the first", f.Store.Activate(f.ctx, third, false, someEvent(3)), onceward.CodeWriteConflict)
	f.code("and by force", f.Store.Activate(f.ctx, third, true, someEvent(4)), onceward.CodeWriteConflict)
	f.must(f.Store.Activate(f.ctx, second, false)) // is in force: there is nothing to compare
	f.equal("the version in force", true, f.contract("two").Active)
	f.equal("the events", []string{"subject 1", "subject 2"}, f.subjects(onceward.AuditQuery{}))
}

func absentContract(f *fixture) {
	f.must(f.Store.Activate(f.ctx, f.version("one"), false))
	_, err := f.other.Contract(f.ctx, tool, "two")
	f.code("another version", err, onceward.CodeToolNotFound)
	_, err = f.other.Contract(f.ctx, "mail.send", "one")
	f.code("another tool", err, onceward.CodeToolNotFound)
}

func racingActivation(f *fixture) {
	var failed atomic.Int32
	race(6, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		if err := s.Activate(f.ctx, f.version("one"), false); err != nil {
			failed.Add(1)
			f.Errorf("replica %d: %v", i, err)
		}
	})
	f.equal("the replicas that failed", int32(0), failed.Load())
	f.equal("the serial", int64(1), f.contract("one").Serial)
}
