package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Due takes due rows and lets the ledger advance them: retries, probes,
// re-sends, expiries, escalations. Rows are advanced side by side, so that a
// slow provider does not hold up the others, and no tool and no tenant takes all
// the room that there is.
type Due struct {
	ledger *onceward.Ledger
	store  onceward.Store
	log    *slog.Logger
	slots  chan struct{} // one token per row that is being advanced
	shares *shares
	work   sync.WaitGroup
	next   time.Duration // until the earliest due row, as of the last step
}

// Limits of the due loop.
const (
	dueSlots   = 128              // rows advanced side by side
	dueTake    = 16               // rows taken at once: by so many a share may be passed
	dueHold    = 30 * time.Second // a taker that dies gives its rows back after this
	dueLeave   = time.Second      // a row that a newer release wrote is left to others for so long
	duePollMin = 10 * time.Millisecond
	duePollMax = time.Second // replicas see each other's due rows at the latest after this
)

// NewDue returns the loop.
func NewDue(l *onceward.Ledger, s onceward.Store, log *slog.Logger) *Due {
	return &Due{ledger: l, store: s, log: log, slots: make(chan struct{}, dueSlots), shares: newShares(dueSlots)}
}

// Name implements Loop.
func (d *Due) Name() string { return "due" }

// Step implements Loop: it takes as many rows as can be worked on and begins to
// advance each. Wait tells when they are done.
func (d *Due) Step(ctx context.Context) (bool, error) {
	free, err := d.acquire(ctx)
	if err != nil {
		return false, err
	}
	full := d.shares.full()
	rows, now, err := d.store.TakeDue(ctx, free, dueHold, full...)
	for range free - len(rows) {
		<-d.slots
	}
	if err != nil {
		return false, err
	}
	if len(rows) == 0 {
		return false, d.plan(ctx, len(full) > 0)
	}
	for _, row := range rows {
		w := onceward.Workload{Tenant: row.Tenant, Tool: row.Tool}
		d.shares.take(w)
		d.work.Go(func() {
			defer func() {
				<-d.slots
				if d.shares.give(w) {
					d.ledger.Wake()
				}
			}()
			if err := d.advance(ctx, row, now); err != nil && ctx.Err() == nil {
				d.log.Warn("operation not advanced", "operation", row.ID.String(), "state", row.State.String(), "error", err)
			}
		})
	}
	return true, nil
}

// advance lets the ledger advance a row that was taken at that time. What a newer
// release wrote is given back at once: a replica of it goes on. What needs a function
// that is not activated here the ledger has put off, and said so.
func (d *Due) advance(ctx context.Context, row onceward.Due, taken time.Time) error {
	err := d.ledger.Advance(ctx, row.ID)
	switch {
	case errors.Is(err, onceward.ErrFunctionNotHere):
		return nil
	case !onceward.Is(err, onceward.CodeLedgerTooNew):
		return err
	}
	d.log.Info("operation left to a newer replica", "operation", row.ID.String(), "state", row.State.String())
	row.At = taken.Add(dueLeave)
	return d.store.Reschedule(ctx, row)
}

// Wait blocks until no row is being advanced.
func (d *Due) Wait() { d.work.Wait() }

// acquire takes free slots for one take, at least one.
func (d *Due) acquire(ctx context.Context) (int, error) {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for n := 1; n < dueTake; n++ {
		select {
		case d.slots <- struct{}{}:
		default:
			return n, nil
		}
	}
	return dueTake, nil
}

// plan finds out when to look again. Where workloads are full, the earliest due
// row may be one of theirs: whoever gives a slot back wakes the loop.
func (d *Due) plan(ctx context.Context, full bool) error {
	d.next = duePollMax
	if full {
		return nil
	}
	next, now, err := d.store.NextDue(ctx)
	if err == nil && !next.IsZero() {
		d.next = min(max(next.Sub(now), duePollMin), duePollMax)
	}
	return err
}

// Idle implements Loop.
func (d *Due) Idle() (time.Duration, <-chan struct{}) { return d.next, d.ledger.Wakened() }
