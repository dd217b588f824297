package onceward

import (
	"context"
	"fmt"
	"time"
)

// Lister is a tool whose contract says how the provider's objects are listed
// (audit:).
type Lister interface {
	Tool

	// AuditRequest renders the listing, secrets included; nil: the contract names none.
	AuditRequest(tenant Tenant) (*Request, error)

	// AuditedObjects reads a listing; an error means that it says nothing.
	AuditedObjects(tenant Tenant, ev *Evidence) ([]AuditedObject, error)
}

// AuditedObject is one object that a listing showed.
type AuditedObject struct {
	Reference   string
	ProviderKey string // empty: the object carries none, or the contract does not say where
}

// Limits of a comparison with a listing.
const (
	// ListingSpan is how far back the operations are read that may explain an
	// object, before an object that none explains is looked for further back.
	ListingSpan = 24 * time.Hour
	// listingRows is how many operations are read for one listing at most.
	listingRows = 50_000
	listingPage = 500
)

// list asks a provider for its objects of a tool; ok is false where the contract
// names no listing.
func (l *Ledger) list(t Tool, tenant Tenant) (objects []AuditedObject, ok bool, err error) {
	lister, able := t.(Lister)
	if !able {
		return nil, false, nil
	}
	req, err := lister.AuditRequest(tenant)
	if err != nil || req == nil {
		return nil, false, err
	}
	info := t.Info()
	ev := l.providerOf(t, &Operation{Tenant: tenant, Tool: info.Name}).Send(l.detached, req, SendOptions{SecretHeader: fieldNames(req.Header), Deadline: info.Policy.ProbeDeadline, Hosts: info.Hosts, JudgeBytes: info.JudgeBytes})
	objects, err = lister.AuditedObjects(tenant, &ev)
	if err != nil {
		return nil, true, fmt.Errorf("list the objects of %s: %w", info.Name, err)
	}
	return objects, true, nil
}

// explained is what the operations of a tool explain at the provider.
type explained struct {
	references, keys map[string]bool
	unsettled        int  // attempted, and their effect is not known: each may be any object
	whole            bool // every operation of the time was read
}

func (e *explained) add(op *Operation) {
	if op.Reference != "" {
		e.references[op.Reference] = true
	}
	if op.ProviderKey != "" {
		e.keys[op.ProviderKey] = true
	}
	for i := range op.Attempts {
		if r := op.Attempts[i].Reference; r != "" {
			e.references[r] = true
		}
	}
	if op.Attempt() > 0 && op.Reference == "" && (op.OpenAttempts() > 0 || op.Running() != nil || op.State == StateSucceeded) {
		e.unsettled++
	}
}

func (e *explained) has(o AuditedObject) bool {
	return e.references[o.Reference] || o.ProviderKey != "" && e.keys[o.ProviderKey]
}

// explain reads the operations of a tool that were created from a time on, of
// every tenant: who may use a provider's account is not for the ledger to say.
func (l *Ledger) explain(ctx context.Context, tool ToolName, from time.Time) (*explained, error) {
	e := &explained{references: map[string]bool{}, keys: map[string]bool{}}
	at, now := Cursor{CreatedAt: from}, l.clock.now().Add(time.Second)
	for range listingRows / listingPage {
		ops, err := l.store.Aged(ctx, at, now, listingPage)
		if err != nil {
			return nil, fmt.Errorf("read operations of %s: %w", tool, err)
		}
		for _, op := range ops {
			if op.Tool == tool {
				e.add(op)
			}
		}
		if len(ops) < listingPage {
			e.whole = true
			return e, nil
		}
		at = Cursor{CreatedAt: ops[len(ops)-1].CreatedAt, ID: ops[len(ops)-1].ID}
	}
	return e, nil
}

// rulesOut reports whether no operation can have made an object that none
// explains: one whose effect is not known yet could be any that bears no key.
func (e *explained) rulesOut(o AuditedObject) bool {
	return e.whole && (e.unsettled == 0 || o.ProviderKey != "")
}

// Unexplained lists the provider's objects of a tool and returns those that no
// operation explains. listed is false where the contract names no listing. sure is
// false where an operation whose effect is not known could explain one of them, or
// where there are too many operations to read them all.
func (l *Ledger) Unexplained(ctx context.Context, t Tool, tenant Tenant) (objects []AuditedObject, listed, sure bool, err error) {
	all, listed, err := l.list(t, tenant)
	if err != nil || !listed {
		return nil, listed, false, err
	}
	objects, e, err := l.unexplained(ctx, t.Info().Name, all)
	if err != nil {
		return nil, true, false, err
	}
	for _, o := range objects {
		if !e.rulesOut(o) {
			return objects, true, false, nil
		}
	}
	return objects, true, true, nil
}

// unexplained is what no operation of a tool explains: of the newest ones, and then
// of all.
func (l *Ledger) unexplained(ctx context.Context, tool ToolName, all []AuditedObject) ([]AuditedObject, *explained, error) {
	if len(all) == 0 {
		return nil, &explained{whole: true}, nil
	}
	e, err := l.explain(ctx, tool, l.clock.now().Add(-ListingSpan))
	if err != nil {
		return nil, nil, err
	}
	rest := without(all, e)
	if len(rest) == 0 {
		return nil, e, nil
	}
	if e, err = l.explain(ctx, tool, time.Time{}); err != nil {
		return nil, nil, err
	}
	return without(rest, e), e, nil
}

func without(all []AuditedObject, e *explained) (rest []AuditedObject) {
	for _, o := range all {
		if !e.has(o) {
			rest = append(rest, o)
		}
	}
	return rest
}
