package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Shredding is what became of a subject's data keys.
type Shredding struct {
	Subject SubjectID
	Keys    int // that were shredded just now; 0: there were none, or they were shredded before
}

// ShredSubject makes the bodies of a subject's operations unreadable for good, by
// removing their data keys. Key, digest, state, reference and times stay, so that
// a repeat is still known. A later operation of the same subject gets a key of its
// own. Doing it again changes nothing.
//
// CodeHeld: a legal hold covers the subject, or one of its operations.
// CodeStateForbids: some of its operations have not ended, and what they would
// send again must stay readable; new ones are encrypted with another key already.
func (l *Ledger) ShredSubject(ctx context.Context, p Principal, subject, reason string) (*Shredding, error) {
	if err := Authorize(p, ActionShred); err != nil {
		return nil, err
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "shred subject", Message: "a reason is missing", Hint: "say why, for the audit trail"}
	}
	if subject == "" {
		return nil, Errorf(CodeInvalidRequest, "the subject is empty")
	}
	id, err := l.subjectNamed(ctx, p.Tenant, subject)
	if err != nil {
		return nil, fmt.Errorf("shred subject: %w", err)
	}
	if err := l.mayShred(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	ids, err := l.opts.Sealer.CloseSubject(ctx, p.Tenant, id)
	if err != nil {
		return nil, fmt.Errorf("shred subject %s: %w", id, err)
	}
	if err := l.mayShred(ctx, p.Tenant, id); err != nil { // what began before the keys were closed
		return nil, err
	}
	s := &Shredding{Subject: id}
	if len(ids) == 0 {
		return s, nil
	}
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditSubjectShredded, Subject: string(id), Reason: reason,
		Detail: fmt.Sprintf("%d data keys", len(ids))})
	if s.Keys, err = l.opts.Sealer.Shred(ctx, ids, note); err != nil {
		return nil, fmt.Errorf("shred subject %s: %w", id, err)
	}
	return s, nil
}

// mayShred refuses while something of the subject is held or has not ended.
func (l *Ledger) mayShred(ctx context.Context, t Tenant, id SubjectID) error {
	holds, err := l.store.Holds(ctx)
	if err != nil {
		return fmt.Errorf("list holds: %w", err)
	}
	if h := heldSubject(holds, t, id); h != nil {
		return h.refusal("shred subject", OperationID{})
	}
	if err := l.keyHeld(ctx, holds, t, id); err != nil {
		return err
	}
	if err := l.sagasEnded(ctx, t, id); err != nil {
		return err
	}
	f := Filter{Tenant: t, Subject: id, Limit: MaxPage}
	for {
		page, err := l.store.List(ctx, f)
		if err != nil {
			return fmt.Errorf("list operations of subject %s: %w", id, err)
		}
		for _, op := range page {
			if h := holdOver(holds, op); h != nil {
				return h.refusal("shred subject", op.ID)
			}
			if !op.Retired && (!op.State.Terminal() || op.OpenAttempts() > 0 && op.State != StateAbandoned) {
				return &Error{Code: CodeStateForbids, Op: "shred subject", OperationID: op.ID, Message: "an operation of the subject is " + op.State.String() + ": what it would send again has to stay readable",
					Hint: "wait for its end, cancel or resolve it; then ask again"}
			}
		}
		if len(page) < f.Limit {
			return nil
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// keyHeld refuses where a hold covers everything of a time in which the subject had
// a data key: a run, a saga or a document of then may be encrypted with it.
func (l *Ledger) keyHeld(ctx context.Context, holds []Hold, t Tenant, id SubjectID) error {
	holds = slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool {
		return h.Tenant != t || !h.Operation.IsZero() || h.Tool != "" || h.Subject != "" && h.Subject != id
	})
	if len(holds) == 0 {
		return nil
	}
	for after := (DataKeyID{}); ; {
		keys, err := l.store.ListDataKeys(ctx, t, id, after, DataKeyPageMax)
		if err != nil {
			return fmt.Errorf("list data keys: %w", err)
		}
		for i := range keys {
			after = keys[i].ID
			for j := range holds {
				if keys[i].Wrapped != nil && keys[i].within(holds[j].From, holds[j].Until) {
					return holds[j].refusal("shred subject", OperationID{})
				}
			}
		}
		if len(keys) < DataKeyPageMax {
			return nil
		}
	}
}

// within reports whether the key was in use at some time of these; zero: open.
func (k *DataKey) within(from, until time.Time) bool {
	return (until.IsZero() || k.CreatedAt.Before(until)) && (k.ClosedAt.IsZero() || k.ClosedAt.After(from))
}

// sagasEnded refuses while a saga of the subject is under way.
func (l *Ledger) sagasEnded(ctx context.Context, t Tenant, id SubjectID) error {
	for _, state := range AllSagaStates {
		if state.Final() {
			continue
		}
		for f := (SagaFilter{Tenant: t, State: state, Limit: SagasPage}); ; {
			page, err := l.store.ListSagas(ctx, f)
			if err != nil {
				return fmt.Errorf("list sagas: %w", err)
			}
			for _, s := range page {
				if s.Subject == id {
					return &Error{Code: CodeStateForbids, Op: "shred subject", Message: s.ID.String() + " of the subject is " + string(s.State) + ": the inputs of its steps have to stay readable",
						Hint: "wait for its end, cancel or resolve it; then ask again"}
				}
			}
			if len(page) < f.Limit {
				break
			}
			last := page[len(page)-1]
			f.After = SagaCursor{CreatedAt: last.CreatedAt, ID: last.ID}
		}
	}
	return nil
}
