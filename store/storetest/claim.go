package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/onceward/onceward"
)

var claims = []situation{
	{"NewOperationIsReadBackWhole", newOperationIsReadBackWhole},
	{"AbsentOperationIsNil", absentOperationIsNil},
	{"ClaimOfAStoredKeyLosesAndSeesTheStored", claimOfAStoredKeyLoses},
	{"ClaimOfADoneOperationSeesItsResult", claimOfADoneOperationSeesItsResult},
	{"RacingClaimsHaveOneWinner", racingClaimsHaveOneWinner},
	{"RacingBatchesInOppositeOrderAllEnd", racingBatchesAllEnd},
	{"LoserDoesNotFailItsNeighbours", loserDoesNotFailItsNeighbours},
	{"SameIDOfAnotherKeyIsACollision", sameIDOfAnotherIdentity},
	{"EmptyBatchWritesNothing", emptyBatchWritesNothing},
	{"EachCommitIsOneJournalRow", eachCommitIsOneJournalRow},
}

func newOperationIsReadBackWhole(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) {
		o.Run, o.CorrelationID, o.TraceParent = "run-1", "corr-1", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		o.Prints = []onceward.FieldPrint{{Path: "event_id", Top: true, Sum: [8]byte{1, 0, 255}}}
		o.Request.Header = []onceward.HeaderField{{Name: "Accept", Value: "a"}, {Name: "Accept", Value: "b"}}
	})
	f.store(insert(op))
	f.stored(op)
}

func absentOperationIsNil(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	f.store(insert(a))
	ops, err := f.other.Load(f.ctx, []onceward.OperationID{b.ID, a.ID, b.ID, a.ID})
	f.must(err)
	f.equal("the operations", []*onceward.Operation{nil, &a, nil, &a}, ops)
	none, err := f.other.Load(f.ctx, nil)
	f.must(err)
	f.equal("the operations of no ID", 0, len(none))
}

func claimOfAStoredKeyLoses(f *fixture) {
	first, second := f.claimed("k"), f.claimed("k")
	f.store(insert(first))
	f.lost("the second claim", f.commitOn(f.other, insert(second))[0], first)
	f.stored(first)
}

func claimOfADoneOperationSeesItsResult(f *fixture) {
	first := f.claimed("k")
	f.store(insert(first))
	end := done(first)
	f.store(update(end))
	f.lost("the second claim", f.commit(insert(f.claimed("k")))[0], end)
}

func racingClaimsHaveOneWinner(f *fixture) {
	const racers = 12
	var won atomic.Int32
	winner := make([]onceward.WriteToken, racers)
	race(racers, func(i int) {
		op := f.claimed("k")
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		c, err := s.Commit(f.ctx, []onceward.Change{insert(op)})
		switch {
		case err != nil:
			f.Errorf("racer %d: %v", i, err)
		case c.Results[0].Applied:
			won.Add(1)
			winner[i] = op.Token
		case c.Results[0].Stored == nil:
			f.Errorf("racer %d lost and does not see the winner: %v", i, c.Results[0].Err)
		default:
			winner[i] = c.Results[0].Stored.Token
		}
	})
	f.equal("the number of winners", int32(1), won.Load())
	stored := f.load(f.claimed("k").ID)
	for i, token := range winner {
		f.equal(fmt.Sprintf("the winner that racer %d saw", i), stored.Token, token)
	}
}

func racingBatchesAllEnd(f *fixture) {
	const size, rounds = 20, 5
	var won [size]atomic.Int32
	race(4, func(i int) {
		s, key := f.Store, func(place int) int { return place }
		if i%2 == 1 {
			s = f.other
		}
		if i < 2 {
			key = func(place int) int { return size - 1 - place }
		}
		for range rounds {
			batch := make([]onceward.Change, size)
			for place := range batch {
				batch[place] = insert(f.claimed(fmt.Sprint(key(place))))
			}
			c, err := s.Commit(f.ctx, batch)
			if err != nil {
				f.Errorf("batch of racer %d: %v", i, err)
				return
			}
			for place, r := range c.Results {
				if r.Applied {
					won[key(place)].Add(1)
				}
			}
		}
	})
	for key := range won {
		f.equal(fmt.Sprintf("the winners of key %d", key), int32(1), won[key].Load())
	}
}

func loserDoesNotFailItsNeighbours(f *fixture) {
	held, stale := f.claimed("held"), f.claimed("stale")
	f.store(insert(held), insert(stale))
	ended := done(stale)
	f.store(update(ended))

	a, b := f.claimed("a"), f.claimed("b")
	late := next(stale)
	r := f.commit(insert(a), insert(f.claimed("held")), update(late), insert(b))
	f.applied("the claim before the losers", r[0])
	f.lost("the claim of a held key", r[1], held)
	f.lost("the stale outcome", r[2], ended)
	f.applied("the claim after the losers", r[3])
	f.stored(a)
	f.stored(b)
	f.stored(ended)
}

func sameIDOfAnotherIdentity(f *fixture) {
	first := f.claimed("k")
	f.store(insert(first))
	for name, edit := range map[string]func(*onceward.Operation){
		"key":    func(o *onceward.Operation) { o.Key = "another" },
		"tool":   func(o *onceward.Operation) { o.Tool = "tickets.close" },
		"tenant": func(o *onceward.Operation) { o.Tenant = "globex" },
	} {
		other := f.claimed("k")
		edit(&other)
		f.refused("another "+name, f.commit(insert(other))[0], onceward.CodeKeyCollision)
	}
	f.stored(first)
}

func emptyBatchWritesNothing(f *fixture) {
	c, err := f.Store.Commit(f.ctx, nil)
	f.must(err)
	f.equal("the results", 0, len(c.Results))
	if c.Now.Before(f.origin) {
		f.Errorf("the clock of an empty batch says %v, want %v or later", c.Now, f.origin)
	}
	commits, _ := f.journaled()
	f.equal("the rows of the journal", 0, commits)
}

func eachCommitIsOneJournalRow(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	f.store(insert(a), insert(b))
	end := done(a)
	f.store(update(end))
	f.commit(insert(f.claimed("b"))) // loses: nothing to tell
	commits, versions := f.journaled()
	f.equal("the rows of the journal", 2, commits)
	want := []string{a.ID.String() + ".1", a.ID.String() + ".2", b.ID.String() + ".1"}
	f.equal("the entries", sorted(want), versions)
	last := f.Journal(f.T)[1][0]
	f.equal("the state that the entry names", onceward.StateSucceeded, last.To)
}
