package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	wkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	relaywatermill "github.com/onceward/onceward/relay/watermill"
)

// Options make a publisher. Brokers and Topic are needed.
type Options struct {
	Brokers []string // host:port
	Topic   string   // it has to be there, unless the brokers make topics by themselves
	// Configure sets what else the client needs, such as TLS and SASL; nil: nothing.
	Configure func(c *sarama.Config)
}

// New returns a publisher that is not connected yet. Each event waits until all
// replicas in sync have it. Its key says which partition it goes to.
func New(o Options) *relaywatermill.Publisher {
	return relaywatermill.New(relaywatermill.Options{Open: o.open, Topic: o.Topic, Refuses: refuses})
}

func refuses(err error) bool {
	return errors.Is(err, sarama.ErrMessageSizeTooLarge) || errors.Is(err, sarama.ErrInvalidMessage) || errors.Is(err, sarama.ErrInvalidMessageSize)
}

func (o Options) open(context.Context) (message.Publisher, error) {
	c := sarama.NewConfig()
	c.ClientID, c.Version = "onceward", sarama.V2_1_0_0
	c.Producer.RequiredAcks, c.Producer.Return.Successes = sarama.WaitForAll, true
	c.Producer.Retry.Max = 0 // the relay does that, in order
	c.Producer.Partitioner = sarama.NewHashPartitioner
	c.Metadata.Retry.Max, c.Metadata.Retry.Backoff = 1, 100*time.Millisecond
	c.Net.DialTimeout, c.Net.ReadTimeout, c.Net.WriteTimeout = 2*time.Second, 5*time.Second, 5*time.Second
	if o.Configure != nil {
		o.Configure(c)
	}
	return wkafka.NewPublisher(wkafka.PublisherConfig{Brokers: o.Brokers, Marshaler: keyed(), OverwriteSaramaConfig: c}, watermill.NopLogger{})
}

// keyed gives a message the event's key; without one its ID.
func keyed() wkafka.MarshalerUnmarshaler {
	return wkafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
		if key := m.Metadata[relaywatermill.MetadataKey]; key != "" {
			return key, nil
		}
		return m.UUID, nil
	})
}

// rebalanceWithin is how long a group waits for a member that does not join again.
//
// Why: sarama gives up a join after Net.ReadTimeout, 30s, and joins as a member anew.
// Where the group waits longer for one that died while it joined, it waits for the one
// that was given up, too, and a consumer that crashed twice may never get a message.
const rebalanceWithin = 20 * time.Second

// SubscriberOptions make a subscriber. Brokers and Group are needed.
type SubscriberOptions struct {
	Brokers   []string
	Group     string // the consumer group, whose place Kafka keeps
	Configure func(c *sarama.Config)
}

// NewSubscriber returns a subscriber for a consumer of relay/watermill. It begins
// with the first message that the topic has.
func NewSubscriber(o SubscriberOptions) (message.Subscriber, error) {
	c := wkafka.DefaultSaramaSubscriberConfig()
	c.ClientID, c.Consumer.Offsets.Initial = "onceward", sarama.OffsetOldest
	c.Metadata.Retry.Backoff = 250 * time.Millisecond
	c.Consumer.Group.Rebalance.Timeout = rebalanceWithin
	if o.Configure != nil {
		o.Configure(c)
	}
	return wkafka.NewSubscriber(wkafka.SubscriberConfig{
		Brokers: o.Brokers, ConsumerGroup: o.Group, Unmarshaler: keyed(), OverwriteSaramaConfig: c, NackResendSleep: 100 * time.Millisecond,
		ReconnectRetrySleep: 250 * time.Millisecond,
	}, watermill.NopLogger{})
}
