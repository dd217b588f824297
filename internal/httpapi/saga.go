package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// SagaRequest asks for a saga.
type SagaRequest struct {
	Name          string            `json:"name" max:"label" doc:"The kind of business event, such as orders.place."`
	Key           string            `json:"key" doc:"Names the business event: 1 to 255 visible ASCII characters. It starts one saga of the name, and the run of the same name and trigger key."`
	Steps         []SagaStepRequest `json:"steps" doc:"In the order in which they are done. Other steps under the same key are refused."`
	CorrelationID *string           `json:"correlation_id,omitempty" max:"label" doc:"Follows one business event through all services."`
	Subject       *string           `json:"subject,omitempty" max:"label" doc:"Whose data the inputs of the steps are: they are made unreadable when that subject is shredded. Needs master keys; not part of what a repeat is compared by."`
}

// SagaStepRequest is a step as it is asked for.
type SagaStepRequest struct {
	Name  string           `json:"name" max:"label" doc:"One of its saga."`
	Tool  string           `json:"tool" max:"label" doc:"The tool whose operation the step is."`
	Input json.RawMessage  `json:"input" doc:"Its input. A text that is ${steps.NAME.reference} or ${steps.NAME.result.MEMBER} as a whole stands for what that earlier step had."`
	Kind  *string          `json:"kind,omitempty" enum:"saga_kinds" doc:"compensable: it is undone if a later step is not done. retryable: it is tried until it is done. confirm_first: it cannot be undone, and a person approves it first. Absent: compensable where something undoes the tool, retryable where it writes nothing, else confirm_first."`
	Undo  *SagaUndoRequest `json:"undo,omitempty" doc:"What undoes the step, in place of the contract's compensate."`
}

// SagaUndoRequest is what undoes a step.
type SagaUndoRequest struct {
	Tool  string          `json:"tool" max:"label"`
	Input json.RawMessage `json:"input" doc:"As a step's; it may refer to the step itself."`
}

// Saga is a saga as the API shows it.
type Saga struct {
	ID            string     `json:"id" doc:"Computed from tenant, name and key."`
	Name          string     `json:"name"`
	Key           string     `json:"key"`
	Run           string     `json:"run" doc:"The run that its operations are in."`
	CorrelationID string     `json:"correlation_id,omitempty"`
	Actor         string     `json:"actor" doc:"The principal that started it."`
	State         string     `json:"state" enum:"saga_states"`
	Cause         string     `json:"cause,omitempty" doc:"Why it goes back, or went back."`
	Note          string     `json:"note,omitempty" doc:"What it waits for from a person."`
	Words         string     `json:"words" doc:"How it stands, in sentences."`
	Steps         []SagaStep `json:"steps"`
	SubjectID     string     `json:"subject_id,omitempty" doc:"Whose data it is, by the ledger's name of that subject."`
	Shredded      bool       `json:"shredded,omitempty" doc:"Its inputs, and what went wrong in words, are gone with their data key."`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	FinishedAt    time.Time  `json:"finished_at,omitzero"`
}

// SagaStep is a step of a saga.
type SagaStep struct {
	Name         string    `json:"name"`
	Tool         string    `json:"tool"`
	Kind         string    `json:"kind" enum:"saga_kinds"`
	State        string    `json:"state" enum:"saga_step_states"`
	Operation    string    `json:"operation,omitempty" doc:"Its operation, once it has started."`
	Compensation string    `json:"compensation,omitempty" doc:"The operation that undoes it, once that has started."`
	Shared       bool      `json:"shared,omitempty" doc:"Others asked for its operation: the saga does not undo it."`
	Why          string    `json:"why,omitempty"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	EndedAt      time.Time `json:"ended_at,omitzero"`
	UndoneAt     time.Time `json:"undone_at,omitzero"`
}

// SagaStarted answers a request for a saga.
type SagaStarted struct {
	Saga     *Saga  `json:"saga"`
	Decision string `json:"decision" enum:"decisions" doc:"fresh: this request started it. joined: it goes on. replayed: it has ended."`
}

// SagaAnswer is one saga.
type SagaAnswer struct {
	Saga *Saga `json:"saga"`
}

// SagaPage is a page of sagas.
type SagaPage struct {
	Sagas []*Saga `json:"sagas"`
	Next  string  `json:"next,omitempty" doc:"Give it as after to get the next page; absent on the last one."`
}

// SagaCancel makes a saga go back.
type SagaCancel struct {
	Reason *string `json:"reason,omitempty" max:"reason" doc:"Why."`
}

// SagaResolve settles the step for which a saga needs review.
type SagaResolve struct {
	Step    string `json:"step" max:"label" doc:"The step that it waits for."`
	Outcome string `json:"outcome" enum:"saga_outcomes" doc:"Of a saga that goes back, undone: it was undone by hand; kept: its effect stays. Of one that goes forward, done."`
	Reason  string `json:"reason" max:"reason" doc:"How it is known, or why it stays so."`
}

var sagaAnswers = []answer{{http.StatusOK, SagaAnswer{}, "It has ended."}, {http.StatusAccepted, SagaAnswer{}, "It goes on: ask for it at Location."}}

var sagaRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/sagas", Name: "startSaga", handle: startSaga, Action: onceward.ActionStartSagas,
		Summary: "Start a saga once for each name and key, or get the one that is there. Its steps are done one after the other; if one is not done, what is done is undone in reverse.",
		Body:    SagaRequest{}, Answers: []answer{{http.StatusOK, SagaStarted{}, "It has ended."}, {http.StatusAccepted, SagaStarted{}, "It goes on: ask for it at Location."}},
		Refusals: []onceward.Code{onceward.CodeInvalidInput, onceward.CodeKeyInvalid, onceward.CodeKeyReused, onceward.CodeToolNotFound, onceward.CodeContractSuperseded,
			onceward.CodeUnsupportedPolicy, onceward.CodeStateForbids, onceward.CodeWorkflowMismatch, onceward.CodeKeysMissing, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodGet, Path: "/v1/sagas", Name: "listSagas", handle: listSagas, Action: onceward.ActionReadSagas,
		Summary: "List sagas, newest first.",
		Query: []param{
			{Name: "name", Schema: textSchema(), Doc: "Of this name."},
			{Name: "state", Schema: enumSchema("saga_states"), Doc: "In this state."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitOf(onceward.SagasPage),
		},
		Answers:  []answer{{http.StatusOK, SagaPage{}, "A page. A last page may be empty."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/sagas/{id}", Name: "getSaga", handle: getSaga, Action: onceward.ActionReadSagas,
		Summary: "Read how a saga and each of its steps stands.", Answers: sagaAnswers, Refusals: []onceward.Code{onceward.CodeSagaNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/sagas/{id}/cancel", Name: "cancelSaga", handle: cancelSaga, Action: onceward.ActionCancelSagas,
		Summary: "Make a saga go back: what is done is undone. One that goes back, or has ended, is left as it is.",
		Body:    SagaCancel{}, BodyOptional: true, Answers: sagaAnswers, Refusals: []onceward.Code{onceward.CodeSagaNotFound, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodPost, Path: "/v1/sagas/{id}/resolve", Name: "resolveSaga", handle: resolveSaga, Action: onceward.ActionResolve,
		Summary: "Settle the step for which a saga needs review. An operation that waits for a review is resolved by itself: the saga goes on then.",
		Body:    SagaResolve{}, Answers: sagaAnswers,
		Refusals: []onceward.Code{onceward.CodeSagaNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired, onceward.CodeUnsupportedPolicy, onceward.CodeMayBeRecorded},
	},
}

func (in *SagaRequest) request(who onceward.Principal) (out onceward.SagaRequest, err error) {
	out = onceward.SagaRequest{Principal: who, Name: in.Name, CorrelationID: text(in.CorrelationID), Subject: text(in.Subject)}
	if out.Key, err = onceward.ValidateCallerKey(in.Key); err != nil {
		return out, err
	}
	for _, step := range in.Steps {
		next := onceward.SagaStep{Name: step.Name, Input: step.Input, Kind: onceward.SagaKind(text(step.Kind))}
		if next.Tool, err = onceward.ParseToolName(step.Tool); err != nil {
			return out, err
		}
		if step.Undo != nil {
			next.Undo = &onceward.SagaUndo{Input: step.Undo.Input}
			if next.Undo.Tool, err = onceward.ParseToolName(step.Undo.Tool); err != nil {
				return out, err
			}
		}
		out.Steps = append(out.Steps, next)
	}
	return out, nil
}

func saga(s *onceward.Saga) *Saga {
	out := &Saga{ID: s.ID.String(), Name: s.Name, Key: string(s.Key), Run: s.ID.Run().String(), CorrelationID: s.CorrelationID, Actor: s.By.String(), State: string(s.State), Cause: s.Cause, Note: s.Note,
		Words: s.Words(), Steps: make([]SagaStep, len(s.Steps)), SubjectID: string(s.Subject), Shredded: s.Shredded, CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(), FinishedAt: s.FinishedAt.UTC()}
	for i := range s.Steps {
		step := &s.Steps[i]
		out.Steps[i] = SagaStep{Name: step.Name, Tool: string(step.Tool), Kind: string(step.Kind), State: string(step.State), Shared: step.Shared, Why: step.Why,
			StartedAt: step.StartedAt.UTC(), EndedAt: step.EndedAt.UTC(), UndoneAt: step.UndoneAt.UTC()}
		if !step.Operation.IsZero() {
			out.Steps[i].Operation = step.Operation.String()
		}
		if !step.Undoing.IsZero() {
			out.Steps[i].Compensation = step.Undoing.String()
		}
	}
	return out
}

// sagaStatus names where a saga is found, and says whether it has ended.
func (c *call) sagaStatus(s *onceward.Saga) int {
	c.w.Header()["Location"] = []string{"/v1/sagas/" + s.ID.String()}
	if s.State.Final() {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// startSaga is POST /v1/sagas.
func startSaga(c *call) error {
	var in SagaRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	req, err := in.request(c.who)
	if err != nil {
		return err
	}
	a, err := c.ledger.StartSaga(c.req.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(c.w, c.sagaStatus(a.Saga), mediaJSON, &SagaStarted{Saga: saga(a.Saga), Decision: string(a.Decision)})
	return nil
}

// listSagas is GET /v1/sagas.
func listSagas(c *call) error {
	limit, after, err := c.page(onceward.SagasPage)
	if err != nil {
		return err
	}
	f := onceward.SagaFilter{Limit: limit, After: onceward.SagaCursor{CreatedAt: after.CreatedAt, ID: onceward.SagaID(after.ID)}}
	if s, given := c.param("state"); given {
		if f.State, err = onceward.ParseSagaState(s); err != nil {
			return err
		}
	}
	if f.Name, _ = c.param("name"); f.Name != "" {
		if f.Name, err = onceward.ParseWorkflowName(f.Name); err != nil {
			return err
		}
	}
	all, err := c.ledger.ListSagas(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := SagaPage{Sagas: make([]*Saga, len(all))}
	for i, s := range all {
		page.Sagas[i] = saga(s)
	}
	page.Next = next(all, limit, func(s *onceward.Saga) onceward.Cursor {
		return onceward.Cursor{CreatedAt: s.CreatedAt, ID: onceward.OperationID(s.ID)}
	})
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// sagaCall reads the saga's ID and a body, and answers with what the function returns.
func (c *call) sagaCall(body any, required bool, f func(id onceward.SagaID) (*onceward.Saga, error)) error {
	id, err := onceward.ParseSagaID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	if body != nil {
		if err := c.read(body, required); err != nil {
			return err
		}
	}
	s, err := f(id)
	if err != nil {
		return err
	}
	writeJSON(c.w, c.sagaStatus(s), mediaJSON, &SagaAnswer{Saga: saga(s)})
	return nil
}

// getSaga is GET /v1/sagas/{id}.
func getSaga(c *call) error {
	return c.sagaCall(nil, false, func(id onceward.SagaID) (*onceward.Saga, error) { return c.ledger.Saga(c.req.Context(), c.who, id) })
}

// cancelSaga is POST /v1/sagas/{id}/cancel.
func cancelSaga(c *call) error {
	var in SagaCancel
	return c.sagaCall(&in, false, func(id onceward.SagaID) (*onceward.Saga, error) {
		return c.ledger.CancelSaga(c.req.Context(), c.who, id, text(in.Reason))
	})
}

// resolveSaga is POST /v1/sagas/{id}/resolve.
func resolveSaga(c *call) error {
	var in SagaResolve
	return c.sagaCall(&in, true, func(id onceward.SagaID) (*onceward.Saga, error) {
		return c.ledger.ResolveSaga(c.req.Context(), c.who, id, onceward.SagaResolution{Step: in.Step, Outcome: onceward.SagaStepState(in.Outcome), Reason: in.Reason})
	})
}
