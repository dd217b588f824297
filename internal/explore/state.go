package explore

import (
	"cmp"
	"slices"

	"github.com/onceward/onceward"
)

// state is everything at one instant: the row, the world outside, the books of
// what was told, and what each worker is doing. It has no pointer, so that two
// equal states are one.
type state struct {
	row   row
	world world
	books books
	procs [maxWorkers]proc
}

// older lets one tick pass.
func (s *state) older(x *explorer) {
	s.row.older(&x.bounds)
	s.books.older(&x.bounds)
	s.world.older(x.config)
	for i := range s.procs {
		s.procs[i].older(&x.bounds)
	}
	s.forgetOrder()
}

// forgetOrder sorts the workers: which of them does a thing does not matter.
func (s *state) forgetOrder() {
	slices.SortFunc(s.procs[:], func(a, b proc) int {
		return cmp.Or(
			cmp.Compare(b.doing, a.doing), cmp.Compare(a.generation, b.generation), cmp.Compare(a.attempt, b.attempt),
			cmp.Compare(a.answer, b.answer), cmp.Compare(a.effects, b.effects), cmp.Compare(a.at, b.at),
		)
	})
}

// idleWorker is the place of a worker with nothing to do, or -1.
func (s *state) idleWorker(c *Config) int {
	for i := range s.procs[:c.Workers] {
		if s.procs[i].doing == idle {
			return i
		}
	}
	return -1
}

// first is the state before anything happened: the intent is stored.
func (x *explorer) first() state {
	s := state{books: freshBooks()}
	op := x.fresh()
	var ok bool
	if s.row, ok = x.pack(&op); !ok {
		panic("explore: the first state cannot be written")
	}
	s.row.stored = false // the first attempt may be claimed in the same commit
	return s
}

// fresh is an operation as a first request leaves it.
func (x *explorer) fresh() onceward.Operation {
	op := x.blank
	op.State, op.IntentAt, op.DueAt, op.CreatedAt = onceward.StateReady, epoch, epoch, epoch
	if x.config.Approval > 0 {
		op.State, op.ApprovalNeeded = onceward.StateAwaitingApproval, true
		op.ApprovedUntil, op.DueAt = epoch.Add(-1), epoch.Add(op.Policy.ApprovalExpiry)
	}
	return op
}
