package onceward_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// A process beside the one with the function, as a server with its console, has not
// activated it. It shows its operations, takes a person's word on them, retires
// their records and sets a dead process's free, and leaves the rest to others.
func TestAProcessWithoutTheFunctionLeavesAllThatNeedsItsCode(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		ctx, who := t.Context(), onceward.LocalPrincipal()
		d.do(`{"id":"old"}`)
		d.b.next(effectThenError, refusedForNow)
		unknown := d.do(`{"id":"a"}`)
		d.work()
		waiting := d.do(`{"id":"b"}`)
		doomed := d.doomed("dispatch.after_send")
		_, _ = doomed.ledger.Do(ctx, booking(`{"id":"c"}`), nil)
		doomed.ledger.WaitIdle()
		d.beside = nil
		d.restart()
		d.passSlowly(3*time.Minute, 10*time.Second)
		reviews, err := d.ledger.Reviews(ctx, who, onceward.ReviewQuery{Limit: 10})
		if err != nil || len(reviews) != 1 || reviews[0].Operation.ID != unknown.ID {
			t.Fatalf("reviews %v, %v", reviews, err)
		}
		if _, err := d.ledger.Resolve(ctx, who, unknown.ID, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: "ref_1"}); err != nil {
			t.Error(err)
		}
		if err := d.ledger.Advance(ctx, waiting.ID); !errors.Is(err, onceward.ErrFunctionNotHere) {
			t.Errorf("advance: %v", err)
		}
		if _, err := d.ledger.Do(ctx, booking(`{"id":"d"}`), d.b.perform); !onceward.Is(err, onceward.CodeToolNotFound) {
			t.Errorf("do: %v", err)
		}
		if _, done, err := d.ledger.RetireStep(ctx, onceward.Cursor{}, 10); err != nil || done != 1 {
			t.Errorf("retired %d, %v", done, err)
		}
		left := d.get(onceward.NewOperationID(who.Tenant, "f.book", `["c"]`))
		d.wantBooks(left, onceward.StateOutcomeUnknown, 3, 4)
		d.activate()
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(waiting, onceward.StateSucceeded, 4, 5)
	}, func(f *onceward.Function) { f.Probe, f.KeepRecord, f.KeepTombstone = nil, time.Minute, 24*time.Hour })
}
