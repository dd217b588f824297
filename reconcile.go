package onceward

import (
	"context"
	"fmt"
	"time"
)

// look asks the provider for the operation's effect. The instant at which the
// look-up began is ledger time, and not later than it was: absence counts from it.
func (l *Ledger) look(op *Operation, t Tool) (ProbeJudgement, Evidence, time.Time) {
	began := l.clock.earliest()
	req, err := t.ProbeRequest(op)
	if err != nil {
		return ProbeJudgement{Failure: Failure{Class: ClassProtocol, Code: "probe_not_rendered", Message: "the look-up cannot be rendered", Retryable: true}}, Evidence{StartedAt: began, EndedAt: began}, began
	}
	l.crash("probe.before_send")
	info, names := t.Info(), fieldNames(req.Header)
	span := l.traced(op, SpanProbe, req)
	ev := l.providerOf(t, op).Send(l.detached, req, SendOptions{SecretHeader: names, Deadline: info.Policy.ProbeDeadline, Hosts: info.Hosts, JudgeBytes: info.JudgeBytes})
	l.crash("probe.after_response")
	l.toLedgerTime(&ev, began)
	j := t.JudgeProbe(op, &ev)
	l.exchanged(span, &ev, probeWord(j), j.Failure)
	return j, ev, began
}

// oursOf returns the references of the found effects that are ours.
func oursOf(found []FoundEffect) []string {
	var refs []string
	for _, f := range found {
		if f.Ours {
			refs = append(refs, f.Reference)
		}
	}
	return refs
}

// probe looks the effect up and records what was seen.
//
// Crash point: probe.before_send, probe.after_response, probe.before_commit.
func (l *Ledger) probe(ctx context.Context, op *Operation, t Tool, actor string) (*Operation, ProbeJudgement, error) {
	if err := notHere(t); err != nil {
		return op, ProbeJudgement{}, err
	}
	if follower, ok := t.(Follower); ok && op.Followed() != nil {
		stored, err := l.follow(ctx, op, follower, actor)
		return stored, ProbeJudgement{}, err
	}
	if err := l.readClock(ctx); err != nil {
		return op, ProbeJudgement{}, err
	}
	j, ev, began := l.look(op, t)
	f := fact{actor: actor, evidence: &ev}
	switch ours := oursOf(j.Found); {
	case !j.Conclusive:
		f.event = ProbeInconclusive{Failure: j.Failure, RetryAfter: j.RetryAfter}
	case len(ours) > 0:
		f.event = ProbeFound{Began: began, References: ours}
	default:
		f.event = ProbeAbsent{Began: began}
	}
	l.crash("probe.before_commit")
	stored, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Generation != op.Generation {
			return nil, nil
		}
		return []fact{l.suited(now, f)}, nil
	})
	return stored, j, err
}

// readClock asks the database what time it is.
//
// Why before a look-up: what the operation's row says of its attempts may be
// written by a process that has seen the database's clock jump back, and would be
// held against a notion of the time from before. The row was read before this.
func (l *Ledger) readClock(ctx context.Context) error {
	began := l.opts.Clock.Now()
	now, err := l.store.Now(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	l.clock.observe(now, began, l.opts.Clock.Now())
	return nil
}

// Reconcile looks an operation's effect up now, because somebody asks for it.
// What a person has to settle stays with that person; the evidence is added.
func (l *Ledger) Reconcile(ctx context.Context, p Principal, id OperationID) (*Operation, error) {
	op, t, err := l.loadToAct(ctx, p, id, ActionReconcile)
	if err != nil {
		return nil, err
	}
	switch {
	case !op.Policy.HasProbe && op.Followed() == nil:
		return nil, &Error{Code: CodeStateForbids, Op: "reconcile operation", OperationID: id, Message: "the contract has no probe", Hint: "look at the provider yourself, then resolve the operation"}
	case op.Retired:
		return nil, &Error{Code: CodeStateForbids, Op: "reconcile operation", OperationID: id, Message: "the record was retired: what could be looked up is not kept", Hint: "look at the provider yourself"}
	case op.Shredded:
		return nil, &Error{Code: CodeShredded, Op: "reconcile operation", OperationID: id, Message: "its bodies were shredded: what could be looked up is not known any more", Hint: "look at the provider yourself"}
	case op.State == StateAwaitingApproval || op.Attempt() == 0:
		return nil, &Error{Code: CodeStateForbids, Op: "reconcile operation", OperationID: id, Message: "no attempt was made that could be looked up"}
	}
	op, _, err = l.probe(ctx, op, t, p.String())
	return op, err
}

// Prove takes evidence from outside, such as the provider's own event, that the
// effect exists under this reference.
func (l *Ledger) Prove(ctx context.Context, p Principal, id OperationID, reference, source string) (*Operation, error) {
	op, _, err := l.loadToAct(ctx, p, id, ActionReconcile)
	if err != nil {
		return nil, err
	}
	generation := op.Generation
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Generation != generation {
			return nil, nil // the key was retired and taken anew meanwhile: it is no proof of that use
		}
		return facts(p.String(), EffectProven{Reference: reference, Source: source}), nil
	})
}
