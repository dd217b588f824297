package rabbitmq

import (
	"errors"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/onceward/onceward/relay"
	relaywatermill "github.com/onceward/onceward/relay/watermill"
)

// heartbeat finds a connection that is dead.
const heartbeat = 5 * time.Second

const dialTimeout = 2 * time.Second

// Options make a publisher. URL and Exchange are needed.
type Options struct {
	URL string // amqp:// or amqps://, with account and virtual host
	// Exchange is a durable topic exchange; it is made if it is not there. Events
	// are persistent, and their routing key is their type.
	Exchange string
	// Queue, if not empty, is made as a durable queue and bound to every event
	// before the first one is published.
	Queue string
	// DropUnrouted lets RabbitMQ drop events that no queue is bound for. Without it
	// they are refused, and set aside.
	DropUnrouted bool
}

// New returns a publisher that is not connected yet. Each event waits for the
// broker's confirmation, and bears its ID as message_id.
func New(o Options) *relaywatermill.Publisher {
	return relaywatermill.New(relaywatermill.Options{Open: o.open, Topic: "{type}", Refuses: func(err error) bool { return errors.Is(err, errUnrouted) }})
}

func (o Options) config(queue, pattern string) wamqp.Config {
	config := wamqp.NewDurableTopicConfig(o.URL, o.Exchange, queue)
	config.Connection.AmqpConfig = &amqp.Config{Heartbeat: heartbeat, Locale: "en_US"}
	config.Exchange.Durable = true
	config.QueueBind.GenerateRoutingKey = func(string) string { return pattern }
	config.Marshaler = marshaler{}
	return config
}

// marshaler writes the event's ID and content type as AMQP's own properties too,
// and reads messages of other senders by their message_id.
type marshaler struct{ wamqp.DefaultMarshaler }

func (m marshaler) Marshal(msg *message.Message) (amqp.Publishing, error) {
	out, err := m.DefaultMarshaler.Marshal(msg)
	out.MessageId, out.ContentType, out.Type = msg.UUID, relay.ContentType, msg.Metadata[relaywatermill.MetadataType]
	return out, err
}

func (m marshaler) Unmarshal(d amqp.Delivery) (*message.Message, error) {
	texts := amqp.Table{}
	for name, v := range d.Headers { // watermill takes texts only
		if s, ok := v.(string); ok && !strings.HasPrefix(name, "x-") {
			texts[name] = s
		}
	}
	d.Headers = texts
	msg, err := m.DefaultMarshaler.Unmarshal(d)
	if err == nil && msg.UUID == "" {
		msg.UUID = d.MessageId
	}
	return msg, err
}

// SubscriberOptions make a subscriber. URL, Exchange and Queue are needed.
type SubscriberOptions struct {
	URL      string
	Exchange string
	Queue    string // durable; it is made and bound if it is not there
	Pattern  string // of the types that the queue is bound to; empty: every type
}

// NewSubscriber returns a subscriber for a consumer of relay/watermill, which takes
// one message at a time.
func NewSubscriber(o SubscriberOptions) (message.Subscriber, error) {
	if o.Pattern == "" {
		o.Pattern = "#"
	}
	config := Options{URL: o.URL, Exchange: o.Exchange}.config(o.Queue, o.Pattern)
	config.Consume.Qos.PrefetchCount = 1
	return wamqp.NewSubscriber(config, watermill.NopLogger{})
}
