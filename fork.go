package onceward

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Fork starts a wanted second effect: a new operation whose identity is [old
// key, "fork", key], so that asking twice is the same fork. The input is the
// first operation's; where its contract does not keep that, it has to be given.
func (l *Ledger) Fork(ctx context.Context, p Principal, id OperationID, key Key, reason string, input []byte, wait time.Duration) (*Answer, error) {
	if strings.TrimSpace(reason) == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "fork operation", OperationID: id, Message: "a fork needs a reason", Hint: "say why the effect is wanted a second time"}
	}
	if key == "" {
		return nil, &Error{Code: CodeKeyMissing, Op: "fork operation", OperationID: id, Message: "a fork names its own key", Hint: "choose a key that names the second intention"}
	}
	op, t, err := l.loadToAct(ctx, p, id, ActionFork)
	if err != nil {
		return nil, err
	}
	if !op.State.Terminal() {
		return nil, &Error{Code: CodeStateForbids, Op: "fork operation", OperationID: id, Message: "it is " + op.State.String() + ": its own effect is not settled yet",
			Hint: "wait for its end; a fork beside it could make two effects where one was wanted"}
	}
	in := Intent{Principal: p, Tool: op.Tool, Input: input, ForkKey: ForkKey(op.Key, key), Run: op.Run, joined: true, decidedBy: op.DecidedBy,
		CorrelationID: op.CorrelationID, TraceParent: op.TraceParent, Wait: wait, Reason: reason, Documents: op.Documents}
	if in.Input == nil {
		if op.Input == nil || !t.Info().Policy.KeepInput.Whole() {
			return l.forkAgain(ctx, &in, op, t)
		}
		in.Input = op.Input
	}
	if err := l.sameEvent(ctx, in, op); err != nil {
		return nil, err
	}
	if _, err = l.forked(ctx, op, p, key, reason); err != nil {
		return nil, err
	}
	return l.Submit(ctx, in)
}

// sameEvent refuses a fork whose input is another business event than the
// first's: its effect would stand under a key that names the wrong one, and the
// event's own request would make it again. It also checks the input, before the
// first operation is told of the fork.
func (l *Ledger) sameEvent(ctx context.Context, in Intent, op *Operation) error {
	r, err := l.admit(ctx, &in)
	if err != nil || r.tool.Info().KeyFromCaller {
		return err
	}
	in.ForkKey = ""
	p, err := r.tool.Prepare(&in, r.gen)
	if err != nil {
		return err
	}
	if first := unfork(op.Key); p.Key != first && !first.shortened() && !slices.Contains(p.Aliases, first) {
		return &Error{Code: CodeInvalidInput, Op: "fork operation", OperationID: op.ID, Message: "the input is another business event: its key is not the first operation's",
			Hint: "send it as a request of its own; a fork is a second effect of the same event"}
	}
	return nil
}

// forked tells the first operation of the fork, before there is one: else a
// repeated request could revive it meanwhile, and both had their effect.
func (l *Ledger) forked(ctx context.Context, op *Operation, p Principal, key Key, reason string) (*Operation, error) {
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Forked || now.Retired {
			return nil, nil
		}
		return facts(p.String(), Forked{Key: key, Actor: p.String(), Reason: reason}), nil
	})
}

const forkedUnder = "under the key "

// said tells the fork's key, and why.
func (e Forked) said() string { return forkedUnder + string(e.Key) + ": " + e.Reason }

// ForkedAs is under which key a fork was made, as the timeline's record of it
// tells; false: the record tells of none. A caller's key has no blank.
func ForkedAs(r Record) (key Key, is bool) {
	said, under := strings.CutPrefix(r.Reason, forkedUnder)
	name, _, whole := strings.Cut(said, ": ")
	return Key(name), under && whole && r.Event == KindForked.String()
}

// forkAgain answers a fork of an operation whose input is not kept: without the
// input, only a fork that was made already.
func (l *Ledger) forkAgain(ctx context.Context, in *Intent, op *Operation, t Tool) (*Answer, error) {
	wait, err := boundedWait(in.Wait)
	if err != nil {
		return nil, err
	}
	fork, err := l.writer.Read(ctx, NewOperationID(op.Tenant, op.Tool, in.ForkKey))
	switch {
	case err != nil:
		return nil, err
	case fork == nil || fork.Retired && t.Info().Policy.KeyReusable:
		code, why := CodeInvalidRequest, "is not kept"
		if op.Shredded {
			code, why = CodeShredded, "was shredded"
		}
		return nil, &Error{Code: code, Op: "fork operation", OperationID: op.ID, Message: "the first input " + why, Hint: "give the input with the fork"}
	case fork.Tenant != op.Tenant || fork.Tool != op.Tool || fork.Key != in.ForkKey:
		return nil, &Error{Code: CodeKeyCollision, Op: "fork operation", OperationID: fork.ID, Message: "another identity has this operation ID"}
	case fork.Retired:
		return nil, keyRetired(fork)
	}
	if _, err := l.hydrate(ctx, fork); err != nil {
		return nil, err
	}
	return l.sameAgain(ctx, in, fork, wait)
}
