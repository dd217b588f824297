package watermill

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/relay"
)

// The metadata of every message, which become headers of the broker.
const (
	MetadataContentType = "content-type"
	MetadataType        = "ce-type"
	MetadataKey         = "ce-partitionkey"
)

// reopenAfter is how long a broker that could not be reached is left alone.
const reopenAfter = 100 * time.Millisecond

// Options make a publisher. Open and Topic are needed.
type Options struct {
	// Open connects. It is called when there is something to publish and no
	// connection, and after each failure: a connection that failed is never used
	// again, so that nothing it still holds comes late.
	Open func(ctx context.Context) (message.Publisher, error)
	// Topic is where events go; "{type}" in it stands for the event's type.
	Topic string
	// Refuses says which errors are about the message and not about the broker; nil:
	// none is.
	Refuses func(err error) bool
	Clock   onceward.Clock // nil: SystemClock
}

// Publisher is a relay.Publisher over one of Watermill's. It is safe for
// concurrent use.
type Publisher struct {
	opts Options

	mu      sync.Mutex
	current *connection
	failure error     // of the last Open
	until   time.Time // before which Open is not called again
	closing sync.WaitGroup
}

type connection struct {
	message.Publisher
	drop sync.Once
}

// New returns a publisher that is not connected yet.
func New(o Options) *Publisher {
	if o.Clock == nil {
		o.Clock = onceward.SystemClock{}
	}
	return &Publisher{opts: o}
}

// Message is an event as a message: its ID is the message's, its payload the
// CloudEvent.
func Message(e *onceward.OutboxEvent) (*message.Message, error) {
	payload, err := relay.Encode(e)
	if err != nil {
		return nil, err
	}
	m := message.NewMessage(e.ID, payload)
	m.Metadata[MetadataContentType], m.Metadata[MetadataType], m.Metadata[MetadataKey] = relay.ContentType, e.Type, e.Key
	return m, nil
}

// Publish implements relay.Publisher.
func (p *Publisher) Publish(ctx context.Context, e *onceward.OutboxEvent) error {
	m, err := Message(e)
	if err != nil {
		return err
	}
	m.SetContext(ctx)
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- c.Publish(strings.ReplaceAll(p.opts.Topic, "{type}", e.Type), m) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return nil
	case p.opts.Refuses != nil && p.opts.Refuses(err):
		return &relay.Refused{Reason: "the broker does not take the message: " + err.Error()}
	}
	p.fail(c)
	return err
}

// connect returns the connection, and makes it if there is none.
func (p *Publisher) connect(ctx context.Context) (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		return p.current, nil
	}
	if p.failure != nil && p.opts.Clock.Now().Before(p.until) {
		return nil, p.failure
	}
	pub, err := p.opts.Open(ctx)
	if err != nil {
		p.failure, p.until = err, p.opts.Clock.Now().Add(reopenAfter)
		return nil, err
	}
	p.current, p.failure = &connection{Publisher: pub}, nil
	return p.current, nil
}

// fail gives a connection up.
func (p *Publisher) fail(c *connection) {
	p.mu.Lock()
	if p.current == c {
		p.current = nil
	}
	p.mu.Unlock()
	c.drop.Do(func() { p.closing.Go(func() { _ = c.Close() }) })
}

// Close implements relay.Publisher.
func (p *Publisher) Close() error {
	p.mu.Lock()
	c := p.current
	p.current = nil
	p.mu.Unlock()
	var err error
	if c != nil {
		c.drop.Do(func() { err = c.Close() })
	}
	p.closing.Wait()
	return err
}
