package onceward

import (
	"encoding/json"
	"errors"
	"fmt"
)

// absentFunction is a function that this process has not activated, as the ledger
// keeps it. Its rules hold for what needs none of its code: lists, reviews, a
// person's word, the end of a dead process's lease, retention. Nothing is
// prepared, performed or looked up under it.
type absentFunction struct {
	info     ToolInfo
	volatile []Path
}

var (
	_ InProcess = (*absentFunction)(nil)
	_ Undoable  = (*absentFunction)(nil)
)

func newAbsentFunction(c *ContractVersion) (*absentFunction, error) {
	var s functionSource
	if err := json.Unmarshal(c.Source, &s); err != nil {
		return nil, &Error{Code: CodeLedgerCorrupt, Op: "read function", Message: "what the ledger keeps of a version of " + string(c.Tool) + " cannot be read", Err: err}
	}
	t := &absentFunction{info: ToolInfo{Name: c.Tool, Version: c.Version, Source: c.Source}}
	s.into(&t.info)
	var err error
	t.volatile, err = pathsOf(s.Volatile)
	return t, err
}

// into puts what the ledger keeps of a function's rules in place.
func (s *functionSource) into(i *ToolInfo) {
	i.Policy, i.Description, i.Approvers = s.Policy, s.Description, s.Approvers
	i.KeepResult, i.KeepBytes, i.KeyRule = s.KeepResult, s.KeepBytes, s.KeyRule
	i.Horizon, i.KeepRecord, i.KeepTombstone = s.Horizon, s.Record, s.Tombstone
}

// notHere is why nothing is done that needs the function's code; nil for every
// tool but an absentFunction.
func notHere(t Tool) error {
	f, ok := t.(*absentFunction)
	if !ok {
		return nil
	}
	return functionNotHere(f.info.Name)
}

// ErrFunctionNotHere is in the error of what needs the code of a function that this
// process has not activated: another one of the ledger's has it.
var ErrFunctionNotHere = errors.New("its code is not here")

func functionNotHere(name ToolName) error {
	return &Error{Code: CodeToolNotFound, Op: "find function", Err: ErrFunctionNotHere, Message: fmt.Sprintf("%s is a function, and this process has not activated it", name),
		Hint: "activate the same functions in every process that shares the ledger"}
}

// Info implements Tool.
func (t *absentFunction) Info() *ToolInfo { return &t.info }

// Prepare implements Tool. CodeToolNotFound, always.
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

// ProbeRequest implements Tool. CodeToolNotFound, always.
func (t *absentFunction) ProbeRequest(*Operation) (*Request, error) { return nil, notHere(t) }

// JudgeProbe implements Tool: it saw nothing.
func (t *absentFunction) JudgeProbe(_ *Operation, ev *Evidence) ProbeJudgement {
	return ProbeJudgement{Failure: Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}}
}

// UndoneBy implements Undoable. It is not kept.
func (t *absentFunction) UndoneBy() ToolName { return "" }

// Compensation implements Undoable. CodeToolNotFound, always: how it is undone is code.
func (t *absentFunction) Compensation(*Operation) (ToolName, []byte, bool, error) {
	return "", nil, true, notHere(t)
}
