package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

var runRows = []situation{
	{"RunIsStoredWhole", runIsStoredWhole},
	{"RacingTriggersStartOneRun", racingTriggers},
	{"RunIsWrittenByCompareAndSet", runCompareAndSet},
	{"RunWrittenAgainAfterALostAnswerIsApplied", runWrittenAgain},
	{"RunsAreListedNewestFirst", runsAreListed},
	{"AbsentRunIsNone", absentRun},
	{"RunThatCannotBeStoredIsRefused", unstorableRun},
	{"OldRunsAreListedOldestFirstOfEveryTenant", agedRuns},
	{"DroppedRunTakesItsDecisionsAlong", droppedRun},
}

// newRun is the first row of a run.
func (f *fixture) newRun(trigger string, edits ...func(*onceward.Run)) onceward.Run {
	r := onceward.Run{
		Tenant: tenant, Workflow: "support.triage", Version: "3", Rules: "c0ffee", TriggerKey: onceward.Key(trigger),
		InputDigest: onceward.Digest{7}, Input: []byte(`{"event":"` + trigger + `"}`), CorrelationID: "case-1", Actor: "local:operator",
		State: onceward.RunOpen, CreatedAt: f.origin, Revision: 1, Token: token(),
	}
	for _, edit := range edits {
		edit(&r)
	}
	r.ID = onceward.NewRunID(r.Tenant, r.Workflow, r.TriggerKey)
	return r
}

// finished is the run's next row.
func finished(r onceward.Run, at time.Time) onceward.Run {
	r.State, r.Outcome, r.Reason, r.FinishedBy, r.FinishedAt = onceward.RunFinished, onceward.RunSucceeded, "all done", "local:operator", at
	r.Revision, r.Token = r.Revision+1, token()
	return r
}

func (f *fixture) putRun(r onceward.Run) {
	f.Helper()
	stored, applied, err := f.Store.PutRun(f.ctx, r)
	f.must(err)
	if !applied {
		f.Fatalf("the run was not applied: %+v", stored)
	}
	f.equal("the row that the write gives back", &r, stored)
}

func (f *fixture) loadRun(id onceward.RunID) *onceward.Run {
	f.Helper()
	r, err := f.other.LoadRun(f.ctx, id)
	f.must(err)
	return r
}

func runIsStoredWhole(f *fixture) {
	bare := f.newRun("bare", func(r *onceward.Run) {
		r.Version, r.Rules, r.InputDigest, r.Input, r.CorrelationID = "", "", onceward.Digest{}, nil, ""
	})
	for _, r := range []onceward.Run{f.newRun("whole"), bare} {
		f.putRun(r)
		f.equal("the stored run", &r, f.loadRun(r.ID))
		end := finished(r, f.origin.Add(step))
		f.putRun(end)
		f.equal("the finished run", &end, f.loadRun(r.ID))
	}
}

func racingTriggers(f *fixture) {
	var won atomic.Int32
	race(8, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		r := f.newRun("t", func(r *onceward.Run) { r.Actor = fmt.Sprint("worker-", i) })
		stored, applied, err := s.PutRun(f.ctx, r)
		switch {
		case err != nil:
			f.Errorf("worker %d: %v", i, err)
		case applied:
			won.Add(1)
		case stored == nil || stored.Actor == r.Actor:
			f.Errorf("worker %d lost to %+v", i, stored)
		}
	})
	f.equal("the winners", int32(1), won.Load())
}

func runCompareAndSet(f *fixture) {
	r := f.newRun("t")
	early := finished(r, f.origin)
	stored, applied, err := f.Store.PutRun(f.ctx, early)
	f.must(err)
	if applied || stored != nil {
		f.Fatalf("the second revision of nothing: applied %t, stored %+v", applied, stored)
	}
	f.putRun(r)
	first, second := finished(r, f.origin), finished(r, f.origin.Add(step))
	f.putRun(first)
	stored, applied, err = f.other.PutRun(f.ctx, second)
	f.must(err)
	if applied {
		f.Fatal("two ends of one run were applied")
	}
	f.equal("the row that it lost to", &first, stored)
}

func runWrittenAgain(f *fixture) {
	r := f.newRun("t")
	f.putRun(r)
	f.putRun(r)
	end := finished(r, f.origin)
	f.putRun(end)
	f.putRun(end)
	stored, applied, err := f.other.PutRun(f.ctx, r)
	f.must(err)
	if applied {
		f.Error("a revision that was overtaken counts as applied")
	}
	f.equal("the stored run", &end, stored)
}

func runsAreListed(f *fixture) {
	var all []onceward.Run
	for i := range 5 {
		r := f.newRun(fmt.Sprint("t", i), func(r *onceward.Run) {
			r.CreatedAt = f.origin.Add(time.Duration(i/2) * step) // some at one time
			if i == 3 {
				r.Workflow, r.CorrelationID = "billing.dunning", "case-2"
			}
		})
		f.putRun(r)
		all = append(all, r)
	}
	f.putRun(finished(all[0], f.origin))
	f.putRun(f.newRun("t", func(r *onceward.Run) { r.Tenant = "other" }))
	list := func(filter onceward.RunFilter) []*onceward.Run {
		f.Helper()
		filter.Tenant = tenant
		runs, err := f.other.ListRuns(f.ctx, filter)
		f.must(err)
		return runs
	}
	triggers := func(runs []*onceward.Run) (keys []string) {
		for _, r := range runs {
			f.equal("the input in a listing", 0, len(r.Input))
			keys = append(keys, string(r.TriggerKey))
		}
		return keys
	}
	var paged []string
	at := onceward.RunCursor{}
	for range 3 {
		page := list(onceward.RunFilter{After: at, Limit: 2})
		paged = append(paged, triggers(page)...)
		at = onceward.RunCursor{CreatedAt: page[len(page)-1].CreatedAt, ID: page[len(page)-1].ID}
	}
	whole := triggers(list(onceward.RunFilter{Limit: onceward.MaxPage}))
	f.equal("the pages together", whole, paged)
	f.equal("the newest", "t4", whole[0])
	f.equal("how many", 5, len(whole))
	f.equal("of one workflow", []string{"t3"}, triggers(list(onceward.RunFilter{Workflow: "billing.dunning", Limit: 9})))
	f.equal("of one event", []string{"t3"}, triggers(list(onceward.RunFilter{CorrelationID: "case-2", Limit: 9})))
	f.equal("the finished", []string{"t0"}, triggers(list(onceward.RunFilter{State: onceward.RunFinished, Limit: 9})))
}

func absentRun(f *fixture) {
	if r := f.loadRun(f.newRun("t").ID); r != nil {
		f.Fatalf("there is a run: %+v", r)
	}
}

func agedRuns(f *fixture) {
	var want []string
	for i, t := range []onceward.Tenant{tenant, "globex", tenant, tenant} {
		r := f.newRun(fmt.Sprint("aged-", i), func(r *onceward.Run) { r.Tenant, r.CreatedAt = t, f.origin.Add(time.Duration(i)*time.Second) })
		f.putRun(r)
		if i < 3 {
			want = append(want, string(r.TriggerKey))
		}
	}
	var got []string
	for after := (onceward.RunCursor{}); ; {
		page, err := f.other.AgedRuns(f.ctx, after, f.origin.Add(3*time.Second), 2)
		f.must(err)
		for _, r := range page {
			f.equal("its input in the list", []byte(nil), r.Input)
			got = append(got, string(r.TriggerKey))
			after = onceward.RunCursor{CreatedAt: r.CreatedAt, ID: r.ID}
		}
		if len(page) < 2 {
			break
		}
	}
	f.equal("the old runs", want, got)
}

func droppedRun(f *fixture) {
	r, other := f.newRun("dropped"), f.newRun("kept")
	f.putRun(r)
	f.putRun(other)
	d, kept := f.newDecision(r.ID, "classify"), f.newDecision(other.ID, "classify")
	f.putDecision(d)
	f.putDecision(kept)
	moved := r
	moved.Revision = 2
	for _, c := range []struct {
		run  onceward.Run
		want bool
	}{{moved, false}, {r, true}, {r, false}} {
		dropped, err := f.Store.DropRun(f.ctx, &c.run, someEvent(1))
		f.must(err)
		f.equal("whether it was dropped", c.want, dropped)
	}
	f.equal("the run", (*onceward.Run)(nil), f.loadRun(r.ID))
	gone, err := f.other.LoadDecision(f.ctx, d.ID)
	f.must(err)
	f.equal("its decision", (*onceward.StepDecision)(nil), gone)
	left, err := f.other.LoadDecision(f.ctx, kept.ID)
	f.must(err)
	f.equal("another run's decision", &kept, left)
	f.equal("the events", []string{"subject 1"}, f.subjects(onceward.AuditQuery{}))
}

func unstorableRun(f *fixture) {
	r := f.newRun("t")
	r.CorrelationID = "a\x00b"
	_, _, err := f.Store.PutRun(f.ctx, r)
	f.code("a NUL character", err, onceward.CodeInvalidInput)
	_, _, err = f.Store.PutRun(f.ctx, onceward.Run{ID: r.ID})
	f.code("half a row", err, onceward.CodeInternal)
}
