package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
	return commitAll(ctx, store, from, to, func(n int) (onceward.Change, error) {
		return onceward.Change{After: grown(n, began.Add(time.Duration(n)*time.Millisecond), info)}, nil
	})
}

// slim makes tombstones of what grow stored, as the compaction does.
func (s *suite) slim(ctx context.Context, store onceward.Store, from, to int) error {
	info, now := s.tools[0].Info(), time.Now()
	return commitAll(ctx, store, from, to, func(n int) (onceward.Change, error) {
		op := grown(n, now, info) // the time of creation is not written again
		after, _, err := onceward.Apply(op, onceward.Retired{}, now)
		after.Version++
		after.Token[1]++
		return onceward.Change{Before: op.Version, After: after, Slim: true}, err
	})
}

// commitAll commits one change for each number, growBatch at a time; one that is
// not applied is an error.
func commitAll(ctx context.Context, store onceward.Store, from, to int, of func(n int) (onceward.Change, error)) error {
	for n := from; n < to; n += growBatch {
		changes := make([]onceward.Change, growBatch)
		for i := range changes {
			var err error
			if changes[i], err = of(n + i); err != nil {
				return err
			}
		}
		done, err := store.Commit(ctx, changes)
		if err != nil {
			return err
		}
		for i := range done.Results {
			if !done.Results[i].Applied {
				return fmt.Errorf("operation %d was not written: %w", n+i, done.Results[i].Err)
			}
		}
	}
	return nil
}

// grown is the n-th operation of a grown ledger.
func grown(n int, at time.Time, info *onceward.ToolInfo) onceward.Operation {
	op := ended(claimed(fmt.Sprintf("grown-%d", n), at, info))
	op.Version = 1
	return op
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

// growth measures a ledger that holds more and more, and with slimmed the same
// number again as tombstones: one caller and many.
func (s *suite) growth(ctx context.Context, name string, store onceward.Store, wal func() int64) error {
	wanted := func(size int) bool {
		return s.only.MatchString(overName(strconv.Itoa(size), name)) || s.slimmed && s.only.MatchString(overName(slimmedOf(size), name))
	}
	if !slices.ContainsFunc(s.sizes, wanted) {
		return nil // to fill the ledger takes minutes
	}
	held := 0
	for _, size := range s.sizes {
		if err := s.grow(ctx, store, held, size); err != nil {
			return fmt.Errorf("fill the ledger: %w", err)
		}
		if err := s.over(ctx, strconv.Itoa(size), name, store, wal); err != nil {
			return err
		}
		if s.slimmed && size > held {
			if err := s.slim(ctx, store, held, size); err != nil {
				return fmt.Errorf("slim the ledger: %w", err)
			}
			if err := s.over(ctx, slimmedOf(size), name, store, wal); err != nil {
				return err
			}
		}
		held = size
	}
	return nil
}

// over measures a ledger that holds what the text says.
func (s *suite) over(ctx context.Context, holds, name string, store onceward.Store, wal func() int64) error {
	g, err := newGuarded(ctx, store, s.provider, s.tools)
	if err != nil {
		return err
	}
	defer g.stop()
	for _, c := range []int{1, 64} {
		work := g.submit(plainTool, fmt.Sprintf("g%s-%d-", holds, c), onceward.DecisionFresh)
		if err := s.phase(ctx, overName(holds, name), c, work, g, wal); err != nil {
			return err
		}
	}
	return nil
}

func overName(holds, name string) string { return fmt.Sprintf("library over %s, %s", holds, name) }

func slimmedOf(size int) string { return strconv.Itoa(size) + " slimmed" }
