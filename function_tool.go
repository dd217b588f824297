package onceward

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// InProcess is a tool that brings its own provider.
type InProcess interface {
	Tool

	// Provider performs the operation's attempts and look-ups, in place of the
	// ledger's. Its evidence has the instants of this clock.
	Provider(op *Operation, clock Clock) Provider
	// Sendable reports whether this process can start an attempt of it now. While
	// it cannot, no further attempt starts here.
	Sendable(op *Operation) bool
	// Begin returns the tool for an attempt that starts now: with what this process
	// has for it at this moment, whoever goes away meanwhile.
	Begin(op *Operation) Tool
}

// The methods of a function's requests. They are on no wire.
const (
	functionPerform = "PERFORM"
	functionProbe   = "PROBE"
)

// Info implements Tool.
func (t *FunctionTool) Info() *ToolInfo { return &t.info }

// Prepare implements Tool.
func (t *FunctionTool) Prepare(in *Intent, gen Generation) (*Prepared, error) {
	canonical, err := Canonicalize(in.Input)
	if err != nil {
		return nil, err
	}
	key, err := t.key(in, canonical)
	if err != nil {
		return nil, err
	}
	id := Identity{Tenant: in.Principal.Tenant, Tool: t.info.Name, Key: key}
	p := &Prepared{Key: key, Input: canonical, Request: &Request{Method: functionPerform, URL: "function:" + string(t.info.Name)}}
	if p.Digest, p.Prints, err = t.MaterialDigest(canonical, id.OperationID()); err != nil {
		return nil, err
	}
	if p.ProviderKey, err = ProviderKey(id, gen, KeyShape{}); err != nil {
		return nil, err
	}
	if t.fn.SerializeBy != nil {
		if p.SerialKey, err = t.fn.SerializeBy(canonical); err != nil {
			return nil, t.refuse("SerializeBy", err)
		}
	}
	if t.fn.Subject != nil && t.info.Policy.Encrypted() {
		if p.Subject, err = t.fn.Subject(canonical); err != nil {
			return nil, t.refuse("Subject", err)
		}
	}
	if t.fn.Approval != nil {
		if p.Approval, err = t.fn.Approval(canonical); err != nil {
			return nil, t.refuse("Approval", err)
		}
	}
	return p, nil
}

func (t *FunctionTool) key(in *Intent, input []byte) (Key, error) {
	switch {
	case in.ForkKey != "":
		return in.ForkKey, nil
	case t.fn.Key == nil && in.CallerKey == "":
		return "", &Error{Code: CodeKeyMissing, Op: "derive key", Message: fmt.Sprintf("function %s has no Key, and the caller gives none", t.info.Name), Hint: "set Intent.CallerKey to what makes two requests the same intention"}
	case t.fn.Key == nil:
		return in.CallerKey, nil
	}
	parts, err := t.fn.Key(input)
	if err != nil {
		return "", t.refuse("Key", err)
	}
	return DeriveKey(parts)
}

// refuse is an input that a function of the tool refuses. Errors that have a code
// keep it.
func (t *FunctionTool) refuse(by string, err error) error {
	if CodeOf(err) != CodeInternal {
		return err
	}
	return &Error{Code: CodeInvalidInput, Op: "prepare " + string(t.info.Name), Message: by + " refused the input", Err: err}
}

// MaterialDigest implements Tool.
func (t *FunctionTool) MaterialDigest(input []byte, id OperationID) (Digest, []FieldPrint, error) {
	return functionDigest(t.info.Name, t.volatile, input, id)
}

func functionDigest(name ToolName, volatile []Path, input []byte, id OperationID) (Digest, []FieldPrint, error) {
	n, err := ParseJSON(input)
	if err != nil {
		return Digest{}, nil, err
	}
	return MaterialDigest(name, n.AppendWithout(nil, volatile)), FieldPrints(id, n, volatile), nil
}

// Secrets implements Tool. ErrCallerGone: nobody is here who could perform it.
func (t *FunctionTool) Secrets(op *Operation) ([]HeaderField, error) {
	if !t.Sendable(op) {
		return nil, fmt.Errorf("perform operation %s: no function is held here: %w", op.ID, ErrCallerGone)
	}
	return nil, nil
}

// Sendable implements InProcess.
func (t *FunctionTool) Sendable(op *Operation) bool { return t.perform(op) != nil }

// Begin implements InProcess.
func (t *FunctionTool) Begin(op *Operation) Tool {
	begun := *t
	begun.begun = t.perform(op)
	return &begun
}

// perform is what makes the effect: the function that somebody who waits has
// brought, else the registered one; nil: there is none here.
func (t *FunctionTool) perform(op *Operation) performer {
	if t.begun != nil {
		return t.begun
	}
	if f := t.held.find(op.ID); f != nil {
		return f
	}
	return t.fn.Perform
}

// Provider implements InProcess.
func (t *FunctionTool) Provider(op *Operation, clock Clock) Provider {
	return &functionProvider{t, op, clock}
}

// Judge implements Tool.
func (t *FunctionTool) Judge(_ *Operation, ev *Evidence) Judgement {
	f := Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: fieldOf(ev, functionRetryable) != ""}
	wait, _ := time.ParseDuration(fieldOf(ev, functionRetryAfter)) // what cannot be read is no wish
	j := Judgement{Verdict: VerdictUnknown, Failure: f, RetryAfter: wait, Rule: "function"}
	switch fieldOf(ev, functionVerdict) {
	case VerdictDone.String():
		j.Verdict, j.Reference, j.Failure = VerdictDone, fieldOf(ev, functionReference), Failure{}
	case VerdictNotDone.String():
		j.Verdict = VerdictNotDone
	case VerdictInProgress.String():
		j.Verdict = VerdictInProgress
	case "":
		j.Failure.Retryable = true
		if ev.Reach.NothingSent() {
			j.Verdict = VerdictNotDone
		}
	}
	return j
}

// ProbeRequest implements Tool.
func (t *FunctionTool) ProbeRequest(*Operation) (*Request, error) {
	if t.fn.Probe == nil {
		return nil, &Error{Code: CodeStateForbids, Op: "probe " + string(t.info.Name), Message: "the function has no Probe"}
	}
	return &Request{Method: functionProbe, URL: "function:" + string(t.info.Name)}, nil
}

// JudgeProbe implements Tool.
func (t *FunctionTool) JudgeProbe(_ *Operation, ev *Evidence) ProbeJudgement {
	var found []FoundEffect
	if fieldOf(ev, functionVerdict) != VerdictDone.String() || json.Unmarshal(ev.Body, &found) != nil {
		return ProbeJudgement{Failure: Failure{Class: ev.ErrorClass, Code: ev.ErrorCode, Message: ev.ErrorText, Retryable: true}}
	}
	return ProbeJudgement{Conclusive: true, Found: found}
}

// UndoneBy implements Undoable.
func (t *FunctionTool) UndoneBy() ToolName { return t.fn.UndoneBy }

// Compensation implements Undoable.
func (t *FunctionTool) Compensation(op *Operation) (tool ToolName, input []byte, ok bool, err error) {
	if t.fn.Undo == nil {
		return "", nil, false, nil
	}
	if input, err = t.fn.Undo(callOf(op)); err != nil {
		return "", nil, true, t.refuse("Undo", err)
	}
	return t.fn.UndoneBy, input, true, nil
}

// performer is a Function's Perform.
type performer = func(ctx context.Context, c *Call) (Outcome, error)

// heldFunctions are the functions that callers of Do brought and wait with.
type heldFunctions struct {
	mu sync.Mutex
	by map[OperationID][]*performer
}

// hold keeps a function until the returned one is called.
func (h *heldFunctions) hold(id OperationID, f performer) (release func()) {
	mine := &f
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[OperationID][]*performer{}
	}
	h.by[id] = append(h.by[id], mine)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		var rest []*performer
		for _, other := range h.by[id] {
			if other != mine {
				rest = append(rest, other)
			}
		}
		if h.by[id] = rest; len(rest) == 0 {
			delete(h.by, id)
		}
	}
}

// find is the function of whoever has waited longest; nil: nobody waits.
func (h *heldFunctions) find(id OperationID) performer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if all := h.by[id]; len(all) > 0 {
		return *all[0]
	}
	return nil
}
