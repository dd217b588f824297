package onceward_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func caller(tenant onceward.Tenant, subject string) onceward.Principal {
	return onceward.Principal{Tenant: tenant, Issuer: "test", Subject: subject, Roles: []onceward.Role{onceward.RoleCaller}}
}

func as(p onceward.Principal) func(*onceward.Intent) {
	return func(in *onceward.Intent) { in.Principal = p }
}

func TestTwoTenantsAndTwoToolsNeverShareAKey(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.beside = append(w.beside, oncewardtest.NewTool("t.other", onceward.EffectUnsafeWrite))
		r := w.another()
		ask := func(p onceward.Principal, tool onceward.ToolName) *onceward.Operation {
			a, err := r.submit(`{"id":"a"}`, as(p), func(in *onceward.Intent) { in.Tool, in.Wait = tool, time.Minute })
			if err != nil {
				t.Fatal(err)
			}
			if a.Decision != onceward.DecisionFresh || a.Operation.State != onceward.StateSucceeded {
				t.Fatalf("%s of %s is %s, %s", tool, p.Tenant, a.Decision, a.Operation.State)
			}
			return a.Operation
		}
		ann, bob := caller("acme", "ann"), caller("beta", "bob")
		mine := ask(ann, "t.write")
		theirs := ask(bob, "t.write")
		ask(ann, "t.other")
		r.wantWrites(3)
		if mine.ProviderKey == theirs.ProviderKey {
			t.Fatal("two tenants have one provider key")
		}
		_, err := r.ledger.Get(t.Context(), bob, mine.ID, 0)
		wantCode(t, err, onceward.CodeOperationNotFound)
		_, err = r.ledger.Timeline(t.Context(), bob, mine.ID)
		wantCode(t, err, onceward.CodeOperationNotFound)
		_, err = r.ledger.Cancel(t.Context(), bob, mine.ID, "not mine")
		wantCode(t, err, onceward.CodeOperationNotFound)
		_, err = r.ledger.Fork(t.Context(), bob, mine.ID, "k", "not mine", nil, 0)
		wantCode(t, err, onceward.CodeOperationNotFound)
		ops, err := r.ledger.List(t.Context(), bob, onceward.Filter{Limit: 10})
		if err != nil || len(ops) != 1 || ops[0].ID != theirs.ID {
			t.Fatalf("a tenant lists %d operations, %v; want its own", len(ops), err)
		}
	})
}

func TestInputThatIsChangedAfterTheClaimChangesNothing(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		for _, point := range []string{"claim.before_commit", "dispatch.before_send"} {
			text := fmt.Sprintf(`{"amount":100,"id":%q}`, point)
			input := []byte(text)
			r := w.another(func(o *onceward.Options) {
				o.CrashPoint = func(name string) {
					if name == point {
						copy(input, bytes.Replace(input, []byte("100"), []byte("999"), 1))
					}
				}
			})
			a, err := r.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: input, Wait: time.Minute})
			if err != nil || string(input) == text {
				t.Fatalf("the input reads %s, %v", input, err)
			}
			sent := w.provider.Requests()
			if body := sent[len(sent)-1].Body; string(body) != text || string(a.Operation.Input) != text {
				t.Fatalf("changed at %s, %s was sent and %s is kept, want %s", point, body, a.Operation.Input, text)
			}
			if again := r.ask(text); again.Decision != onceward.DecisionReplayed {
				t.Fatalf("the input of the claim is %s", again.Decision)
			}
			_, err = r.try(string(input))
			wantCode(t, err, onceward.CodeKeyReused)
		}
	})
}

// A model rewords a volatile field on each retry, and between two attempts: what
// is sent is the first wording. A material field is another intention.
func TestTheFirstWordingIsSentAndAnotherMeaningIsRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultErrorBefore)
		first := w.ask(`{"id":"a","text":"Dear Ann","amount":7}`)
		again := w.ask(`{"id":"a","text":"Hello Ann!","amount":7}`)
		if again.Operation.ID != first.Operation.ID {
			t.Fatal("a rewording is another operation")
		}
		_, err := w.try(`{"id":"a","text":"Dear Ann","amount":4242}`) // in flight
		wantReused(t, err, first.Operation)
		w.pass(2 * time.Second)
		w.want(first.Operation, onceward.StateSucceeded, 1)
		if again = w.ask(`{"id":"a","text":"Hi","amount":7.0}`); again.Decision != onceward.DecisionReplayed {
			t.Fatalf("a rewording is %s, want replayed", again.Decision)
		}
		_, err = w.try(`{"id":"a","text":"Dear Ann","amount":4242}`)
		wantReused(t, err, first.Operation)
		sent := w.provider.Requests()
		if len(sent) != 2 || !bytes.Contains(sent[0].Body, []byte("Dear Ann")) || !bytes.Equal(sent[0].Body, sent[1].Body) {
			t.Fatalf("sent %q", sent)
		}
	})
}

// wantReused holds what a refusal says: which field differs and when the first
// happened, and no value.
func wantReused(t testing.TB, err error, first *onceward.Operation) {
	t.Helper()
	wantCode(t, err, onceward.CodeKeyReused)
	if text := err.Error(); !strings.Contains(text, "amount") || strings.Contains(text, "4242") || strings.Contains(text, "id,") ||
		!strings.Contains(text, first.CreatedAt.Format(time.RFC3339)) {
		t.Fatalf("it says %q", text)
	}
}

func ruleChange() (before, after *oncewardtest.Tool) {
	before = oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite)
	after = oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Version, i.Source = "v2", []byte("keyed by event") })
	after.KeyMember, after.KeyWas = "event", []string{"id"}
	return before, after
}

// The key rule of a contract changes while operations live. A process that still
// runs the old contract and one that runs the new one find each other's
// operations, whoever comes first.
func TestAChangedKeyRuleFindsOperationsUnderEveryKey(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	inRealTime(t, before, func(t *testing.T, w *world) {
		younger := w.process(t, after)
		for i, order := range [][]*replica{{w.replica, younger}, {younger, w.replica}} {
			input := fmt.Sprintf(`{"id":"old%d","event":"new%d"}`, i, i)
			first := order[0].ask(input)
			second := order[1].ask(input)
			if second.Decision != onceward.DecisionReplayed || second.Operation.ID != first.Operation.ID {
				t.Fatalf("order %d: the second is %s", i, second.Decision)
			}
			_, err := order[1].try(fmt.Sprintf(`{"id":"old%d","event":"new%d","n":1}`, i, i))
			wantCode(t, err, onceward.CodeKeyReused)
			for _, r := range order {
				ops, err := r.ledger.List(t.Context(), onceward.LocalPrincipal(), onceward.Filter{Tool: "t.write", Key: onceward.Key(fmt.Sprintf("old%d", i)), Limit: 1})
				if err != nil || len(ops) != 1 || ops[0].ID != first.Operation.ID {
					t.Fatalf("order %d: under the old key %d operations are found, %v", i, len(ops), err)
				}
			}
		}
		w.wantWrites(2)
	})
}

// What may be worded anew is said by the contract that an operation lives under,
// and not by the one of whoever asks.
func TestADuplicateIsComparedUnderTheContractOfTheFirst(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	after.Volatile = []string{"text", "note"}
	inRealTime(t, before, func(t *testing.T, w *world) {
		younger := w.process(t, after)
		w.ask(`{"id":"a","event":"ea","note":"x"}`)
		_, err := younger.try(`{"id":"a","event":"ea","note":"y"}`)
		wantCode(t, err, onceward.CodeKeyReused)
		younger.ask(`{"id":"b","event":"eb","note":"x"}`)
		if again := w.ask(`{"id":"b","event":"eb","note":"y"}`); again.Decision != onceward.DecisionReplayed {
			t.Fatalf("it is %s", again.Decision)
		}
		w.wantWrites(2)
	})
}

func TestOldAndNewKeyRuleRaceForOneDispatch(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	inRealTime(t, before, func(t *testing.T, w *world) {
		processes := []*replica{w.replica, w.process(t, after)}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				a, err := processes[i%2].submit(`{"id":"old","event":"new"}`, waiting(time.Minute))
				if err != nil || a.Operation.State != onceward.StateSucceeded {
					t.Errorf("%+v, %v", a, err)
				}
			})
		}
		all.Wait()
		w.wantWrites(1)
	})
}

func TestAProcessWithASupersededContractDoesNotStart(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	inRealTime(t, before, func(t *testing.T, w *world) {
		w.process(t, after)
		err := onceward.NewRegistry(w.store, w.compile).Activate(t.Context(), []onceward.Tool{before}, false)
		wantCode(t, err, onceward.CodeContractSuperseded)
	})
}

// The key rule changes while operations wait, are unknown or lie with a person:
// under the new rule they are joined, not made again.
func TestAChangedKeyRuleJoinsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	for state, fault := range map[onceward.State]oncewardtest.Fault{
		onceward.StateReady: oncewardtest.FaultRateLimited, onceward.StateOutcomeUnknown: oncewardtest.FaultAnswerLost, onceward.StateNeedsReview: oncewardtest.FaultAnswerLost,
	} {
		t.Run(state.String(), func(t *testing.T) {
			t.Parallel()
			before, after := ruleChange()
			onEachStore(t, before, func(t *testing.T, w *world) {
				w.provider.Script(fault)
				first := w.ask(`{"id":"old","event":"new"}`)
				if state == onceward.StateNeedsReview {
					w.pass(time.Second)
				}
				younger := w.process(t, after)
				again, err := younger.submit(`{"id":"old","event":"new"}`)
				if err != nil || again.Operation.ID != first.Operation.ID || again.Operation.State != state || again.Decision == onceward.DecisionFresh {
					t.Fatalf("under the new rule it is %+v, %v", again, err)
				}
				w.wantWrites(1)
			})
		})
	}
}

// Another replica brought a newer contract: this one takes no new request for
// the tool any more, and goes on with what it has.
func TestAReplicaWithAnOlderContractTakesNoNewRequests(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	onEachStore(t, before, func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","event":"ea"}`)
		younger := w.process(t, after)
		if err := w.ledger.RefreshSwitches(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := w.try(`{"id":"b","event":"eb"}`)
		wantCode(t, err, onceward.CodeContractSuperseded)
		if op := w.get(first.Operation.ID); op.State != onceward.StateSucceeded {
			t.Fatalf("it is %s", op.State)
		}
		younger.ask(`{"id":"b","event":"eb"}`)
		w.wantWrites(2)
	})
}

// A version whose key rule forgets the one in force would make every request that
// is known under its old key a new effect.
func TestAContractThatForgetsTheKeyRuleInForceIsRefused(t *testing.T) {
	t.Parallel()
	rule := func(version, rule string, was ...string) *oncewardtest.Tool {
		return oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Version, i.KeyRule, i.KeyWas = version, rule, was })
	}
	for _, c := range []struct {
		name string
		next *oncewardtest.Tool
		code onceward.Code
	}{
		{"Forgotten", rule("v2", `["input.id.upper()"]`), onceward.CodeContractInvalid},
		{"AnotherIsListed", rule("v2", `["input.id.upper()"]`, `["input.nr"]`), onceward.CodeContractInvalid},
		{"Listed", rule("v2", `["input.id.upper()"]`, `["input.nr"]`, `["input.id"]`), ""},
		{"Unchanged", rule("v2", `["input.id"]`), ""},
		{"TheCallersFromNowOn", rule("v2", ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rule("v1", `["input.id"]`))
			tools := onceward.NewRegistry(w.handle(), w.compile)
			wantCode(t, tools.Activate(t.Context(), []onceward.Tool{c.next}, true), c.code)
			inForce, err := w.handle().ActiveContracts(t.Context())
			if err != nil || len(inForce) != 1 || (inForce[0].Version == "v2") != (c.code == "") {
				t.Fatalf("in force are %+v, %v", inForce, err)
			}
		})
	}
}
