package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var times = []situation{
	{"TimesKeepTheirMicrosecond", timesKeepTheirMicrosecond},
	{"TimesBefore1970AndAtItAreTimes", timesAroundTheEpoch},
	{"ClockIsSharedAndMonotonicHere", clockIsShared},
	{"CommitSaysTheTime", commitSaysTheTime},
}

var refusals = []situation{
	{"PoisonedChangeIsRefusedAlone", poisonedChange},
	{"OversizedPartIsRefusedAlone", oversizedPart},
}

var contexts = []situation{
	{"EndedContextWritesNothing", endedContext},
	{"ContextThatEndsAnywhereLeavesNothingHalf", contextThatEndsAnywhere},
}

var handles = []situation{
	{"HandlesSeeEachOther", handlesSeeEachOther},
	{"CheckOfAHealthyStorePasses", healthyStore},
	{"ClosedHandleIsUnavailable", closedHandle},
}

func timesKeepTheirMicrosecond(f *fixture) {
	odd := f.origin.Truncate(time.Second).Add(123456789 * time.Nanosecond)
	op := f.claimed("k", at(odd), lease(odd.Add(7*time.Nanosecond)))
	f.store(insert(op))
	cut := odd.Truncate(time.Microsecond)
	got := f.load(op.ID)
	f.equal("the time of creation", cut, got.CreatedAt)
	f.equal("the end of the lease", cut, got.Attempts[0].LeaseUntil)
	f.equal("a time that is none", true, got.CompletedAt.IsZero())
}

func timesAroundTheEpoch(f *fixture) {
	for i, t := range []time.Time{time.Unix(0, 0).UTC(), time.Unix(-1, 0).UTC(), time.Date(1901, 2, 3, 4, 5, 6, 7000, time.UTC)} {
		op := f.claimed(fmt.Sprint(i), at(t), lease(t))
		f.store(insert(op))
		f.stored(op)
	}
}

func clockIsShared(f *fixture) {
	a := f.now()
	b, err := f.other.Now(f.ctx)
	f.must(err)
	c := f.now()
	if b.Before(a) || c.Before(b) {
		f.Errorf("two handles in turn say %v, %v, %v", a, b, c)
	}
	f.equal("the fraction of a microsecond", 0, a.Nanosecond()%1000)
	f.equal("the time zone", "UTC", a.Location().String())
}

func commitSaysTheTime(f *fixture) {
	before := f.now()
	c, err := f.other.Commit(f.ctx, []onceward.Change{insert(f.claimed("k"))})
	f.must(err)
	if after := f.now(); c.Now.Before(before) || c.Now.After(after) {
		f.Errorf("the commit says %v, want between %v and %v", c.Now, before, after)
	}
}

func poisonedChange(f *fixture) {
	for name, poison := range map[string]func(*onceward.Operation){
		"NUL in a column":     func(o *onceward.Operation) { o.Run = "a\x00b" },
		"no UTF-8 in one":     func(o *onceward.Operation) { o.CorrelationID = "\xff" },
		"a column's overflow": func(o *onceward.Operation) { o.Actor = strings.Repeat("a", 1<<20) },
		"no state":            func(o *onceward.Operation) { o.State = 0 },
		"no token":            func(o *onceward.Operation) { o.Token = onceward.WriteToken{} },
		"a version to come":   func(o *onceward.Operation) { o.Version = 7 },
	} {
		before, bad, after := f.claimed("before "+name), f.claimed("bad "+name, poison), f.claimed("after "+name)
		r := f.commit(insert(before), insert(bad), insert(after))
		f.applied("the change before "+name, r[0])
		f.applied("the change after "+name, r[2])
		if r[1].Applied || r[1].Err == nil {
			f.Fatalf("%s gives %+v, want a refusal", name, r[1])
		}
		f.absent(bad.ID)
		f.stored(before)
		f.stored(after)
	}
}

func oversizedPart(f *fixture) {
	bad, good := f.claimed("bad", func(o *onceward.Operation) { o.Input = make([]byte, 64<<20+1) }), f.claimed("good")
	r := f.commit(insert(bad), insert(good))
	f.refused("the oversized claim", r[0], onceward.CodeTooLarge)
	f.applied("its neighbour", r[1])
	f.absent(bad.ID)
}

func endedContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	op := f.claimed("k")
	_, err := f.Store.Commit(ctx, []onceward.Change{insert(op)})
	f.code("a commit", err, onceward.CodeCanceled)
	_, err = f.Store.Load(ctx, []onceward.OperationID{op.ID})
	f.code("a load", err, onceward.CodeCanceled)
	_, err = f.Store.List(ctx, onceward.Filter{Tenant: tenant, Limit: 1})
	f.code("a listing", err, onceward.CodeCanceled)
	_, _, err = f.Store.TakeDue(ctx, 1, time.Second)
	f.code("a take", err, onceward.CodeCanceled)
	if !errors.Is(err, context.Canceled) {
		f.Errorf("the cause %v is hidden", err)
	}
	f.absent(op.ID)
	f.store(insert(op))
}

// contextThatEndsAnywhere cancels batches after ever longer times: each is
// stored whole or not at all, and an answer without error is the truth.
func contextThatEndsAnywhere(f *fixture) {
	const size = 50
	for round := range 30 {
		batch := make([]onceward.Change, size)
		ids := make([]onceward.OperationID, size)
		for i := range batch {
			batch[i] = insert(f.claimed(fmt.Sprintf("%d-%d", round, i)))
			ids[i] = batch[i].After.ID
		}
		ctx, cancel := context.WithTimeout(f.ctx, time.Duration(round*round)*10*time.Microsecond)
		_, err := f.Store.Commit(ctx, batch)
		cancel()
		if err != nil && !onceward.Is(err, onceward.CodeCanceled) && !onceward.Is(err, onceward.CodeMayBeRecorded) {
			f.Fatalf("round %d: %v", round, err)
		}
		ops, lerr := f.other.Load(f.ctx, ids)
		f.must(lerr)
		n := 0
		for _, op := range ops {
			if op != nil {
				n++
			}
		}
		switch {
		case n != 0 && n != size:
			f.Fatalf("round %d: %d of %d changes are stored", round, n, size)
		case err == nil && n != size:
			f.Fatalf("round %d: the batch was acknowledged and is not stored", round)
		case onceward.Is(err, onceward.CodeCanceled) && n != 0:
			f.Fatalf("round %d: the batch was cancelled and is stored: that is may_be_recorded", round)
		}
		f.store(batch...) // whatever happened, it can be run again
	}
}

func handlesSeeEachOther(f *fixture) {
	a := f.claimed("a")
	f.applied("a claim on the one handle", f.commitOn(f.Store, insert(a))[0])
	end := done(a)
	f.applied("the outcome on the other", f.commitOn(f.other, update(end))[0])
	ops, err := f.Store.Load(f.ctx, []onceward.OperationID{a.ID})
	f.must(err)
	f.equal("the operation on the first handle", &end, ops[0])
}

func healthyStore(f *fixture) {
	f.must(f.Store.Check(f.ctx))
	f.must(f.other.Check(f.ctx))
	commits, _ := f.journaled()
	f.equal("the rows of the journal", 0, commits)
}

func closedHandle(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	third := f.Again(f.T)
	f.must(third.Close())
	f.must(third.Close())
	_, err := third.Commit(f.ctx, []onceward.Change{insert(f.claimed("late"))})
	f.code("a commit on a closed handle", err, onceward.CodeLedgerUnavailable)
	_, err = third.Load(f.ctx, []onceward.OperationID{op.ID})
	f.code("a load on a closed handle", err, onceward.CodeLedgerUnavailable)
	f.code("a check of a closed handle", third.Check(f.ctx), onceward.CodeLedgerUnavailable)
	f.stored(op)
}
