package onceward_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// sourced is a tool whose source record a test holds in its hand.
type sourced struct {
	*oncewardtest.Tool
	record *record
}

type record struct {
	mu  sync.Mutex
	now string // "": it cannot be read
}

func (r *record) set(now string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

func (t sourced) SourceRequest(op *onceward.Operation) (*onceward.Request, error) {
	return t.ProbeRequest(op)
}
func (t sourced) SourceThen(*onceward.Operation) ([]byte, error) {
	return []byte(`{"status":"open","due":{"day":1}}`), nil
}
func (t sourced) SourceValue(*onceward.Operation, *onceward.Evidence) ([]byte, error) {
	t.record.mu.Lock()
	defer t.record.mu.Unlock()
	if t.record.now == "" {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "gone")
	}
	return []byte(t.record.now), nil
}

func TestPlanShowsWhatHasChangedAtTheSourceAndAsks(t *testing.T) {
	t.Parallel()
	rec := &record{now: `{"due":{"day":1},"status":"open"}`}
	w := newWorld(t, onceFailing(), func(o *onceward.Options) {
		r := onceward.NewRegistry(o.Store, nil)
		if err := r.Activate(t.Context(), []onceward.Tool{sourced{onceFailing(), rec}}, true); err != nil {
			t.Fatal(err)
		}
		o.Tools = r
	})
	op := w.failing(1)[0]
	plan := func() *onceward.ReplayPlan {
		t.Helper()
		p, err := w.ledger.PlanReplay(t.Context(), olga, op.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := plan(); p.Verdict != onceward.ReplaySafe || len(p.Source.Changed) != 0 {
		t.Fatalf("nothing has changed: %+v", p)
	}
	rec.set("")
	if p := plan(); p.Verdict != onceward.ReplayConfirm || !p.Source.Unread {
		t.Fatalf("it cannot be read: %+v", p)
	}
	rec.set(`{"due":{"day":2},"status":"open","owner":"ann"}`)
	p := plan()
	if p.Verdict != onceward.ReplayConfirm || !slices.Equal(p.Source.Changed, []string{"due.day", "owner"}) {
		t.Fatalf("it has changed: %+v %q", p, p.Source.Changed)
	}
	_, err := w.ledger.Replay(t.Context(), olga, op.ID, "repaired", "")
	wantCode(t, err, onceward.CodeConfirmationNeeded)
	w.wantReplays([]*onceward.Operation{op}, 0)
	if _, err := w.ledger.Replay(t.Context(), olga, op.ID, "repaired", p.Sentence); err != nil {
		t.Fatal(err)
	}
	w.work()
	w.want(op, onceward.StateSucceeded, 1)
}
