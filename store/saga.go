package store

import (
	"encoding/json"
	"time"

	"github.com/onceward/onceward"
)

// saga is a saga as every dialect keeps it, but for ID, revision, token and the
// time at which it is looked at again.
type saga struct {
	Tenant, Issuer, Subject string
	Scope                   json.RawMessage
	Name, Key               string
	Digest                  []byte
	Correlation             string `json:",omitempty"`
	Steps                   []sagaStep
	State                   string
	Undoing, Cancelled      bool   `json:",omitempty"`
	Cause, Note             string `json:",omitempty"`
	CreatedAt, UpdatedAt    int64
	FinishedAt              int64  `json:",omitempty"`
	Credential              string `json:",omitempty"`
	CredentialEnds          int64  `json:",omitempty"`
	Sealed                  []byte `json:",omitempty"`
}

type sagaStep struct {
	Name, Tool, Kind, State string
	Input                   []byte
	UndoTool                string `json:",omitempty"`
	UndoInput               []byte `json:",omitempty"`
	Operation, Undoing      []byte `json:",omitempty"`
	Shared                  bool   `json:",omitempty"`
	Why                     string `json:",omitempty"`
	StartedAt, EndedAt      int64  `json:",omitempty"`
	UndoneAt                int64  `json:",omitempty"`
}

// EncodeSaga is everything of a saga but its ID, revision, token and NextAt. It
// refuses, with CodeInvalidInput or CodeInternal, what no store could keep.
func EncodeSaga(s *onceward.Saga) ([]byte, error) {
	if s.ID.IsZero() || s.Tenant == "" || s.Name == "" || s.Key == "" || s.State == "" || len(s.Steps) == 0 || s.Revision < 1 || s.Token == (onceward.WriteToken{}) || s.CreatedAt.IsZero() {
		return nil, &onceward.Error{Code: onceward.CodeInternal, Op: "store saga", Message: "the row is not complete"}
	}
	for _, text := range []string{string(s.Tenant), string(s.Key), s.CorrelationID, s.Cause, s.Note, s.By.Subject} {
		if !storable(text) {
			return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Op: "store saga", Message: "a text of it is too long, not UTF-8, or holds a NUL character"}
		}
	}
	w := saga{Tenant: string(s.Tenant), Issuer: s.By.Issuer, Subject: s.By.Subject,
		Scope: EncodeScope(onceward.Scope{Roles: s.By.Roles, Groups: s.By.Groups, Tools: s.By.Tools, Effects: s.By.Effects}),
		Name:  s.Name, Key: string(s.Key), Digest: s.Digest[:], Correlation: s.CorrelationID, State: string(s.State), Undoing: s.Undoing, Cancelled: s.Cancelled, Cause: s.Cause, Note: s.Note,
		CreatedAt: Micros(s.CreatedAt), UpdatedAt: Micros(s.UpdatedAt), FinishedAt: Micros(s.FinishedAt),
		Credential: string(s.By.Credential.Token), CredentialEnds: Micros(s.By.Credential.EndsAt), Sealed: s.Sealed}
	for i := range s.Steps {
		w.Steps = append(w.Steps, wireSagaStep(&s.Steps[i]))
	}
	return json.Marshal(w)
}

func wireSagaStep(s *onceward.SagaStep) sagaStep {
	w := sagaStep{Name: s.Name, Tool: string(s.Tool), Kind: string(s.Kind), State: string(s.State), Input: s.Input, Shared: s.Shared, Why: s.Why,
		StartedAt: Micros(s.StartedAt), EndedAt: Micros(s.EndedAt), UndoneAt: Micros(s.UndoneAt)}
	if s.Undo != nil {
		w.UndoTool, w.UndoInput = string(s.Undo.Tool), s.Undo.Input
	}
	if !s.Operation.IsZero() {
		w.Operation = s.Operation[:]
	}
	if !s.Undoing.IsZero() {
		w.Undoing = s.Undoing[:]
	}
	return w
}

func (w *sagaStep) step() onceward.SagaStep {
	s := onceward.SagaStep{Name: w.Name, Tool: onceward.ToolName(w.Tool), Kind: onceward.SagaKind(w.Kind), State: onceward.SagaStepState(w.State), Input: w.Input, Shared: w.Shared, Why: w.Why,
		StartedAt: Time(w.StartedAt), EndedAt: Time(w.EndedAt), UndoneAt: Time(w.UndoneAt)}
	if w.UndoTool != "" {
		s.Undo = &onceward.SagaUndo{Tool: onceward.ToolName(w.UndoTool), Input: w.UndoInput}
	}
	copy(s.Operation[:], w.Operation)
	copy(s.Undoing[:], w.Undoing)
	return s
}

// DecodeSaga reads what EncodeSaga wrote; it has CodeLedgerCorrupt if that cannot
// be read.
func DecodeSaga(id onceward.SagaID, revision int64, token onceward.WriteToken, nextAt time.Time, body []byte) (*onceward.Saga, error) {
	var w saga
	if json.Unmarshal(body, &w) != nil {
		return nil, corruptRow("saga", id.String())
	}
	scope, err := DecodeScope(w.Scope)
	if err != nil {
		return nil, corruptRow("saga", id.String())
	}
	s := &onceward.Saga{ID: id, Revision: revision, Token: token, NextAt: nextAt, Tenant: onceward.Tenant(w.Tenant), Name: w.Name, Key: onceward.Key(w.Key), CorrelationID: w.Correlation,
		By: onceward.Principal{Tenant: onceward.Tenant(w.Tenant), Issuer: w.Issuer, Subject: w.Subject, Roles: scope.Roles, Groups: scope.Groups, Tools: scope.Tools, Effects: scope.Effects,
			Credential: onceward.Credential{Token: onceward.TokenID(w.Credential), EndsAt: Time(w.CredentialEnds)}},
		State: onceward.SagaState(w.State), Undoing: w.Undoing, Cancelled: w.Cancelled, Cause: w.Cause, Note: w.Note,
		CreatedAt: Time(w.CreatedAt), UpdatedAt: Time(w.UpdatedAt), FinishedAt: Time(w.FinishedAt)}
	s.Sealed = w.Sealed
	copy(s.Digest[:], w.Digest)
	for i := range w.Steps {
		s.Steps = append(s.Steps, w.Steps[i].step())
	}
	return s, nil
}

// TakeSagaSecrets takes out of a saga whatever tells of its inputs, and returns
// it encoded. Its steps are replaced, never written into.
func TakeSagaSecrets(s *onceward.Saga) []byte {
	e := encoder{buf: make([]byte, 0, 256)}
	e.byte(secretFormat)
	e.string(s.Cause)
	e.string(s.Note)
	e.uint(uint64(len(s.Steps)))
	*s = s.Clone()
	for i := range s.Steps {
		step := &s.Steps[i]
		e.bytes(step.Input)
		e.string(step.Why)
		var undo []byte
		if step.Undo != nil {
			undo, step.Undo = step.Undo.Input, &onceward.SagaUndo{Tool: step.Undo.Tool}
		}
		e.bytes(undo)
		step.Input, step.Why = nil, ""
	}
	s.Cause, s.Note = "", ""
	return e.buf
}

// PutSagaSecrets puts back what TakeSagaSecrets took. It has CodeLedgerCorrupt if
// that cannot be read.
func PutSagaSecrets(s *onceward.Saga, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	s.Cause, s.Note = d.string(), d.string()
	if d.count() != len(s.Steps) {
		d.bad = true
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Input, step.Why = d.bytes(), d.string()
		if undo := d.bytes(); step.Undo != nil {
			step.Undo.Input = undo
		}
	}
	return d.secret("saga", s.ID.String())
}
