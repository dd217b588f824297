package river_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/onceward/onceward"
	onceriver "github.com/onceward/onceward/integrations/river"
	"github.com/onceward/onceward/internal/enginetest"
	"github.com/onceward/onceward/internal/testdb"
)

// wait is how long a worker waits for an outcome.
const wait = 500 * time.Millisecond

// ship is the job of the example.
type ship struct {
	Order string `json:"order"`
}

// Kind names the job.
func (ship) Kind() string { return "ship" }

// shipper sends a parcel, and loses the answer.
type shipper struct {
	river.WorkerDefaults[ship]
	parcels *enginetest.Parcels
}

func (s *shipper) Work(ctx context.Context, job *river.Job[ship]) error {
	if call := onceriver.CallOf(ctx); call == nil || call.ProviderKey == "" {
		return errors.New("it is in no attempt")
	}
	return s.parcels.Send(job.Args.Order)
}

// counted counts how often River works jobs. From the second time on it can be
// looked up what was sent.
type counted struct {
	river.MiddlewareDefaults
	parcels *enginetest.Parcels
	worked  atomic.Int32
}

// Work implements rivertype.WorkerMiddleware.
func (c *counted) Work(ctx context.Context, _ *rivertype.JobRow, inner func(context.Context) error) error {
	if c.worked.Add(1) > 1 {
		c.parcels.Show()
	}
	return inner(ctx)
}

// The answer of a job's only effect is lost, so that River works the job again;
// then the same business event is inserted as another job. There is one effect.
func TestJobThatIsWorkedAgainAndInsertedAgainHasOneEffect(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	sent := &enginetest.Parcels{}
	ledger := sent.Ledger(t)
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
		in := enginetest.Intent("")
		in.Input, in.Wait = job.EncodedArgs, wait
		return in, job.Kind == "ship", nil
	}}
	sent.Hide()
	count := &counted{parcels: sent}
	client, err := river.NewClient(driver, &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers,
		Middleware: []rivertype.Middleware{count, once}, Logger: slog.New(slog.DiscardHandler), FetchPollInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := client.Subscribe(river.EventKindJobCompleted)
	defer cancel()
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Stop(context.WithoutCancel(ctx)) })
	for i := range int32(2) {
		if _, err := client.Insert(ctx, ship{Order: "o-17"}, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the job never ends")
		}
		if n := count.worked.Load(); n < 2+i {
			t.Errorf("River worked %d times", n)
		}
	}
	if n := sent.Sent("o-17"); n != 1 {
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
