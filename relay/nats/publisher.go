package nats

import (
	"context"

	wnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"

	relaywatermill "github.com/onceward/onceward/relay/watermill"
)

// pendingMax bounds what waits for an acknowledgement. It is far beyond what a
// relay has under way: a publish that met it would wait.
const pendingMax = 16 << 10

// publisher is one connection, on which acknowledgements are waited for side by
// side.
//
// Why not Watermill's: it asks and waits for each message by a request of its own,
// which costs the connection a mailbox and the server a subject for each.
type publisher struct {
	conn   *nats.Conn
	stream nats.JetStreamContext
	closed <-chan struct{} // by us, or because it was lost: nothing more comes
}

// Publish implements message.Publisher.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	return relaywatermill.PublishEach(p, topic, messages)
}

// PublishTogether implements relaywatermill.Together.
func (p *publisher) PublishTogether(ctx context.Context, messages []relaywatermill.Addressed) []error {
	send := func(m relaywatermill.Addressed) (nats.PubAckFuture, error) {
		out, err := (&wnats.NATSMarshaler{}).Marshal(m.Topic, m.Message)
		if err != nil {
			return nil, err
		}
		return p.stream.PublishMsgAsync(out, nats.MsgId(m.Message.UUID))
	}
	return relaywatermill.SendThenWait(messages, send, func(_ relaywatermill.Addressed, asked nats.PubAckFuture) error { return p.acknowledged(ctx, asked) })
}

// acknowledged waits until the stream has the message.
func (p *publisher) acknowledged(ctx context.Context, asked nats.PubAckFuture) error {
	select {
	case <-asked.Ok():
		return nil
	case err := <-asked.Err():
		return err
	case <-p.closed:
		return nats.ErrConnectionClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements message.Publisher.
func (p *publisher) Close() error {
	p.conn.Close()
	return nil
}
