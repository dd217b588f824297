package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/rig"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

func main() {
	b := bench{}
	flag.IntVar(&b.rows, "rows", 10_000_000, "operations whose time is over")
	flag.IntVar(&b.callers, "c", 16, "concurrent callers")
	flag.DurationVar(&b.alone, "t", 15*time.Second, "time of each turn of serving alone")
	flag.DurationVar(&b.turn, "turn", time.Minute, "time of each turn of serving beside the compaction")
	flag.DurationVar(&b.most, "most", 0, "end after this time, if the walk is not over; 0: let it end")
	flag.StringVar(&b.dsn, "postgres", "", "postgres:// URL of an empty database; empty: SQLite")
	flag.StringVar(&b.dir, "dir", "", "folder for the SQLite file; empty: a temporary one")
	flag.BoolVar(&b.filled, "filled", false, "the ledger holds the operations of an earlier run")
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "retire: "+err.Error())
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	rows, callers int
	alone, turn   time.Duration
	most          time.Duration
	dsn, dir      string
	filled        bool

	tool   onceward.Tool
	ledger *onceward.Ledger
	next   atomic.Int64
}

// kept is how long records are kept; age is how old those are that are filled in.
const (
	kept = time.Hour
	age  = 48 * time.Hour
)

func (b *bench) run(ctx context.Context) (err error) {
	store, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	b.tool, err = onceward.NewFunction(onceward.Function{Name: "bench.write", Policy: onceward.Policy{Effect: onceward.EffectUnsafeWrite}, KeepRecord: kept,
		Perform: func(context.Context, *onceward.Call) (onceward.Outcome, error) {
			return onceward.Outcome{Reference: "ch_1"}, nil
		}})
	if err != nil {
		return err
	}
	r, err := rig.New(ctx, onceward.Options{Store: store, Provider: none{}}, nil, b.tool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	b.ledger = r.Ledger
	began := time.Now()
	b.next.Store(began.UnixMicro())
	if b.filled {
		return b.measure(ctx)
	}
	if err := b.fill(ctx, store); err != nil {
		return fmt.Errorf("fill the ledger: %w", err)
	}
	fmt.Printf("filled %d operations in %s\n", b.rows, time.Since(began).Round(time.Second))
	return b.measure(ctx)
}

func (b *bench) open(ctx context.Context) (onceward.Store, error) {
	if b.dsn != "" {
		return postgres.Open(ctx, b.dsn, postgres.Options{})
	}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "onceward-retire-")
		if err != nil {
			return nil, err
		}
		b.dir = dir
		fmt.Println("ledger in", dir)
	}
	return sqlite.Open(ctx, filepath.Join(b.dir, "ledger.db"), sqlite.Options{})
}

// fillBatch is how many operations one commit stores while the ledger is filled.
const fillBatch = 1000

func (b *bench) fill(ctx context.Context, store onceward.Store) error {
	first := time.Now().Add(-age).UTC().Truncate(time.Microsecond)
	changes := make([]onceward.Change, 0, fillBatch)
	for n := range b.rows {
		changes = append(changes, onceward.Change{After: b.ended(n, first.Add(time.Duration(n)*time.Microsecond))})
		if len(changes) == fillBatch || n == b.rows-1 {
			if _, err := store.Commit(ctx, changes); err != nil {
				return err
			}
			changes = changes[:0]
		}
	}
	return nil
}

// ended is an operation as an undisturbed call leaves it.
func (b *bench) ended(n int, at time.Time) onceward.Operation {
	info, input := b.tool.Info(), fmt.Appendf(nil, `{"amount":4200,"customer":"customer-%d","id":"old-%d","note":"an order of some words"}`, n%5000, n)
	op := onceward.Operation{
		Tenant: onceward.DefaultTenant, Tool: info.Name, Key: onceward.Key(fmt.Sprintf("old-%d", n)), Digest: onceward.MaterialDigest(info.Name, input),
		Contract: info.Version, Effect: info.Policy.Effect, State: onceward.StateSucceeded, Version: 1, Actor: "local:operator",
		CreatedAt: at, UpdatedAt: at, IntentAt: at, CompletedAt: at, Input: input, Reference: fmt.Sprintf("ch_%016d", n),
		Result:   &onceward.Result{Status: 201, Body: []byte(`{"id":"ch_1","ok":true}`), BodyKept: true},
		Attempts: []onceward.Attempt{{Number: 1, Owner: "r_bench", Status: onceward.StatusDone, Settler: onceward.SettledByAnswer, StartedAt: at, LeaseUntil: at, EndedAt: at, LastByteAt: at, Reach: onceward.ReachFirstByte}},
	}
	op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
	copy(op.Token[:], op.ID[:])
	return op
}

// measure serves alone and beside the compaction by turns, so that both see the
// same machine, until the walk is over.
func (b *bench) measure(ctx context.Context) error {
	var alone, beside []time.Duration
	var slimmed int
	var took time.Duration
	walk := walk{ledger: b.ledger}
	for end := time.Now().Add(b.most); !walk.over && (b.most == 0 || time.Now().Before(end)); {
		calls, err := b.serve(ctx, func() error { <-time.After(b.alone); return nil })
		if err != nil {
			return err
		}
		alone = append(alone, calls...)
		began, n := time.Now(), 0
		if calls, err = b.serve(ctx, func() (err error) { n, err = walk.goOn(ctx, b.turn); return err }); err != nil {
			return err
		}
		beside, slimmed, took = append(beside, calls...), slimmed+n, took+time.Since(began)
		fmt.Printf("%d slimmed, %.0f a second\n", slimmed, float64(n)/time.Since(began).Seconds())
	}
	calls, err := b.serve(ctx, func() error { <-time.After(b.alone); return nil })
	if err != nil {
		return err
	}
	alone = append(alone, calls...)
	slices.Sort(alone)
	slices.Sort(beside)
	fmt.Printf("serving, alone   %s\nserving, beside  %s\n", figures(alone), figures(beside))
	fmt.Printf("compacted %d of %d in %s, %.0f a second; the walk is over: %t\n", slimmed, b.rows, took.Round(time.Second), float64(slimmed)/took.Seconds(), walk.over)
	fmt.Printf("p99 beside / p99 alone = %.2f (p50 %.2f)\n", float64(at(beside, 0.99))/float64(at(alone, 0.99)), float64(at(beside, 0.5))/float64(at(alone, 0.5)))
	return nil
}

// walk is a walk over the whole ledger.
type walk struct {
	ledger *onceward.Ledger
	from   onceward.Cursor
	over   bool
}

// goOn walks for a while, and returns how many were slimmed.
func (w *walk) goOn(ctx context.Context, turn time.Duration) (slimmed int, err error) {
	for end := time.Now().Add(turn); !w.over && time.Now().Before(end); {
		next, n, err := w.ledger.RetireStep(ctx, w.from, worker.RetireBatch)
		if err != nil {
			return slimmed, err
		}
		slimmed += n
		w.from, w.over = next, next == onceward.Cursor{}
	}
	return slimmed, nil
}

// serve lets the callers work as long as work lasts, and returns how long their
// calls took, in order of length.
func (b *bench) serve(ctx context.Context, work func() error) ([]time.Duration, error) {
	stop, failed := make(chan struct{}), make(chan error, b.callers)
	took := make([][]time.Duration, b.callers)
	var callers sync.WaitGroup
	for i := range b.callers {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "bench.write", CallerKey: onceward.Key(fmt.Sprintf("new-%d", b.next.Add(1))), Input: []byte(`{"amount":4200,"note":"an order of some words"}`), Wait: onceward.DefaultWait}
				if a, err := b.ledger.Submit(ctx, in); err != nil || a.Operation.State != onceward.StateSucceeded {
					failed <- errors.Join(err, errors.New("a call was not served"))
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	err := work()
	close(stop)
	callers.Wait()
	select {
	case e := <-failed:
		err = errors.Join(err, e)
	default:
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, err
}

func at(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(float64(len(sorted)-1)*share)]
}

func figures(sorted []time.Duration) string {
	return fmt.Sprintf("%8d calls  p50 %s  p99 %s  max %s", len(sorted), at(sorted, 0.5).Round(10*time.Microsecond), at(sorted, 0.99).Round(10*time.Microsecond), at(sorted, 1).Round(10*time.Microsecond))
}

// none is the provider of nobody: the effect is made in the process, at once.
type none struct{}

// Send implements onceward.Provider.
func (none) Send(context.Context, *onceward.Request, onceward.SendOptions) onceward.Evidence {
	return onceward.Evidence{Reach: onceward.ReachNotDialled, ErrorClass: onceward.ClassUnavailable, ErrorCode: "none"}
}
