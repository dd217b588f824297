package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

var dues = []situation{
	{"DueRowIsTakenWhenItsTimeHasCome", dueRowIsTaken},
	{"EarliestDueRowsAreTakenFirst", earliestFirst},
	{"DueRowsOfExceptedWorkloadsStay", exceptedRowsStay},
	{"TakenRowIsHeldAndComesAgain", takenRowIsHeld},
	{"RacingTakersShareTheRows", racingTakers},
	{"DueRowIsReplacedKeptAndRemovedWithItsChange", dueRowFollowsItsChange},
	{"LosingChangeLeavesTheDueRow", losingChangeLeavesTheDueRow},
	{"RowWithoutTimeIsNeverTaken", rowWithoutTime},
	{"NextDueIsTheEarliest", nextDueIsTheEarliest},
	{"TakenRowIsRescheduled", takenRowIsRescheduled},
	{"RescheduleOfAnotherStateOrOfNothingDoesNothing", rescheduleOfAnother},
}

var parked = []situation{
	{"ParkedRowsAreReleasedInStepsOldestFirst", parkedRowsAreReleasedInSteps},
	{"UnparkReleasesOneToolForOneReason", unparkReleasesOneTool},
	{"UnparkOfTheTenantReleasesEveryTool", unparkOfTheTenant},
	{"UnparkOfEverythingReleasesEveryTenant", unparkOfEverything},
	{"ParkedRowWithATimeIsTakenAndReleased", parkedRowWithATime},
	{"ReleasedRowIsParkedAgainByReschedule", releasedRowIsParkedAgain},
}

// due is the operation's due row.
func (f *fixture) due(op onceward.Operation, kind onceward.DueKind, at time.Time) *onceward.Due {
	return &onceward.Due{
		ID: op.ID, Tenant: op.Tenant, Tool: op.Tool, State: op.State, Kind: kind, At: at, Since: f.origin,
	}
}

// waiting stores a ready operation that is due at the time.
func (f *fixture) waiting(key string, at time.Time, edits ...func(*onceward.Due)) onceward.Operation {
	f.Helper()
	op := f.claimed(key, func(o *onceward.Operation) { o.State, o.Attempts, o.DueAt = onceward.StateReady, nil, at })
	c := insert(op)
	c.Due = f.due(op, onceward.DueStart, at)
	for _, edit := range edits {
		edit(c.Due)
	}
	f.store(c)
	return op
}

// take takes due rows on a handle and gives their IDs.
func (f *fixture) take(s onceward.Store, limit int, hold time.Duration) []onceward.OperationID {
	f.Helper()
	rows, now, err := s.TakeDue(f.ctx, limit, hold)
	f.must(err)
	if now.Before(f.origin) {
		f.Fatalf("the clock says %v, want %v or later", now, f.origin)
	}
	var ids []onceward.OperationID
	for _, d := range rows {
		ids = append(ids, d.ID)
	}
	return ids
}

func dueRowIsTaken(f *fixture) {
	soon := step
	if f.Advance != nil {
		soon = time.Hour // so that the test sees the time before it, however slow it is
	}
	op := f.waiting("k", f.origin.Add(soon))
	f.waiting("later", f.origin.Add(soon+time.Hour))
	if f.Advance != nil {
		f.equal("the rows taken before their time", 0, len(f.take(f.other, 10, time.Minute)))
	}
	f.pass(soon)
	rows, _, err := f.other.TakeDue(f.ctx, 10, time.Minute)
	f.must(err)
	if len(rows) != 1 {
		f.Fatalf("%d rows were taken, want the one whose time has come", len(rows))
	}
	got := rows[0]
	got.At = time.Time{} // of no use to whoever takes it
	f.equal("the row", onceward.Due{
		ID: op.ID, Tenant: tenant, Tool: tool, State: onceward.StateReady, Kind: onceward.DueStart, Since: f.origin,
	}, got)
}

func earliestFirst(f *fixture) {
	second := f.waiting("b", f.origin.Add(-time.Second))
	first := f.waiting("a", f.origin.Add(-time.Minute))
	third := f.waiting("c", f.origin)
	f.equal("the first two", []onceward.OperationID{first.ID, second.ID}, f.take(f.Store, 2, time.Minute))
	f.equal("the third", []onceward.OperationID{third.ID}, f.take(f.other, 2, time.Minute))
}

func exceptedRowsStay(f *fixture) {
	of := func(t onceward.Tenant, n onceward.ToolName) func(*onceward.Due) {
		return func(d *onceward.Due) { d.Tenant, d.Tool = t, n }
	}
	a := f.waiting("a", f.origin.Add(-time.Minute), of("acme", "slow.tool"))
	b := f.waiting("b", f.origin.Add(-time.Second), of("acme", "quick.tool"))
	c := f.waiting("c", f.origin, of("other", "slow.tool"))
	take := func(except ...onceward.Workload) (ids []onceward.OperationID) {
		f.Helper()
		rows, _, err := f.Store.TakeDue(f.ctx, 1, time.Hour, except...)
		f.must(err)
		for _, d := range rows {
			ids = append(ids, d.ID)
		}
		return ids
	}
	f.equal("the first, without a tenant", []onceward.OperationID{c.ID}, take(onceward.Workload{Tenant: "acme"}))
	f.equal("the first, without a tool of a tenant", []onceward.OperationID{b.ID}, take(onceward.Workload{Tenant: "acme", Tool: "slow.tool"}, onceward.Workload{Tenant: "nobody"}))
	f.equal("the first", []onceward.OperationID{a.ID}, take())
}

func takenRowIsHeld(f *fixture) {
	op := f.waiting("k", f.origin)
	f.equal("the row", []onceward.OperationID{op.ID}, f.take(f.Store, 10, time.Hour))
	f.equal("the row while it is held", 0, len(f.take(f.other, 10, time.Hour)))

	brief := f.waiting("brief", f.origin)
	f.equal("the row", []onceward.OperationID{brief.ID}, f.take(f.Store, 10, step))
	f.pass(2 * step)
	f.equal("the row after its hold", []onceward.OperationID{brief.ID}, f.take(f.other, 10, time.Hour))
}

func racingTakers(f *fixture) {
	const size = 40
	for i := range size {
		f.waiting(fmt.Sprint(i), f.origin)
	}
	var mu sync.Mutex
	taken := map[onceward.OperationID]int{}
	race(6, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		for {
			rows, _, err := s.TakeDue(f.ctx, 3, time.Hour)
			if err != nil {
				f.Errorf("taker %d: %v", i, err)
				return
			}
			if len(rows) == 0 {
				return
			}
			twice := false
			mu.Lock()
			for _, d := range rows {
				taken[d.ID]++
				twice = twice || taken[d.ID] > 1
			}
			mu.Unlock()
			if twice {
				return // or it would go on for ever
			}
		}
	})
	for id, times := range taken {
		f.equal(fmt.Sprintf("the takers of %s", id), 1, times)
	}
	// A taker may pass over rows that another one is taking; nobody may lose one.
	rest := f.take(f.Store, size, time.Hour)
	f.equal("the rows taken in all", size, len(taken)+len(rest))
}

func dueRowFollowsItsChange(f *fixture) {
	op := f.waiting("k", f.origin.Add(time.Hour))
	op = next(op)
	moved := update(op)
	moved.Due = f.due(op, onceward.DueSettle, f.origin)
	f.store(moved)

	op = next(op)
	f.store(update(op)) // neither Due nor DueGone: it stays
	rows, _, err := f.other.TakeDue(f.ctx, 10, 0)
	f.must(err)
	if len(rows) != 1 || rows[0].Kind != onceward.DueSettle {
		f.Fatalf("the due rows are %+v, want the one that was set last", rows)
	}

	gone := update(next(op))
	gone.DueGone = true
	f.store(gone)
	f.equal("the rows after the removal", 0, len(f.take(f.other, 10, 0)))
}

func losingChangeLeavesTheDueRow(f *fixture) {
	op := f.waiting("k", f.origin)
	f.store(update(next(op)))
	late := update(next(op))
	late.DueGone = true
	late.Records = []onceward.Record{{Event: "late"}}
	late.Tool = &onceward.ToolSwitch{Tenant: tenant, Tool: tool, Paused: true}
	again := insert(op)
	again.After.Token = token()
	again.Due = f.due(op, onceward.DueReview, time.Time{})
	for _, c := range []onceward.Change{late, again} {
		if r := f.commit(c)[0]; r.Applied || r.Stored == nil {
			f.Fatalf("a late change gives %+v, want that it lost", r)
		}
	}
	f.equal("the due rows", []onceward.OperationID{op.ID}, f.take(f.other, 10, 0))
	f.equal("the records", 0, len(f.records(op.ID)))
	switches, err := f.other.Switches(f.ctx)
	f.must(err)
	f.equal("the switches", 0, len(switches))
}

func rowWithoutTime(f *fixture) {
	f.waiting("k", time.Time{})
	f.equal("the rows taken", 0, len(f.take(f.other, 10, 0)))
	at, _, err := f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time", time.Time{}, at)
}

func nextDueIsTheEarliest(f *fixture) {
	at, now, err := f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time of nothing", time.Time{}, at)
	if now.Before(f.origin) {
		f.Fatalf("the clock says %v, want %v or later", now, f.origin)
	}
	f.waiting("a", f.origin.Add(time.Hour))
	f.waiting("b", f.origin.Add(time.Minute))
	f.waiting("c", time.Time{})
	at, _, err = f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time", f.origin.Add(time.Minute), at)
}

func takenRowIsRescheduled(f *fixture) {
	op := f.waiting("k", f.origin)
	f.take(f.Store, 10, time.Hour)
	at := f.origin.Add(time.Minute)
	f.must(f.Store.Reschedule(f.ctx, *f.due(op, onceward.DueStart, at)))
	next, _, err := f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time", at, next)
}

func rescheduleOfAnother(f *fixture) {
	op := f.waiting("k", f.origin.Add(time.Hour))
	elsewhere := *f.due(op, onceward.DueReview, f.origin)
	elsewhere.State = onceward.StateNeedsReview
	f.must(f.Store.Reschedule(f.ctx, elsewhere))
	f.must(f.Store.Reschedule(f.ctx, *f.due(f.claimed("absent"), onceward.DueLease, f.origin)))
	f.equal("the rows that are due", 0, len(f.take(f.other, 10, 0)))
	next, _, err := f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time", f.origin.Add(time.Hour), next)
}

func park(why onceward.ParkReason, since time.Time) func(*onceward.Due) {
	return func(d *onceward.Due) { d.Parked, d.Since = why, since }
}

func (f *fixture) unpark(tool onceward.ToolName, why onceward.ParkReason, limit int) int {
	f.Helper()
	n, err := f.Store.Unpark(f.ctx, tenant, tool, why, limit)
	f.must(err)
	return n
}

func parkedRowsAreReleasedInSteps(f *fixture) {
	var ids []onceward.OperationID
	for i := range 5 {
		since := f.origin.Add(time.Duration(i) * time.Second)
		op := f.waiting(fmt.Sprint(i), time.Time{}, park(onceward.ParkToolPaused, since))
		ids = append(ids, op.ID)
	}
	f.equal("the first step", 2, f.unpark(tool, onceward.ParkToolPaused, 2))
	f.equal("the rows released first", ids[:2], f.sortedTake(ids))
	f.equal("the second step", 3, f.unpark(tool, onceward.ParkToolPaused, 10))
	f.equal("the rows released then", ids[2:], f.sortedTake(ids))
	f.equal("the third step", 0, f.unpark(tool, onceward.ParkToolPaused, 10))
}

// sortedTake takes what is due and gives it in the order of ids.
func (f *fixture) sortedTake(ids []onceward.OperationID) []onceward.OperationID {
	f.Helper()
	taken := map[onceward.OperationID]bool{}
	for _, id := range f.take(f.other, 100, time.Hour) {
		taken[id] = true
	}
	var in []onceward.OperationID
	for _, id := range ids {
		if taken[id] {
			in = append(in, id)
		}
	}
	f.equal("the rows that nobody knows", len(taken), len(in))
	return in
}

func unparkOfEverything(f *fixture) {
	ids := []onceward.OperationID{
		f.waiting("mine", time.Time{}, park(onceward.ParkToolPaused, f.origin)).ID,
		f.waiting("tenant", time.Time{}, park(onceward.ParkToolPaused, f.origin.Add(time.Second)), func(d *onceward.Due) { d.Tenant, d.Tool = "globex", "mail.send" }).ID,
	}
	f.waiting("rate", time.Time{}, park(onceward.ParkRate, f.origin))
	n, err := f.Store.Unpark(f.ctx, onceward.EveryTenant, "", onceward.ParkToolPaused, 1)
	f.must(err)
	f.equal("the first step", 1, n)
	f.equal("the row released first", ids[:1], f.sortedTake(ids))
	n, err = f.Store.Unpark(f.ctx, onceward.EveryTenant, "", onceward.ParkToolPaused, 10)
	f.must(err)
	f.equal("the second step", 1, n)
	f.equal("the row released then", ids[1:], f.sortedTake(ids))
}

func unparkReleasesOneTool(f *fixture) {
	mine := f.waiting("mine", time.Time{}, park(onceward.ParkToolPaused, f.origin))
	f.waiting("rate", time.Time{}, park(onceward.ParkRate, f.origin))
	f.waiting("tool", time.Time{}, park(onceward.ParkToolPaused, f.origin), func(d *onceward.Due) { d.Tool = "mail.send" })
	f.waiting("tenant", time.Time{}, park(onceward.ParkToolPaused, f.origin), func(d *onceward.Due) { d.Tenant = "globex" })
	f.waiting("review", time.Time{})
	f.equal("the rows released", 1, f.unpark(tool, onceward.ParkToolPaused, 10))
	f.equal("the rows that are due", []onceward.OperationID{mine.ID}, f.take(f.other, 10, time.Hour))
}

func unparkOfTheTenant(f *fixture) {
	f.waiting("a", time.Time{}, park(onceward.ParkToolPaused, f.origin))
	f.waiting("b", time.Time{}, park(onceward.ParkToolPaused, f.origin), func(d *onceward.Due) { d.Tool = "mail.send" })
	f.waiting("c", time.Time{}, park(onceward.ParkToolPaused, f.origin), func(d *onceward.Due) { d.Tenant = "globex" })
	f.equal("the rows released", 2, f.unpark("", onceward.ParkToolPaused, 10))
	f.equal("the rows that are due", 2, len(f.take(f.other, 10, time.Hour)))
}

func parkedRowWithATime(f *fixture) {
	at := f.origin.Add(time.Hour)
	op := f.waiting("k", at, park(onceward.ParkRate, f.origin))
	next, _, err := f.other.NextDue(f.ctx)
	f.must(err)
	f.equal("the next due time", at, next)
	f.equal("the rows released", 1, f.unpark(tool, onceward.ParkRate, 10))
	f.equal("the rows that are due", []onceward.OperationID{op.ID}, f.take(f.other, 10, time.Hour))
}

func releasedRowIsParkedAgain(f *fixture) {
	op := f.waiting("k", time.Time{}, park(onceward.ParkRate, f.origin))
	f.equal("the rows released", 1, f.unpark(tool, onceward.ParkRate, 10))
	f.equal("the rows released twice", 0, f.unpark(tool, onceward.ParkRate, 10))
	again := f.due(op, onceward.DueStart, f.origin.Add(time.Hour))
	again.Parked = onceward.ParkRate
	f.must(f.Store.Reschedule(f.ctx, *again))
	f.equal("the rows that are due", 0, len(f.take(f.other, 10, 0)))
	f.equal("the rows released after that", 1, f.unpark(tool, onceward.ParkRate, 10))
}
