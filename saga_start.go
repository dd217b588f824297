package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SagaRequest asks for a saga.
type SagaRequest struct {
	Principal     Principal
	Name          string // of the kind of business event; checked by ParseWorkflowName
	Key           Key    // names the business event; checked by ParseCallerKey
	Steps         []SagaStep
	CorrelationID string
	Subject       string // whose data the inputs are; empty: the tenant's. Not part of what a repeat is compared by
}

// SagaAnswer is what a request for a saga gets.
type SagaAnswer struct {
	Saga     *Saga
	Decision Decision // fresh; joined: it goes on; replayed: it has ended
}

// StartSaga starts a saga once for each (tenant, name, key), or returns the one
// that is there. Its run of the same name and key is started with it. Every step
// is checked as far as it can be without the others: its tool, the right to it,
// and how it would be undone. CodeKeyReused: it was started with other steps.
func (l *Ledger) StartSaga(ctx context.Context, in SagaRequest) (*SagaAnswer, error) {
	for _, a := range []Action{ActionStartSagas, ActionStartRuns, ActionSubmit} {
		if err := Authorize(in.Principal, a); err != nil {
			return nil, err
		}
	}
	s, err := l.newSaga(&in)
	if err != nil {
		return nil, err
	}
	there, err := l.store.LoadSaga(ctx, s.ID)
	if err != nil || there != nil {
		return sameSaga(err, s, there)
	}
	if err := l.checkSteps(ctx, in.Principal, s.Steps); err != nil {
		return nil, err
	}
	if s.Subject, err = l.subjectNamed(ctx, s.Tenant, in.Subject); err != nil {
		return nil, err
	}
	if err := l.startSagaRun(ctx, &in, s); err != nil {
		return nil, err
	}
	if s.CreatedAt, err = l.store.Now(ctx); err != nil {
		return nil, err
	}
	s.NextAt = s.CreatedAt
	stored, applied, err := l.nextSaga(ctx, s, AuditEvent{Tenant: s.Tenant, Actor: s.By.String(), Action: AuditSagaStarted, Subject: s.ID.String(), Detail: fmt.Sprintf("%s, %d steps", s.Name, len(s.Steps))})
	if err != nil || !applied {
		return sameSaga(err, s, stored)
	}
	l.sagas.wake()
	return &SagaAnswer{Saga: stored, Decision: DecisionFresh}, nil
}

// newSaga is the saga as it is asked for. It refuses what contradicts itself.
func (l *Ledger) newSaga(in *SagaRequest) (*Saga, error) {
	bad := func(format string, args ...any) error {
		return &Error{Code: CodeInvalidRequest, Op: "start saga", Message: fmt.Sprintf(format, args...)}
	}
	if _, err := ParseWorkflowName(in.Name); err != nil {
		return nil, err
	}
	if len(in.Steps) < 1 || len(in.Steps) > SagaStepsMax {
		return nil, bad("a saga has 1 to %d steps, not %d", SagaStepsMax, len(in.Steps))
	}
	s := &Saga{ID: NewSagaID(in.Principal.Tenant, in.Name, in.Key), Tenant: in.Principal.Tenant, Name: in.Name, Key: in.Key, CorrelationID: in.CorrelationID, By: in.Principal, State: SagaRunning}
	size, parts := 0, []string(nil)
	for i, step := range in.Steps {
		if _, err := ParseToolName(step.Name); err != nil || strings.Contains(step.Name, ".") {
			return nil, bad("step %d: its name is at most 128 lower-case letters, digits, _ and -, the first a letter", i+1)
		}
		if s.Step(step.Name) != nil {
			return nil, bad("two steps are named %s", step.Name)
		}
		if step.Kind != "" && !slices.Contains(AllSagaKinds, step.Kind) {
			return nil, &Error{Code: CodeUnsupportedPolicy, Op: "start saga", Message: fmt.Sprintf("step %s is neither compensable, retryable nor confirm_first", step.Name)}
		}
		next := SagaStep{Name: step.Name, Tool: step.Tool, Kind: step.Kind, State: SagaStepPending}
		var err error
		if next.Input, err = Canonicalize(step.Input); err != nil {
			return nil, err
		}
		undo := ""
		if step.Undo != nil {
			next.Undo = &SagaUndo{Tool: step.Undo.Tool}
			if next.Undo.Input, err = Canonicalize(step.Undo.Input); err != nil {
				return nil, err
			}
			undo = string(next.Undo.Tool) + "\n" + string(next.Undo.Input)
		}
		size += len(next.Input) + len(undo)
		parts = append(parts, next.Name, string(next.Tool), string(next.Kind), string(next.Input), undo)
		if err := s.checkReferences(&next); err != nil {
			return nil, err
		}
		s.Steps = append(s.Steps, next)
	}
	if size > SagaInputBytesMax {
		return nil, &Error{Code: CodeTooLarge, Op: "start saga", Message: fmt.Sprintf("the inputs are longer than %d bytes", SagaInputBytesMax)}
	}
	s.Digest = sha256.Sum256(appendJSONStrings([]byte("onceward/saga/v1\n"), parts...))
	return s, nil
}

// Undoable is a tool whose effects another tool undoes.
type Undoable interface {
	Tool

	// UndoneBy is that tool; empty: its effects cannot be undone.
	UndoneBy() ToolName
	// Compensation renders the input that undoes the operation. ok is false where
	// nothing does; an error says why it cannot be rendered.
	Compensation(op *Operation) (tool ToolName, input []byte, ok bool, err error)
}

func undoneBy(t Tool) ToolName {
	if u, ok := t.(Undoable); ok {
		return u.UndoneBy()
	}
	return ""
}

// checkSteps looks at the tools of the steps, and says what kind each step is.
func (l *Ledger) checkSteps(ctx context.Context, p Principal, steps []SagaStep) error {
	for i := range steps {
		step := &steps[i]
		t, err := l.sagaTool(ctx, p, step.Tool)
		if err != nil {
			return err
		}
		undo := undoneBy(t)
		if step.Undo != nil {
			undo = step.Undo.Tool
			if _, err := l.sagaTool(ctx, p, undo); err != nil {
				return err
			}
		} else if undo != "" {
			if _, err := l.tools.find(ctx, undo); err != nil {
				return err
			}
		}
		switch {
		case step.Kind == SagaCompensable && undo == "":
			return &Error{Code: CodeInvalidRequest, Op: "start saga", Message: fmt.Sprintf("step %s is to be compensable, and nothing undoes %s", step.Name, step.Tool),
				Hint: "give the step an undo, the contract a compensate, or make the step confirm_first"}
		case step.Kind != "":
		case undo != "":
			step.Kind = SagaCompensable
		case !t.Info().Policy.Effect.Writes():
			step.Kind = SagaRetryable
		default:
			step.Kind = SagaConfirmFirst
		}
	}
	return nil
}

// sagaTool is a tool that the ledger itself may perform for the principal.
func (l *Ledger) sagaTool(ctx context.Context, p Principal, name ToolName) (Tool, error) {
	t, err := l.permitted(ctx, p, name, ActionSubmit)
	if err == nil && t.Info().Policy.RemoteExecutor {
		return nil, &Error{Code: CodeInvalidRequest, Op: "start saga", Message: fmt.Sprintf("tool %s is performed by its caller, and a saga's steps are performed by onceward", name)}
	}
	return t, err
}

// startSagaRun starts the run of a saga, or finds it.
func (l *Ledger) startSagaRun(ctx context.Context, in *SagaRequest, s *Saga) error {
	r := RunRequest{Principal: in.Principal, Workflow: s.Name, TriggerKey: s.Key, InputDigest: s.Digest, CorrelationID: s.CorrelationID, Subject: in.Subject}
	if _, found := l.tools.Workflow(s.Name); !found {
		r.Version = "saga" // why not its digest: that would tell of the inputs
	}
	a, err := l.StartRun(ctx, r)
	if err != nil {
		return err
	}
	if a.Run.State == RunFinished {
		return &Error{Code: CodeStateForbids, Op: "start saga", Message: "its run " + a.Run.ID.String() + " was finished before it started", Hint: "another business event needs its own key"}
	}
	return nil
}

func sameSaga(err error, asked, there *Saga) (*SagaAnswer, error) {
	switch {
	case err != nil:
		return nil, err
	case there.Tenant != asked.Tenant || there.Name != asked.Name || there.Key != asked.Key:
		return nil, &Error{Code: CodeKeyCollision, Op: "start saga", Message: "another name or key has this saga ID"}
	case there.Digest != asked.Digest:
		return nil, &Error{Code: CodeKeyReused, Op: "start saga", Message: "the key started " + there.ID.String() + " at " + there.CreatedAt.UTC().Format(time.RFC3339) + " with other steps",
			Hint: "another business event needs its own key"}
	case there.State.Final():
		return &SagaAnswer{Saga: there, Decision: DecisionReplayed}, nil
	}
	return &SagaAnswer{Saga: there, Decision: DecisionJoined}, nil
}
