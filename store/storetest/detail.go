package storetest

import (
	"github.com/onceward/onceward"
)

var details = []situation{
	{"TimelineIsAppendedInOrder", timelineIsAppended},
	{"TimelineOfNothingIsEmpty", timelineOfNothing},
	{"EvidenceIsKeptVerbatim", evidenceIsKept},
}

var tombstones = []situation{
	{"SlimRemovesTimelineAndBodies", slimRemoves},
	{"TombstoneRefusesAClaimWithItsState", tombstoneRefuses},
	{"RetiredKeyIsUsedAnewByCompareAndSet", retiredKeyIsUsedAnew},
	{"RacingNewUsesOfARetiredKeyHaveOneWinner", racingNewUses},
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
func (f *fixture) retired(key string) onceward.Operation {
	f.Helper()
	op := f.claimed(key, func(o *onceward.Operation) { o.Input, o.Run = noise(5000), "run-1" })
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
