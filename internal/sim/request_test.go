package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// beatFresh is how old a replica's beat may be when a batch comes: one that must
// beat first would beat for whichever of the batch runs first.
const beatFresh = 3500 * time.Millisecond

// persons are those who may be asked. The first is whoever asks for operations.
var persons = []string{"operator", "ann", "bob", "eve"}

func personal(n int) onceward.Principal {
	p := onceward.LocalPrincipal()
	p.Subject = persons[n%len(persons)]
	return p
}

// fork wants the effect a second time, with the first one's input or its own.
func (e *engine) fork(ctx context.Context, c *call) (*onceward.Operation, error) {
	op := &e.plan.Ops[c.Op]
	tool := onceward.ToolName(Specs[op.Spec].Name)
	first := onceward.NewOperationID(onceward.DefaultTenant, tool, onceward.Key(op.Fork))
	a, err := c.process.ledger.Fork(ctx, onceward.LocalPrincipal(), first, onceward.Key(op.Name), "wanted twice", e.input(c.Op, c.Amount, c.Words), c.Wait)
	if err != nil {
		return nil, err
	}
	return a.Operation, nil
}

// batch asks for several operations in one request.
func (e *engine) batch(ctx context.Context, c *call, more *post) {
	defer func() {
		if v := recover(); v != nil && !c.process.dead {
			panic(v) // of a dead process the goroutines ended where they stood, and left no answers
		}
	}()
	var ins []onceward.Intent
	for _, it := range c.Items {
		ins = append(ins, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: onceward.ToolName(Specs[e.plan.Ops[it.Op].Spec].Name), Input: e.input(it.Op, it.Amount, it.Words)})
	}
	answers := c.process.ledger.SubmitBatch(ctx, ins)
	if c.process.dead {
		return // its goroutines ended where they stood
	}
	for i, a := range answers {
		t := Told{Call: c.name, Op: e.plan.Ops[c.Items[i].Op].Name, Submit: true, Since: c.askedAt, Amount: int64(c.Items[i].Amount)}
		if a.Err != nil {
			t.Code = string(onceward.CodeOf(a.Err))
		} else {
			t.Row = e.row(a.Answer.Operation)
		}
		more.batch = append(more.batch, t)
	}
}

func (e *engine) tellBatch(l *post) {
	for i := range l.batch {
		t := &l.batch[i]
		e.s.note(l.c.name, " is told of ", t.Op, " ", t.Code, t.Row.State, " ", t.Row.Reference)
	}
	e.audit.HeardBatch(l.batch)
}

// person looks at a question, thinks, and answers what was shown. A question that
// is not there yet is answered from the contract.
func (e *engine) person(ctx context.Context, c *call) (*onceward.Operation, error) {
	c.process.stand(c.name+" looks", 0)
	spec, id, who := &Specs[e.plan.Ops[c.Op].Spec], e.opID(c.Op), personal(c.Person)
	t := newContract(spec, e.version)
	a := onceward.ApprovalAnswer{Contract: t.Info().Version, Tool: t.Info().Name}
	amount := int64(0)
	if op := e.raw(c.Op); op != nil {
		amount = e.row(op).Amount
		a = onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract}
	} else {
		canonical, err := onceward.Canonicalize(e.input(c.Op, 0, 0))
		if err != nil {
			return nil, err
		}
		if a.Digest, _, err = t.MaterialDigest(canonical, id); err != nil {
			return nil, err
		}
	}
	if c.Kind == CallEdit {
		amount = int64(c.Amount)
		a.Edit = e.input(c.Op, c.Amount, 0)
	}
	e.audit.Answers(who.String(), e.plan.Ops[c.Op].Name, amount, a.Contract)
	if c.Slow > 0 {
		c.process.stand(c.name+" thinks", e.s.now+c.Slow)
	}
	if e.bug.answer != nil {
		e.bug.answer(e, &a, c.Op)
	}
	if c.Kind == CallReject {
		return c.process.ledger.Reject(ctx, who, id, a.Digest, "not this one")
	}
	return c.process.ledger.Approve(ctx, who, id, a)
}

// token is a claim token as a caller writes it.
func (c *call) token() string {
	return fmt.Sprintf("token-of-%s-number-%d", c.process.e.plan.Ops[c.Op].Name, c.Token)
}
