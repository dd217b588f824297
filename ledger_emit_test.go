package onceward_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func emitting(pattern string) worldOption {
	return func(o *onceward.Options) {
		o.Emit = func(eventType string) bool { ok, _ := path.Match(pattern, eventType); return ok }
	}
}

func (w *world) told() (events []onceward.OutboxEvent) {
	w.t.Helper()
	events, err := w.store.ReadOutbox(w.t.Context(), onceward.OutboxPlace{}, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

func typesOf(events []onceward.OutboxEvent) (types []string) {
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// The event is stored by the commit of the outcome, and no commit is added.
func TestOperationTellsOfItsEndInTheCommitOfItsOutcome(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		before := w.store.Commits()
		a := w.ask(`{"id":"a","text":"a secret word"}`)
		events := w.told()
		if n := w.store.Commits() - before; n != 2 || !slices.Equal(typesOf(events), []string{"operation.succeeded"}) {
			t.Fatalf("%d commits, and events %q", n, typesOf(events))
		}
		e := events[0]
		var data struct{ ID, Tool, Key, State, Reference string }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		op := a.Operation
		if data.ID != op.ID.String() || data.Tool != "t.write" || data.Key != "a" || data.State != "succeeded" || data.Reference != op.Reference || op.Reference == "" ||
			e.ID != op.ID.String()+".v2" || e.Key != op.ID.String() || e.Tenant != op.Tenant {
			t.Fatalf("the event is %+v with %s", e, e.Data)
		}
		if strings.Contains(string(e.Data), "secret") {
			t.Fatalf("the event tells the input: %s", e.Data)
		}
		w.ask(`{"id":"a","text":"again"}`)
		if n := len(w.told()); n != 1 {
			t.Fatalf("%d events after the same request again", n)
		}
	}, emitting("operation.*"))
}

func TestOperationTellsOfEachStateThatSomebodyMayActOn(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite)
	tool.NeedsApproval = true
	onEachStore(t, tool, func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerLost)
		a := w.ask(`{"id":"a"}`)
		if _, err := w.ledger.Approve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, onceward.ApprovalAnswer{Digest: a.Operation.Digest, Contract: a.Operation.Contract}); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.quiet()
		if got, want := typesOf(w.told()), []string{"operation.awaiting_approval", "operation.outcome_unknown", "operation.needs_review"}; !slices.Equal(got, want) {
			t.Fatalf("the events are %q, want %q", got, want)
		}
	}, emitting("operation.*"))
}

func TestOperationTellsNothingUnlessItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite)
	for pattern, opts := range map[string][]worldOption{"none": nil, "another": {emitting("operation.failed")}} {
		w := newWorld(t, tool, opts...)
		w.ask(`{"id":"a"}`)
		if events := w.told(); len(events) != 0 {
			t.Fatalf("%s: the events are %q", pattern, typesOf(events))
		}
	}
}
