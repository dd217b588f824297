package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

var decisions = []situation{
	{"DecisionIsStoredWhole", decisionIsStoredWhole},
	{"RacingClaimsHaveOneWinner", racingClaims},
	{"ClaimOfACrashedWorkerIsReplacedOnce", crashedClaimer},
	{"DecisionWrittenAgainAfterALostAnswerIsApplied", decisionWrittenAgain},
	{"DecisionsOfARunAreListedOldestFirst", decisionsAreListed},
	{"DecisionThatCannotBeStoredIsRefused", unstorableDecision},
}

// newDecision is the first row of a decision: claimed.
func (f *fixture) newDecision(run onceward.RunID, name string, edits ...func(*onceward.StepDecision)) onceward.StepDecision {
	d := onceward.StepDecision{
		ID: onceward.NewDecisionID(run, name), Tenant: tenant, Run: run, Step: name, CreatedAt: f.origin, Revision: 1, Token: token(),
		Claim:    onceward.DecisionClaim{TokenHash: "hash", By: "local:operator", Until: f.origin.Add(time.Minute)},
		Versions: []onceward.DecisionVersion{{Number: 1, OpenedAt: f.origin, OpenedBy: "local:operator", InputDigest: onceward.Digest{1}, Model: "m-1", PromptVersion: "p-1"}},
	}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

// moved is the decision's next row.
func moved(d onceward.StepDecision, edit func(*onceward.StepDecision)) onceward.StepDecision {
	d.Versions = append([]onceward.DecisionVersion(nil), d.Versions...)
	d.Revision, d.Token = d.Revision+1, token()
	edit(&d)
	return d
}

func (f *fixture) putDecision(d onceward.StepDecision) {
	f.Helper()
	stored, applied, err := f.Store.PutDecision(f.ctx, d)
	f.must(err)
	if !applied {
		f.Fatalf("the decision was not applied: %+v", stored)
	}
	f.equal("the row that the write gives back", &d, stored)
	again, err := f.other.LoadDecision(f.ctx, d.ID)
	f.must(err)
	f.equal("the stored decision", &d, again)
}

func decisionIsStoredWhole(f *fixture) {
	d := f.newDecision(f.newRun("t").ID, "classify")
	absent, err := f.other.LoadDecision(f.ctx, d.ID)
	f.must(err)
	f.equal("before it is stored", true, absent == nil)
	f.putDecision(d)
	sure := 0.87
	d = moved(d, func(d *onceward.StepDecision) {
		v := d.Current()
		v.PinnedAt, v.PinnedBy, v.Output, v.Confidence = f.origin.Add(step), "local:agent", []byte(`{"category":"refund","note":"a\u0000b"}`), &sure
		v.Branch, v.Rule, v.RuleVersion, v.Schema = "refund", "rules[0]", "c0ffee", []byte(`{"type":"object"}`)
		d.Claim = onceward.DecisionClaim{}
	})
	f.putDecision(d)
	f.putDecision(moved(d, func(d *onceward.StepDecision) {
		d.Versions = append(d.Versions, onceward.DecisionVersion{Number: 2, OpenedAt: f.origin.Add(2 * step), OpenedBy: "local:person", Reason: "wrong \x00 class"})
	}))
}

func racingClaims(f *fixture) {
	run := f.newRun("t").ID
	var won atomic.Int32
	race(8, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		d := f.newDecision(run, "classify", func(d *onceward.StepDecision) { d.Claim.By = fmt.Sprint("worker-", i) })
		stored, applied, err := s.PutDecision(f.ctx, d)
		switch {
		case err != nil:
			f.Errorf("worker %d: %v", i, err)
		case applied:
			won.Add(1)
		case stored == nil || stored.Claim.By == d.Claim.By:
			f.Errorf("worker %d lost to %+v", i, stored)
		}
	})
	f.equal("the winners", int32(1), won.Load())
}

func crashedClaimer(f *fixture) {
	d := f.newDecision(f.newRun("t").ID, "classify")
	f.putDecision(d)
	var won atomic.Int32
	race(6, func(i int) {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		_, applied, err := s.PutDecision(f.ctx, moved(d, func(d *onceward.StepDecision) { d.Claim.By = fmt.Sprint("heir-", i) }))
		if err != nil {
			f.Errorf("heir %d: %v", i, err)
		}
		if applied {
			won.Add(1)
		}
	})
	f.equal("the heirs", int32(1), won.Load())
	late := moved(d, func(d *onceward.StepDecision) { d.Current().PinnedAt = f.origin })
	stored, applied, err := f.Store.PutDecision(f.ctx, late)
	f.must(err)
	if applied || stored.Pinned() {
		f.Errorf("the crashed worker pinned over its heir: %+v", stored)
	}
}

func decisionWrittenAgain(f *fixture) {
	d := f.newDecision(f.newRun("t").ID, "classify")
	f.putDecision(d)
	f.putDecision(d)
	next := moved(d, func(d *onceward.StepDecision) { d.Claim.By = "heir" })
	f.putDecision(next)
	f.putDecision(next)
	stored, applied, err := f.other.PutDecision(f.ctx, d)
	f.must(err)
	if applied {
		f.Error("a revision that was overtaken counts as applied")
	}
	f.equal("the stored decision", &next, stored)
}

func decisionsAreListed(f *fixture) {
	run, other := f.newRun("t").ID, f.newRun("u").ID
	for i, name := range []string{"first", "second", "third"} {
		f.putDecision(f.newDecision(run, name, func(d *onceward.StepDecision) { d.CreatedAt = f.origin.Add(time.Duration(i) * step) }))
	}
	f.putDecision(f.newDecision(other, "first"))
	names := func(limit int) (names []string) {
		list, err := f.other.ListDecisions(f.ctx, run, limit)
		f.must(err)
		for _, d := range list {
			names = append(names, d.Step)
		}
		return names
	}
	f.equal("all", []string{"first", "second", "third"}, names(9))
	f.equal("the first two", []string{"first", "second"}, names(2))
}

func unstorableDecision(f *fixture) {
	d := f.newDecision(f.newRun("t").ID, "classify")
	d.Versions = nil
	_, _, err := f.Store.PutDecision(f.ctx, d)
	f.code("no version", err, onceward.CodeInternal)
}
