package onceward

import (
	"context"
	"fmt"
	"time"
)

// A contract's serialize_by lets one operation of a tool at a time work on a
// resource. Who holds a resource stands in a row of its own, in a tenant that no
// caller can have; its Reference is the holder. The resource is free once its
// holder is terminal, so nothing has to be released: a holder that crashes, or
// whose outcome is unknown, keeps it until it is settled.
const (
	serialTenant Tenant   = "~serialize"
	serialTool   ToolName = "~resource"
)

// Times of waiting for a resource.
const (
	serialPoll  = 5 * time.Second // a waiter looks again at the latest after this
	serialGrace = time.Minute     // a holder that was never claimed keeps the resource for so long
	serialWake  = 16              // waiters of a tool that an end wakes
)

func serialID(op *Operation) OperationID {
	key := appendJSONStrings(nil, string(op.Tenant), string(op.Tool), op.SerialKey)
	return NewOperationID(serialTenant, serialTool, Key(key))
}

// acquireSerial gives the operation its resource, or says who holds it. An
// operation without one gets it, and so does the holder, by a write.
func (l *Ledger) acquireSerial(ctx context.Context, op *Operation) (holder OperationID, ok bool, err error) {
	if op.SerialKey == "" {
		return OperationID{}, true, nil
	}
	at := l.clock.now()
	row := Operation{
		ID: serialID(op), Tenant: serialTenant, Tool: serialTool, Key: Key(appendJSONStrings(nil, string(op.Tenant), string(op.Tool), op.SerialKey)),
		Effect: EffectCompute, State: StateSucceeded, CreatedAt: at, UpdatedAt: at, CompletedAt: at, Reference: op.ID.String(), Actor: l.opts.Owner,
	}
	for range maxConflicts {
		c := &Change{Before: row.Version, After: row}
		c.After.Version, c.After.Token = row.Version+1, newToken()
		stored, applied, err := l.write(ctx, c)
		if err != nil {
			return OperationID{}, false, fmt.Errorf("serialize operation %s: %w", op.ID, err)
		}
		if applied {
			return op.ID, true, nil
		}
		if stored == nil {
			return OperationID{}, false, &Error{Code: CodeLedgerCorrupt, Op: "serialize operation", OperationID: op.ID, Message: "the resource's row is gone"}
		}
		holder, held, err := l.holds(ctx, stored, at)
		if err != nil || held && holder != op.ID {
			return holder, false, err
		}
		// Why a holder writes too: one that had ended and is wanted again may meet
		// a waiter that saw it ended. Of the two writes of one version, one wins.
		row = *stored
		row.Reference, row.UpdatedAt = op.ID.String(), at
	}
	return OperationID{}, false, &Error{Code: CodeWriteConflict, Op: "serialize operation", OperationID: op.ID, Message: "the resource kept changing hands"}
}

// holds reports who holds a resource, and whether that still stands.
func (l *Ledger) holds(ctx context.Context, row *Operation, at time.Time) (OperationID, bool, error) {
	holder, err := ParseOperationID(row.Reference)
	if err != nil {
		return holder, false, &Error{Code: CodeLedgerCorrupt, Op: "serialize operation", OperationID: row.ID, Message: "the resource's holder cannot be read", Err: err}
	}
	op, err := l.writer.Read(ctx, holder)
	if err != nil {
		return holder, false, err
	}
	if op == nil { // it took the resource and has not claimed its identity yet
		return holder, at.Before(row.UpdatedAt.Add(serialGrace)) || !l.clock.passed(row.UpdatedAt, serialGrace), nil
	}
	return holder, !op.State.Terminal(), nil
}

// BlockedBy returns the operation that holds the resource which this one waits
// for; zero if it waits for none.
func (l *Ledger) BlockedBy(ctx context.Context, op *Operation) (OperationID, error) {
	if op.Parked != ParkSerialize {
		return OperationID{}, nil
	}
	row, err := l.writer.Read(ctx, serialID(op))
	if err != nil || row == nil {
		return OperationID{}, err
	}
	holder, held, err := l.holds(ctx, row, l.clock.now())
	if err != nil || !held || holder == op.ID {
		return OperationID{}, err
	}
	return holder, nil
}

// wakeSerial lets waiters look again after an end. What is not woken here looks
// again by itself.
func (l *Ledger) wakeSerial(ctx context.Context, op *Operation) {
	if op.SerialKey == "" || !op.State.Terminal() {
		return
	}
	if _, err := l.store.Unpark(ctx, op.Tenant, op.Tool, ParkSerialize, serialWake); err != nil {
		l.log.Warn("waiters of a resource not woken", about(op, "error", err)...)
		return
	}
	l.Wake()
}
