package onceward

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// HoldID names a legal hold: "hold_" and 16 hexadecimal digits.
type HoldID string

// Hold is a legal hold: what it covers is neither retired nor dropped nor
// shredded, whatever its contract says, until somebody lifts it.
type Hold struct {
	ID        HoldID
	Tenant    Tenant
	Operation OperationID // that one; zero: any
	Subject   SubjectID   // those of that subject; empty: any
	Tool      ToolName    // those of that tool; empty: any
	From      time.Time   // created then or later; zero: from the oldest on
	Until     time.Time   // created before; zero: whatever comes
	Reason    string
	By        string
	At        time.Time
}

// HoldsMax is how many holds of a tenant stand at once.
const HoldsMax = 1000

// HoldStore keeps legal holds. Its methods are safe for concurrent use and return
// the errors of [Store].
type HoldStore interface {
	// PutHold stores a new hold and notes the events in the same transaction. One
	// that stands already stays as it is, and nothing is noted.
	PutHold(ctx context.Context, h Hold, notes ...AuditEvent) error
	// Holds returns every hold of every tenant, oldest first.
	Holds(ctx context.Context) ([]Hold, error)
	// LiftHold removes a tenant's hold and notes the events in the same transaction;
	// false: there is none, and nothing is noted.
	LiftHold(ctx context.Context, t Tenant, id HoldID, notes ...AuditEvent) (bool, error)
}

// covers reports whether the hold is over the operation.
func (h *Hold) covers(op *Operation) bool {
	return h.Tenant == op.Tenant && (h.Operation.IsZero() || h.Operation == op.ID) && (h.Subject == "" || h.Subject == op.Subject) &&
		(h.Tool == "" || h.Tool == op.Tool) && h.spans(op.CreatedAt)
}

// spans reports whether the hold is over what was created then.
func (h *Hold) spans(created time.Time) bool {
	return !created.Before(h.From) && (h.Until.IsZero() || created.Before(h.Until))
}

// holdOver is the first hold that covers an operation; nil: none does.
func holdOver(holds []Hold, op *Operation) *Hold {
	for i := range holds {
		if holds[i].covers(op) {
			return &holds[i]
		}
	}
	return nil
}

// heldSubject is the first hold that covers all of a subject; nil: none does.
func heldSubject(holds []Hold, t Tenant, id SubjectID) *Hold {
	for i := range holds {
		h := &holds[i]
		if h.Tenant == t && h.Operation.IsZero() && h.Tool == "" && (h.Subject == "" || h.Subject == id) && h.From.IsZero() && h.Until.IsZero() {
			return h
		}
	}
	return nil
}

// heldTenant reports whether a hold covers everything of a tenant at a time; with
// subjects also one over everything of a subject. A hold over operations holds what
// belongs to them by their records.
func heldTenant(holds []Hold, t Tenant, created time.Time, subjects bool) bool {
	return slices.ContainsFunc(holds, func(h Hold) bool {
		return h.Tenant == t && h.Operation.IsZero() && (subjects || h.Subject == "") && h.Tool == "" && h.spans(created)
	})
}

func (h *Hold) refusal(doing string, id OperationID) error {
	return &Error{Code: CodeHeld, Op: doing, OperationID: id, Message: fmt.Sprintf("legal hold %s of %s covers it, since %s", h.ID, h.By, h.At.UTC().Format(time.RFC3339)), Hint: "nothing of it may go until the hold is lifted"}
}

// scope says in words what the hold covers, for the audit trail.
func (h *Hold) scope() string {
	var parts []string
	add := func(name, v string) {
		if v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	if !h.Operation.IsZero() {
		add("operation", h.Operation.String())
	}
	add("subject", string(h.Subject))
	add("tool", string(h.Tool))
	if !h.From.IsZero() {
		add("from", h.From.UTC().Format(time.RFC3339))
	}
	if !h.Until.IsZero() {
		add("until", h.Until.UTC().Format(time.RFC3339))
	}
	if len(parts) == 0 {
		return "everything of the tenant"
	}
	return strings.Join(parts, ", ")
}

// HoldRequest asks for a legal hold. Fields that are zero cover everything; all
// of them zero holds the whole tenant.
type HoldRequest struct {
	Operation   OperationID
	Subject     string // by name
	Tool        ToolName
	From, Until time.Time
	Reason      string // needed
}

// SetHold puts a legal hold in place. What is being retired in that very second
// may still go.
func (l *Ledger) SetHold(ctx context.Context, p Principal, r HoldRequest) (*Hold, error) {
	if err := Authorize(p, ActionHold); err != nil {
		return nil, err
	}
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "set hold", Message: "a reason is missing", Hint: "say what it is held for"}
	}
	if !r.Until.IsZero() && !r.From.Before(r.Until) {
		return nil, Errorf(CodeInvalidRequest, "until is not after from")
	}
	if !r.Operation.IsZero() {
		if _, _, err := l.load(ctx, p.Tenant, r.Operation); err != nil {
			return nil, err
		}
	}
	own, err := l.holdsOf(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	if len(own) >= HoldsMax {
		return nil, &Error{Code: CodeTooLarge, Op: "set hold", Message: fmt.Sprintf("%d holds stand already", len(own)), Hint: "lift those that are over, or hold more with one"}
	}
	h := Hold{ID: HoldID("hold_" + hex.EncodeToString(randomBytes(8))), Tenant: p.Tenant, Operation: r.Operation, Tool: r.Tool, From: r.From, Until: r.Until, Reason: r.Reason, By: p.String(), At: l.clock.now()}
	if h.Subject, err = l.subjectNamed(ctx, p.Tenant, r.Subject); err != nil {
		return nil, err
	}
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: h.By, Action: AuditHoldSet, Subject: string(h.ID), Reason: h.Reason, Detail: h.scope()})
	if err := l.store.PutHold(ctx, h, note); err != nil {
		return nil, fmt.Errorf("set hold %s: %w", h.ID, err)
	}
	return &h, nil
}

// ListHolds returns the tenant's holds, oldest first.
func (l *Ledger) ListHolds(ctx context.Context, p Principal) ([]Hold, error) {
	if err := Authorize(p, ActionReadHolds); err != nil {
		return nil, err
	}
	return l.holdsOf(ctx, p.Tenant)
}

// holdsOf are the holds of one tenant, oldest first.
func (l *Ledger) holdsOf(ctx context.Context, t Tenant) ([]Hold, error) {
	all, err := l.store.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("list holds: %w", err)
	}
	return slices.DeleteFunc(all, func(h Hold) bool { return h.Tenant != t }), nil
}

// LiftHold takes a hold away: what it covered goes when its time is over.
// CodeHoldNotFound: the tenant has none of that ID.
func (l *Ledger) LiftHold(ctx context.Context, p Principal, id HoldID, reason string) (*Hold, error) {
	if err := Authorize(p, ActionHold); err != nil {
		return nil, err
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "lift hold", Message: "a reason is missing", Hint: "say why it is over"}
	}
	own, err := l.holdsOf(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	none := &Error{Code: CodeHoldNotFound, Op: "lift hold", Message: "no such hold", Hint: "onceward hold list shows those that stand"}
	i := slices.IndexFunc(own, func(h Hold) bool { return h.ID == id })
	if i < 0 {
		return nil, none
	}
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditHoldLifted, Subject: string(id), Reason: reason, Detail: own[i].scope()})
	lifted, err := l.store.LiftHold(ctx, p.Tenant, id, note)
	if err != nil {
		return nil, fmt.Errorf("lift hold %s: %w", id, err)
	}
	if !lifted { // another was faster
		return nil, none
	}
	return &own[i], nil
}
