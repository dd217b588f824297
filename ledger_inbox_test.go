package onceward_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// sender is a source without YAML. Its events are {"id", "do": [inputs of
// t.write], "done": {...}}; what "sign" holds is its signature.
type sender struct{ info onceward.EventSourceInfo }

func newSender() *sender {
	return &sender{onceward.EventSourceInfo{Name: "shop", Version: "v1", Tenant: onceward.DefaultTenant, Tools: []onceward.ToolName{"t.write", "f.book"}, BodyBytesMax: 1 << 20,
		Window: 30 * 24 * time.Hour, Source: []byte("source v1")}}
}

type sentEvent struct {
	ID       string            `json:"id"`
	At       time.Time         `json:"at,omitzero"`
	Do       []json.RawMessage `json:"do,omitempty"`
	Consumer json.RawMessage   `json:"consumer,omitempty"` // another mapping's input
	Book     json.RawMessage   `json:"book,omitempty"`     // an input of f.book
	Broken   bool              `json:"broken,omitempty"`   // a mapping that cannot be made
	Panics   bool              `json:"panics,omitempty"`
	Evidence *sentEvidence     `json:"evidence,omitempty"`
}

type sentEvidence struct {
	Operation onceward.OperationID `json:"operation"`
	Key       string               `json:"key"`
	Provider  string               `json:"provider"`
	Reference string               `json:"reference"`
	Done      bool                 `json:"done"`
	Effect    string               `json:"effect"`
}

func (s *sender) Info() *onceward.EventSourceInfo { return &s.info }

func (s *sender) Verify(d *onceward.Delivery, _ time.Time) error {
	if d.Header["Signed"] == nil {
		return onceward.Errorf(onceward.CodeSignatureInvalid, "not signed")
	}
	return nil
}

func (s *sender) Challenge(*onceward.Delivery) []byte { return nil }

func (s *sender) Events(d *onceward.Delivery) ([]onceward.InboxEvent, error) {
	var events []onceward.InboxEvent
	for line := range bytes.SplitSeq(d.Body, []byte("\n")) {
		var e sentEvent
		if err := json.Unmarshal(line, &e); err != nil || e.ID == "" {
			return nil, onceward.Errorf(onceward.CodeKeyInvalid, "no ID")
		}
		events = append(events, onceward.InboxEvent{Key: onceward.Key(e.ID), SentAt: e.At, Body: bytes.Clone(line)})
	}
	return events, nil
}

func (s *sender) Plan(in *onceward.InboxEvent) []onceward.EventPart {
	var e sentEvent
	if err := json.Unmarshal(in.Body, &e); err != nil {
		return []onceward.EventPart{{Err: err}}
	}
	if e.Panics {
		panic("a defect")
	}
	var parts []onceward.EventPart
	if e.Broken {
		parts = append(parts, onceward.EventPart{Mapping: "broken", Err: onceward.Errorf(onceward.CodeInvalidInput, "it cannot be made")})
	}
	if len(e.Do) > 0 {
		part := onceward.EventPart{Mapping: "do"}
		for _, input := range e.Do {
			part.Operations = append(part.Operations, onceward.EventOperation{Tool: "t.write", Input: input})
		}
		parts = append(parts, part)
	}
	if e.Book != nil {
		parts = append(parts, onceward.EventPart{Mapping: "book", Operations: []onceward.EventOperation{{Tool: "f.book", Input: e.Book}}})
	}
	if e.Consumer != nil {
		parts = append(parts, onceward.EventPart{Mapping: "consumer", Run: &onceward.EventRun{Workflow: "support.triage", Version: "1", TriggerKey: in.Key},
			Operations: []onceward.EventOperation{{Tool: "t.write", Input: e.Consumer}}})
	}
	if x := e.Evidence; x != nil {
		parts = append(parts, onceward.EventPart{Mapping: "evidence", Evidence: []onceward.EventEvidence{{Tool: "t.write", Operation: x.Operation, Key: onceward.Key(x.Key),
			ProviderKey: x.Provider, Reference: x.Reference, Done: x.Done, Effect: x.Effect}}})
	}
	return parts
}

// withSender puts the source in force.
func withSender(t testing.TB) worldOption {
	return func(o *onceward.Options) {
		o.Tools.CompileEventSources(func(string, []byte) (onceward.EventSource, error) { return newSender(), nil })
		if err := o.Tools.ActivateEventSources(t.Context(), []onceward.EventSource{newSender()}, false); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *replica) tryDelivery(body string) (*onceward.TakenDelivery, error) {
	src, err := r.ledger.EventSource("shop")
	if err != nil {
		return nil, err
	}
	return r.ledger.TakeDelivery(r.t.Context(), src, &onceward.Delivery{Method: "POST", Header: map[string][]string{"Signed": {"yes"}}, Body: []byte(body)})
}

// delivered takes one event and returns its ID.
func (r *replica) delivered(body string) onceward.InboxID {
	r.t.Helper()
	taken, err := r.tryDelivery(body)
	if err != nil {
		r.t.Fatal(err)
	}
	return taken.Events[0].ID
}

// inbox handles what is due.
func (r *replica) inbox() {
	r.t.Helper()
	for worked := true; worked; {
		var err error
		if worked, err = r.ledger.StepInbox(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *replica) event(id onceward.InboxID, want onceward.InboxState) *onceward.InboxEvent {
	r.t.Helper()
	e, err := r.ledger.InboxEvent(r.t.Context(), onceward.LocalPrincipal(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	if e.State != want {
		r.t.Fatalf("the event is %s (%s: %s), want %s", e.State, e.Code, e.Message, want)
	}
	return e
}

func TestEventHasItsEffectsOnceHoweverOftenItComes(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		const body = `{"id":"e","do":[{"id":"a"},{"id":"b"}],"consumer":{"id":"c"}}`
		id := w.delivered(body)
		w.delivered(body)
		w.inbox()
		w.quiet()
		w.delivered(body)
		w.inbox()
		w.quiet()
		e := w.event(id, onceward.InboxHandled)
		if len(e.Operations) != 3 || e.Run.IsZero() || e.DropAt.Before(e.HandledAt.Add(29*24*time.Hour)) {
			t.Fatalf("the event is %+v", e)
		}
		if n := w.provider.Effects(); n != 3 {
			t.Fatalf("%d effects, want 3", n)
		}
		op := w.get(e.Operations[0])
		if op.Actor != "source:shop" || op.CorrelationID != id.String() {
			t.Fatalf("the operation is %s's, of %s", op.Actor, op.CorrelationID)
		}
	}, withSender(t))
}

// TestDeliveryOfManyEventsTakesEachOnce: two with one key in one delivery are one.
func TestDeliveryOfManyEventsTakesEachOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		taken, err := w.tryDelivery(`{"id":"e1","do":[{"id":"a"}]}` + "\n" + `{"id":"e2","do":[{"id":"b"}]}` + "\n" + `{"id":"e1","do":[{"id":"a"}]}`)
		if err != nil || len(taken.Events) != 2 {
			t.Fatalf("%+v, %v", taken, err)
		}
		w.inbox()
		w.quiet()
		if n := w.provider.Effects(); n != 2 {
			t.Fatalf("%d effects, want 2", n)
		}
	}, withSender(t))
}

// TestOneConsumersFaultKeepsNoOtherFromItsEffect: what one mapping cannot do is
// told, and the other is done; driven again, it is not done twice.
func TestOneConsumersFaultKeepsNoOtherFromItsEffect(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		id := w.delivered(`{"id":"e","broken":true,"do":[{"nonsense":1},{"id":"a"}],"consumer":{"id":"b"}}`)
		w.inbox()
		w.quiet()
		e := w.event(id, onceward.InboxFailed)
		if e.Code != onceward.CodeInvalidInput || len(e.Operations) != 2 || !e.DropAt.IsZero() {
			t.Fatalf("the event is %+v", e)
		}
		waiting, err := w.ledger.WaitingEvents(t.Context(), onceward.LocalPrincipal(), 10)
		if err != nil || len(waiting) != 1 || waiting[0].ID != id {
			t.Fatalf("waiting: %v, %v", waiting, err)
		}
		if _, err := w.ledger.RedriveEvent(t.Context(), onceward.LocalPrincipal(), id, "again"); err != nil {
			t.Fatal(err)
		}
		w.inbox()
		w.quiet()
		if n := w.provider.Effects(); n != 2 {
			t.Fatalf("%d effects, want 2", n)
		}
	}, withSender(t))
}

// TestServerThatDiesWithAnEventHasEachEffectOnce dies at every place of taking
// and handling; another one goes on.
func TestServerThatDiesWithAnEventHasEachEffectOnce(t *testing.T) {
	t.Parallel()
	const body = `{"id":"e","do":[{"id":"a"},{"id":"b"}]}`
	for _, point := range []string{"inbox.before_record", "inbox.after_record", "inbox.before_handle", "inbox.between_effects", "inbox.before_settle"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
				doomed := w.doomed(point, withSender(t))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = doomed.tryDelivery(body)
					_, _ = doomed.ledger.StepInbox(t.Context())
				}()
				await(t, ended, "the crash") // an attempt of it may still wait for the ledger to come back
				if !doomed.dead.Load() {
					t.Fatal("the process never came to its crash point")
				}
				if point == "inbox.before_record" {
					w.inbox()
					w.wantWrites(0)
				}
				id := w.delivered(body) // the sender's retry
				w.pass(20 * time.Second)
				w.inbox()
				w.quiet()
				w.pass(5 * time.Minute)
				w.event(id, onceward.InboxHandled)
				if n := w.provider.Effects(); n != 2 {
					t.Fatalf("%d effects, want 2", n)
				}
			}, withSender(t))
		})
	}
}

// TestEventWaitsForALedgerThatIsAway is not acknowledged while it cannot be
// recorded, and is tried again while what it asks for cannot be.
func TestEventWaitsForALedgerThatIsAway(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		const body = `{"id":"e","do":[{"id":"a"}]}`
		w.store.GoAway()
		_, err := w.tryDelivery(body)
		wantCode(t, err, onceward.CodeLedgerUnavailable)
		w.store.ComeBack()
		id := w.delivered(body)
		w.store.ScriptCommits(oncewardtest.CommitRefused)
		w.inbox()
		if e := w.event(id, onceward.InboxReceived); e.Tries != 1 || e.NextAt.IsZero() || e.Code != onceward.CodeLedgerUnavailable {
			t.Fatalf("the event is %+v", e)
		}
		w.pass(time.Minute)
		w.inbox()
		w.quiet()
		w.event(id, onceward.InboxHandled)
		if n := w.provider.Effects(); n != 1 {
			t.Fatalf("%d effects, want 1", n)
		}
	}, withSender(t))
}

func TestEventThatMeetsADefectWaitsForAPersonAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		bad, good := w.delivered(`{"id":"e1","panics":true}`), w.delivered(`{"id":"e2","do":[{"id":"a"}]}`)
		w.inbox()
		if e := w.event(bad, onceward.InboxFailed); e.Code != onceward.CodeInternal {
			t.Fatalf("the code is %s", e.Code)
		}
		w.event(good, onceward.InboxHandled)
	}, withSender(t))
}

func TestEventOlderThanTheWindowIsNotHandledByItself(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		old, err := json.Marshal(w.clock.Now().Add(-31 * 24 * time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		id := w.delivered(`{"id":"e","do":[{"id":"a"}],"at":` + string(old) + `}`)
		w.inbox()
		w.event(id, onceward.InboxLate)
		w.wantWrites(0)
		if _, err := w.ledger.DismissEvent(t.Context(), onceward.LocalPrincipal(), id, "too late for anybody"); err != nil {
			t.Fatal(err)
		}
		w.event(id, onceward.InboxDismissed)
	}, withSender(t))
}

// An event of the provider settles what is unknown: by the operation's ID, its
// key, the provider's key or its reference.
func TestEventSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, evidence := range map[string]func(op *onceward.Operation) sentEvidence{
		"ByID":          func(op *onceward.Operation) sentEvidence { return sentEvidence{Operation: op.ID} },
		"ByKey":         func(op *onceward.Operation) sentEvidence { return sentEvidence{Key: string(op.Key)} },
		"ByProviderKey": func(op *onceward.Operation) sentEvidence { return sentEvidence{Provider: op.ProviderKey} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
				w.provider.Script(oncewardtest.FaultAnswerLost)
				op := w.ask(`{"id":"a"}`).Operation
				w.want(op, onceward.StateOutcomeUnknown, 1)
				x := evidence(op)
				x.Done, x.Effect = true, "eff_1"
				text, err := json.Marshal(sentEvent{ID: "e", Evidence: &x})
				if err != nil {
					t.Fatal(err)
				}
				id := w.delivered(string(text))
				w.inbox()
				w.want(op, onceward.StateSucceeded, 1)
				if got := w.get(op.ID); got.Reference != "eff_1" || !w.recorded(op, "effect_proven") {
					t.Fatalf("the reference is %q", got.Reference)
				}
				w.event(id, onceward.InboxHandled)
				// The same news under another event: nothing is new.
				w.delivered(string(bytes.Replace(text, []byte(`"id":"e"`), []byte(`"id":"e2"`), 1)))
				w.inbox()
				w.want(op, onceward.StateSucceeded, 1)
				w.wantWrites(1)
			}, withSender(t))
		})
	}
}

// An event that says that it did not happen closes the open attempt, and the
// operation's own rules decide what follows: another attempt, and one effect.
func TestEventThatSaysNotDoneClosesTheOpenAttempt(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		op := w.ask(`{"id":"a"}`).Operation
		w.want(op, onceward.StateOutcomeUnknown, 0)
		text, err := json.Marshal(sentEvent{ID: "e", Evidence: &sentEvidence{Operation: op.ID}})
		if err != nil {
			t.Fatal(err)
		}
		w.delivered(string(text))
		w.inbox()
		if got := w.get(op.ID); got.Attempts[0].Status != onceward.StatusNotDone {
			t.Fatalf("the attempt is %v", got.Attempts[0].Status)
		}
		w.pass(time.Minute)
		w.want(op, onceward.StateSucceeded, 1)
	}, withSender(t))
}

// TestEvidenceOfWhatIsNotThereIsLookedForAgain and then let go, with a word about it.
func TestEvidenceOfWhatIsNotThereIsLookedForAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
		early := w.delivered(`{"id":"e1","evidence":{"provider":"nobody's","done":true,"effect":"x"}}`)
		w.inbox()
		w.event(early, onceward.InboxReceived)
		for range 6 {
			w.pass(5 * time.Minute)
			w.inbox()
		}
		if e := w.event(early, onceward.InboxHandled); e.Message == "" {
			t.Fatal("nothing is said of what was not found")
		}
	}, withSender(t))
}

func TestEventOfOneTenantTouchesNothingOfAnother(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerLost)
		other := onceward.Principal{Tenant: "other", Issuer: "token", Subject: "bot", Roles: []onceward.Role{onceward.RoleCaller}}
		a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: other, Tool: "t.write", Input: []byte(`{"id":"a"}`)})
		if err != nil {
			t.Fatal(err)
		}
		w.quiet()
		op := a.Operation
		text, err := json.Marshal(sentEvent{ID: "e", Evidence: &sentEvidence{Operation: op.ID, Done: true, Effect: "forged"}})
		if err != nil {
			t.Fatal(err)
		}
		w.delivered(string(text))
		w.inbox()
		there, err := w.store.Load(t.Context(), []onceward.OperationID{op.ID})
		if err != nil || there[0].State != onceward.StateOutcomeUnknown {
			t.Fatalf("the other tenant's operation is %+v, %v", there[0], err)
		}
	}, withSender(t))
}

func TestEventOfASourceThatMovedToAnotherTenantIsNotHandledThere(t *testing.T) {
	t.Parallel()
	var registry *onceward.Registry
	w := newWorldOn(t, onMemory, oncewardtest.NewClock(), oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), withSender(t), func(o *onceward.Options) { registry = o.Tools })
	id := w.delivered(`{"id":"e","broken":true}`)
	w.inbox()
	moved := newSender()
	moved.info.Tenant, moved.info.Version = "other", "v2"
	if err := registry.ActivateEventSources(t.Context(), []onceward.EventSource{moved}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ledger.RedriveEvent(t.Context(), onceward.LocalPrincipal(), id, "again"); !onceward.Is(err, onceward.CodeStateForbids) {
		t.Errorf("the event of one tenant is handled for another: %v", err)
	}
	w.inbox()
	w.event(id, onceward.InboxFailed)
}
