package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testbroker"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/relay/kafka"
	"github.com/onceward/onceward/relay/nats"
	"github.com/onceward/onceward/relay/rabbitmq"
	"github.com/onceward/onceward/relay/watermill"
	"github.com/onceward/onceward/store/sqlite"
)

// subscribe makes a subscriber of a name at a broker.
type subscribe = func(url, name string) (message.Subscriber, error)

// brokers are those that a relay hands to, each as its publisher and a subscriber
// of its own.
var brokers = []struct {
	name       string
	start      func(tb testing.TB) *testbroker.Broker
	publisher  func(url string) *watermill.Publisher
	subscriber subscribe
	topic      string
}{
	{"nats", testbroker.NATS,
		func(url string) *watermill.Publisher {
			return nats.New(nats.Options{URL: url, Subject: "events", Stream: "events"})
		},
		func(url, name string) (message.Subscriber, error) {
			return nats.NewSubscriber(nats.SubscriberOptions{URL: url, Durable: name})
		}, "events"},
	{"kafka", testbroker.Kafka,
		func(url string) *watermill.Publisher {
			return kafka.New(kafka.Options{Brokers: []string{url}, Topic: "events"})
		},
		func(url, name string) (message.Subscriber, error) {
			return kafka.NewSubscriber(kafka.SubscriberOptions{Brokers: []string{url}, Group: name})
		}, "events"},
	{"rabbitmq", testbroker.RabbitMQ,
		func(url string) *watermill.Publisher {
			return rabbitmq.New(rabbitmq.Options{URL: url, Exchange: "events", Queue: "billing"})
		},
		func(url, name string) (message.Subscriber, error) {
			return rabbitmq.NewSubscriber(rabbitmq.SubscriberOptions{URL: url, Exchange: "events", Queue: name})
		}, "events"},
}

// consumer is a program that books what it handles.
type consumer struct {
	*testing.T
	db *sql.DB
}

func newConsumer(t *testing.T, path string) *consumer {
	t.Helper()
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(20000)"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE booked (n INTEGER PRIMARY KEY, id TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return &consumer{t, db}
}

func (c *consumer) booked() (ids []string) {
	c.Helper()
	rows, err := c.db.QueryContext(c.Context(), `SELECT id FROM booked ORDER BY n`)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			c.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		c.Fatal(err)
	}
	return ids
}

// The relay dies after it published, the first handling of one message fails, and
// every message that was published twice is handled once, in the order of its key.
func TestMessageOfABrokerIsHandledOnceAndAcknowledgedAfterTheCommit(t *testing.T) {
	t.Parallel()
	for _, b := range brokers {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			server := b.start(t)
			t.Logf("%s is up after %s", b.name, time.Since(began).Round(time.Millisecond))
			path := filepath.Join(t.TempDir(), "ledger.db")
			store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			want := addNumbered(t, store, 3, 10)
			pub := b.publisher(server.URL)
			t.Cleanup(func() { _ = pub.Close() })
			for i := range 2 { // the first dies after it published
				r, err := relay.New(relay.Options{Sink: "s", Store: store, Publisher: pub, Owner: fmt.Sprint("relay ", i), Lease: 2 * time.Second, Crash: func(string) {
					if i == 0 {
						panic("killed")
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				relayAll(t, r, store)
			}
			t.Logf("relayed after %s", time.Since(began).Round(time.Millisecond))
			c := newConsumer(t, path)
			if got := c.run(b.subscriber, server.URL, b.topic, len(want)); !sameOrder(got, want) {
				t.Fatalf("%d were handled: %q", len(got), got)
			}
		})
	}
}

// addNumbered stores n events of each of a few keys, and returns their IDs.
func addNumbered(t *testing.T, s onceward.OutboxStore, keys, n int) (ids []string) {
	t.Helper()
	for i := range n {
		var events []onceward.OutboxEvent
		for k := range keys {
			id := fmt.Sprintf("k%d:%d", k, i+1)
			e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: id, Type: "test.happened", Key: fmt.Sprintf("k%d", k), At: time.Now(), Data: []byte(`{"n":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			events, ids = append(events, e), append(ids, id)
		}
		if err := s.AddEvents(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// relayAll steps a relay until its sink has everything, or it dies.
func relayAll(t *testing.T, r *relay.Relay, s onceward.OutboxStore) {
	t.Helper()
	defer func() { _ = recover() }()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		sinks, err := s.Sinks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(sinks) == 1 && sinks[0].Behind == 0 && sinks[0].Aside == 0 {
			return
		}
		rest, _ := r.Idle()
		<-time.After(min(rest, 100*time.Millisecond))
	}
	t.Error("the sink never has everything")
}

// run lets the consumer handle messages until it has booked n, and returns what
// it booked. Its first handling fails after it booked.
func (c *consumer) run(subscriber subscribe, url, topic string, n int) []string {
	c.Helper()
	sub, err := subscriber(url, "billing")
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), 60*time.Second)
	defer cancel()
	var mu sync.Mutex
	failed, count := false, 0
	w := watermill.Consumer[*sql.Tx]{Name: "billing", Subscriber: sub, Topic: topic, Transact: sqlite.Transact(c.db),
		Handle: func(ctx context.Context, tx *sql.Tx, _ onceward.Join, m *message.Message) error {
			e, err := relay.Decode(m.Payload)
			if err != nil || e.ID != m.UUID {
				return fmt.Errorf("message %s is event %s: %w", m.UUID, e.ID, err)
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO booked (id) VALUES (?)`, e.ID); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if !failed {
				failed = true
				return fmt.Errorf("the first one fails")
			}
			if count++; count == n {
				time.AfterFunc(300*time.Millisecond, cancel) // what comes twice may come behind
			}
			return nil
		}}
	_ = w.Run(ctx)
	if err := sub.Close(); err != nil {
		c.Errorf("close subscriber: %v", err)
	}
	return c.booked()
}

// sameOrder reports whether each event is there once, and those of one key in order.
func sameOrder(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	last := map[string]int{}
	for _, id := range got {
		key, number, _ := strings.Cut(id, ":")
		var n int
		if _, err := fmt.Sscan(number, &n); err != nil || n != last[key]+1 || !slices.Contains(want, id) {
			return false
		}
		last[key] = n
	}
	return true
}
