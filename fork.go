package onceward

import (
	"context"
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
	op, t, err := l.loadToAct(ctx, p, id)
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
		if op.Input == nil || t.Info().Policy.KeepInput != KeepFull {
			return l.forkAgain(ctx, &in, op, t)
		}
		in.Input = op.Input
	}
	return l.Submit(ctx, in)
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
		return nil, &Error{Code: CodeInvalidRequest, Op: "fork operation", OperationID: op.ID, Message: "the first input is not kept", Hint: "give the input with the fork"}
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
