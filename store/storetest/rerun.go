package storetest

import "github.com/onceward/onceward"

var reruns = []situation{
	{"BatchRunAgainCountsAsAppliedAndWritesNothingTwice", batchRunAgain},
	{"BatchRunAgainAfterARowMovedOnLosesThatRowAlone", batchRunAgainAfterMove},
	{"ClaimWithAliasesRunAgainCountsAsApplied", claimWithAliasesRunAgain},
	{"BatchRunAgainWithMoreAppliesTheRest", batchRunAgainWithMore},
	{"RacingRunsOfOneBatchWriteItOnce", racingRunsOfOneBatch},
}

// unknown is the operation with its attempt open, its due row and its record.
func (f *fixture) unknown(op onceward.Operation) onceward.Change {
	after := next(op, func(o *onceward.Operation) {
		o.State, o.UnknownSince = onceward.StateOutcomeUnknown, o.CreatedAt
		o.Attempts[0].Status, o.Attempts[0].EndedAt = onceward.StatusOpen, o.CreatedAt
	})
	c := update(after)
	c.Due = f.due(after, onceward.DueSettle, f.origin)
	c.Records = []onceward.Record{{
		Version: after.Version, At: f.origin, Event: "attempt_unknown", From: op.State, To: after.State, Attempt: 1,
	}}
	return c
}

func batchRunAgain(f *fixture) {
	known := f.claimed("known")
	f.store(insert(known))
	op := f.claimed("k")
	batch := []onceward.Change{insert(op), f.unknown(known)}
	f.store(batch...)
	for _, r := range f.commit(batch...) {
		f.applied("the change run again", r)
		f.equal("what it gives", onceward.Committed{Applied: true}, r)
	}
	for _, r := range f.commitOn(f.other, batch...) {
		f.applied("the change run again on another handle", r)
	}
	f.stored(op)
	f.stored(batch[1].After)
	f.equal("the number of records", 1, len(f.records(known.ID)))
	commits, versions := f.journaled()
	f.equal("the rows of the journal", 2, commits)
	f.equal("the entries of the journal", 3, len(versions))
}

func batchRunAgainAfterMove(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	batch := []onceward.Change{insert(a), insert(b)}
	f.store(batch...)
	end := done(a)
	f.store(update(end))
	r := f.commit(batch...)
	f.lost("the row that moved on", r[0], end)
	f.applied("the row that did not", r[1])
	f.stored(end)
	f.stored(b)
}

func claimWithAliasesRunAgain(f *fixture) {
	op := f.claimed("k")
	c := insert(op)
	c.Aliases = []onceward.OperationID{f.claimed("old").ID, f.claimed("older").ID}
	f.store(c)
	f.applied("the claim run again", f.commit(c)[0])
	f.stored(op)
	commits, _ := f.journaled()
	f.equal("the rows of the journal", 1, commits)
}

func batchRunAgainWithMore(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	f.store(insert(a))
	f.store(insert(b), insert(a))
	f.stored(a)
	f.stored(b)
	commits, versions := f.journaled()
	f.equal("the rows of the journal", 2, commits)
	f.equal("the entries of the journal", 2, len(versions))
}

func racingRunsOfOneBatch(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	batch := []onceward.Change{f.unknown(op), insert(f.claimed("other"))}
	race(6, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		c, err := s.Commit(f.ctx, batch)
		if err != nil || !c.Results[0].Applied || !c.Results[1].Applied {
			f.Errorf("run %d: %+v, %v, want both applied", i, c.Results, err)
		}
	})
	f.equal("the number of records", 1, len(f.records(op.ID)))
	_, versions := f.journaled()
	f.equal("the entries of the journal", 3, len(versions))
}
