package onceward_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// story renders the events of an operation's timeline.
func (w *world) story(op *onceward.Operation) string {
	w.t.Helper()
	records, err := w.ledger.Timeline(w.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var events []string
	for _, r := range w.get(op.ID).Story(records) {
		events = append(events, r.Event)
	}
	return strings.Join(events, " ")
}

func TestTimelineTellsTheHappyPathThatWasNotRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	op := w.ask(`{"id":"a"}`).Operation
	if got, want := w.story(op), "claimed attempt_started attempt_done"; got != want {
		t.Errorf("the timeline is %q, want %q", got, want)
	}
}

func TestTimelineTellsNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultAnswerLost)
	op := w.ask(`{"id":"a"}`).Operation
	w.pass(0)
	if got, want := w.story(op), "claimed attempt_started attempt_unknown probe_found"; got != want {
		t.Errorf("the timeline is %q, want %q", got, want)
	}
}

func TestResultIsForWhoeverAskedAndForReadingRoles(t *testing.T) {
	t.Parallel()
	op := &onceward.Operation{Actor: "oidc:agent-1"}
	agent := onceward.Principal{Issuer: "oidc", Subject: "agent-1", Roles: []onceward.Role{onceward.RoleCaller}}
	other := onceward.Principal{Issuer: "oidc", Subject: "agent-2", Roles: []onceward.Role{onceward.RoleCaller, onceward.RoleApprover, onceward.RoleAdmin}}
	auditor := onceward.Principal{Issuer: "oidc", Subject: "x", Roles: []onceward.Role{onceward.RoleAuditor}}
	if !agent.SeesResult(op) || other.SeesResult(op) || !auditor.SeesResult(op) {
		t.Errorf("agent %v, other %v, auditor %v; want true, false, true", agent.SeesResult(op), other.SeesResult(op), auditor.SeesResult(op))
	}
}
