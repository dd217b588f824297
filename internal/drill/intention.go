package drill

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/faultproxy"
)

// materialChange asks for another intention under the same key: while the first
// is under way, and when it has ended. Both have to be refused.
func materialChange(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	other := withValue(st.input, st.s.material.leaf, st.s.material.value)
	st.next(faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: min(st.s.waits.deadline/2, time.Second)})
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	for _, when := range []string{"while the first was under way", "when the first had ended"} {
		first := st.op
		a, err := st.deliver(ctx, p, other, 0)
		if err != nil {
			return err
		}
		st.op = first // a refusal may name the operation too
		if a.Status != http.StatusUnprocessableEntity || a.Code != "key_reused" {
			st.broken(fmt.Sprintf("%s, another %s under the same key was answered %d %s", when, st.s.material.leaf.path, a.Status, a.Decision),
				st.s.change("spec.volatile", "a field that means another intention is neither volatile nor left out of the input's schema"))
		}
		if err := st.settle(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// rewordedField delivers again with other words, as a model does.
func rewordedField(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	first, err := st.accepted(ctx, p, st.input, callerWait)
	if err != nil {
		return err
	}
	if err := st.settle(ctx, p); err != nil {
		return err
	}
	a, err := st.accepted(ctx, p, withValue(st.input, st.s.reworded.leaf, st.s.reworded.value), callerWait)
	if err != nil {
		return err
	}
	if a.Decision != "replayed" || a.Operation.ID != first.Operation.ID {
		st.broken("a reworded "+st.s.reworded.leaf.path+" was answered as "+a.Decision, st.s.change("spec.volatile", "name the fields that a model words anew"))
	}
	return st.settle(ctx, p)
}

// replayAfterCompletion asks for a new attempt at what is done.
func replayAfterCompletion(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
		return err
	}
	if err := st.settle(ctx, p); err != nil {
		return err
	}
	verdict, err := st.replay(ctx, p)
	if err != nil {
		return err
	}
	if verdict != "refused" {
		st.broken("a replay of what is done was called "+verdict, nil)
	}
	a, err := st.accepted(ctx, p, st.input, callerWait)
	if err != nil {
		return err
	}
	if a.Decision != "replayed" {
		st.broken("a delivery after the end was answered as "+a.Decision, nil)
	}
	return st.settle(ctx, p)
}

// replay does what a careful person does: reads the plan, and goes on only where
// it says that this is safe. It confirms nothing that may happen twice. Where
// the plan refuses, it tries all the same, which has to be refused.
func (st *stage) replay(ctx context.Context, p Process) (verdict string, err error) {
	if _, err := st.look(ctx, p); err != nil {
		return "", err
	}
	plan, err := ask(ctx, http.MethodGet, p.URL()+"/v1/operations/"+st.op.ID+"/replay", nil)
	if err != nil {
		return "", err
	}
	if plan.Verdict == "needs_confirmation" {
		return plan.Verdict, nil
	}
	a, err := st.act(ctx, p, "replay", map[string]string{"reason": "onceward drill"})
	if err != nil {
		return "", err
	}
	if plan.Verdict == "refused" && a.Status/100 == 2 {
		st.broken("a replay was refused by its plan, and carried out", nil)
	}
	return plan.Verdict, nil
}

func replayAfterTimeout(ctx context.Context, st *stage) error {
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if err := st.unanswered(ctx, p); err != nil {
		return err
	}
	if _, err := st.replay(ctx, p); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

func replayAfterCrash(ctx context.Context, st *stage) error {
	if err := st.die(ctx, "dispatch.after_response"); err != nil {
		return err
	}
	p, err := st.start(ctx, "")
	if err != nil {
		return err
	}
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	if _, err := st.await(ctx, p, "its lease is over", st.s.waits.toEnd(), func(o *operation) bool { return o.State != "effect_pending" }); err != nil {
		return err
	}
	if _, err := st.replay(ctx, p); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

// approvalExpiry is how long a drill lets a person be silent.
const approvalExpiry = 2 * time.Second

func shortApproval(_ *subject, d *contract.Derivation) {
	d.Durations["spec.approval.expires"] = approvalExpiry
}

// awaitingApproval delivers and wants the operation to wait for a person.
func (st *stage) awaitingApproval(ctx context.Context, crash string) (Process, error) {
	p, err := st.start(ctx, crash)
	if err != nil {
		return nil, err
	}
	a, err := st.accepted(ctx, p, st.input, 0)
	if err != nil {
		return nil, err
	}
	if a.Operation.State != "awaiting_approval" {
		return nil, fmt.Errorf("the input needs approval, and the operation is %s at once", a.Operation.State)
	}
	return p, nil
}

// byPerson answers as a person does, for what was shown. A conflict is an answer
// that came too late; any other refusal is the drill's own fault.
func (st *stage) byPerson(ctx context.Context, p Process, action string) error {
	st.mu.Lock()
	shown := st.op
	st.mu.Unlock()
	body := map[string]string{"digest": shown.Digest, "reason": "onceward drill"}
	if action == "approve" {
		body["contract_version"] = shown.ContractVersion
	}
	a, err := st.act(ctx, p, action, body)
	if err == nil && a.Status/100 != 2 && a.Status != http.StatusConflict {
		return &refused{fmt.Sprintf("a person's answer (%s) was refused: %d %s %s", action, a.Status, a.Code, a.Detail)}
	}
	return err
}

// refused is what a server says to a request of the drill that it should take.
type refused struct{ why string }

func (e *refused) Error() string { return e.why }

func approvalRejected(ctx context.Context, st *stage) error {
	p, err := st.awaitingApproval(ctx, "")
	if err != nil {
		return err
	}
	if err := st.byPerson(ctx, p, "reject"); err != nil {
		return err
	}
	return st.settle(ctx, p)
}

func approvalExpired(ctx context.Context, st *stage) error {
	p, err := st.awaitingApproval(ctx, "")
	if err != nil {
		return err
	}
	return st.settle(ctx, p)
}

func approvalSpentTwice(ctx context.Context, st *stage) error {
	p, err := st.awaitingApproval(ctx, "")
	if err != nil {
		return err
	}
	if err := st.byPerson(ctx, p, "approve"); err != nil {
		return err
	}
	if err := st.settle(ctx, p); err != nil {
		return err
	}
	if err := st.byPerson(ctx, p, "approve"); err != nil {
		return err
	}
	if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
		return err
	}
	return st.settle(ctx, p)
}
