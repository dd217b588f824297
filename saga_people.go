package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CancelSaga makes a saga go back: what is done is undone, what is under way is
// cancelled, and what is unknown is settled first. One that goes back already, or
// has ended, is left as it is.
func (l *Ledger) CancelSaga(ctx context.Context, p Principal, id SagaID, reason string) (*Saga, error) {
	if err := Authorize(p, ActionCancelSagas); err != nil {
		return nil, err
	}
	return l.changeSaga(ctx, p, id, func(s *Saga) (*AuditEvent, error) {
		if s.Undoing || s.State.Final() {
			return nil, nil
		}
		s.Cancelled = true
		s.turn("cancelled by " + p.String() + behindColon(reason))
		s.State, s.Note = s.going(), ""
		return &AuditEvent{Action: AuditSagaCancelled, Reason: reason}, nil
	})
}

// SagaResolution is a person's word on the step for which a saga needs review.
type SagaResolution struct {
	Step    string
	Outcome SagaStepState // SagaStepUndone: undone by hand; SagaStepKept: its effect stays; SagaStepDone: going forward, it is done
	Reason  string
}

// ResolveSaga settles a step that nothing automatic settles. CodeStateForbids:
// the saga does not wait for that step. CodeEvidenceRequired: no reason.
func (l *Ledger) ResolveSaga(ctx context.Context, p Principal, id SagaID, r SagaResolution) (*Saga, error) {
	if err := Authorize(p, ActionResolve); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Reason) == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "resolve saga", Message: "a resolution needs a reason", Hint: "say how you know, or why it stays so"}
	}
	return l.changeSaga(ctx, p, id, func(s *Saga) (*AuditEvent, error) {
		step := s.WaitsFor()
		switch {
		case step == nil || step.Name != r.Step:
			return nil, &Error{Code: CodeStateForbids, Op: "resolve saga", Message: fmt.Sprintf("%s is %s, and does not wait for the step %q", id, s.State, r.Step), Hint: "read the saga again"}
		case !slices.Contains(s.Outcomes(), r.Outcome):
			return nil, &Error{Code: CodeUnsupportedPolicy, Op: "resolve saga", Message: "a step of a saga that goes back is undone or kept, one of a saga that goes forward is done", Hint: "to go back, cancel the saga"}
		case s.Undoing:
			step.UndoneAt = l.clock.now()
		default:
			step.EndedAt = l.clock.now()
		}
		step.State = r.Outcome
		step.Why, s.State, s.Note = cutWords(p.String()+": "+r.Reason), s.going(), ""
		return &AuditEvent{Action: AuditSagaResolved, Detail: step.Name + " " + string(step.State), Reason: r.Reason}, nil
	})
}

// Outcomes are the words that settle the step for which a saga waits.
func (s *Saga) Outcomes() []SagaStepState {
	if s.Undoing {
		return []SagaStepState{SagaStepUndone, SagaStepKept}
	}
	return []SagaStepState{SagaStepDone}
}

// WaitsFor is the step for which a saga needs a person's word; nil if it needs none.
func (s *Saga) WaitsFor() *SagaStep {
	if s.State != SagaNeedsReview {
		return nil
	}
	return s.current()
}

// current is the step that a saga is at; nil if there is none.
func (s *Saga) current() *SagaStep {
	var at *SagaStep
	for i := range s.Steps {
		step := &s.Steps[i]
		switch step.State {
		case SagaStepStarted, SagaStepPending:
			if !s.Undoing {
				return step
			}
			if step.State == SagaStepStarted {
				at = step
			}
		case SagaStepDone, SagaStepUndoing:
			if s.Undoing {
				at = step
			}
		case SagaStepNotDone, SagaStepUndone, SagaStepKept:
		}
	}
	return at
}

// changeSaga changes a saga at a person's word, again on a newer row whenever
// compare-and-set lost. No event: it is left as it is.
func (l *Ledger) changeSaga(ctx context.Context, p Principal, id SagaID, change func(s *Saga) (*AuditEvent, error)) (*Saga, error) {
	for range maxConflicts {
		s, err := l.saga(ctx, p.Tenant, id)
		if err != nil {
			return nil, err
		}
		next := s.Clone()
		e, err := change(&next)
		if err != nil || e == nil {
			return s, err
		}
		e.Tenant, e.Actor, e.Subject = p.Tenant, p.String(), id.String()
		next.NextAt = l.clock.now()
		stored, applied, err := l.nextSaga(ctx, &next, *e)
		if err != nil {
			return nil, err
		}
		if applied {
			l.sagas.wake()
			return stored, nil
		}
	}
	return nil, &Error{Code: CodeWriteConflict, Op: "change saga", Message: id.String() + " kept changing"}
}

// events are the lines that a saga's steps have in its run's timeline.
func (s *Saga) events() (lines []RunEvent) {
	for i := range s.Steps {
		step := &s.Steps[i]
		line := RunEvent{Kind: RunEventSaga, ID: s.ID.String(), Name: step.Name, What: string(step.Tool)}
		at := func(t time.Time, event SagaStepState, reason string) {
			if line.At, line.Event, line.Reason = t, string(event), reason; !t.IsZero() {
				lines = append(lines, line)
			}
		}
		at(step.StartedAt, SagaStepStarted, "")
		switch step.State {
		case SagaStepNotDone:
			at(step.EndedAt, SagaStepNotDone, step.Why)
		case SagaStepUndone, SagaStepKept:
			at(step.EndedAt, SagaStepDone, "")
			at(step.UndoneAt, step.State, step.Why)
		case SagaStepDone, SagaStepUndoing:
			at(step.EndedAt, SagaStepDone, "")
		case SagaStepPending, SagaStepStarted:
		}
	}
	return lines
}

// explained gives a saga that waits because its inputs were shredded the note that
// is not stored with it: what is shredded keeps none.
func (s *Saga) explained() *Saga {
	if step := s.current(); s.Shredded && !s.State.Final() && step != nil {
		s.Note = "its inputs were shredded: resolve the step " + step.Name
	}
	return s
}

// Words says in sentences how the saga stands: for the person who has to act.
func (s *Saga) Words() string {
	var w strings.Builder
	for i := range s.Steps {
		if line := s.Steps[i].words(); line != "" {
			w.WriteString(line + " ")
		}
	}
	switch {
	case s.Cause != "" && !s.State.Final():
		fmt.Fprintf(&w, "It goes back, because %s. ", s.Cause)
	case s.Cause != "":
		fmt.Fprintf(&w, "It went back, because %s. ", s.Cause)
	}
	if s.Note != "" {
		fmt.Fprintf(&w, "It waits: %s.", s.Note)
	}
	if s.Shredded {
		w.WriteString("Its inputs were shredded.")
	}
	return strings.TrimSpace(w.String())
}

func (step *SagaStep) words() string {
	why := ""
	if step.Why != "" {
		why = " (" + step.Why + ")"
	}
	switch step.State {
	case SagaStepPending:
		return ""
	case SagaStepStarted:
		return fmt.Sprintf("Step %s was started as %s.", step.Name, step.Operation)
	case SagaStepDone:
		return fmt.Sprintf("Step %s is done by %s%s.", step.Name, step.Operation, why)
	case SagaStepNotDone:
		return fmt.Sprintf("Step %s is not done%s.", step.Name, why)
	case SagaStepUndoing:
		return fmt.Sprintf("Step %s is being undone by %s.", step.Name, step.Undoing)
	case SagaStepUndone:
		return fmt.Sprintf("Step %s is undone%s.", step.Name, why)
	case SagaStepKept:
		return fmt.Sprintf("Step %s stays%s.", step.Name, why)
	}
	return ""
}
