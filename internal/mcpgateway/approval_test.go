package mcpgateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// trusting lets everybody's client ask its person.
func trusting(o *Options) { o.Trusts = func(onceward.Principal) bool { return true } }

// person answers questions so, and counts them.
func person(asked *int, action string, content map[string]any) func(*mcp.ClientOptions) {
	return func(o *mcp.ClientOptions) {
		o.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*asked++
			if !strings.Contains(req.Params.Message, `"id":"a"`) {
				return &mcp.ElicitResult{Action: "cancel"}, nil // what is asked about is not shown
			}
			return &mcp.ElicitResult{Action: action, Content: content}, nil
		}
	}
}

func TestTrustedClientAsksItsPersonOnce(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := newWorld(t, trusting), 0
			w.work()
			s := w.client(version, nil, person(&asked, "accept", map[string]any{"decision": "approve"}))
			res := w.call(s, payouts, `{"id":"a"}`, nil)
			again := w.call(s, payouts, `{"id":"a"}`, nil)
			if res.IsError || again.IsError || asked != 1 || w.provider.Effects() != 1 {
				t.Errorf("%d questions, %d effects: %s, %s", asked, w.provider.Effects(), text(res), text(again))
			}
		})
	}
}

func TestOnlyAnExplicitChoiceOfATrustedClientCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted bool
		action  string
		content map[string]any
		asked   int
		state   string
	}{
		"not trusted": {false, "accept", map[string]any{"decision": "approve"}, 0, "awaiting_approval"},
		"closed":      {true, "cancel", nil, 1, "awaiting_approval"},
		"declined":    {true, "decline", nil, 1, "cancelled"},
		"rejected":    {true, "accept", map[string]any{"decision": "reject"}, 1, "cancelled"},
	} {
		for era, version := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				w, asked := newWorld(t, func(o *Options) {
					if c.trusted {
						trusting(o)
					}
				}), 0
				res := w.call(w.client(version, nil, person(&asked, c.action, c.content)), payouts, `{"id":"a"}`, nil)
				if asked != c.asked || w.provider.Writes() != 0 || !res.IsError || mark(t, res)["state"] != c.state {
					t.Errorf("%d questions, %d writes: %s %v", asked, w.provider.Writes(), text(res), res.Meta)
				}
			})
		}
	}
}

func TestSealedStateIsGoodOnceForItsCallAndCaller(t *testing.T) {
	t.Parallel()
	boss := onceward.Principal{Tenant: "default", Issuer: "token", Subject: "boss", Roles: []onceward.Role{onceward.RoleCaller, onceward.RoleApprover}}
	w := newWorld(t, trusting)
	c := &call{Gateway: w.gateway, who: onceward.LocalPrincipal(), name: payouts, modern: true}
	submit := func(id string) *onceward.Answer {
		a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: payouts, Input: []byte(`{"id":"` + id + `"}`)})
		w.must(err)
		return a
	}
	a, other := submit("a"), submit("b")
	out, err := c.inputRequired(a.Operation, &mcp.ElicitParams{})
	w.must(err)
	var state string
	w.must(json.Unmarshal(out.get("requestState"), &state))
	yes := mcp.InputResponseMap{approvalRequest: &mcp.ElicitResult{Action: "cancel"}} // read, and no choice
	bring := func(who onceward.Principal, name, state string, a *onceward.Answer) bool {
		one := &call{Gateway: w.gateway, who: who, name: name, modern: true, ask: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name, RequestState: state, InputResponses: yes}}}
		got, err := one.answered(t.Context(), a, &offer{name: payouts})
		w.must(err)
		return !strings.Contains(string(got.append(nil)), "not that of an open question")
	}
	flipped := []byte(state)
	flipped[20] ^= 1
	for name, good := range map[string]bool{
		"another caller": bring(boss, payouts, state, a), "another tool": bring(onceward.LocalPrincipal(), tickets, state, a),
		"another operation": bring(onceward.LocalPrincipal(), payouts, state, other), "tampered": bring(onceward.LocalPrincipal(), payouts, string(flipped), a),
		"nonsense": bring(onceward.LocalPrincipal(), payouts, "x", a),
	} {
		if good {
			t.Errorf("%s: the state is taken", name)
		}
	}
	if !bring(onceward.LocalPrincipal(), payouts, state, a) {
		t.Error("the state is not taken for what it was made for")
	}
	if bring(onceward.LocalPrincipal(), payouts, state, a) {
		t.Error("the state is taken twice")
	}
}

// A person lets less be paid than the agent asked for. The agent repeats what it
// asked, and is answered with what was paid.
func TestAgentThatRepeatsItsCallIsAnsweredWithWhatAPersonMadeOfIt(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.work()
			s := w.client(version, headers{"Authorization": "Bearer ada"})
			id := mark(t, w.call(s, payouts, `{"id":"a","amount":500}`, nil))["operation"].(string)
			op := w.settled(id, func(op *onceward.Operation) bool { return op.State == onceward.StateAwaitingApproval })
			_, err := w.ledger.Approve(t.Context(), onceward.LocalPrincipal(), op.ID, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract, Edit: []byte(`{"amount":50,"id":"a"}`)})
			w.must(err)
			w.settled(id, func(op *onceward.Operation) bool { return op.State == onceward.StateSucceeded })
			again := w.call(s, payouts, `{"id":"a","amount":500}`, nil)
			if again.IsError || mark(t, again)["operation"] != id {
				t.Errorf("the repeated call is answered %s", text(again))
			}
			all := w.provider.Requests()
			if w.provider.Effects() != 1 || !strings.Contains(string(all[len(all)-1].Body), "50") || strings.Contains(string(all[len(all)-1].Body), "500") {
				t.Errorf("%d effects, the last of %s", w.provider.Effects(), all[len(all)-1].Body)
			}
		})
	}
}

// A person said yes, the answer was lost, and nobody knows yet what happened. The
// agent that asks again asks nobody, starts nothing, and is told how it stands.
func TestAgentThatAsksAgainWhileAnApprovedOutcomeIsUnknownStartsNothing(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := newWorld(t, trusting, func(o *Options) { o.AnswerWithin = 100 * time.Millisecond }), 0
			w.work()
			w.provider.BreakProbes(true)
			w.provider.Script(oncewardtest.FaultAnswerLost)
			s := w.client(version, nil, person(&asked, "accept", map[string]any{"decision": "approve"}))
			id := mark(t, w.call(s, payouts, `{"id":"a"}`, nil))["operation"].(string)
			w.settled(id, func(op *onceward.Operation) bool { return op.State == onceward.StateOutcomeUnknown })
			again := w.call(s, payouts, `{"id":"a"}`, nil)
			if !again.IsError || mark(t, again)["operation"] != id || mark(t, again)["state"] != "outcome_unknown" {
				t.Errorf("the repeated call is answered %s", text(again))
			}
			if asked != 1 || w.provider.Writes() != 1 {
				t.Errorf("%d questions and %d writes, want one of each", asked, w.provider.Writes())
			}
		})
	}
}
