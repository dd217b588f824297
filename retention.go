package onceward

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// RetireStep looks at most limit operations, oldest first from the cursor on. It
// slims those whose contract's record time is over into tombstones, and drops
// the tombstones whose time is over as well: their keys are free again. What a
// legal hold covers stays, and what goes is exported before. It returns where to go
// on, zero at the end, and how many it slimmed and dropped. What is not terminal
// never expires.
func (l *Ledger) RetireStep(ctx context.Context, from Cursor, limit int) (next Cursor, done int, err error) {
	ops, err := l.store.Aged(ctx, from, l.clock.now(), limit)
	if err != nil || len(ops) == 0 {
		return Cursor{}, 0, err
	}
	over, err := l.over(ctx, ops)
	if err != nil {
		return Cursor{}, 0, err
	}
	if err := l.export(ctx, over); err != nil {
		return Cursor{}, 0, err
	}
	var tombstones []Tombstone
	var records []*Operation
	for _, op := range over {
		if op.Retired {
			tombstones = append(tombstones, Tombstone{ID: op.ID, Tenant: op.Tenant, Generation: op.Generation, Version: op.Version})
		} else {
			records = append(records, op)
		}
	}
	if done, err = l.slimAll(ctx, records); err != nil {
		return Cursor{}, done, err
	}
	if len(tombstones) > 0 {
		dropped, err := l.store.Drop(ctx, tombstones)
		done += dropped
		if err != nil {
			return Cursor{}, done, err
		}
	}
	if len(ops) < limit {
		return Cursor{}, done, nil
	}
	last := ops[len(ops)-1]
	return Cursor{CreatedAt: last.CreatedAt, ID: last.ID}, done, nil
}

// over are the records and tombstones whose time is over, and that no legal hold
// covers.
func (l *Ledger) over(ctx context.Context, ops []*Operation) ([]*Operation, error) {
	holds, err := l.store.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("list holds: %w", err)
	}
	var over []*Operation
	for _, op := range ops {
		if !op.State.Terminal() || op.Tenant == serialTenant || holdOver(holds, op) != nil {
			continue
		}
		t, err := l.hydrate(ctx, op)
		if unreadable(err) {
			l.warnOnce("records are kept past their time: their contract cannot be read here", op.Tool, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if op.Retired && op.forgotten(t.Info(), l.clock.now()) || !op.Retired && op.outlived(t.Info(), l.clock.now()) {
			over = append(over, op)
		}
	}
	return over, nil
}

// unreadable reports whether it is one operation, or its contract, that cannot be read
// here, and not the ledger: the others do not wait for it.
func unreadable(err error) bool {
	return slices.Contains([]Code{CodeConfigInvalid, CodeContractInvalid, CodeToolNotFound, CodeLedgerCorrupt}, CodeOf(err))
}

// outlived reports whether a record may become a tombstone.
func (o *Operation) outlived(info *ToolInfo, at time.Time) bool {
	return info.KeepRecord > 0 && o.stays() == "" && !at.Before(o.CompletedAt.Add(info.KeepRecord))
}

// retireTogether is how many records are slimmed side by side, and so by one
// commit: enough to be done with millions in an hour, few beside what is served.
const retireTogether = 16

// slimAll makes records tombstones, and returns how many. What one of them met
// keeps the others from nothing.
func (l *Ledger) slimAll(ctx context.Context, ops []*Operation) (int, error) {
	var next, done atomic.Int64
	errs := make([]error, min(retireTogether, len(ops)))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(ops)) && errs[i] == nil; n = next.Add(1) - 1 {
				var slimmed bool
				if slimmed, errs[i] = l.slim(ctx, ops[n]); slimmed {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(done.Load()), errors.Join(errs...)
}

// slim makes a record a tombstone unless it changed since its time was found to
// be over: what is deleted is what was exported.
func (l *Ledger) slim(ctx context.Context, op *Operation) (bool, error) {
	stored, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Version != op.Version || now.Generation != op.Generation {
			return nil, nil
		}
		shown, err := l.shownOf(ctx, now)
		if err != nil {
			return nil, err
		}
		return facts(l.opts.Owner, Retired{Showings: shown}), nil
	})
	return err == nil && stored.Retired && stored.Version == op.Version+1, err
}

// shownOf names what the approvers of an operation were shown, which holds its
// input whole and is kept no longer than its record.
func (l *Ledger) shownOf(ctx context.Context, op *Operation) ([]Digest, error) {
	if !op.ApprovalNeeded {
		return nil, nil
	}
	detail, err := l.store.LoadDetail(ctx, op.ID)
	if err != nil {
		return nil, err
	}
	var shown []Digest
	for i := range detail.Records {
		if d, err := ParseDigest(detail.Records[i].Shown); err == nil && !slices.Contains(shown, d) {
			shown = append(shown, d)
		}
	}
	return shown, nil
}

// RetireRunsStep looks at most limit runs, oldest first from the cursor on. It
// drops, with their decisions, those that were finished longer ago than keep, and
// of whose operations no record is left: a run outlives what its operations are
// known by, and so the time in which a duplicate of them can arrive. It returns
// where to go on, zero at the end, and how many it dropped. What is open never
// expires. keep 0: nothing is dropped.
func (l *Ledger) RetireRunsStep(ctx context.Context, from RunCursor, keep time.Duration, limit int) (next RunCursor, done int, err error) {
	if keep <= 0 {
		return RunCursor{}, 0, nil
	}
	over := l.clock.now().Add(-keep)
	runs, err := l.store.AgedRuns(ctx, from, over, limit)
	if err != nil || len(runs) == 0 {
		return RunCursor{}, 0, err
	}
	holds, err := l.store.Holds(ctx)
	if err != nil {
		return RunCursor{}, 0, fmt.Errorf("list holds: %w", err)
	}
	for _, r := range runs {
		if r.State != RunFinished || !r.FinishedAt.Before(over) || heldTenant(holds, r.Tenant, r.CreatedAt, false) {
			continue
		}
		if known, err := l.knowsOperationOf(ctx, r); err != nil || known {
			if err != nil {
				return RunCursor{}, done, err
			}
			continue
		}
		dropped, err := l.store.DropRun(ctx, r, NewAuditEvent(AuditEvent{Tenant: r.Tenant, Actor: l.opts.Owner, Action: AuditRunDropped, Subject: r.ID.String(), Detail: r.Workflow + " version " + r.Version}))
		if err != nil {
			return RunCursor{}, done, err
		}
		if dropped {
			done++
		}
	}
	if len(runs) < limit {
		return RunCursor{}, done, nil
	}
	last := runs[len(runs)-1]
	return RunCursor{CreatedAt: last.CreatedAt, ID: last.ID}, done, nil
}

// knowsOperationOf reports whether a record of any operation of the run is left;
// a tombstone is none.
func (l *Ledger) knowsOperationOf(ctx context.Context, r *Run) (bool, error) {
	f := Filter{Tenant: r.Tenant, Run: r.ID.String(), Limit: MaxPage}
	for {
		page, err := l.store.List(ctx, f)
		if err != nil {
			return false, err
		}
		for _, op := range page {
			if !op.Retired {
				return true, nil
			}
		}
		if len(page) < f.Limit {
			return false, nil
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// forgotten reports whether nothing of a tombstone need be kept any more.
//
// Invariant: whoever uses its key next has a generation that the row never had.
// That is so where the row began with one that was drawn from the time, and the
// time is past whatever it was raised to since; a row that began with 0 stays.
func (o *Operation) forgotten(info *ToolInfo, at time.Time) bool {
	return o.Retired && info.tombstonesEnd() && !at.Before(o.CompletedAt.Add(info.KeepRecord+info.KeepTombstone)) &&
		o.Generation >= timedGeneration && o.Generation < generationAt(at)
}

// tombstonesEnd reports whether the contract lets its keys be forgotten.
func (i *ToolInfo) tombstonesEnd() bool { return i.KeepRecord > 0 && i.KeepTombstone > 0 }

// timedGeneration is the least generation that was drawn from the time: the year
// 2001. No row is taken anew so often.
const timedGeneration Generation = 1_000_000_000

// generationAt is the generation of a first use at this time; it lasts until
// the year 2106.
func generationAt(at time.Time) Generation { return Generation(at.Unix()) }

// firstGeneration is what the first use of a key has that no row is known of.
func (l *Ledger) firstGeneration(info *ToolInfo) Generation {
	if !info.tombstonesEnd() {
		return 0
	}
	return max(generationAt(l.clock.now()), timedGeneration)
}
