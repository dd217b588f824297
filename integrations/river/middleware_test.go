package river_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/onceward/onceward"
	onceriver "github.com/onceward/onceward/integrations/river"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// ship is the job of the example.
type ship struct {
	Order string `json:"order"`
}

// Kind names the job.
func (ship) Kind() string { return "ship" }

// parcels are the effects, by provider key.
type parcels struct {
	mu   sync.Mutex
	sent []string
}

func (p *parcels) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

// shipper sends a parcel, and loses the answer of the first one.
type shipper struct {
	river.WorkerDefaults[ship]
	parcels *parcels
}

func (s *shipper) Work(_ context.Context, job *river.Job[ship]) error {
	s.parcels.mu.Lock()
	defer s.parcels.mu.Unlock()
	s.parcels.sent = append(s.parcels.sent, job.Args.Order)
	return errors.New("connection reset by peer")
}

// The answer of a job's only effect is lost, so that River works the job again;
// then the same business event is inserted as another job. There is one effect.
func TestJobThatIsWorkedAgainAndInsertedAgainHasOneEffect(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	sent := &parcels{}
	ledger := openLedger(t, sent)
	driver := riverpgxv5.New(openPool(t))
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &shipper{parcels: sent})
	once := &onceriver.Middleware{Ledger: ledger, Intent: func(job *rivertype.JobRow) (onceward.Intent, bool, error) {
		return onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "parcels.send", Input: job.EncodedArgs}, job.Kind == "ship", nil
	}}
	client, err := river.NewClient(driver, &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers,
		Middleware: []rivertype.Middleware{once}, Logger: slog.New(slog.DiscardHandler), FetchPollInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := client.Subscribe(river.EventKindJobCompleted)
	defer cancel()
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Stop(context.WithoutCancel(ctx)) })
	for range 2 {
		if _, err := client.Insert(ctx, ship{Order: "o-17"}, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the job never ends")
		}
	}
	if n := sent.count(); n != 1 {
		t.Errorf("%d parcels were sent", n)
	}
}

// openPool opens a pool on a schema of a short name: River's channels have the
// schema's name in theirs.
func openPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	const schema = "ow_river"
	config, err := pgxpool.ParseConfig(testdb.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), "drop schema if exists "+schema+" cascade; create schema "+schema); err != nil {
		t.Fatal(err)
	}
	return pool
}

// openLedger opens a ledger with the function whose effect the job is.
func openLedger(t *testing.T, sent *parcels) *onceward.Ledger {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	function, err := onceward.NewFunction(onceward.Function{
		Name: "parcels.send", Policy: onceward.Policy{Effect: onceward.EffectProbedWrite, Settle: time.Second}, KeyRule: "order",
		Key: func(input []byte) ([]string, error) {
			n, err := onceward.ParseJSON(input)
			if err != nil {
				return nil, err
			}
			order, _ := n.Member("order")
			text, _ := order.Text()
			return []string{text}, nil
		},
		Probe: func(_ context.Context, c *onceward.Call) ([]onceward.FoundEffect, error) {
			sent.mu.Lock()
			defer sent.mu.Unlock()
			var found []onceward.FoundEffect
			for _, order := range sent.sent {
				if string(c.Input) == `{"order":"`+order+`"}` {
					found = append(found, onceward.FoundEffect{Reference: order, Ours: true})
				}
			}
			return found, nil
		},
	})
	must(err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	must(err)
	registry := onceward.NewRegistry(store, nil)
	must(registry.Activate(t.Context(), []onceward.Tool{function}, false))
	ledger, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: httpcall.New(httpcall.Options{})})
	must(err)
	must(ledger.Start(t.Context()))
	loops, stop := context.WithCancel(context.Background())
	due := worker.NewDue(ledger, store, slog.New(slog.DiscardHandler))
	wait := worker.Start(loops, onceward.SystemClock{}, slog.New(slog.DiscardHandler), due, worker.NewStranded(ledger))
	t.Cleanup(func() {
		stop()
		wait()
		due.Wait()
		_ = ledger.Close(context.Background())
		must(store.Close())
	})
	return ledger
}
