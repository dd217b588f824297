package watermill

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/onceward/onceward"
)

// Transact runs work in a transaction of the consumer's own database, joined, and
// commits it unless work fails. postgres.Transact and sqlite.Transact are such.
type Transact[T any] = func(ctx context.Context, work func(ctx context.Context, tx T, j onceward.Join) error) error

// Consumer handles each message of a topic once. T is the type of its
// transactions: pgx.Tx, or *sql.Tx.
type Consumer[T any] struct {
	Name       string // under which its receipts are kept; it has to stay
	Subscriber message.Subscriber
	Topic      string
	Transact   Transact[T]
	// Handle does what the message asks for, in the transaction. An error undoes it,
	// and the message comes again.
	Handle func(ctx context.Context, tx T, j onceward.Join, m *message.Message) error
	Inbox  onceward.Inbox
	// ID gives the ID under which a message is recognised; nil: its UUID, which is
	// the event's ID where a relay of ours sent it.
	ID    func(m *message.Message) string
	Clock onceward.Clock // nil: SystemClock
	Log   *slog.Logger   // nil: discards
}

// Waits before a message that could not be handled is given back.
const (
	giveBackFirst = 50 * time.Millisecond
	giveBackMax   = 5 * time.Second
)

// Run handles messages until ctx ends or the subscriber does: one after another,
// so that messages of one key stay in order. A message is acknowledged after the
// commit of what it caused, and given back if that failed.
func (c *Consumer[T]) Run(ctx context.Context) error {
	if c.Clock == nil {
		c.Clock = onceward.SystemClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	messages, err := c.Subscriber.Subscribe(ctx, c.Topic)
	if err != nil {
		return err
	}
	pause := time.Duration(0)
	for m := range messages {
		err := c.take(ctx, m)
		if err == nil {
			pause = 0
			m.Ack()
			continue
		}
		pause = min(max(2*pause, giveBackFirst), giveBackMax)
		if ctx.Err() == nil {
			c.Log.Warn("message given back", "consumer", c.Name, "message", m.UUID, "error", err)
		}
		select {
		case <-c.Clock.After(pause):
		case <-ctx.Done():
		}
		m.Nack()
	}
	return ctx.Err()
}

// take handles one message in one transaction.
func (c *Consumer[T]) take(ctx context.Context, m *message.Message) error {
	id := m.UUID
	if c.ID != nil {
		id = c.ID(m)
	}
	if id == "" {
		return errors.New("the message has no ID: say by ID how to tell it from others")
	}
	return c.Transact(ctx, func(ctx context.Context, tx T, j onceward.Join) error {
		_, err := c.Inbox.Once(ctx, j, c.Name, id, func(ctx context.Context) error { return c.Handle(ctx, tx, j, m) })
		return err
	})
}
