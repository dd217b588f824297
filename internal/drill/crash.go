package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/faultproxy"
)

// crashScenarios are one for each crash point of the program.
func crashScenarios() []*Scenario {
	var list []*Scenario
	for _, point := range crashpoint.All {
		sc := &Scenario{
			Name: "crash/" + point, Title: "the server is killed at " + point + ", starts again, and the caller asks again",
			run: crashAt(point), unknown: point != "claim.before_commit" && point != "record.after_commit",
		}
		switch family, _, _ := strings.Cut(point, "."); {
		case family == "probe":
			sc.needs, sc.length = needsLookFirst, 30 // a taken due row is looked at again after half a minute
		case family == "approve":
			sc.Title = "the server is killed at " + point + ", starts again, and the person says yes again"
			sc.needs, sc.approves, sc.run, sc.unknown, sc.once = needsYes, true, crashAtApproval(point), false, true
		case family == "remind":
			sc.needs = needsReminder
		case family == "bulk":
			sc.Title = "the server is killed at " + point + " of a bulk replay, starts again, and the caller asks again"
			sc.needs, sc.run, sc.length = needsTail, crashAtBulk(point), 30
		case family != "claim" && family != "dispatch" && family != "record":
			sc.needs = notOnTheWay
		case sc.unknown:
			sc.needs, sc.length = needsTail, 6
		}
		list = append(list, sc)
	}
	return list
}

// needsLookFirst: where an unknown outcome is settled by sending again, no
// look-up is made at which one could die.
func needsLookFirst(s *subject) (Verdict, string) {
	switch {
	case !s.probes():
		return NotApplicable, "the contract has no look-up"
	case s.resends():
		return NotApplicable, "an unknown outcome of this contract is settled by sending again, not by looking"
	}
	return needsTail(s)
}

// needsReminder: what a reminder writes is another contract's.
func needsReminder(s *subject) (Verdict, string) {
	if _, found := s.Tool.FieldLine("spec.approval.remind"); !found {
		return NotApplicable, "the contract has no reminders"
	}
	return NotDrilled, "a reminder is an operation of another contract, and a drill runs one contract alone: drill the reminding tool by itself"
}

// notOnTheWay: the point belongs to something that no contract speaks about.
func notOnTheWay(*subject) (Verdict, string) {
	return NotApplicable, "no intention of a contract comes to this point"
}

// crashAtBulk lets the server die while a person replays whatever is unknown,
// failed or in review. Whether the replay is ever finished is not waited for:
// another server takes it on minutes later, and finds the operation moved on.
func crashAtBulk(point string) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		p, err := st.start(ctx, point)
		if err != nil {
			return err
		}
		if err := st.unanswered(ctx, p); err != nil {
			return err
		}
		ended, err := st.bulkReplay(ctx, p)
		if err != nil {
			return err
		}
		if ended {
			err := st.settle(ctx, p)
			if st.row.Verdict == "" {
				st.row.Verdict, st.row.Why = NotApplicable, "the operation was settled before a person could replay it"
			}
			return err
		}
		if err := st.dead(ctx, p, point); err != nil {
			return err
		}
		if p, err = st.start(ctx, ""); err != nil {
			return err
		}
		if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
			return err
		}
		return st.settle(ctx, p)
	}
}

// bulkReplay replays the tool's dead and unknown operations, until the server
// dies of it or has nothing left to replay.
func (st *stage) bulkReplay(ctx context.Context, p Process) (ended bool, err error) {
	body, err := json.Marshal(map[string]any{
		"reason": "onceward drill",
		"filter": map[string]any{"tool": st.s.info.Name, "states": []string{"outcome_unknown", "failed", "needs_review"}},
	})
	if err != nil {
		return false, err
	}
	a, err := ask(ctx, http.MethodPost, p.URL()+"/v1/replays", body)
	if err == nil && a.Status/100 != 2 {
		return false, &refused{fmt.Sprintf("a bulk replay was refused: %d %s %s", a.Status, a.Code, a.Detail)}
	}
	if err != nil {
		return false, nil // it died before it could answer
	}
	for until := time.Now().Add(st.s.waits.toEnd()); time.Now().Before(until); {
		now, err := ask(ctx, http.MethodGet, p.URL()+"/v1/replays/"+a.Replay.ID, nil)
		if err != nil {
			return false, nil
		}
		if now.Replay.State == "finished" {
			return true, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-p.Done():
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, nil
}

// crashAtApproval lets the server die while it records a person's yes.
func crashAtApproval(point string) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		p, err := st.awaitingApproval(ctx, point)
		if err != nil {
			return err
		}
		if err := st.byPerson(ctx, p, "approve"); errors.As(err, new(*refused)) {
			return err // any other trouble is the crash
		}
		if err := st.dead(ctx, p, point); err != nil {
			return err
		}
		if p, err = st.start(ctx, ""); err != nil {
			return err
		}
		a, err := st.accepted(ctx, p, st.input, 0)
		if err != nil {
			return err
		}
		if a.Operation.State == "awaiting_approval" { // the yes was lost with the server
			if err := st.byPerson(ctx, p, "approve"); err != nil {
				return err
			}
		}
		return st.settle(ctx, p)
	}
}

func crashAt(point string) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		if strings.HasPrefix(point, "probe.") { // only what is unknown is looked up
			st.next(faultproxy.HTTPFault{Kind: faultproxy.LoseAnswer})
		}
		if err := st.die(ctx, point); err != nil {
			return err
		}
		p, err := st.start(ctx, "")
		if err != nil {
			return err
		}
		if _, err := st.accepted(ctx, p, st.input, callerWait); err != nil {
			return err
		}
		return st.settle(ctx, p)
	}
}

// unanswered delivers, and waits until the one attempt is over without an answer.
func (st *stage) unanswered(ctx context.Context, p Process) error {
	st.next(faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: 2 * st.s.waits.deadline})
	if _, err := st.accepted(ctx, p, st.input, 0); err != nil {
		return err
	}
	_, err := st.await(ctx, p, "its attempt is over", st.s.waits.toEnd(), func(o *operation) bool { return o.State != "effect_pending" && o.State != "" })
	return err
}

// die starts a server, delivers, and waits until it has died at a crash point.
func (st *stage) die(ctx context.Context, point string) error {
	p, err := st.start(ctx, point)
	if err != nil {
		return err
	}
	// The caller may lose its answer: that is what the crash is about.
	_, _ = st.deliver(ctx, p, st.input, callerWait)
	return st.dead(ctx, p, point)
}

// dead waits until a server has died at its crash point.
func (st *stage) dead(ctx context.Context, p Process, point string) error {
	select {
	case <-p.Done():
	case <-time.After(st.s.waits.toEnd()):
		return fmt.Errorf("the server did not come to %s", point)
	case <-ctx.Done():
		return ctx.Err()
	}
	if end := p.End(); !strings.Contains(end, "killed") {
		return fmt.Errorf("the server was to die at %s, and ended otherwise: %s", point, end)
	}
	return nil
}
