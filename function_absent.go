package onceward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// absentFunction is a function that this process has not activated, as the ledger
// keeps it. Its rules hold for what needs none of its code: lists, reviews, a
// person's word, the end of a dead process's lease, retention. Nothing is
// prepared, performed, looked up or undone under it.
type absentFunction struct {
	info     ToolInfo
	volatile []Path
}

var (
	_ InProcess = (*absentFunction)(nil)
	_ Undoable  = (*absentFunction)(nil)
)

func newAbsentFunction(c *ContractVersion) (Tool, error) {
	var s functionSource
	if err := json.Unmarshal(c.Source, &s); err != nil {
		return nil, &Error{Code: CodeLedgerCorrupt, Op: "read function", Message: "what the ledger keeps of a version of " + string(c.Tool) + " cannot be read", Err: err}
	}
	t := &absentFunction{info: ToolInfo{Name: c.Tool, Version: c.Version, Source: c.Source}}
	s.into(&t.info)
	var err error
	if t.volatile, err = pathsOf(s.Volatile); err != nil {
		return nil, err
	}
	return t, nil
}

// into puts what the ledger keeps of a function's rules in place.
func (s *functionSource) into(i *ToolInfo) {
	i.Policy, i.Description, i.Approvers = s.Policy, s.Description, s.Approvers
	i.KeepResult, i.KeepBytes, i.KeyRule = s.KeepResult, s.KeepBytes, s.KeyRule
	i.Horizon, i.KeepRecord, i.KeepTombstone = s.Horizon, s.Record, s.Tombstone
}

// notHere is why nothing is done with an operation that needs its function's code;
// nil for every tool but an absentFunction. CodeStateForbids.
func notHere(t Tool) error {
	f, ok := t.(*absentFunction)
	if !ok {
		return nil
	}
	return functionNotHere(f.info.Name, CodeStateForbids, "the program that has the function can do it; or look at the other system yourself, and resolve the operation")
}

// ErrFunctionNotHere is in the error of what needs the code of a function that this
// process has not activated: another one of the ledger's has it.
var ErrFunctionNotHere = errors.New("its code is not here")

func functionNotHere(name ToolName, c Code, hint string) error {
	return &Error{Code: c, Op: "find function", Message: fmt.Sprintf("the function %s is not activated in this process", name), Hint: hint, Err: ErrFunctionNotHere}
}

// notFoundHere is functionNotHere of a function that is looked for by its name.
func notFoundHere(name ToolName) error {
	return functionNotHere(name, CodeToolNotFound, "ask the program that has the function")
}

// Waits between looks of a process at an operation that it leaves to others: half of
// how long it is due, within these.
const (
	leaveMin = time.Second
	leaveMax = 30 * time.Second
)

// leaveToOthers puts an operation off with which only a process that has a function can
// go on, and returns why. Whoever has it takes the row before this one does, or next time.
//
// Why what is due for long keeps the hold of whoever took it: where the program with
// the function is away, its rows cost no write each.
func (l *Ledger) leaveToOthers(ctx context.Context, op *Operation, at time.Time, why error) error {
	l.warnOnce("operations of a tool left to others", op.Tool, why)
	d := DueFor(op)
	if d == nil || d.At.IsZero() {
		return why
	}
	wait := at.Sub(d.At) / 2
	if wait >= leaveMax {
		return why
	}
	d.At = at.Add(max(wait, leaveMin))
	if err := l.store.Reschedule(ctx, *d); err != nil {
		return err
	}
	return why
}

// comeAtMost is how many operations of a state a process hastens when it starts, the
// oldest; the others come up within leaveMax.
const comeAtMost = 100

// comeForLeft lets what is due of this process's functions come up now: the others may have
// put it off. What another process works on meanwhile, one of the two does.
func (l *Ledger) comeForLeft(ctx context.Context) error {
	if !slices.ContainsFunc(l.tools.All(), func(t Tool) bool { _, is := t.(*FunctionTool); return is }) {
		return nil
	}
	for _, s := range []State{StateReady, StateOutcomeUnknown} {
		ops, err := l.store.Waiting(ctx, s, comeAtMost)
		if err != nil {
			return err
		}
		for _, op := range ops {
			t, err := l.hydrate(ctx, op)
			if _, is := t.(*FunctionTool); err != nil || !is || op.DueAt.After(l.clock.now()) {
				continue
			}
			if err := l.reschedule(ctx, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnOnce says something of a tool once in the life of the process: it is so for
// each of its operations.
func (l *Ledger) warnOnce(what string, tool ToolName, err error) {
	if _, said := l.said.LoadOrStore(what+" "+string(tool), true); !said {
		l.log.Warn(what, "tool", tool, "error", err)
	}
}

// Info implements Tool.
func (t *absentFunction) Info() *ToolInfo { return &t.info }

// Prepare implements Tool. CodeStateForbids, always.
func (t *absentFunction) Prepare(*Intent, Generation) (*Prepared, error) { return nil, notHere(t) }

// MaterialDigest implements Tool.
func (t *absentFunction) MaterialDigest(input []byte, id OperationID) (Digest, []FieldPrint, error) {
	return functionDigest(t.info.Name, t.volatile, input, id)
}

// Secrets implements Tool. ErrCallerGone, always: nobody is here who could perform it.
func (t *absentFunction) Secrets(op *Operation) ([]HeaderField, error) {
	return nil, fmt.Errorf("perform operation %s: %w: %w", op.ID, notHere(t), ErrCallerGone)
}

// Sendable implements InProcess.
func (t *absentFunction) Sendable(*Operation) bool { return false }

// Begin implements InProcess.
func (t *absentFunction) Begin(*Operation) Tool { return t }

// Provider implements InProcess. It holds no function, and has no look-up.
func (t *absentFunction) Provider(op *Operation, clock Clock) Provider {
	return &functionProvider{&FunctionTool{info: t.info, held: &heldFunctions{}}, op, clock}
}

// Judge implements Tool.
func (t *absentFunction) Judge(op *Operation, ev *Evidence) Judgement {
	return (&FunctionTool{}).Judge(op, ev)
}

// ProbeRequest implements Tool. CodeStateForbids, always.
func (t *absentFunction) ProbeRequest(*Operation) (*Request, error) { return nil, notHere(t) }

// JudgeProbe implements Tool: it saw nothing.
func (t *absentFunction) JudgeProbe(_ *Operation, ev *Evidence) ProbeJudgement {
	return ProbeJudgement{Failure: Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}}
}

// UndoneBy implements Undoable. It is not kept.
func (t *absentFunction) UndoneBy() ToolName { return "" }

// Compensation implements Undoable. CodeStateForbids, always: how it is undone is code.
func (t *absentFunction) Compensation(*Operation) (ToolName, []byte, bool, error) {
	return "", nil, true, notHere(t)
}
