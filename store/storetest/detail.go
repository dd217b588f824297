package storetest

import (
	"fmt"

	"github.com/onceward/onceward"
)

var details = []situation{
	{"TimelineIsAppendedInOrder", timelineIsAppended},
	{"TimelineOfNothingIsEmpty", timelineOfNothing},
	{"EvidenceIsKeptVerbatim", evidenceIsKept},
}

var tombstones = []situation{
	{"SlimRemovesTimelineAndBodies", slimRemoves},
	{"SlimRemovesWhatApproversWereShownOfItsTenantOnly", slimRemovesShowings},
	{"TombstoneRefusesAClaimWithItsState", tombstoneRefuses},
	{"RetiredKeyIsUsedAnewByCompareAndSet", retiredKeyIsUsedAnew},
	{"RacingNewUsesOfARetiredKeyHaveOneWinner", racingNewUses},
	{"DroppedTombstoneLeavesNothing", droppedLeavesNothing},
	{"OnlyTheNamedVersionIsDropped", onlyTheNamedVersionIsDropped},
	{"DropOfAnEarlierUseLeavesTheLaterOne", onlyTheNamedUseIsDropped},
	{"WriterOfADroppedRowHarmsNoLaterUse", writerOfADroppedRow},
	{"RacingDropAndNewUseHaveOneWinner", racingDrop},
	{"TombstoneIsListedByItsState", tombstoneIsListed},
}

func (f *fixture) record(op onceward.Operation, event string) onceward.Record {
	return onceward.Record{
		Version: op.Version, At: f.origin, Event: event, From: onceward.StateReady, To: op.State, Attempt: 1,
		Actor: "local:operator", Reason: "because of \x00 this", Reference: "tkt_1",
	}
}

func timelineIsAppended(f *fixture) {
	op, other := f.claimed("k"), f.claimed("other")
	first, second := insert(op), insert(other)
	first.Records = []onceward.Record{f.record(op, "one"), f.record(op, "two")}
	second.Records = []onceward.Record{f.record(other, "elsewhere")}
	f.store(first, second)
	op = next(op)
	third := update(op)
	third.Records = []onceward.Record{f.record(op, "three")}
	f.store(third)
	f.equal("the timeline", append(first.Records, third.Records...), f.records(op.ID))
	f.equal("the other timeline", second.Records, f.records(other.ID))
}

func timelineOfNothing(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	f.equal("the timeline of an undisturbed operation", 0, len(f.records(op.ID)))
	f.equal("the timeline of no operation", 0, len(f.records(f.claimed("absent").ID)))
}

func evidenceIsKept(f *fixture) {
	op := f.claimed("k")
	c := insert(op)
	bare, whole := f.record(op, "probe_inconclusive"), f.record(op, "attempt_unknown")
	bare.Evidence = &onceward.Evidence{}
	whole.Evidence = &onceward.Evidence{
		Reach: onceward.ReachBodyWritten, Status: 502, Header: []onceward.HeaderField{{Name: "Via", Value: "1.1 x"}},
		Body: []byte("<html>\x00"), BodyCut: true, BodyTooBig: true, StartedAt: f.origin, EndedAt: f.origin.Add(step),
		LastByteAt: f.origin.Add(step), ErrorClass: onceward.ClassTimeout, ErrorCode: "deadline", ErrorText: "no answer", RemoteAddr: "127.0.0.1:1",
	}
	c.Records = []onceward.Record{bare, whole}
	f.store(c)
	f.equal("the timeline", c.Records, f.records(op.ID))
}

// retired stores an operation with a timeline and large bodies, and slims it.
func (f *fixture) retired(key string, edits ...func(*onceward.Operation)) onceward.Operation {
	f.Helper()
	op := f.claimed(key, append(edits, func(o *onceward.Operation) { o.Input, o.Run = noise(5000), "run-1" })...)
	c := insert(op)
	c.Records = []onceward.Record{f.record(op, "one")}
	f.store(c)
	end := done(op, func(o *onceward.Operation) { o.Result.Body = noise(6000) })
	f.store(update(end))
	slim := next(end, func(o *onceward.Operation) {
		o.Input, o.Request, o.Result, o.Prints, o.Attempts, o.Retired = nil, nil, nil, nil, nil, true
	})
	s := update(slim)
	s.Slim = true
	f.store(s)
	return slim
}

func slimRemoves(f *fixture) {
	neighbour := f.claimed("neighbour", func(o *onceward.Operation) { o.Input = noise(5000) })
	c := insert(neighbour)
	c.Records = []onceward.Record{f.record(neighbour, "one")}
	f.store(c)
	slim := f.retired("k")
	f.stored(slim)
	f.equal("the timeline of the tombstone", 0, len(f.records(slim.ID)))
	f.stored(neighbour)
	f.equal("the timeline of its neighbour", c.Records, f.records(neighbour.ID))
	f.aside("beside a tombstone", 1) // its neighbour's
}

func tombstoneRefuses(f *fixture) {
	slim := f.retired("k")
	f.lost("a claim of a retired key", f.commit(insert(f.claimed("k")))[0], slim)
}

// anew is a new use of a retired key.
func (f *fixture) anew(slim onceward.Operation) onceward.Operation {
	fresh := f.claimed(string(slim.Key), at(f.origin.Add(step)), func(o *onceward.Operation) {
		o.Generation, o.Version = slim.Generation+1, slim.Version+1
		o.Run, o.CorrelationID, o.TraceParent, o.Actor = "run-2", "corr-2", "trace-2", "local:second"
	})
	return fresh
}

func retiredKeyIsUsedAnew(f *fixture) {
	slim := f.retired("k")
	fresh := f.anew(slim)
	f.store(update(fresh))
	f.stored(fresh)
	f.equal("the listing of the new run", []string{"k"}, f.list(onceward.Filter{Run: "run-2"}))
	f.equal("the listing of the old run", 0, len(f.list(onceward.Filter{Run: "run-1"})))
	f.equal("the listing of the new correlation", []string{"k"}, f.list(onceward.Filter{CorrelationID: "corr-2"}))
	end := done(fresh)
	f.store(update(end))
	f.stored(end)
	f.lost("a second new use", f.commit(update(f.anew(slim)))[0], end)
}

func racingNewUses(f *fixture) {
	slim := f.retired("k")
	const racers = 6
	results := make([]onceward.Committed, racers)
	uses := make([]onceward.Operation, racers)
	race(racers, func(i int) {
		uses[i] = f.anew(slim)
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		c, err := s.Commit(f.ctx, []onceward.Change{update(uses[i])})
		if err != nil {
			f.Errorf("racer %d: %v", i, err)
			return
		}
		results[i] = c.Results[0]
	})
	stored := f.load(slim.ID)
	won := 0
	for i, r := range results {
		if r.Applied {
			won++
			f.equal("the stored operation", &uses[i], stored)
		} else {
			f.equal("what a loser sees", stored, r.Stored)
		}
	}
	f.equal("the number of winners", 1, won)
}

// drop removes tombstones as they stand.
func (f *fixture) drop(ops ...onceward.Operation) int {
	f.Helper()
	rows := make([]onceward.Tombstone, len(ops))
	for i, op := range ops {
		rows[i] = onceward.Tombstone{ID: op.ID, Generation: op.Generation, Version: op.Version}
	}
	n, err := f.Store.Drop(f.ctx, rows)
	f.must(err)
	return n
}

func droppedLeavesNothing(f *fixture) {
	op := f.claimed("k")
	c := insert(op)
	c.Aliases = []onceward.OperationID{onceward.NewOperationID(tenant, tool, "was-k")}
	f.store(c)
	slim := next(done(op), func(o *onceward.Operation) {
		o.Version = 2
		o.State, o.Retired, o.Input, o.Prints, o.Result, o.Attempts = onceward.StateFailed, true, nil, nil, nil, nil
	})
	s := update(slim)
	s.Slim, s.Due = true, onceward.DueFor(&slim)
	f.store(s)
	kept := f.retired("other")
	f.equal("the number of dropped rows", 1, f.drop(slim))
	f.equal("the dropped row", (*onceward.Operation)(nil), f.load(slim.ID))
	f.equal("what its alias leads to", (*onceward.Operation)(nil), f.load(c.Aliases[0]))
	f.equal("the listing of its state", 0, len(f.list(onceward.Filter{States: []onceward.State{onceward.StateFailed}})))
	f.equal("a second drop", 0, f.drop(slim))
	f.stored(kept)
	again := insert(f.claimed("was-k")) // the alias is free, and so is the key
	f.store(again, insert(f.claimed("k")))
	f.stored(again.After)
}

// A key that was dropped and used anew comes to the same versions again.
func onlyTheNamedUseIsDropped(f *fixture) {
	first := f.retired("k")
	f.equal("the number of dropped rows", 1, f.drop(first))
	second := f.retired("k", func(o *onceward.Operation) { o.Generation = first.Generation + 11 })
	f.equal("the version of the second tombstone", first.Version, second.Version)
	f.equal("the number of dropped rows of the second use", 0, f.drop(first))
	f.stored(second)
}

func onlyTheNamedVersionIsDropped(f *fixture) {
	slim := f.retired("k")
	fresh := f.anew(slim)
	f.store(update(fresh))
	f.equal("the number of dropped rows", 0, f.drop(slim))
	f.stored(fresh)
	f.equal("the drop of no row", 0, f.drop(f.claimed("absent")))
	f.equal("the drop of nothing", 0, f.drop())
}

// A writer slept while the row that it read was dropped and its key used anew:
// versions count from 1 again, generations do not.
func writerOfADroppedRow(f *fixture) {
	early := func(o *onceward.Operation) { o.Generation = 1_700_000_000 }
	old := f.claimed("k", early)
	f.store(insert(old))
	late := done(old)
	slim := next(old, early, func(o *onceward.Operation) {
		o.State, o.Retired, o.Input, o.Request, o.Attempts = onceward.StateCancelled, true, nil, nil, nil
	})
	f.store(update(slim))
	f.equal("the number of dropped rows", 1, f.drop(slim))
	fresh := f.claimed("k", func(o *onceward.Operation) { o.Generation = 1_800_000_000 })
	f.store(insert(fresh))
	f.lost("an end of the dropped use", f.commit(update(late))[0], fresh)
	end := done(fresh)
	f.store(update(end))
	f.stored(end)
}

func racingDrop(f *fixture) {
	for i := range 8 {
		slim := f.retired(fmt.Sprint("k", i))
		use := f.anew(slim)
		var won bool
		var dropped int
		race(2, func(racer int) {
			if racer == 0 {
				n, err := f.other.Drop(f.ctx, []onceward.Tombstone{{ID: slim.ID, Version: slim.Version}})
				if err != nil {
					f.Errorf("drop: %v", err)
				}
				dropped = n
				return
			}
			c, err := f.Store.Commit(f.ctx, []onceward.Change{update(use)})
			if err != nil {
				f.Errorf("new use: %v", err)
				return
			}
			won = c.Results[0].Applied
		})
		stored := f.load(slim.ID)
		if won != (stored != nil) || won == (dropped == 1) {
			f.Fatalf("the new use was stored: %v, dropped: %d, the row: %+v", won, dropped, stored)
		}
	}
}

// The tombstone of a state that is listed from the due table.
func tombstoneIsListed(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.State = onceward.StateFailed })
	c := insert(op)
	c.Due = onceward.DueFor(&op)
	f.store(c)
	slim := next(op, func(o *onceward.Operation) { o.Retired, o.Input, o.Request, o.Attempts = true, nil, nil, nil })
	s := update(slim)
	s.Slim, s.Due = true, onceward.DueFor(&slim)
	s.DueGone = s.Due == nil
	f.store(s)
	failed := onceward.StateFailed
	for _, states := range [][]onceward.State{nil, {failed}, {failed, onceward.StateSucceeded}} {
		f.equal(fmt.Sprint("the listing of ", states), []string{"k"}, f.list(onceward.Filter{States: states}))
	}
}

func slimRemovesShowings(f *fixture) {
	shown, upload, foreign := f.document("what was shown"), f.document("upload"), f.document("what was shown")
	foreign.Tenant = "globex"
	for _, d := range []onceward.Document{shown, upload, foreign} {
		f.must(f.Store.PutDocument(f.ctx, d))
	}
	end := done(f.claimed("k"))
	f.store(insert(f.claimed("k")))
	f.store(update(end))
	slim := update(next(end, func(o *onceward.Operation) { o.Attempts, o.Retired = nil, true }))
	slim.Slim, slim.Unshown = true, []onceward.Digest{shown.Digest}
	lost := slim
	lost.Before, lost.Unshown = 7, []onceward.Digest{upload.Digest}
	f.store(slim)
	_, err := f.Store.Commit(f.ctx, []onceward.Change{lost})
	f.must(err)
	for _, c := range []struct {
		doc  onceward.Document
		left bool
	}{{shown, false}, {upload, true}, {foreign, true}} {
		got, err := f.other.LoadDocument(f.ctx, c.doc.Tenant, c.doc.Digest)
		f.must(err)
		f.equal("whether the document of "+string(c.doc.Tenant)+" is left", c.left, got != nil)
	}
}
