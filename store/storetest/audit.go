package storetest

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

var audits = []situation{
	{"AuditEventsAreReadBackInOrder", auditEventsAreReadBack},
	{"AuditEventWrittenAgainIsOne", auditEventAgain},
	{"SwitchAndItsAuditEventAreOneWrite", switchIsNoted},
	{"ContractIsNotedOnlyWhereItComesIntoForce", contractIsNoted},
	{"SealsAreReadBackInOrder", sealsAreReadBack},
	{"SecondSealOfANumberIsRefused", sealNumberIsTaken},
	{"CheckpointsAreReadBack", checkpointsAreReadBack},
	{"JournalTellsOfEachRowAsItIsStored", journalTellsOfRows},
	{"RowsOfTheTrailMayComeWithLess", rowsMayComeWithLess},
	{"DroppedTombstoneIsToldByTheJournal", droppedIsTold},
	{"TrailOfWhateverWasWrittenVerifies", trailVerifies},
	{"PrunedTrailBeginsAtItsAnchor", prunedTrail},
}

var counts = []situation{
	{"TalliesAddUpByHourToolAndDecision", talliesAddUp},
}

func someEvent(n int) onceward.AuditEvent {
	return onceward.NewAuditEvent(onceward.AuditEvent{Tenant: tenant, Actor: "local:operator", Action: onceward.AuditTokenIssued,
		Subject: fmt.Sprintf("subject %d", n), Reason: "ünd «so»", Detail: "role caller"})
}

// auditRows reads rows, also those that others may come before: transactions of
// other tests on the same server hold up what stands for good.
func (f *fixture) auditRows(q onceward.AuditQuery) []onceward.AuditRow {
	f.Helper()
	q.Open = true
	if q.Limit == 0 {
		q.Limit = onceward.AuditRowsMax
	}
	rows, err := f.other.AuditRows(f.ctx, q)
	f.must(err)
	return rows
}

func (f *fixture) subjects(q onceward.AuditQuery) []string {
	f.Helper()
	q.Source = onceward.SourceEvents
	var all []string
	for _, r := range f.auditRows(q) {
		all = append(all, r.Event.Subject)
	}
	return all
}

func auditEventsAreReadBack(f *fixture) {
	before := f.now()
	want := someEvent(1)
	f.must(f.Store.Note(f.ctx, want, someEvent(2)))
	f.must(f.other.Note(f.ctx, someEvent(3)))
	rows := f.auditRows(onceward.AuditQuery{Source: onceward.SourceEvents})
	f.equal("the number of rows", 3, len(rows))
	got := *rows[0].Event
	if got.At.Before(before) || got.At.After(f.now()) || got.At != rows[0].At {
		f.Errorf("the event is of %v, its row of %v, and it was written after %v", got.At, rows[0].At, before)
	}
	want.At, want.Place = got.At, rows[0].Place
	f.equal("the event", want, got)
	f.equal("behind the first", []string{"subject 2", "subject 3"}, f.subjects(onceward.AuditQuery{After: rows[0].Place}))
	f.equal("up to the second", []string{"subject 1", "subject 2"}, f.subjects(onceward.AuditQuery{To: rows[1].Place}))
	f.equal("the first only", []string{"subject 1"}, f.subjects(onceward.AuditQuery{Limit: 1}))
}

func auditEventAgain(f *fixture) {
	e := someEvent(1)
	f.must(f.Store.Note(f.ctx, e))
	f.must(f.other.Note(f.ctx, e, someEvent(2)))
	f.equal("the events", []string{"subject 1", "subject 2"}, f.subjects(onceward.AuditQuery{}))
}

func switchIsNoted(f *fixture) {
	f.must(f.Store.SetSwitch(f.ctx, onceward.ToolSwitch{Tenant: tenant, Tool: tool, Paused: true, By: "local:operator", At: f.origin}, someEvent(1)))
	f.equal("the events", []string{"subject 1"}, f.subjects(onceward.AuditQuery{}))
}

func contractIsNoted(f *fixture) {
	v := f.version("one")
	f.must(f.Store.Activate(f.ctx, v, false, someEvent(1)))
	f.must(f.Store.Activate(f.ctx, v, false, someEvent(2)))
	f.must(f.Store.Activate(f.ctx, f.version("two"), false, someEvent(3)))
	f.code("a superseded version", f.Store.Activate(f.ctx, v, false, someEvent(4)), onceward.CodeContractSuperseded)
	f.must(f.Store.Activate(f.ctx, v, true, someEvent(5)))
	f.equal("the events", []string{"subject 1", "subject 3", "subject 5"}, f.subjects(onceward.AuditQuery{}))
}

func (f *fixture) someSeal(n int64) onceward.Seal {
	return onceward.Seal{Number: n, At: f.origin.Add(time.Duration(n) * time.Second), Previous: onceward.Digest{byte(n)}, Journal: onceward.AuditPlace{Position: n},
		Events: onceward.AuditPlace{Position: 2 * n}, Count: int(n), Rows: []byte{1, 2, byte(n)}, Hash: onceward.Digest{9, byte(n)}}
}

func (f *fixture) appendSeal(s onceward.Seal) bool {
	f.Helper()
	ok, err := f.Store.AppendSeal(f.ctx, s)
	f.must(err)
	return ok
}

func sealsAreReadBack(f *fixture) {
	last, err := f.other.LastSeal(f.ctx)
	f.must(err)
	f.equal("the last of none", (*onceward.Seal)(nil), last)
	var want []onceward.Seal
	for n := int64(1); n <= 3; n++ {
		want = append(want, f.someSeal(n))
		f.equal("whether it is stored", true, f.appendSeal(want[n-1]))
	}
	got, err := f.other.Seals(f.ctx, 0, 10)
	f.must(err)
	f.equal("the seals", want, got)
	got, err = f.other.Seals(f.ctx, 1, 1)
	f.must(err)
	f.equal("a page of them", want[1:2], got)
	last, err = f.other.LastSeal(f.ctx)
	f.must(err)
	f.equal("the last", &want[2], last)
	for n, at := range map[int]time.Time{1: want[1].At.Add(time.Microsecond), 0: want[1].At} {
		last, err = f.other.SealBefore(f.ctx, at)
		f.must(err)
		f.equal("the last before a time", &want[n], last)
	}
}

func sealNumberIsTaken(f *fixture) {
	f.appendSeal(f.someSeal(1))
	other := f.someSeal(1)
	other.Hash = onceward.Digest{7}
	f.equal("whether another is stored", false, f.appendSeal(other))
	last, err := f.Store.LastSeal(f.ctx)
	f.must(err)
	f.equal("the hash of the one that is", onceward.Digest{9, 1}, last.Hash)
}

func checkpointsAreReadBack(f *fixture) {
	var want []onceward.Checkpoint
	for n := int64(1); n <= 3; n++ {
		c := onceward.Checkpoint{Number: n, At: f.origin, Hash: onceward.Digest{byte(n)}, Key: ed25519.PublicKey{1, 2}, Signature: []byte{3, byte(n)}}
		f.must(f.Store.PutCheckpoint(f.ctx, c))
		want = append(want, c)
	}
	second := want[2]
	second.Signature = []byte{7}
	f.must(f.Store.PutCheckpoint(f.ctx, second))
	got, err := f.other.Checkpoints(f.ctx, 1, 10)
	f.must(err)
	f.equal("the checkpoints", want[1:], got)
	last, err := f.other.LastCheckpoint(f.ctx)
	f.must(err)
	f.equal("the last", &want[2], last)
}

// newest is what the journal says last of an operation.
func (f *fixture) newest(id onceward.OperationID) (e onceward.JournalEntry) {
	f.Helper()
	for _, r := range f.auditRows(onceward.AuditQuery{Source: onceward.SourceJournal}) {
		for _, entry := range r.Entries {
			if entry.ID == id {
				e = entry
			}
		}
	}
	return e
}

// told fails the test unless the journal tells of the operation as it is stored.
func (f *fixture) told(what string, id onceward.OperationID) onceward.AuditOperation {
	f.Helper()
	ops, err := f.other.AuditOperations(f.ctx, onceward.OperationID{}, 100)
	f.must(err)
	for _, op := range ops {
		if op.ID == id {
			e := f.newest(id)
			f.equal(what+": the version that the journal tells of", op.Version, e.Version)
			f.equal(what+": the row that the journal tells of", op.Row, e.Row)
			f.equal(what+": the records that the journal tells of", op.Records[op.Version], e.Records)
			return op
		}
	}
	f.Fatalf("%s: the operation is not there", what)
	return onceward.AuditOperation{}
}

func journalTellsOfRows(f *fixture) {
	op := f.claimed("k", func(o *onceward.Operation) { o.Input = []byte(`"` + strings.Repeat("x", 5000) + `"`) })
	f.store(insert(op))
	first := f.told("a new operation with a long input", op.ID)
	e := f.newest(op.ID)
	f.equal("who made it", op.Actor, e.Actor)
	f.equal("whose it is", op.Tenant, e.Tenant)
	end := done(op)
	f.store(update(end))
	if f.told("its outcome", op.ID).Row == first.Row {
		f.Errorf("two versions of a row have one hash")
	}
	f.equal("who made the outcome", replica, f.newest(op.ID).Actor)
	c := update(next(end))
	c.Records = []onceward.Record{{Version: c.After.Version, At: f.origin, Event: "resolved", From: end.State, To: end.State, Actor: "local:operator", Reason: "so"}}
	f.store(c)
	f.told("a change with a record", op.ID)
	e = f.newest(op.ID)
	f.equal("who made the change", "local:operator", e.Actor)
	f.equal("what it was", "resolved", e.Event)
	slim := update(next(c.After, func(o *onceward.Operation) { o.Retired, o.Input, o.Result = true, nil, nil }))
	slim.Slim = true
	f.store(slim)
	if got := f.told("a tombstone", op.ID); len(got.Records) != 0 {
		f.Errorf("a tombstone has records: %v", got.Records)
	}
	f.equal("whether the journal tells that records went", true, f.newest(op.ID).Slim)
}

// rowsMayComeWithLess: whoever looks for bytes gets each row that holds them
// whole, and no row is left out; bare rows have place and time.
func rowsMayComeWithLess(f *fixture) {
	var ops []onceward.Operation
	for _, key := range []string{"a", "b", "c"} {
		ops = append(ops, f.claimed(key))
		f.store(insert(ops[len(ops)-1]))
	}
	whole := f.auditRows(onceward.AuditQuery{Source: onceward.SourceJournal})
	wanted := ops[1].ID
	held := f.auditRows(onceward.AuditQuery{Source: onceward.SourceJournal, Holding: wanted[:]})
	bare := f.auditRows(onceward.AuditQuery{Source: onceward.SourceJournal, Bare: true})
	if len(whole) == 0 || len(held) != len(whole) || len(bare) != len(whole) {
		f.Fatalf("%d rows, %d of them looked at for bytes, %d bare", len(whole), len(held), len(bare))
	}
	for i, r := range whole {
		for _, e := range r.Entries {
			if e.ID == wanted && !slices.EqualFunc(held[i].Entries, r.Entries, func(a, b onceward.JournalEntry) bool { return a == b }) {
				f.Errorf("a row that holds the bytes has the entries %v, want %v", held[i].Entries, r.Entries)
			}
		}
		for _, got := range []onceward.AuditRow{held[i], bare[i]} {
			if got.Place != r.Place || !got.At.Equal(r.At) || got.Source != r.Source {
				f.Errorf("a row is %v at %s, want %v at %s", got.Place, got.At, r.Place, r.At)
			}
		}
	}
}

func droppedIsTold(f *fixture) {
	op := f.claimed("k")
	op.Generation = 7
	f.store(insert(op))
	n, err := f.Store.Drop(f.ctx, []onceward.Tombstone{{ID: op.ID, Tenant: tenant, Generation: 7, Version: op.Version}, {ID: onceward.OperationID{1}, Version: 1}})
	f.must(err)
	f.equal("how many were dropped", 1, n)
	e := f.newest(op.ID)
	f.equal("what the journal tells", onceward.JournalEntry{ID: op.ID, Tenant: tenant, Generation: 7, Version: 2, Event: "dropped", Gone: true}, e)
	n, err = f.Store.Drop(f.ctx, []onceward.Tombstone{{ID: op.ID, Generation: 7, Version: op.Version}})
	f.must(err)
	f.equal("how many were dropped the second time", 0, n)
	commits, _ := f.journaled()
	f.equal("the rows of the journal", 2, commits)
}

// audited steps an auditor until everything is sealed, and there is nothing else
// to do.
func (f *fixture) audited(edit ...func(*onceward.Auditor)) {
	f.Helper()
	a := &onceward.Auditor{Store: f.Store, Now: f.Store.Now, Actor: replica}
	for _, e := range edit {
		e(a)
	}
	for worked := true; worked || f.verdict().Unsealed > 0; {
		var err error
		worked, err = a.Step(f.ctx)
		f.must(err)
	}
}

func (f *fixture) verdict() *onceward.AuditVerdict {
	f.Helper()
	v, err := onceward.VerifyAudit(f.ctx, f.other, nil)
	f.must(err)
	return v
}

func (f *fixture) whole() *onceward.AuditVerdict {
	f.Helper()
	v := f.verdict()
	for _, fault := range v.Faults {
		f.Errorf("the trail is broken: %s", fault)
	}
	return v
}

func trailVerifies(f *fixture) {
	f.whole()
	a, b, lost := f.claimed("a"), f.claimed("b"), f.claimed("a")
	f.store(insert(a))
	f.commit(insert(b), insert(lost)) // one entry of two
	f.must(f.Store.Note(f.ctx, someEvent(1)))
	f.audited()
	f.store(update(done(a)))
	f.must(f.Store.Note(f.ctx, someEvent(2)))
	v := f.whole()
	f.equal("the rows that are sealed", 3, v.SealedRows)
	f.equal("the rows that are not", 2, v.Unsealed)
	f.equal("the operations that are as told", 2, v.Operations)
	f.audited()
	v = f.whole()
	if v.Seals < 2 { // more where another transaction of the server held a step back
		f.Errorf("%d seals, want one for each time at least", v.Seals)
	}
	f.equal("the rows that are not sealed", 0, v.Unsealed)
}

func prunedTrail(f *fixture) {
	old := f.claimed("old")
	f.store(insert(old))
	f.must(f.Store.Note(f.ctx, someEvent(1)))
	f.audited()
	f.store(insert(f.claimed("older")))
	f.audited()
	f.pass(2 * step)
	f.store(insert(f.claimed("new", at(f.now()))))
	f.audited()
	f.audited(func(a *onceward.Auditor) { a.Keep = step })
	v := f.verdict()
	if v.FirstSeal < 2 || v.Seals < 2 {
		f.Errorf("the chain begins at seal %d and has %d seals", v.FirstSeal, v.Seals)
	}
	f.whole()
	f.store(update(done(old)))
	f.audited()
	f.whole()
}

func talliesAddUp(f *fixture) {
	hour := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	tally := func(h time.Time, t onceward.Tenant, d onceward.Decision, n int64) onceward.Tally {
		return onceward.Tally{Hour: h, Tenant: t, Tool: tool, Decision: d, Count: n}
	}
	f.must(f.Store.AddTallies(f.ctx, []onceward.Tally{tally(hour, tenant, onceward.DecisionReplayed, 2), tally(hour, tenant, onceward.DecisionFresh, 1), tally(hour, "globex", onceward.DecisionFresh, 8)}))
	f.must(f.other.AddTallies(f.ctx, []onceward.Tally{tally(hour, tenant, onceward.DecisionReplayed, 3), tally(hour.Add(time.Hour), tenant, onceward.DecisionFresh, 4)}))
	got, err := f.other.Tallies(f.ctx, tenant, hour, hour.Add(time.Hour))
	f.must(err)
	f.equal("the tallies of an hour", []onceward.Tally{tally(hour, tenant, onceward.DecisionFresh, 1), tally(hour, tenant, onceward.DecisionReplayed, 5)}, got)
}
