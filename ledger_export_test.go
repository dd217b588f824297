package onceward_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// outlet is an exporter that may be full.
type outlet struct {
	full bool
	all  []onceward.Exported
}

func (s *outlet) Export(_ context.Context, all []onceward.Exported) error {
	if s.full {
		return errors.New("no space left")
	}
	s.all = append(s.all, all...)
	return nil
}

func TestNothingIsDeletedThatWasNotExported(t *testing.T) {
	t.Parallel()
	ends := func(i *onceward.ToolInfo) { i.KeepRecord, i.KeepTombstone = kept, kept }
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, ends)
	for _, db := range []database{onMemory, onSQLite} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			to := &outlet{full: true}
			exporting := func(o *onceward.Options) { o.Exporter = to }
			w := newWorldOn(t, db, oncewardtest.NewClock(), tool, exporting)
			a := w.ask(`{"id":"a","card":"4111"}`)
			w.clock.Advance(kept + time.Second)
			if _, _, err := w.ledger.RetireStep(t.Context(), onceward.Cursor{}, 10); err == nil {
				t.Fatal("an export that failed is no failure")
			}
			if op := w.get(a.Operation.ID); op.Retired {
				t.Fatal("it was slimmed without having been exported")
			}
			to.full = false
			dying := w.doomed("export.after_sync", exporting)
			ended := make(chan struct{})
			go func() { // a killed process ends with its goroutine
				defer close(ended)
				_, _, _ = dying.ledger.RetireStep(context.Background(), onceward.Cursor{}, 10)
			}()
			await(t, ended, "the crash")
			if op := w.get(a.Operation.ID); op.Retired || len(to.all) != 1 {
				t.Fatalf("after the crash %d records are exported, and it reads %+v", len(to.all), op)
			}
			if n := w.retire(); n != 1 || len(to.all) != 2 {
				t.Fatalf("%d records were slimmed, %d exported", n, len(to.all))
			}
			for i := range to.all {
				x := &to.all[i]
				if x.Tombstone || x.Operation.ID != a.Operation.ID || x.Operation.Version != to.all[0].Operation.Version || string(x.Operation.Input) != `{"card":"4111","id":"a"}` || x.Operation.Result == nil {
					t.Fatalf("what was exported is %+v", x.Operation)
				}
			}
			w.clock.Advance(kept + time.Second)
			if n := w.retire(); n != 1 || len(to.all) != 3 || !to.all[2].Tombstone {
				t.Fatalf("%d tombstones were dropped, %d exported", n, len(to.all))
			}
		})
	}
}
