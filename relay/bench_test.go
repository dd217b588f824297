package relay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testbroker"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/relay"
	"github.com/onceward/onceward/relay/nats"
	"github.com/onceward/onceward/store/postgres"
)

// nowhere takes everything at once.
type nowhere struct{}

func (nowhere) Publish(context.Context, *onceward.OutboxEvent) error { return nil }
func (nowhere) Close() error                                         { return nil }

// Events with 200 bytes of data of 1,000 keys, from PostgreSQL to a destination
// that takes them at once, and to NATS JetStream in a process of its own.
func BenchmarkRelay(b *testing.B) {
	for name, destination := range map[string]func(b *testing.B) relay.Publisher{
		"nowhere": func(*testing.B) relay.Publisher { return nowhere{} },
		"nats": func(b *testing.B) relay.Publisher {
			return nats.New(nats.Options{URL: testbroker.NATS(b).URL, Subject: "events", Stream: "events"})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := postgres.Open(b.Context(), testdb.Postgres(b), postgres.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			to := destination(b)
			defer func() { _ = to.Close() }()
			fill(b, s, b.N)
			r, err := relay.New(relay.Options{Sink: "s", Store: s, Publisher: to})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for left := true; left; {
				worked, err := r.Step(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if !worked {
					sinks, err := s.Sinks(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					left = len(sinks) == 0 || sinks[0].Behind > 0
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// fill stores n events.
func fill(b *testing.B, s onceward.OutboxStore, n int) {
	b.Helper()
	data := make([]byte, 200)
	for from := 0; from < n; {
		var events []onceward.OutboxEvent
		for ; from < n && len(events) < 1000; from++ {
			e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: fmt.Sprint("e", from), Type: "test.happened", Key: fmt.Sprint("k", from%1000), At: time.Now(), ContentType: "application/octet-stream", Data: data})
			if err != nil {
				b.Fatal(err)
			}
			events = append(events, e)
		}
		if err := s.AddEvents(b.Context(), events); err != nil {
			b.Fatal(err)
		}
	}
}
