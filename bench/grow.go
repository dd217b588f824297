package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// growBatch is how many operations one commit stores while a ledger is filled.
const growBatch = 1000

// grow stores succeeded operations, from the from-th to the to-th, as group
// commit writes them, each a millisecond after the other.
func (s *suite) grow(ctx context.Context, store onceward.Store, from, to int) error {
	info := s.tools[0].Info()
	if err := store.Activate(ctx, onceward.ContractVersion{Tool: info.Name, Version: info.Version, Source: info.Source}, true); err != nil {
		return err
	}
	began := time.Now().Add(-time.Duration(to) * time.Millisecond)
	for n := from; n < to; n += growBatch {
		changes := make([]onceward.Change, 0, growBatch)
		for i := range growBatch {
			op := ended(claimed(fmt.Sprintf("grown-%d", n+i), began.Add(time.Duration(n+i)*time.Millisecond), info))
			op.Version = 1
			changes = append(changes, onceward.Change{After: op})
		}
		if _, err := store.Commit(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// claimed is an operation as it stands while its first attempt is under way.
func claimed(key string, at time.Time, info *onceward.ToolInfo) onceward.Operation {
	at = at.UTC().Truncate(time.Microsecond)
	op := onceward.Operation{
		ID: onceward.NewOperationID(onceward.DefaultTenant, info.Name, onceward.Key(key)), Tenant: onceward.DefaultTenant, Tool: info.Name, Key: onceward.Key(key),
		Digest: onceward.MaterialDigest(info.Name, input), Contract: info.Version, Effect: info.Policy.Effect, State: onceward.StateEffectPending, Version: 1,
		Actor: "local:operator", CreatedAt: at, UpdatedAt: at, IntentAt: at, Input: input,
		Attempts: []onceward.Attempt{{Number: 1, Owner: "r_bench", Status: onceward.StatusRunning, StartedAt: at, LeaseUntil: at.Add(25 * time.Second)}},
	}
	copy(op.Token[:], op.ID[:])
	return op
}

// ended is the operation after an undisturbed call.
func ended(op onceward.Operation) onceward.Operation {
	at := op.CreatedAt
	op.State, op.Version, op.CompletedAt, op.Reference = onceward.StateSucceeded, op.Version+1, at, "ch_0000000000000001"
	op.Result = &onceward.Result{Status: 201, Body: []byte(`{"id":"ch_1","ok":true}`), BodyKept: true}
	a := op.Attempts[0]
	a.Status, a.Settler, a.EndedAt, a.LastByteAt, a.Reach = onceward.StatusDone, onceward.SettledByAnswer, at, at, onceward.ReachFirstByte
	op.Attempts = []onceward.Attempt{a}
	op.Token[0]++
	return op
}

// growth measures a ledger that holds more and more: one caller and many.
func (s *suite) growth(ctx context.Context, name string, store onceward.Store, wal func() int64, sizes []int) error {
	held := 0
	for _, size := range sizes {
		if err := s.grow(ctx, store, held, size); err != nil {
			return fmt.Errorf("fill the ledger: %w", err)
		}
		held = size
		g, err := newGuarded(ctx, store, s.provider, s.tools)
		if err != nil {
			return err
		}
		for _, c := range []int{1, 64} {
			work := g.submit(plainTool, fmt.Sprintf("g%d-%d-", size, c), onceward.DecisionFresh)
			if err := s.phase(ctx, fmt.Sprintf("library over %d, %s", size, name), c, work, g, wal); err != nil {
				g.stop()
				return err
			}
		}
		g.stop()
	}
	return nil
}
