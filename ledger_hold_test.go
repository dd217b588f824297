package onceward_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sealed"
)

func (r *replica) hold(h onceward.HoldRequest) *onceward.Hold {
	r.t.Helper()
	h.Reason = "matter 7"
	set, err := r.ledger.SetHold(r.t.Context(), onceward.LocalPrincipal(), h)
	if err != nil {
		r.t.Fatal(err)
	}
	return set
}

func (r *replica) lift(h *onceward.Hold) {
	r.t.Helper()
	if _, err := r.ledger.LiftHold(r.t.Context(), onceward.LocalPrincipal(), h.ID, "settled"); err != nil {
		r.t.Fatal(err)
	}
}

func TestWhatIsHeldOutlivesItsTimeUntilTheHoldIsLifted(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]func(w *world, op *onceward.Operation) onceward.HoldRequest{
		"ByOperation": func(_ *world, op *onceward.Operation) onceward.HoldRequest {
			return onceward.HoldRequest{Operation: op.ID}
		},
		"BySubject": func(*world, *onceward.Operation) onceward.HoldRequest { return onceward.HoldRequest{Subject: "ann"} },
		"ByToolAndTime": func(_ *world, op *onceward.Operation) onceward.HoldRequest {
			return onceward.HoldRequest{Tool: "t.write", From: op.CreatedAt, Until: op.CreatedAt.Add(time.Second)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, encrypted(onceward.EffectUnsafeWrite, keptForADay), func(t *testing.T, w *world) {
				a := w.ask(`{"id":"a","who":"ann"}`)
				w.clock.Advance(time.Minute)
				w.ask(`{"id":"b","who":"bob"}`)
				h := w.hold(held(w, a.Operation))
				w.clock.Advance(10 * kept)
				if n := w.retire(); n != 1 {
					t.Fatalf("%d records were slimmed, want the one that nobody holds", n)
				}
				if op := w.get(a.Operation.ID); op.Retired || len(op.Input) == 0 {
					t.Fatalf("what is held reads %+v", op)
				}
				_, err := w.shred("ann")
				wantCode(t, err, onceward.CodeHeld)
				w.lift(h)
				_, err = w.ledger.LiftHold(t.Context(), onceward.LocalPrincipal(), h.ID, "settled")
				wantCode(t, err, onceward.CodeHoldNotFound)
				if n := w.retire(); n != 1 {
					t.Fatalf("%d records were slimmed once the hold was lifted", n)
				}
				w.notedBecause(onceward.AuditHoldSet, "matter 7")
				w.notedBecause(onceward.AuditHoldLifted, "settled")
			}, sealing(t, ring(t, sealed.NewMasterKey())))
		})
	}
}

// notedBecause fails the test unless the audit trail has the action with its reason.
func (r *replica) notedBecause(a onceward.AuditAction, reason string) {
	r.t.Helper()
	rows, err := r.store.AuditRows(r.t.Context(), onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 100, Open: true})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range rows {
		if e := rows[i].Event; e != nil && e.Action == a && e.Reason == reason && e.Actor == onceward.LocalPrincipal().String() {
			return
		}
	}
	r.t.Fatalf("the audit trail has no %s because of %q", a, reason)
}

func TestAHoldOfTheTenantKeepsTombstones(t *testing.T) {
	t.Parallel()
	ends := func(i *onceward.ToolInfo) { i.KeepRecord, i.KeepTombstone = kept, kept }
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, ends), func(t *testing.T, w *world) {
		w.ask(`{"id":"a"}`)
		w.clock.Advance(kept + time.Second)
		w.retire()
		h := w.hold(onceward.HoldRequest{})
		w.clock.Advance(kept + time.Second)
		if n := w.retire(); n != 0 {
			t.Fatalf("%d tombstones were dropped", n)
		}
		w.lift(h)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d tombstones were dropped once the hold was lifted", n)
		}
	})
}

// Holds have a limit, and what one tenant holds is not counted against another.
func TestOneTenantsHoldsAreNotCountedAgainstAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	rival := onceward.LocalPrincipal()
	rival.Tenant = "rival"
	for i := range onceward.HoldsMax {
		h := onceward.Hold{ID: onceward.HoldID(fmt.Sprintf("hold_%016x", i)), Tenant: rival.Tenant, Reason: "case 7", By: rival.String(), At: w.clock.Now()}
		if err := w.store.PutHold(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.ledger.SetHold(t.Context(), rival, onceward.HoldRequest{Reason: "case 8"}); !onceward.Is(err, onceward.CodeTooLarge) {
		t.Errorf("one more than the limit: %v", err)
	}
	mine, err := w.ledger.SetHold(t.Context(), onceward.LocalPrincipal(), onceward.HoldRequest{Reason: "case 9"})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := w.ledger.ListHolds(t.Context(), onceward.LocalPrincipal()); err != nil || len(all) != 1 || all[0].ID != mine.ID {
		t.Errorf("listed are %v, %v", all, err)
	}
}
