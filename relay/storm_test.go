package relay_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testbroker"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/worker"
)

// storm is how often something is killed; make relay-storm asks for more.
var storm = flag.Int("storm", 6, "how often relay, broker or database is killed")

// The variables by which the test starts itself as a relay that can be killed.
const (
	childBroker = "ONCEWARD_RELAY_BROKER"
	childURL    = "ONCEWARD_RELAY_URL"
	childDB     = "ONCEWARD_RELAY_DB"
)

func TestMain(m *testing.M) {
	if os.Getenv(childBroker) != "" {
		os.Exit(relayProcess())
	}
	// The Kafka client starts this once for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// relayProcess relays until it is killed.
func relayProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store, err := postgres.Open(ctx, os.Getenv(childDB), postgres.Options{NoMigrate: true, Timeout: 3 * time.Second})
	if err != nil {
		log.Error("open", "error", err)
		return 1
	}
	for _, b := range brokers {
		if b.name != os.Getenv(childBroker) {
			continue
		}
		r, err := relay.New(relay.Options{Sink: "s", Store: store, Publisher: b.publisher(os.Getenv(childURL)), Lease: 500 * time.Millisecond, Timeout: 3 * time.Second, Batch: 100, Tries: 1 << 20, Log: log})
		if err != nil {
			log.Error("relay", "error", err)
			return 1
		}
		worker.Run(ctx, r, onceward.SystemClock{}, log)
	}
	return 0
}

// weather is a database, a broker and a relay, each a process that can be killed.
type weather struct {
	*testing.T
	db     *testdb.Server
	broker *testbroker.Broker
	url    string
	kind   string
	store  *postgres.Store
	relay  *exec.Cmd

	added [8]atomic.Int64 // by key: the last number that is known to be stored
	full  atomic.Bool     // the sink is so far behind that nothing is to be added
}

// behindMax is how far the sink may be behind before nothing more is added: a busy
// machine hands on more slowly than it adds.
const behindMax = 200

// id is the ID of an event: its key and its number there.
func (w *weather) id(key int, n int64) string { return fmt.Sprintf("k%d:%d", key, n) }

func (w *weather) startRelay() {
	w.Helper()
	w.relay = exec.CommandContext(context.Background(), os.Args[0]) // killRelay ends it
	w.relay.Env = append(os.Environ(), childBroker+"="+w.kind, childURL+"="+w.broker.URL, childDB+"="+w.url)
	w.relay.Stderr = w.Output()
	if err := w.relay.Start(); err != nil {
		w.Fatal(err)
	}
}

func (w *weather) killRelay() {
	_ = w.relay.Process.Kill()
	_ = w.relay.Wait()
}

// write adds events of one key until ctx ends. One whose commit is not known is
// added again under its ID.
func (w *weather) write(ctx context.Context, key int) {
	for n := int64(1); ctx.Err() == nil; {
		if w.full.Load() {
			<-time.After(10 * time.Millisecond)
			continue
		}
		e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: w.id(key, n), Type: "test.happened", Key: fmt.Sprint("k", key), At: time.Now()})
		if err != nil {
			w.Error(err)
			return
		}
		if err := w.store.AddEvents(ctx, []onceward.OutboxEvent{e}); err == nil {
			w.added[key].Store(n)
			n++
		}
		select {
		case <-time.After(10 * time.Millisecond): // a load that a busy machine can carry
		case <-ctx.Done():
		}
	}
}

// behind waits until what is stored now has been handed on.
func (w *weather) behind() {
	w.Helper()
	from := time.Now()
	for until := from.Add(60 * time.Second); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		sinks, err := w.store.Sinks(w.Context())
		w.full.Store(err == nil && len(sinks) == 1 && sinks[0].Behind > behindMax)
		if err == nil && len(sinks) == 1 && sinks[0].Aside == 0 && (sinks[0].OldestAt.IsZero() || sinks[0].OldestAt.After(from)) {
			return
		}
	}
	w.Fatal("events are not handed on any more")
}

// strike kills one of the three and starts it again.
func (w *weather) strike(round int) {
	w.Helper()
	switch round % 3 {
	case 0:
		w.killRelay()
		w.startRelay()
	case 1:
		w.broker.Kill()
		w.broker.Start()
	case 2:
		if err := w.db.Kill(); err != nil {
			w.Fatal(err)
		}
		if err := w.db.Start(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// Relay, broker and database are killed in turn while events flow: each event that
// was stored arrives, and those of one key in the order in which they were added.
func TestNothingIsLostOrReorderedWhenRelayBrokerAndDatabaseAreKilled(t *testing.T) {
	testdb.Installed(t)
	for _, b := range brokers {
		rounds := *storm / 2
		if b.name == "rabbitmq" {
			rounds = *storm / 10 // it takes seconds to come up
		}
		if rounds == 0 {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			w := &weather{T: t, db: testdb.Cluster(t), broker: b.start(t), kind: b.name}
			w.url = w.db.DSN()
			var err error
			if w.store, err = postgres.Open(t.Context(), w.url, postgres.Options{Timeout: 3 * time.Second}); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.store.Close() }()
			w.startRelay()
			defer func() { w.killRelay() }()
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for key := range w.added {
				all.Go(func() { w.write(ctx, key) })
			}
			for round := range rounds {
				w.behind()
				w.strike(round)
			}
			w.behind()
			stop()
			all.Wait()
			w.behind()
			w.check(b.subscriber)
		})
	}
}

// silenceMax is how long the broker may give nothing before the rest counts as lost.
const silenceMax = 60 * time.Second

// check reads what the broker has.
func (w *weather) check(subscriber subscribe) {
	w.Helper()
	sub, err := subscriber(w.broker.URL, "billing")
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = sub.Close() }()
	// Why a time without a message, and not for all of them: a long storm leaves
	// more than a busy machine reads in two minutes.
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	silence := time.AfterFunc(silenceMax, cancel)
	defer silence.Stop()
	messages, err := sub.Subscribe(ctx, "events")
	if err != nil {
		w.Fatal(err)
	}
	left, total, again := int64(0), int64(0), 0
	var seen [8]int64 // by key: the last number that arrived
	for key := range w.added {
		left += w.added[key].Load()
	}
	total = left
	for left > 0 {
		m, open := <-messages
		if !open {
			w.Fatalf("%d of %d events never arrived", left, total)
		}
		silence.Reset(silenceMax)
		var key int
		var n int64
		if _, err := fmt.Sscanf(m.UUID, "k%d:%d", &key, &n); err != nil {
			w.Fatal(err)
		}
		switch next := seen[key] + 1; {
		case n == next:
			seen[key] = n
			if n <= w.added[key].Load() {
				left--
			}
		case n < next:
			again++
		default:
			w.Fatalf("%s arrived, and %s has not", m.UUID, w.id(key, next))
		}
		m.Ack()
	}
	w.Logf("%d events arrived in order, %d of them again", total, again)
}
