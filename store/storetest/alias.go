package storetest

import (
	"sync/atomic"

	"github.com/onceward/onceward"
)

var aliases = []situation{
	{"AliasLeadsToItsOperation", aliasLeadsToItsOperation},
	{"ClaimOfAnAliasLosesToItsOperation", claimOfAnAlias},
	{"AliasThatIsAnOperationLosesWhole", aliasThatIsAnOperation},
	{"AliasThatIsAnAliasLosesWhole", aliasThatIsAnAlias},
	{"CrossedAliasesHaveOneWinner", crossedAliasesHaveOneWinner},
	{"AliasOfAnotherTenantIsACollision", aliasOfAnotherTenant},
	{"AliasIsNoOperationOfItsOwn", aliasIsNoOperationOfItsOwn},
}

func withAliases(op onceward.Operation, earlier ...onceward.Operation) onceward.Change {
	c := insert(op)
	for _, e := range earlier {
		c.Aliases = append(c.Aliases, e.ID)
	}
	return c
}

func aliasLeadsToItsOperation(f *fixture) {
	op, old := f.claimed("new"), f.claimed("old")
	f.store(withAliases(op, old))
	f.equal("the operation behind the alias", &op, f.load(old.ID))
	c := f.unknown(op)
	f.store(c)
	f.equal("the operation behind the alias", &c.After, f.load(old.ID))
	f.equal("the records behind the alias", c.Records, f.records(old.ID))
}

func claimOfAnAlias(f *fixture) {
	op, old := f.claimed("new"), f.claimed("old")
	f.store(withAliases(op, old))
	f.lost("the claim under the earlier key", f.commit(insert(old))[0], op)
	f.equal("the operation behind the alias", &op, f.load(old.ID))
}

func aliasThatIsAnOperation(f *fixture) {
	old, op, older := f.claimed("old"), f.claimed("new"), f.claimed("older")
	f.store(insert(old))
	r := f.commit(withAliases(op, older, old), insert(f.claimed("neighbour")))
	f.lost("the claim under the later key", r[0], old)
	f.applied("its neighbour", r[1])
	f.absent(op.ID)
	f.absent(older.ID)
	f.stored(old)
}

func aliasThatIsAnAlias(f *fixture) {
	first, second, old := f.claimed("new"), f.claimed("newer"), f.claimed("old")
	f.store(withAliases(first, old))
	f.lost("the claim that shares an alias", f.commit(withAliases(second, old))[0], first)
	f.absent(second.ID)
}

func crossedAliasesHaveOneWinner(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	var won atomic.Int32
	race(8, func(i int) {
		c, s := withAliases(f.claimed("a"), b), f.Store
		if i%2 == 1 {
			c, s = withAliases(f.claimed("b"), a), f.other
		}
		done, err := s.Commit(f.ctx, []onceward.Change{c})
		switch {
		case err != nil:
			f.Errorf("racer %d: %v", i, err)
		case done.Results[0].Applied:
			won.Add(1)
		case done.Results[0].Stored == nil:
			f.Errorf("racer %d lost and does not see the winner: %v", i, done.Results[0].Err)
		}
	})
	f.equal("the number of winners", int32(1), won.Load())
	f.equal("the operation behind both", f.load(a.ID), f.load(b.ID))
}

func aliasOfAnotherTenant(f *fixture) {
	op, old := f.claimed("new"), f.claimed("old")
	f.store(withAliases(op, old))
	stranger := f.claimed("new", func(o *onceward.Operation) { o.Tenant = "globex" })
	f.refused("the stranger's claim", f.commit(withAliases(stranger, old))[0], onceward.CodeKeyCollision)
	f.absent(stranger.ID)
}

func aliasIsNoOperationOfItsOwn(f *fixture) {
	op, old := f.claimed("new"), f.claimed("old")
	f.store(withAliases(op, old))
	f.equal("the listing", []string{"new"}, f.list(onceward.Filter{}))
	f.pass(step)
	aged, err := f.other.Aged(f.ctx, onceward.Cursor{}, f.now(), 10)
	f.must(err)
	f.equal("what has aged", []string{"new"}, keys(aged))
}
