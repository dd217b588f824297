package rabbitmq

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	relaywatermill "github.com/onceward/onceward/relay/watermill"
)

// errUnrouted: the exchange has no queue for the message.
var errUnrouted = errors.New("no queue is bound for it")

// publisher is one connection with one channel, which confirms.
//
// Why not Watermill's: it keeps a channel for each message under way and none
// after a refusal, and does not tell what RabbitMQ gives back.
type publisher struct {
	conn     *amqp.Connection
	channel  *amqp.Channel
	exchange string
	drop     bool // what no queue is bound for
	asked    chan question
	done     chan struct{}
}

// question is whether a message came back.
type question struct {
	id     string
	answer chan bool
}

func (o Options) open(context.Context) (message.Publisher, error) {
	conn, err := amqp.DialConfig(o.URL, amqp.Config{Heartbeat: heartbeat, Locale: "en_US", Dial: amqp.DefaultDial(dialTimeout)})
	if err != nil {
		return nil, errors.New("cannot connect to RabbitMQ") // the cause may hold the account
	}
	p := &publisher{conn: conn, exchange: o.Exchange, drop: o.DropUnrouted, asked: make(chan question), done: make(chan struct{})}
	if err := p.prepare(o.Queue); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go p.watch(p.channel.NotifyReturn(make(chan amqp.Return)))
	return p, nil
}

// prepare makes channel, exchange and queue.
func (p *publisher) prepare(queue string) (err error) {
	if p.channel, err = p.conn.Channel(); err != nil {
		return err
	}
	if err := p.channel.ExchangeDeclare(p.exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		return err
	}
	if queue != "" {
		if _, err := p.channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return err
		}
		if err := p.channel.QueueBind(queue, "#", p.exchange, false, nil); err != nil {
			return err
		}
	}
	return p.channel.Confirm(false)
}

// watch notes what comes back. RabbitMQ returns a message before it confirms it,
// and the client hands the return over before the confirmation.
func (p *publisher) watch(returns <-chan amqp.Return) {
	back := map[string]bool{}
	for {
		select {
		case r, open := <-returns:
			if !open {
				close(p.done)
				return
			}
			back[r.MessageId] = true
		case q := <-p.asked:
			q.answer <- back[q.id]
			delete(back, q.id)
		}
	}
}

// Publish implements message.Publisher: the topic is the routing key.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	return relaywatermill.PublishEach(p, topic, messages)
}

// PublishTogether implements relaywatermill.Together.
func (p *publisher) PublishTogether(ctx context.Context, messages []relaywatermill.Addressed) []error {
	send := func(m relaywatermill.Addressed) (*amqp.DeferredConfirmation, error) {
		out, err := marshaler{}.Marshal(m.Message)
		if err != nil {
			return nil, err
		}
		return p.channel.PublishWithDeferredConfirmWithContext(ctx, p.exchange, m.Topic, !p.drop, false, out)
	}
	return relaywatermill.SendThenWait(messages, send, func(m relaywatermill.Addressed, asked *amqp.DeferredConfirmation) error {
		return p.confirmed(ctx, asked, m.Message.UUID)
	})
}

// confirmed waits until RabbitMQ has the message.
func (p *publisher) confirmed(ctx context.Context, asked *amqp.DeferredConfirmation, id string) error {
	taken, err := asked.WaitContext(ctx)
	switch {
	case err != nil:
		return err
	case !taken:
		return fmt.Errorf("RabbitMQ did not take message %s", id)
	case p.returned(id):
		return errUnrouted
	}
	return nil
}

func (p *publisher) returned(id string) bool {
	if p.drop {
		return false
	}
	q := question{id, make(chan bool, 1)}
	select {
	case p.asked <- q:
		return <-q.answer
	case <-p.done:
		return true // not known any more
	}
}

// Close implements message.Publisher.
func (p *publisher) Close() error { return p.conn.Close() }
