package onceward

import (
	"context"
	"time"
)

// RetireStep looks at most limit operations, oldest first from the cursor on,
// and slims those whose contract's record time is over into tombstones. It
// returns where to go on, zero at the end. What is not terminal never expires.
func (l *Ledger) RetireStep(ctx context.Context, from Cursor, limit int) (Cursor, int, error) {
	ops, err := l.store.Aged(ctx, from, l.clock.now(), limit)
	if err != nil || len(ops) == 0 {
		return Cursor{}, 0, err
	}
	slimmed := 0
	for _, op := range ops {
		if op.Retired || !op.State.Terminal() || op.Tenant == serialTenant {
			continue
		}
		t, err := l.hydrate(ctx, op)
		if err != nil {
			return Cursor{}, slimmed, err
		}
		keep := t.Info().KeepRecord
		if keep == 0 {
			continue
		}
		stored, err := l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
			if now.Retired || !now.State.Terminal() || at.Before(now.CompletedAt.Add(keep)) || now.OpenAttempts() > 0 && now.State != StateAbandoned {
				return nil, nil
			}
			return facts(l.opts.Owner, Retired{}), nil
		})
		if err != nil {
			return Cursor{}, slimmed, err
		}
		if stored.Retired {
			slimmed++
		}
	}
	if len(ops) < limit {
		return Cursor{}, slimmed, nil
	}
	last := ops[len(ops)-1]
	return Cursor{CreatedAt: last.CreatedAt, ID: last.ID}, slimmed, nil
}
