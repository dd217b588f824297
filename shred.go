package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// KeyRotation is how far a rotation came.
type KeyRotation struct {
	Masters []string // the first of them wraps
	Rotated int      // data keys that were wrapped anew just now
	Uses    []MasterUse
}

// RotateKeys wraps every data key by the first master key. What the data keys
// encrypt is not touched, and everything goes on meanwhile. Doing it again changes
// nothing; once no data key is wrapped by a master key any more, it can go.
func (l *Ledger) RotateKeys(ctx context.Context, p Principal) (*KeyRotation, error) {
	if err := Authorize(p, ActionManageKeys); err != nil {
		return nil, err
	}
	if !l.encrypts() {
		return nil, keysMissing()
	}
	r := &KeyRotation{Masters: l.opts.Sealer.Masters()}
	var err error
	for more := true; more && err == nil; {
		var n int
		n, more, err = l.opts.Sealer.Rotate(ctx, rotateBatch)
		r.Rotated += n
	}
	if r.Rotated > 0 { // as far as it came
		l.note(ctx, AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditKeysRotated, Subject: r.Masters[0], Detail: fmt.Sprintf("%d data keys", r.Rotated)})
	}
	if err != nil {
		return nil, fmt.Errorf("rotate keys: %w", err)
	}
	if r.Uses, err = l.store.MasterUses(ctx); err != nil {
		return nil, fmt.Errorf("count data keys: %w", err)
	}
	return r, nil
}

// rotateBatch is how many data keys are wrapped anew in a step.
const rotateBatch = 500

// MasterKeys says which master keys this process has, and which the ledger's data
// keys are wrapped by.
func (l *Ledger) MasterKeys(ctx context.Context, p Principal) (masters []string, uses []MasterUse, err error) {
	if err := Authorize(p, ActionReadKeys); err != nil {
		return nil, nil, err
	}
	if l.opts.Sealer != nil {
		masters = slices.Clone(l.opts.Sealer.Masters())
	}
	if uses, err = l.store.MasterUses(ctx); err != nil {
		return nil, nil, fmt.Errorf("count data keys: %w", err)
	}
	return masters, uses, nil
}

// DataKeyPageMax is the longest page of data keys.
const DataKeyPageMax = 500

// ListDataKeys returns a page of the tenant's data keys by ID, without what they
// are wrapped in; with a subject's name, those of it.
func (l *Ledger) ListDataKeys(ctx context.Context, p Principal, subject string, after DataKeyID, limit int) ([]DataKey, error) {
	if err := Authorize(p, ActionReadKeys); err != nil {
		return nil, err
	}
	if limit < 1 || limit > DataKeyPageMax {
		return nil, Errorf(CodeInvalidRequest, "limit is not a number from 1 to %d", DataKeyPageMax)
	}
	id, err := l.subjectNamed(ctx, p.Tenant, subject)
	if err != nil {
		return nil, err
	}
	keys, err := l.store.ListDataKeys(ctx, p.Tenant, id, after, limit)
	for i := range keys {
		keys[i].Wrapped = nil
	}
	return keys, err
}

// encrypts reports whether the process has master keys.
func (l *Ledger) encrypts() bool { return l.opts.Sealer != nil && len(l.opts.Sealer.Masters()) > 0 }

// subjectOf is the ID of whoever a caller names as the subject of what it hands
// over; empty for nobody.
func (l *Ledger) subjectOf(ctx context.Context, t Tenant, name string) (SubjectID, error) {
	if len(name) > DataSubjectBytesMax {
		return "", Errorf(CodeInvalidRequest, "the subject is longer than %d bytes", DataSubjectBytesMax)
	}
	return l.subjectNamed(ctx, t, name)
}

// subjectNamed is the ID of a subject; empty for none.
func (l *Ledger) subjectNamed(ctx context.Context, t Tenant, subject string) (SubjectID, error) {
	switch {
	case subject == "":
		return "", nil
	case len(subject) > DataSubjectBytesMax:
		return "", Errorf(CodeInvalidRequest, "the subject is longer than %d bytes", DataSubjectBytesMax)
	case l.opts.Sealer == nil:
		return "", keysMissing()
	}
	return l.opts.Sealer.Name(ctx, t, subject)
}
