package relay

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// keepEvery is how often the keeper looks.
const keepEvery = 5 * time.Second

// dropAtOnce is how many rows one step of the keeper removes of each table.
const dropAtOnce = 2000

// Keeper removes events that every sink has, and receipts whose time is over, and
// measures how far behind each sink is. It is a worker.Loop.
type Keeper struct {
	store interface {
		onceward.OutboxStore
		onceward.ReceiptStore
	}
	meter onceward.Meter
	clock onceward.Clock
}

// NewKeeper returns the loop.
func NewKeeper(s onceward.Store, m onceward.Meter, c onceward.Clock) *Keeper {
	return &Keeper{store: s, meter: m, clock: c}
}

// Name implements worker.Loop.
func (k *Keeper) Name() string { return "outbox" }

// Idle implements worker.Loop.
func (k *Keeper) Idle() (time.Duration, <-chan struct{}) { return keepEvery, nil }

// Step implements worker.Loop.
func (k *Keeper) Step(ctx context.Context) (worked bool, err error) {
	sinks, err := k.store.Sinks(ctx)
	if err != nil {
		return false, err
	}
	now := k.clock.Now()
	var behind, lag, aside []onceward.Sample
	for _, s := range sinks {
		behind = append(behind, onceward.Sample{Labels: onceward.Labels{s.Name}, Value: float64(s.Behind)})
		lag = append(lag, onceward.Sample{Labels: onceward.Labels{s.Name}, Value: s.Lag(now).Seconds()})
		aside = append(aside, onceward.Sample{Labels: onceward.Labels{s.Name, "waiting"}, Value: float64(s.Aside - s.Dead)},
			onceward.Sample{Labels: onceward.Labels{s.Name, "dead"}, Value: float64(s.Dead)})
	}
	k.meter.Set(onceward.MetricOutboxBehind, behind)
	k.meter.Set(onceward.MetricOutboxLag, lag)
	k.meter.Set(onceward.MetricOutboxAside, aside)
	events, err := k.store.DropOutbox(ctx, dropAtOnce)
	if err != nil {
		return false, err
	}
	receipts, err := k.store.DropReceipts(ctx, dropAtOnce)
	return events == dropAtOnce || receipts == dropAtOnce, err
}
