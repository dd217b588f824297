package mcpgateway

import (
	"context"
	"fmt"
	"regexp"
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

// decide calls a tool with a state and a choice, as a client of the stateless era does.
func (w *world) decide(who, tool, id, state, choice string) string {
	w.Helper()
	params := fmt.Sprintf(`"name":%q,"arguments":{"id":%q}`, tool, id)
	if state != "" {
		params += fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":%q}}}`, state, approvalRequest, choice)
	}
	_, answer := w.postModern(Path, who, "tools/call", tool, params, nil, `"elicitation":{"form":{}}`)
	return answer
}

// questioned calls a tool, and returns the state of the question that it is
// answered with.
func (w *world) questioned(tool, id string) string {
	w.Helper()
	answer := w.decide("", tool, id, "", "")
	found := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(answer)
	if found == nil {
		w.Fatalf("nobody is asked: %s", answer)
	}
	return found[1]
}

func TestSealedStateIsGoodOnceForItsCallAndCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	w.work()
	state := w.questioned(payouts, "a")
	flipped := []byte(state)
	flipped[20] ^= 1
	refused := func(name, answer string) {
		t.Helper()
		if !strings.Contains(answer, "This call did nothing") || !strings.Contains(answer, "not that of an open question") || w.provider.Writes() != 0 {
			t.Errorf("%s: %d writes, answered %s", name, w.provider.Writes(), answer)
		}
	}
	refused("another caller", w.decide("ada", payouts, "a", state, "approve"))
	refused("another tool, which asks nobody", w.decide("", tickets, "a", state, "approve"))
	refused("another operation", w.decide("", payouts, "b", state, "approve"))
	refused("tampered", w.decide("", payouts, "a", string(flipped), "approve"))
	refused("nonsense", w.decide("", payouts, "a", "x", "approve"))
	if answer := w.decide("", payouts, "a", state, "ok but after Friday"); !strings.Contains(answer, "awaiting_approval") || w.provider.Writes() != 0 {
		t.Errorf("a free text is answered %s", answer)
	}
	refused("used", w.decide("", payouts, "a", state, "approve"))
	state = w.questioned(payouts, "a")
	for _, sent := range []string{"first", "again, since the answer was lost"} {
		if answer := w.decide("", payouts, "a", state, "approve"); !strings.Contains(answer, `"state":"succeeded"`) || w.provider.Effects() != 1 {
			t.Errorf("sent %s: %d effects, answered %s", sent, w.provider.Effects(), answer)
		}
	}
}

func TestPersonWhoseYesWouldNotCountIsNotAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	const apart = "payouts.apart"
	asking := oncewardtest.NewTool(apart, onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
		i.Policy.ApprovalExpiry, i.Policy.SeparateRequester = time.Hour, true
	})
	asking.NeedsApproval = true
	w.activate(asking)
	if answer := w.decide("", apart, "a", "", ""); strings.Contains(answer, "requestState") || !strings.Contains(answer, "awaiting_approval") {
		t.Errorf("whoever asked is answered %s", answer)
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
