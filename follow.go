package onceward

import (
	"context"
	"time"
)

// follow asks how the work stands that an attempt left going on at the provider,
// and records what is known of the attempt now.
//
// Why not a second attempt: the handle is in the ledger, so that whoever comes
// after a crash asks for the end of the work, and starts it no second time.
//
// Crash point: probe.before_send, probe.after_response, probe.before_commit.
func (l *Ledger) follow(ctx context.Context, op *Operation, t Follower, actor string) (*Operation, error) {
	a := op.Followed()
	f := fact{actor: actor}
	if req, err := t.FollowRequest(op, a.Handle); err != nil {
		f.event = ProbeInconclusive{Failure: Failure{Class: ClassProtocol, Code: "follow_not_rendered", Message: "the question how the work stands cannot be rendered", Retryable: true}}
	} else {
		l.crash("probe.before_send")
		info, began := t.Info(), l.clock.earliest()
		span := l.traced(op, SpanProbe, req)
		ev := l.provider.Send(l.detached, req, SendOptions{SecretHeader: fieldNames(req.Header), Deadline: info.Policy.Deadline, Hosts: info.Hosts, JudgeBytes: info.JudgeBytes})
		l.crash("probe.after_response")
		l.toLedgerTime(&ev, began)
		j := t.JudgeFollow(op, &ev)
		l.exchanged(span, &ev, followWord(j), j.Failure)
		f = l.followed(op, t, a, &ev, j)
		f.actor = actor
	}
	l.crash("probe.before_commit")
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if still := now.Followed(); now.Generation != op.Generation || still == nil || still.Number != a.Number || still.Handle != a.Handle {
			return nil, nil // settled meanwhile
		}
		return []fact{f}, nil
	})
}

// followed turns what was seen into a fact. The end of the work is judged as the
// answer to the attempt would have been; only an end that says nothing of the
// effect leaves it unknown, and looked up.
func (l *Ledger) followed(op *Operation, t Follower, a *Attempt, ev *Evidence, j FollowJudgement) fact {
	switch {
	case j.Answer != nil:
		answer := *j.Answer
		answer.Reach, answer.LastByteAt = ReachUnknown, time.Time{} // how far the attempt got is recorded
		ended := l.settleByLook(op, t, &answer, t.Judge(op, &answer), a.Number)
		ended.evidence = ev
		l.warn(op, ev)
		if unknown, open := ended.event.(AttemptUnknown); open {
			ended.event = ProbeInconclusive{Failure: unknown.Failure, RetryAfter: unknown.RetryAfter, Lost: a.Number}
		}
		return ended
	case j.Lost:
		return fact{event: ProbeInconclusive{Failure: j.Failure, Lost: a.Number}, evidence: ev}
	}
	return fact{event: ProbeInconclusive{Failure: j.Failure, RetryAfter: j.RetryAfter}, evidence: ev}
}

func followWord(j FollowJudgement) string {
	switch {
	case j.Answer != nil:
		return "ended"
	case j.Lost:
		return "lost"
	}
	return "goes_on"
}
