package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/onceward/onceward"
)

var updates = []situation{
	{"OutcomeReplacesTheRow", outcomeReplacesTheRow},
	{"StaleUpdateLosesAndSeesTheStored", staleUpdateLoses},
	{"RacingUpdatesHaveOneWinner", racingUpdatesHaveOneWinner},
	{"UpdateOfAnAbsentRowLosesToNothing", updateOfAnAbsentRow},
	{"ClaimsAndOutcomesShareABatch", claimsAndOutcomesShareABatch},
	{"ManyAttemptsAreKept", manyAttemptsAreKept},
	{"LargeBatchIsAppliedWhole", largeBatchIsAppliedWhole},
}

func outcomeReplacesTheRow(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	end := done(op)
	f.store(update(end))
	f.stored(end)
}

func staleUpdateLoses(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	end := done(op)
	f.store(update(end))
	late := next(op, func(o *onceward.Operation) { o.State = onceward.StateOutcomeUnknown })
	f.lost("the late update", f.commitOn(f.other, update(late))[0], end)
	ahead := next(next(end))
	f.lost("an update of a version to come", f.commit(update(ahead))[0], end)
	f.stored(end)
}

func racingUpdatesHaveOneWinner(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	const racers = 8
	var won atomic.Int32
	race(racers, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		c, err := s.Commit(f.ctx, []onceward.Change{update(next(op))})
		if err != nil {
			f.Errorf("racer %d: %v", i, err)
			return
		}
		if c.Results[0].Applied {
			won.Add(1)
		} else if c.Results[0].Stored == nil || c.Results[0].Stored.Version != 2 {
			f.Errorf("racer %d lost and sees %+v", i, c.Results[0])
		}
	})
	f.equal("the number of winners", int32(1), won.Load())
}

func updateOfAnAbsentRow(f *fixture) {
	op, neighbour := f.claimed("k"), f.claimed("neighbour")
	r := f.commit(update(done(op)), insert(neighbour))
	f.equal("what becomes of the update", onceward.Committed{}, r[0])
	f.applied("its neighbour", r[1])
	f.absent(op.ID)
	f.stored(neighbour)
}

func claimsAndOutcomesShareABatch(f *fixture) {
	a, b := f.claimed("a"), f.claimed("b")
	f.store(insert(a), insert(b))
	c, d, endA, endB := f.claimed("c"), f.claimed("d"), done(a), done(b)
	f.store(update(endB), insert(c), update(endA), insert(d))
	for _, op := range []onceward.Operation{endA, endB, c, d} {
		f.stored(op)
	}
}

func manyAttemptsAreKept(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	op = next(op, func(o *onceward.Operation) {
		o.State, o.UnknownSince, o.Probes, o.Granted = onceward.StateOutcomeUnknown, o.CreatedAt.Add(step), 3, 2
		o.CancelRequested, o.RefPending, o.Broken = true, true, true
		o.Failure = onceward.Failure{Class: onceward.ClassTimeout, Code: "deadline", Message: "no answer in 10s", Retryable: true}
		for n := 2; n <= 40; n++ {
			at := o.CreatedAt.Add(step * 3)
			o.Attempts = append(o.Attempts, onceward.Attempt{
				Number: n, Owner: fmt.Sprintf("replica-%d", n), Status: onceward.StatusOpen, StartedAt: at,
				LeaseUntil: at.Add(step), EndedAt: at.Add(step * 2), LastByteAt: at.Add(step), Reach: onceward.ReachBodyWritten,
				Resend: n%2 == 0, Free: n%3 == 0, Failure: o.Failure,
			})
		}
	})
	f.store(update(op))
	f.stored(op)
}

func largeBatchIsAppliedWhole(f *fixture) {
	const size = 600
	batch := make([]onceward.Change, size)
	for i := range batch {
		batch[i] = insert(f.claimed(fmt.Sprint(i)))
	}
	f.store(batch...)
	ids := make([]onceward.OperationID, size)
	for i := range batch {
		ids[i] = batch[i].After.ID
		batch[i] = update(done(batch[i].After))
	}
	f.store(batch...)
	ops, err := f.other.Load(f.ctx, ids)
	f.must(err)
	for i, op := range ops {
		f.equal("the stored operation", &batch[i].After, op)
	}
}
