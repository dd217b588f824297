package nats

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"

	relaywatermill "github.com/onceward/onceward/relay/watermill"
)

// DefaultDuplicates is the window in which the stream drops a message whose ID it
// had: a help for consumers that keep no receipts, no promise.
const DefaultDuplicates = 10 * time.Minute

const dialTimeout = 2 * time.Second

// Options make a publisher. URL and Subject are needed.
type Options struct {
	URL     string
	Subject string // "{type}" in it stands for the event's type
	// Stream is made if it is not there, with file storage and the subject. Empty:
	// a stream that takes the subject has to be there.
	Stream  string
	Connect []nats.Option // credentials, TLS
}

// New returns a publisher that is not connected yet. Each event waits for the
// stream's acknowledgement, and bears its ID as Nats-Msg-Id.
func New(o Options) *relaywatermill.Publisher {
	return relaywatermill.New(relaywatermill.Options{Open: o.open, Topic: o.Subject, Refuses: refuses})
}

func refuses(err error) bool { return errors.Is(err, nats.ErrMaxPayload) }

func (o Options) open(context.Context) (message.Publisher, error) {
	closed := make(chan struct{})
	connect := append(o.Connect[:len(o.Connect):len(o.Connect)], nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	conn, err := dial(o.URL, connect)
	if err != nil {
		return nil, err
	}
	if o.Stream != "" {
		if err := provision(conn, o.Stream, o.Subject); err != nil {
			conn.Close()
			return nil, err
		}
	}
	stream, err := conn.JetStream(nats.PublishAsyncMaxPending(pendingMax))
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &publisher{conn: conn, stream: stream, closed: closed}, nil
}

// dial connects once: what a lost connection had on its way is not sent later.
func dial(url string, more []nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, append([]nats.Option{nats.NoReconnect(), nats.Timeout(dialTimeout), nats.Name("onceward")}, more...)...)
}

// provision makes the stream if it is not there.
func provision(conn *nats.Conn, stream, subject string) error {
	js, err := conn.JetStream()
	if err != nil {
		return err
	}
	if _, err = js.StreamInfo(stream); !errors.Is(err, nats.ErrStreamNotFound) {
		return err
	}
	_, err = js.AddStream(&nats.StreamConfig{Name: stream, Subjects: []string{subjects(subject)}, Storage: nats.FileStorage, Duplicates: DefaultDuplicates})
	return err
}

// subjects is the subject with a wildcard where the event's type stands.
func subjects(subject string) string { return strings.ReplaceAll(subject, "{type}", ">") }

// SubscriberOptions make a subscriber. URL and Durable are needed.
type SubscriberOptions struct {
	URL     string
	Durable string        // names the consumer at the stream, whose place it keeps
	AckWait time.Duration // how long a message may be worked on before it comes again; 0: 30s
	Connect []nats.Option // credentials, TLS
}

// NewSubscriber returns a subscriber for a consumer of relay/watermill. It begins
// with the first message that the stream has, and takes one at a time.
func NewSubscriber(o SubscriberOptions) (message.Subscriber, error) {
	wait := cmp.Or(o.AckWait, 30*time.Second)
	return wnats.NewSubscriber(wnats.SubscriberConfig{
		URL: o.URL, SubscribersCount: 1, AckWaitTimeout: wait, CloseTimeout: 5 * time.Second, SubscribeTimeout: 10 * time.Second,
		NatsOptions: append([]nats.Option{nats.MaxReconnects(-1), nats.Name("onceward")}, o.Connect...), Unmarshaler: &wnats.NATSMarshaler{},
		JetStream: wnats.JetStreamConfig{
			DurablePrefix:    o.Durable,
			SubscribeOptions: []nats.SubOpt{nats.DeliverAll(), nats.AckExplicit(), nats.AckWait(wait), nats.MaxAckPending(1)},
		},
	}, watermill.NopLogger{})
}
