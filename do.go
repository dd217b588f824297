package onceward

import (
	"context"
	"fmt"
)

// Do is Submit for an effect that this program makes itself: the tool is a
// Function, and perform, if not nil, makes the effect in place of its Perform in
// this process, in every attempt that starts while Do waits. The same intention again joins, or gets
// the first one's answer, and perform is not called.
//
// perform makes one effect and is not repeated inside. It may be called more than
// once, in attempts of which each has a number of its own, where that is safe by
// the function's effect class; it is called on a context of its own, which ends
// with the deadline and not with ctx. An error, that of its context too, and a
// panic are unknown, never failed; NotDone is what surely did not happen.
//
// CodeInvalidRequest: the tool is no Function, or nobody could perform it. The
// other errors are Submit's.
func (l *Ledger) Do(ctx context.Context, in Intent, perform func(ctx context.Context, c *Call) (Outcome, error)) (*Answer, error) {
	a, err := l.do(ctx, &in, perform)
	l.count(in.Principal, in.Tool, a, err)
	return a, err
}

func (l *Ledger) do(ctx context.Context, in *Intent, perform performer) (*Answer, error) {
	r, err := l.admit(ctx, in)
	if err != nil {
		return nil, err
	}
	t, ok := r.tool.(*FunctionTool)
	switch {
	case !ok:
		return nil, &Error{Code: CodeInvalidRequest, Op: "do", Message: fmt.Sprintf("tool %s has a contract: its writes are sent by the ledger", in.Tool), Hint: "use Submit"}
	case perform == nil && t.fn.Perform == nil:
		return nil, &Error{Code: CodeInvalidRequest, Op: "do", Message: fmt.Sprintf("function %s has no Perform, and none is given", in.Tool)}
	}
	if perform != nil {
		defer t.held.hold(NewOperationID(in.Principal.Tenant, in.Tool, r.p.Key), perform)()
	}
	c, err := l.claim(ctx, in, t, r.p, starter{generation: r.gen})
	if err != nil {
		return nil, err
	}
	if c.won {
		return l.answerFresh(ctx, c.op, c.recorded, r.wait)
	}
	l.startHeld(ctx, c.op)
	return l.duplicate(ctx, in, t, r.p, c.op, r.wait)
}

// startHeld starts an attempt that waited for somebody who can make it. Its due
// row may be a while away: nobody here could, until now.
func (l *Ledger) startHeld(ctx context.Context, op *Operation) {
	if op.Retired || op.NextStep(l.clock.now()) != StepStart && op.NextStep(l.clock.now()) != StepResend {
		return
	}
	if err := l.Advance(context.WithoutCancel(ctx), op.ID); err != nil {
		l.log.Warn("attempt not started", about(op, "error", err)...) // the due loop does
	}
}

// providerOf is who performs the operation's attempts and look-ups.
func (l *Ledger) providerOf(t Tool, op *Operation) Provider {
	if own, ok := t.(InProcess); ok {
		return own.Provider(op, l.opts.Clock)
	}
	return l.provider
}

// mayStartHere reports whether this process can start an attempt of the operation.
func mayStartHere(t Tool, op *Operation) bool {
	switch own := t.(type) {
	case CallerBound:
		return own.Sendable(op)
	case InProcess:
		return own.Sendable(op)
	}
	return true
}
